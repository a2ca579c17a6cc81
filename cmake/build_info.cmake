# Run at every build (cmake -D SOURCE_DIR=... -D OUTPUT=... -P): writes what the program is built from into a header, and
# leaves the header alone when that is what it says already, so that nothing is compiled or linked for it.
#
# The date is SOURCE_DATE_EPOCH where it is set, else that of the commit: two builds of one commit are the same. Without
# git the commit is what `git archive` has put into source_id.txt, if it was made so.
set(commit "")
set(state "")
set(date "1970-01-01T00:00:00Z")

function(ask_git OUT)
  execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} ${ARGN} OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(answer "")
  endif()
  set(${OUT} "${answer}" PARENT_SCOPE)
endfunction()

find_program(GIT git)
# A checkout of its own, not a folder inside of somebody else's.
if(GIT AND EXISTS ${SOURCE_DIR}/.git)
  ask_git(commit rev-parse HEAD)
endif()
if(commit MATCHES "^[0-9a-f]+$")
  ask_git(seconds show -s --format=%ct HEAD)
  ask_git(changes --no-optional-locks status --porcelain --untracked-files=no)
  if(changes STREQUAL "")
    set(state "clean")
  else()
    set(state "dirty")
  endif()
else()
  set(commit "")
  file(STRINGS ${SOURCE_DIR}/cmake/source_id.txt archived REGEX "^[0-9a-f]+ [0-9]+$")
  if(archived MATCHES "^([0-9a-f]+) ([0-9]+)$")
    set(commit "${CMAKE_MATCH_1}")
    set(seconds "${CMAKE_MATCH_2}")
    set(state "archive")
  endif()
endif()
if(DEFINED ENV{SOURCE_DATE_EPOCH} AND "$ENV{SOURCE_DATE_EPOCH}" MATCHES "^[0-9]+$")
  set(seconds "$ENV{SOURCE_DATE_EPOCH}")
endif()
if(seconds MATCHES "^[0-9]+$")
  set(ENV{SOURCE_DATE_EPOCH} "${seconds}")  # string(TIMESTAMP) takes it for now
  string(TIMESTAMP date "%Y-%m-%dT%H:%M:%SZ" UTC)
endif()

set(text "#pragma once
#define VIRTGATE_COMMIT \"${commit}\"
#define VIRTGATE_TREE_STATE \"${state}\"
#define VIRTGATE_BUILD_DATE \"${date}\"
")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()
