// What confines a program that works on files of others. Prepared by the one who starts it, since a process that was
// just forked may make system calls and nothing else.
#pragma once

#include <linux/filter.h>

#include <expected>
#include <span>
#include <string>
#include <vector>

#include "sandbox/plan.h"

namespace vg::sandbox {

// What such programs may ask of the kernel, with or without sockets; empty: it cannot be had.
std::span<const sock_filter> program_filter(bool network);
// In the child; false: it must not go on. Needs no_new_privs.
bool apply_filter(std::span<const sock_filter> filter);

// The files that every program needs, and these; a descriptor, which the caller closes. -1: the kernel has no Landlock.
std::expected<int, std::string> program_ruleset(std::vector<PathRule> paths);

}  // namespace vg::sandbox
