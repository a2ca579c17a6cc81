// Where sockets of a node are: the path of a socket must be short, so they are not below the state folder unless that
// is short itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg::cmd {

// Places in the order in which they are tried. `runtime`: $XDG_RUNTIME_DIR, empty where there is none.
std::vector<std::string> runtime_candidates(const std::string& state, std::string_view node, std::string_view runtime,
                                            unsigned user);

// The first that is short enough and can be made: a folder of this user that nobody else can look into.
Result<std::string> make_runtime_folder(const std::string& state, std::string_view node);

// Files that a process was killed while writing (write_file, base/files.h). To be called by the folder's only user.
void remove_unfinished_files(const std::string& folder);

}  // namespace vg::cmd
