# The files of the page become part of the program: ui/, the manifests of examples/, and third-party modules where
# tools/ui_vendor.py has brought them.
set(ui_assets ${CMAKE_BINARY_DIR}/generated/ui/assets_table.cpp)
set(ui_vendor ${CMAKE_SOURCE_DIR}/build/ui-vendor)
file(GLOB_RECURSE ui_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ui/* ${CMAKE_SOURCE_DIR}/examples/*.yaml ${ui_vendor}/*)
add_custom_command(
  OUTPUT ${ui_assets}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/ui_assets.py --output ${ui_assets} --page ${CMAKE_SOURCE_DIR}/ui
    --examples ${CMAKE_SOURCE_DIR}/examples --vendor ${ui_vendor}
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/ui_assets.py ${ui_files}
  COMMENT "Packing the files of the page"
  VERBATIM)
target_sources(vg_ui PRIVATE ${ui_assets})
set_source_files_properties(${ui_assets} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
