#include "hypervisor/reaper.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace vg::hypervisor {

int run_reaper(char* const* command) {
  constexpr int cannot_start = 127;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  pid_t child = 0;
  if (::posix_spawn(&child, command[0], nullptr, nullptr, command, ::environ) != 0) return cannot_start;
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  return 0;
}

}  // namespace vg::hypervisor
