// Landlock: a process gives up access to all files but those it names. The C library has no functions for it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>

#include "sandbox/plan.h"

namespace vg::sandbox {

// What the kernel offers: 0 for nothing, else the version of its interface.
int landlock_abi();

struct Restriction {
  std::span<const PathRule> paths;
  std::optional<std::uint16_t> bind_port = {};
  bool binds_all_ports = false;
  bool signals_all = false;  // also processes outside
};

// For the calling thread and those that it starts. Needs no_new_privs.
std::expected<void, std::string> apply_landlock(const Restriction& wanted, int abi);
std::expected<void, std::string> apply_landlock(std::span<const PathRule> paths, std::optional<std::uint16_t> bind_port,
                                                int abi);

// The same for later: a descriptor, which the caller closes, for apply_ruleset().
std::expected<int, std::string> make_ruleset(const Restriction& wanted, int abi);

// A rule by which nothing but this TCP port can be connected to; a descriptor, which the caller closes. -1: the kernel
// knows no such rules.
int connect_ruleset(std::uint16_t port);
// Puts it upon the calling thread and those that it starts. A system call and nothing else: also for a process that was
// just forked. Needs no_new_privs.
bool apply_ruleset(int ruleset);

}  // namespace vg::sandbox
