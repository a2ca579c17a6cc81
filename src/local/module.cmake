# KubeVirt's own roles are those of the facts.
set(local_roles ${CMAKE_BINARY_DIR}/generated/local/kubevirt_roles.h)
add_custom_command(
  OUTPUT ${local_roles}.stamp
  BYPRODUCTS ${local_roles}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/rolegen.py ${CMAKE_SOURCE_DIR}/facts/rbac.json ${local_roles}
  COMMAND ${CMAKE_COMMAND} -E touch ${local_roles}.stamp
  DEPENDS ${CMAKE_SOURCE_DIR}/facts/rbac.json ${CMAKE_SOURCE_DIR}/tools/rolegen.py
  COMMENT "Generating KubeVirt's roles from facts/rbac.json"
  VERBATIM)
add_custom_target(vg_local_generated DEPENDS ${local_roles}.stamp)
add_dependencies(vg_local vg_local_generated)
