# What is loaded into QEMU (preload/loopback_guard.cc) is part of the program and put beside libvirt's files at the start:
# a node may run as a user who cannot reach the folder that the program was built or installed in. Never with sanitizers,
# whose library a QEMU does not have.
add_library(loopback_guard MODULE ${CMAKE_SOURCE_DIR}/src/hypervisor/preload/loopback_guard.cc)
target_include_directories(loopback_guard PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(loopback_guard PRIVATE -Os -Wall -Wextra -Werror -fno-exceptions -fno-rtti -fvisibility=hidden -g0)
target_link_options(loopback_guard PRIVATE -fuse-ld=lld-19 -nostdlib++ -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--strip-all)
set(guard_image ${CMAKE_BINARY_DIR}/generated/loopback_guard_image.cpp)
add_custom_command(OUTPUT ${guard_image}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/embed.py $<TARGET_FILE:loopback_guard> loopback_guard_image ${guard_image}
  DEPENDS loopback_guard ${CMAKE_SOURCE_DIR}/tools/embed.py COMMENT "" VERBATIM)
add_library(loopback_guard_image STATIC ${guard_image})
target_link_libraries(vg_hypervisor PUBLIC loopback_guard_image)
