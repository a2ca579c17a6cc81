// A view of the file system of its own for a process and all that it starts: what rules name, and nothing else.
// Landlock refuses to open other files, but not to connect to the sockets that others listen on; what has no name here
// cannot be connected to.
#pragma once

#include <expected>
#include <span>
#include <string>

#include "sandbox/plan.h"

namespace vg::sandbox {

// A user namespace, in which this user is itself and nobody else, and a mount namespace with the paths of the rules;
// those that are only read, or run, are mounted so that not even their modes can be changed.
// /tmp, where it is among them, is an empty one, and where a rule says from where, that is seen there. For a process
// with one thread, which keeps no capability of the new namespace and can make no other. Where it fails the process is
// in an unknown state and must end.
std::expected<void, std::string> isolate(std::span<const PathRule> rules);

// Why isolate() would fail here, tried by a child; empty: it would not.
std::string why_not_isolated(std::span<const PathRule> rules);

}  // namespace vg::sandbox
