# The tables and views of all API objects come from schema/*.vgs. One command makes them all: it takes a second, and a
# file that stays the same is not rewritten, so that only what changed is compiled again.
file(GLOB api_schemas CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/schema/*.vgs)
file(GLOB api_generator CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/schemagen*.py)
set(api_generated ${CMAKE_BINARY_DIR}/generated/api)
set(api_views ${api_generated}/views/all.h)
foreach(schema ${api_schemas})
  get_filename_component(name ${schema} NAME_WE)
  string(REPLACE "-" "_" name ${name})
  if(NOT name MATCHES "^(packages|rules)$")
    list(APPEND api_views ${api_generated}/views/${name}.h)
  endif()
endforeach()
add_custom_command(
  OUTPUT ${api_generated}/stamp
  BYPRODUCTS ${api_generated}/tables.cpp ${api_views}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/schemagen.py --out ${api_generated} ${api_schemas}
  COMMAND ${CMAKE_COMMAND} -E touch ${api_generated}/stamp
  DEPENDS ${api_schemas} ${api_generator}
  COMMENT "Generating the API tables and views from schema/"
  VERBATIM)
# Whatever links the module is compiled after its headers exist.
add_custom_target(vg_api_generated DEPENDS ${api_generated}/stamp)
target_sources(vg_api PRIVATE ${api_generated}/tables.cpp)
add_dependencies(vg_api vg_api_generated)
