# The few build functions of the repository. A new module is one line in CMakeLists.txt; a new file needs none.

add_library(vg_flags INTERFACE)
target_include_directories(vg_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
target_compile_options(vg_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror
  -fno-omit-frame-pointer -g1)
target_compile_definitions(vg_flags INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_DISABLE_VISIBILITY
  VIRTGATE_VERSION="${PROJECT_VERSION}")
target_link_options(vg_flags INTERFACE -fuse-ld=lld-19 -Wl,--gc-sections)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(vg_flags INTERFACE -ffunction-sections -fdata-sections -fstack-protector-strong)
  target_compile_definitions(vg_flags INTERFACE _FORTIFY_SOURCE=2)
else()
  target_compile_options(vg_flags INTERFACE -O1)
endif()
if(VIRTGATE_SANITIZE)
  target_compile_options(vg_flags INTERFACE -fsanitize=${VIRTGATE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(vg_flags INTERFACE -fsanitize=${VIRTGATE_SANITIZE})
endif()
if(VIRTGATE_FUZZ)
  target_compile_options(vg_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(vg_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Tests that need more than a name: environment that every test gets.
set(VIRTGATE_TEST_ENVIRONMENT
  "VIRTGATE_SOURCE_DIR=${CMAKE_SOURCE_DIR}"
  "VIRTGATE_BINARY=${CMAKE_BINARY_DIR}/virtgate"
  "ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1"
  "VIRTGATE_SANITIZED=${VIRTGATE_SANITIZE}")  # where it is not empty, figures for time and memory mean nothing

function(virtgate_test NAME)
  add_executable(${NAME} ${ARGN})
  target_link_libraries(${NAME} PRIVATE GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${NAME} DISCOVERY_TIMEOUT 60 TEST_LIST ${NAME}_names PROPERTIES TIMEOUT 120)
  # gtest_discover_tests cannot pass on a property that is a list, so a script of our own sets it afterwards.
  set(script ${CMAKE_BINARY_DIR}/generated/${NAME}_environment.cmake)
  file(GENERATE OUTPUT ${script} CONTENT "foreach(test \${${NAME}_names})
  set_tests_properties(\"\${test}\" PROPERTIES ENVIRONMENT \"${VIRTGATE_TEST_ENVIRONMENT}\")
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()

function(virtgate_module NAME)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${NAME}/*.cpp)
  set(tests ${all})
  list(FILTER all EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(all)
    add_library(vg_${NAME} STATIC ${all})
    target_link_libraries(vg_${NAME} PUBLIC vg_flags ${ARG_DEPENDS})
  else()
    add_library(vg_${NAME} INTERFACE)
    target_link_libraries(vg_${NAME} INTERFACE vg_flags ${ARG_DEPENDS})
  endif()
  if(EXISTS ${CMAKE_SOURCE_DIR}/src/${NAME}/module.cmake)
    include(${CMAKE_SOURCE_DIR}/src/${NAME}/module.cmake)
  endif()
  if(tests)
    virtgate_test(${NAME}_test ${tests})
    target_link_libraries(${NAME}_test PRIVATE vg_${NAME})
  endif()
endfunction()

function(virtgate_program NAME FOLDER)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_executable(${NAME} ${sources})
    set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    target_link_libraries(${NAME} PRIVATE ${ARG_DEPENDS})
  endif()
  if(tests)
    list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
    virtgate_test(${FOLDER}_test ${tests} ${sources})
    target_link_libraries(${FOLDER}_test PRIVATE ${ARG_DEPENDS})
  endif()
endfunction()

# bench/x_bench.cpp becomes the program x_bench (Google Benchmark).
function(virtgate_benchmarks FOLDER)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*_bench.cpp)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${name} PRIVATE vg_server vg_local benchmark::benchmark_main)
  endforeach()
endfunction()

# tests/fuzz/x_fuzz.cpp is a libFuzzer target in the fuzz preset. Elsewhere the same file, with a plain main,
# replays tests/fuzz/corpus/x as an ordinary test, so that no past finding comes back unseen.
function(virtgate_fuzzers FOLDER)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*_fuzz.cpp)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" subject ${name})
    if(VIRTGATE_FUZZ)
      add_executable(${name} ${source})
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
      add_executable(${name} ${source} ${CMAKE_SOURCE_DIR}/${FOLDER}/replay_main.cpp)
      add_test(NAME fuzz_replay.${subject} COMMAND ${name} ${CMAKE_SOURCE_DIR}/${FOLDER}/corpus/${subject})
      set_tests_properties(fuzz_replay.${subject} PROPERTIES TIMEOUT 120 ENVIRONMENT "${VIRTGATE_TEST_ENVIRONMENT}")
    endif()
    target_link_libraries(${name} PRIVATE vg_server vg_local)
  endforeach()
endfunction()

# tests/x_test.cpp crosses modules; tests/x_test.py drives the built program as its users would.
function(virtgate_cross_tests FOLDER)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*_test.cpp)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    virtgate_test(${name} ${source})
    target_link_libraries(${name} PRIVATE vg_server vg_local)
  endforeach()
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*_test.py)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME e2e.${name} COMMAND ${Python3_EXECUTABLE} ${script})
    set_tests_properties(e2e.${name} PROPERTIES TIMEOUT 240 ENVIRONMENT "${VIRTGATE_TEST_ENVIRONMENT}")
  endforeach()
endfunction()
