#include "hypervisor/reaper.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <vector>

#include "hypervisor/confinement.h"
#include "sandbox/landlock.h"

namespace vg::hypervisor {
namespace {

// Other processes may be signalled: a libvirtd must be able to end guests that an earlier one started.
bool confine(const std::vector<sandbox::PathRule>& rules) {
  if (rules.empty()) return true;
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const auto done =
      sandbox::apply_landlock({.paths = rules, .binds_all_ports = true, .signals_all = true}, sandbox::landlock_abi());
  if (!done) std::fprintf(stderr, "libvirtd is not started, because it cannot be confined: %s\n", done.error().c_str());
  return done.has_value();
}

}  // namespace

int run_reaper(char* const* command) {
  constexpr int cannot_start = 127;
  std::vector<sandbox::PathRule> rules;
  for (; *command; ++command) {
    auto rule = rule_of(*command);
    if (!rule) break;
    rules.push_back(std::move(*rule));
  }
  if (!*command || !confine(rules)) return cannot_start;
  rules = {};
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  pid_t child = 0;
  if (::posix_spawn(&child, command[0], nullptr, nullptr, command, ::environ) != 0) return cannot_start;
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  return 0;
}

}  // namespace vg::hypervisor
