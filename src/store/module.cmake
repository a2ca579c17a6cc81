# One of the two ways in which objects are kept in memory (see packer.h); the other one is not compiled.
if(VIRTGATE_PACKING)
  set(other_packing plain_packer.cpp)
else()
  set(other_packing lz4_packer.cpp lz4_packer_test.cpp)
endif()
list(TRANSFORM other_packing PREPEND ${CMAKE_SOURCE_DIR}/src/store/)
set_source_files_properties(${other_packing} PROPERTIES HEADER_FILE_ONLY ON)
