# The few build functions of the repository. A new module is one line in CMakeLists.txt; a new file needs none.

# The releases that are followed stand in one place, from which the constants come.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/facts/release.json)
file(READ ${CMAKE_SOURCE_DIR}/facts/release.json release)
foreach(project kubevirt kubernetes)
  string(JSON ${project}_release GET "${release}" ${project})
  if(NOT ${project}_release MATCHES "^v([0-9]+)\\.([0-9]+)\\.[0-9]+$")
    message(FATAL_ERROR "facts/release.json: ${project} must be a release such as v1.2.3, not \"${${project}_release}\"")
  endif()
  set(${project}_major ${CMAKE_MATCH_1})
  set(${project}_minor ${CMAKE_MATCH_2})
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/cmake/upstream_release.h.in ${CMAKE_BINARY_DIR}/generated/upstream_release.h @ONLY)

# Functions have their names without them; the program is smaller, and a file compiles about a twentieth faster.
option(VIRTGATE_LINES "Line numbers, for profiles, core files and what sanitizers find" OFF)
# OFF is for a build that is run once, as `./dev sanitize` does: with sanitizers an optimised file takes up to twice as long.
option(VIRTGATE_OPTIMISED "Optimise modules also where sanitizers look on" ON)

add_library(vg_flags INTERFACE)
target_include_directories(vg_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
target_compile_options(vg_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror
  -fno-omit-frame-pointer $<IF:$<BOOL:${VIRTGATE_LINES}>,-g1,-g0>)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(vg_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
target_compile_definitions(vg_flags INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_DISABLE_VISIBILITY
  VIRTGATE_VERSION="${PROJECT_VERSION}")
# The build id tells which program a profile is of, also to who has that program in another place.
target_link_options(vg_flags INTERFACE -fuse-ld=lld-19 -Wl,--gc-sections -Wl,--build-id=sha1)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(vg_flags INTERFACE -ffunction-sections -fdata-sections -fstack-protector-strong
    -fstack-clash-protection)
  # Jumps and returns only to where the compiler meant them, where the processor checks it.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64")
    target_compile_options(vg_flags INTERFACE -fcf-protection)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
    target_compile_options(vg_flags INTERFACE -mbranch-protection=standard)
  endif()
  # A read or write outside of a container ends in an abort that names the place, never in somebody else's data; what
  # the linker resolves is resolved at the start and read-only from then on.
  target_compile_definitions(vg_flags INTERFACE _FORTIFY_SOURCE=3 _GLIBCXX_ASSERTIONS)
  target_link_options(vg_flags INTERFACE -pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
  # Most modules are a small part of what a request costs: they are built to be small. Those in which reviews spend their
  # time are marked FAST in CMakeLists.txt; those whose own work takes far longer than their code are marked SELDOM, and
  # built to be smallest, which compiles a tenth faster (see ARCHITECTURE.md, decisions).
  # Tests are not optimised and know no lines: that more than halves the time that they take to compile, and what they
  # test is and does.
  target_compile_options(vg_flags INTERFACE
    $<IF:$<BOOL:$<TARGET_PROPERTY:VIRTGATE_PLAIN>>,-O0;-g0;-U_FORTIFY_SOURCE,$<$<NOT:$<BOOL:$<TARGET_PROPERTY:VIRTGATE_FAST>>>:$<IF:$<BOOL:$<TARGET_PROPERTY:VIRTGATE_SELDOM>>,-Oz,-Os>>>)
  # Relocations of the tables packed (half a megabyte less to read at the start), equal functions once, code that is
  # hardly ever run on pages of its own.
  target_link_options(vg_flags INTERFACE -Wl,-z,pack-relative-relocs -Wl,--icf=safe -Wl,-z,keep-text-section-prefix)
else()
  # With sanitizers a test takes more than twice as long to compile when it is optimised; what it tests is what runs long.
  target_compile_options(vg_flags INTERFACE
    $<IF:$<OR:$<BOOL:$<TARGET_PROPERTY:VIRTGATE_PLAIN>>,$<NOT:$<BOOL:${VIRTGATE_OPTIMISED}>>>,-O0,-O1>)
endif()
if(VIRTGATE_SANITIZE)
  target_compile_options(vg_flags INTERFACE -fsanitize=${VIRTGATE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(vg_flags INTERFACE -fsanitize=${VIRTGATE_SANITIZE})
endif()
if(VIRTGATE_FUZZ)
  target_compile_options(vg_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(vg_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# What nearly every file includes is read once for each way of compiling. Without it a file spends two thirds of its time
# on these; a file still includes what it uses (-DVIRTGATE_PCH=OFF finds one that does not).
option(VIRTGATE_PCH "Read the common headers once" ON)
# As an option that ccache knows, so that what was compiled in one folder is found in another. CMake's own form names the
# headers again by their full path, which ccache takes for a part of what is compiled.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)
endif()
set(VIRTGATE_COMMON_HEADERS <algorithm> <array> <bitset> <charconv> <chrono> <coroutine> <cstdint> <cstring> <deque> <expected>
  <filesystem> <functional> <list> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <thread> <utility>
  <variant> <vector> <fmt/format.h> <boost/json/array.hpp> <boost/json/monotonic_resource.hpp> <boost/json/object.hpp>
  <boost/json/string.hpp> <boost/json/value.hpp>)
# Headers of our own that most files include and that seldom change: an edit of one compiles everything again, as it nearly would anyway.
set(VIRTGATE_COMMON_OWN_HEADERS base/fmt_once.h base/log.h base/metrics.h base/quantity.h base/task.h json/arena_pool.h
  ports/authorizer.h ports/disk_agent.h ports/object_list.h api/view.h tracing/span.h http/exchange.h admission/rule.h)

# virtgate_sum_of_headers(SUM HEADERS...): sets SUM to the sum of their texts and of those that they include, and configures again when one changes.
function(virtgate_sum_of_headers SUM)
  set(headers ${ARGN})
  set(done "")
  set(sums "")
  while(headers)
    list(POP_FRONT headers name)
    set(path ${CMAKE_SOURCE_DIR}/src/${name})
    if(name IN_LIST done OR NOT EXISTS ${path})
      continue()
    endif()
    list(APPEND done ${name})
    file(SHA256 ${path} sum)
    list(APPEND sums ${sum})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(STRINGS ${path} lines REGEX "^#include \"")
    foreach(line ${lines})
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included ${line})
      list(APPEND headers ${included})
    endforeach()
  endwhile()
  string(SHA256 all "${sums}")
  set(${SUM} ${all} PARENT_SCOPE)
endfunction()
virtgate_sum_of_headers(VIRTGATE_OWN_HEADERS_SUM ${VIRTGATE_COMMON_OWN_HEADERS})
list(TRANSFORM VIRTGATE_COMMON_OWN_HEADERS REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE own)
list(APPEND VIRTGATE_COMMON_HEADERS ${own})

# virtgate_common_headers(OWNER LIBRARY|PROGRAM [FAST] [PLAIN] [HEADERS ...]): OWNER is what others name in virtgate_use.
function(virtgate_common_headers OWNER TYPE)
  if(NOT VIRTGATE_PCH)
    return()
  endif()
  cmake_parse_arguments(ARG "FAST;PLAIN" "" "HEADERS;DEPENDS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/generated/${OWNER}.cpp)
  file(GENERATE OUTPUT ${source} CONTENT "int main() { return 0; }\n")
  if(TYPE STREQUAL "LIBRARY")
    add_library(${OWNER} OBJECT EXCLUDE_FROM_ALL ${source})
  else()
    add_executable(${OWNER} EXCLUDE_FROM_ALL ${source})
  endif()
  target_link_libraries(${OWNER} PRIVATE vg_flags fmt_headers Boost::headers ${ARG_DEPENDS})
  set_target_properties(${OWNER} PROPERTIES VIRTGATE_FAST "${ARG_FAST}" VIRTGATE_PLAIN "${ARG_PLAIN}")
  target_precompile_headers(${OWNER} PRIVATE ${VIRTGATE_COMMON_HEADERS} ${ARG_HEADERS})
  # ccache looks at this sum in place of the file, which has the name of the build folder in it.
  string(SHA256 sum "${VIRTGATE_COMMON_HEADERS} ${VIRTGATE_OWN_HEADERS_SUM} ${ARG_HEADERS} ${ARG_FAST} ${TYPE} ${CMAKE_CXX_COMPILER_VERSION} ${fmt_VERSION}
    ${Boost_VERSION} ${OPENSSL_VERSION} ${VIRTGATE_SANITIZE} ${CMAKE_BUILD_TYPE} ${GTest_VERSION}")
  file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/${OWNER}.dir/cmake_pch.hxx.pch.sum "${sum}\n")
endfunction()

function(virtgate_use OWNER TARGET)
  if(VIRTGATE_PCH)
    target_precompile_headers(${TARGET} REUSE_FROM ${OWNER})
  endif()
endfunction()

# Files of one module are compiled some at a time, which takes a third to a half of the time: headers are most of what is
# read. A change compiles the batch of its file again, which is seconds; tests are longer, so fewer of them are joined.
# OFF: each file for itself, which finds one that lacks an include, and tells tools that read compile_commands.json about
# every file.
option(VIRTGATE_JOINED "Compile several files of a module as one" ON)
set(VIRTGATE_JOINED_FILES_MAX 56)
set(VIRTGATE_JOINED_TESTS_MAX 8)
set(VIRTGATE_JOINED_LINES_MAX 7000)

# virtgate_compile(TARGET NAME FILES_MAX FILES...): the target consists of these files, of which at most so many are joined.
# They become NAME_0.cpp and so on.
function(virtgate_compile TARGET NAME FILES_MAX)
  if(NOT ARGN)
    return()
  endif()
  if(NOT VIRTGATE_JOINED)
    target_sources(${TARGET} PRIVATE ${ARGN})
    return()
  endif()
  list(JOIN ARGN "\t" files)
  set_property(GLOBAL APPEND_STRING PROPERTY virtgate_batches "${TARGET}\t${NAME}\t${FILES_MAX}\t${files}\n")
endfunction()

# Called once, behind everything that calls virtgate_compile: the files of all targets are looked at by one process, which
# reads every header once.
function(virtgate_join_sources)
  get_property(wanted GLOBAL PROPERTY virtgate_batches)
  if(NOT wanted)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/source_batches.py)
  set(folder ${CMAKE_BINARY_DIR}/generated/joined)
  file(WRITE ${folder}/wanted.txt "${wanted}")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/source_batches.py --wanted ${folder}/wanted.txt
    --output ${folder} --lines-max ${VIRTGATE_JOINED_LINES_MAX}
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" found "${found}")
  foreach(row ${found})
    string(REPLACE "\t" ";" row "${row}")
    list(POP_FRONT row target source)
    target_sources(${target} PRIVATE ${source})
    # A local name of one file may be that of a table in another one. Builds without joining still warn of shadows.
    if(source MATCHES "/generated/joined/")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-shadow)
    endif()
  endforeach()
endfunction()

# Tests that need more than a name: environment that every test gets.
set(VIRTGATE_TEST_ENVIRONMENT
  "VIRTGATE_SOURCE_DIR=${CMAKE_SOURCE_DIR}"
  "VIRTGATE_BINARY=${CMAKE_BINARY_DIR}/virtgate"
  "ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1"
  "VIRTGATE_SANITIZED=${VIRTGATE_SANITIZE}")  # where it is not empty, figures for time and memory mean nothing

# How tests share the machine. ctest counts in halves of a processor (./dev: -j is twice their number): a test has a whole
# one, or a half if it mostly waits; one that measures how long others wait has the machine for itself. Those that take
# long are begun first, so that none of them is alone at the end; tests/durations.txt has them.
file(STRINGS ${CMAKE_SOURCE_DIR}/tests/durations.txt VIRTGATE_DURATIONS REGEX "^[a-z]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/durations.txt)

# virtgate_schedule(NAME [SCRIPT]): a SCRIPT that measures has a line that begins with "# RUN_SERIAL".
function(virtgate_schedule NAME)
  set(halves 2)
  string(REPLACE "." "\\." pattern ${NAME})
  foreach(row ${VIRTGATE_DURATIONS})
    if(row MATCHES "^${pattern} +([0-9]+)( +waits)?$")
      set_tests_properties(${NAME} PROPERTIES COST ${CMAKE_MATCH_1})
      if(CMAKE_MATCH_2)
        set(halves 1)
      endif()
    endif()
  endforeach()
  set_tests_properties(${NAME} PROPERTIES PROCESSORS ${halves})
  if(ARGC GREATER 1)
    file(STRINGS ${ARGV1} serial REGEX "^# RUN_SERIAL")
    if(serial)
      set_tests_properties(${NAME} PROPERTIES RUN_SERIAL ON)
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGV1})
  endif()
endfunction()

# The recordings of tests/conformance lie packed in the repository; C++ tests read them unpacked (src/base/test_files.h).
function(virtgate_recordings FOLDER)
  file(GLOB packed CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*.jsonl.xz)
  set(unpack ${CMAKE_SOURCE_DIR}/tools/unpack.py)
  set(unpacked "")
  foreach(file ${packed})
    get_filename_component(name ${file} NAME_WLE)
    set(output ${CMAKE_BINARY_DIR}/recordings/${name})
    add_custom_command(OUTPUT ${output} DEPENDS ${file} ${unpack}
      COMMAND ${Python3_EXECUTABLE} ${unpack} ${file} ${output} COMMENT "" VERBATIM)
    list(APPEND unpacked ${output})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/recordings)
  add_custom_target(recordings DEPENDS ${unpacked})
endfunction()

# What needs nothing beside itself: the tests of the modules and of the program's own functions.
add_custom_target(unit_tests)
function(virtgate_unit_test NAME)
  add_dependencies(unit_tests ${NAME})
  set_property(TEST program.${NAME} APPEND PROPERTY LABELS unit)
endfunction()

# A test program is known to ctest in two ways: as one test (label "program"), which is how all of them are run, since each of three thousand
# processes costs some milliseconds and reads what its suite needs again; and by each of its cases (label "case"), for ./dev test FILTER.
function(virtgate_test NAME)
  add_executable(${NAME} ${ARGN})
  add_dependencies(${NAME} recordings)
  target_link_libraries(${NAME} PRIVATE vg_flags GTest::gmock GTest::gtest_main)
  set_target_properties(${NAME} PROPERTIES VIRTGATE_PLAIN ON)
  virtgate_use(common_of_tests ${NAME})
  add_test(NAME program.${NAME} COMMAND ${NAME} --gtest_brief=1)
  set_tests_properties(program.${NAME} PROPERTIES LABELS program TIMEOUT 900 ENVIRONMENT "${VIRTGATE_TEST_ENVIRONMENT}")
  virtgate_schedule(program.${NAME})
  gtest_discover_tests(${NAME} DISCOVERY_TIMEOUT 60 TEST_LIST ${NAME}_names PROPERTIES TIMEOUT 120 PROCESSORS 2 LABELS case)
  # gtest_discover_tests cannot pass on a property that is a list, so a script of our own sets it afterwards.
  set(script ${CMAKE_BINARY_DIR}/generated/${NAME}_environment.cmake)
  file(GENERATE OUTPUT ${script} CONTENT "foreach(test \${${NAME}_names})
  set_tests_properties(\"\${test}\" PROPERTIES ENVIRONMENT \"${VIRTGATE_TEST_ENVIRONMENT}\")
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()

function(virtgate_module NAME)
  cmake_parse_arguments(ARG "FAST;SELDOM" "" "DEPENDS;APART" ${ARGN})
  list(TRANSFORM ARG_APART PREPEND ${CMAKE_SOURCE_DIR}/src/${NAME}/)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${NAME}/*.cpp)
  set(tests ${all})
  list(FILTER all EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(all)
    if(ARG_APART)
      list(REMOVE_ITEM all ${ARG_APART})
    endif()
    add_library(vg_${NAME} STATIC ${ARG_APART})
    virtgate_compile(vg_${NAME} ${NAME} ${VIRTGATE_JOINED_FILES_MAX} ${all})
    target_link_libraries(vg_${NAME} PUBLIC vg_flags ${ARG_DEPENDS})
    set_target_properties(vg_${NAME} PROPERTIES VIRTGATE_FAST "${ARG_FAST}" VIRTGATE_SELDOM "${ARG_SELDOM}")
    if(ARG_FAST)
      virtgate_use(common_of_fast_modules vg_${NAME})
    else()
      virtgate_use(common_of_modules vg_${NAME})
    endif()
  else()
    add_library(vg_${NAME} INTERFACE)
    target_link_libraries(vg_${NAME} INTERFACE vg_flags ${ARG_DEPENDS})
  endif()
  if(EXISTS ${CMAKE_SOURCE_DIR}/src/${NAME}/module.cmake)
    include(${CMAKE_SOURCE_DIR}/src/${NAME}/module.cmake)
  endif()
  if(tests AND GTest_FOUND)
    virtgate_test(${NAME}_test)
    virtgate_compile(${NAME}_test ${NAME}_test ${VIRTGATE_JOINED_TESTS_MAX} ${tests})
    target_link_libraries(${NAME}_test PRIVATE vg_${NAME})
    virtgate_unit_test(${NAME}_test)
  endif()
endfunction()

# A program is the files of FOLDER and what SOURCES names of another one's. Everything but main.cpp is a library, vg_FOLDER,
# so that tests link what the program is made of.
function(virtgate_program NAME FOLDER)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  string(REPLACE "/" "_" parts ${FOLDER})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/)
  add_library(vg_${parts} STATIC)
  virtgate_compile(vg_${parts} ${parts} ${VIRTGATE_JOINED_FILES_MAX} ${sources} ${ARG_SOURCES})
  target_include_directories(vg_${parts} PUBLIC ${CMAKE_SOURCE_DIR}/cmd)
  target_link_libraries(vg_${parts} PUBLIC ${ARG_DEPENDS})
  virtgate_use(common_of_modules vg_${parts})
  # main.cpp is compiled again after every commit: it alone knows what the program is built from (build_info.h).
  add_executable(${NAME} ${CMAKE_SOURCE_DIR}/${FOLDER}/main.cpp)
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  add_dependencies(${NAME} virtgate_build_info)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")  # sanitizers want the shared ones
    target_link_options(${NAME} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
  # Libraries of files that it does not call are not loaded: those that read XML are several megabytes.
  target_link_options(${NAME} PRIVATE -Wl,--as-needed)
  target_link_libraries(${NAME} PRIVATE vg_${parts})
  if(tests AND GTest_FOUND)
    virtgate_test(${parts}_test)
    virtgate_compile(${parts}_test ${parts}_test ${VIRTGATE_JOINED_TESTS_MAX} ${tests})
    target_link_libraries(${parts}_test PRIVATE vg_${parts})
    virtgate_unit_test(${parts}_test)
  endif()
endfunction()

add_custom_target(virtgate_build_info BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/build_info.h
  COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${CMAKE_SOURCE_DIR} -D OUTPUT=${CMAKE_BINARY_DIR}/generated/build_info.h
  -P ${CMAKE_SOURCE_DIR}/cmake/build_info.cmake COMMENT "" VERBATIM)

# bench/x_bench.cpp becomes the program x_bench (Google Benchmark); x_load.cpp becomes x_load, a client that makes load.
function(virtgate_benchmarks FOLDER)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*_bench.cpp)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${name} PRIVATE vg_server vg_local vg_resources benchmark::benchmark_main)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*_load.cpp)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${name} PRIVATE vg_flags vg_base OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
  endforeach()
endfunction()

# tests/fuzz/x_fuzz.cpp is a libFuzzer target in the fuzz preset. Elsewhere the same file, with a plain main,
# replays tests/fuzz/corpus/x as an ordinary test, so that no past finding comes back unseen.
# What each of them is built from: sanitizer builds are slow, so no more than it needs.
set(VIRTGATE_FUZZ_MODULES_cel vg_cel)
set(VIRTGATE_FUZZ_MODULES_quantity vg_base)
set(VIRTGATE_FUZZ_MODULES_json vg_json)
set(VIRTGATE_FUZZ_MODULES_patch vg_json)
set(VIRTGATE_FUZZ_MODULES_places vg_json)
set(VIRTGATE_FUZZ_MODULES_http vg_http)
set(VIRTGATE_FUZZ_MODULES_websocket vg_http)
set(VIRTGATE_FUZZ_MODULES_canonical vg_api)
set(VIRTGATE_FUZZ_MODULES_protobuf vg_api)
set(VIRTGATE_FUZZ_MODULES_domain vg_domain)
set(VIRTGATE_FUZZ_MODULES_packing vg_store)
set(VIRTGATE_FUZZ_MODULES_store_open vg_store)
set(VIRTGATE_FUZZ_MODULES_review vg_admission)
set(VIRTGATE_FUZZ_MODULES_list vg_resources)
set(VIRTGATE_FUZZ_MODULES_apply vg_resources)
function(virtgate_fuzzers FOLDER)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*_fuzz.cpp)
  if(NOT VIRTGATE_FUZZ)
    add_library(fuzz_replay_main STATIC ${CMAKE_SOURCE_DIR}/${FOLDER}/replay_main.cpp)
    target_link_libraries(fuzz_replay_main PRIVATE vg_flags)
    virtgate_use(common_of_modules fuzz_replay_main)
  endif()
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" subject ${name})
    if(VIRTGATE_FUZZ)
      add_executable(${name} ${source})
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
      add_executable(${name} ${source})
      target_link_libraries(${name} PRIVATE fuzz_replay_main)
      add_test(NAME fuzz_replay.${subject} COMMAND ${name} ${CMAKE_SOURCE_DIR}/${FOLDER}/corpus/${subject})
      set_tests_properties(fuzz_replay.${subject} PROPERTIES TIMEOUT 120 ENVIRONMENT "${VIRTGATE_TEST_ENVIRONMENT}")
      virtgate_schedule(fuzz_replay.${subject})
    endif()
    target_link_libraries(${name} PRIVATE ${VIRTGATE_FUZZ_MODULES_${subject}})
    if(GTest_FOUND)
      set_target_properties(${name} PROPERTIES VIRTGATE_PLAIN ON)
      virtgate_use(common_of_tests ${name})
    endif()
  endforeach()
endfunction()

# tests/contract/x_test.cpp says what both implementations of a port do, in suites that are instantiated under the name x.
# One process a port: each starts a server of its own, which a process for every single test would do over and over.
function(virtgate_contracts FOLDER)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*.cpp)
  add_executable(contract_test)
  virtgate_compile(contract_test contract_test ${VIRTGATE_JOINED_TESTS_MAX} ${sources})
  target_link_libraries(contract_test PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  set_target_properties(contract_test PROPERTIES VIRTGATE_PLAIN ON)
  virtgate_use(common_of_tests contract_test)
  add_dependencies(contract_test virtgate)
  list(FILTER sources INCLUDE REGEX "_test\\.cpp$")
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" port ${name})
    add_test(NAME contract.${port} COMMAND contract_test --gtest_filter=${port}/*)
    set_tests_properties(contract.${port} PROPERTIES TIMEOUT 120 ENVIRONMENT "${VIRTGATE_TEST_ENVIRONMENT}"
      FAIL_REGULAR_EXPRESSION "Running 0 tests")
    virtgate_schedule(contract.${port})
  endforeach()
endfunction()

# tests/x_test.cpp crosses modules; tests/x_test.py drives the built program as its users would, tests/attack/x_test.py
# as those who mean harm; tests/tidy/x_test.py reads the repository and needs nothing built.
function(virtgate_cross_tests FOLDER)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*_test.cpp)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    virtgate_test(${name} ${source})
    target_link_libraries(${name} PRIVATE vg_server vg_local)
  endforeach()
  virtgate_scripts(e2e ${FOLDER} 600)
  virtgate_scripts(tidy ${FOLDER}/tidy 120)
  virtgate_scripts(attack ${FOLDER}/attack 240)
endfunction()

# virtgate_scripts(KIND FOLDER SECONDS_MAX)
function(virtgate_scripts KIND FOLDER SECONDS_MAX)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${FOLDER}/*_test.py)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME ${KIND}.${name} COMMAND ${Python3_EXECUTABLE} ${script})
    set_tests_properties(${KIND}.${name} PROPERTIES TIMEOUT ${SECONDS_MAX} ENVIRONMENT "${VIRTGATE_TEST_ENVIRONMENT}")
    if(KIND STREQUAL "attack")
      virtgate_schedule(${KIND}.${name} ${script})
    else()
      virtgate_schedule(${KIND}.${name})
    endif()
  endforeach()
endfunction()
