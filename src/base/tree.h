// Folders that others can write to: by descriptors, and never through a symbolic link.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/disk_limits.h"

namespace vg {

// In order, without "." and "..".
std::vector<std::string> names_in(int folder);

// Everything below it, however deep that is, and then itself. False with errno; ETIME: there is more than could be
// removed until then, and the next call goes on with it. What is not there counts as removed.
bool remove_tree(int parent, const std::string& name,
                 std::chrono::steady_clock::time_point until = std::chrono::steady_clock::now() +
                                                               limits::tree_removal_time_max);

}  // namespace vg
