// Whole files: read with a limit, written so that a reader sees the old or the new content and never a part.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace vg {

// 404 when there is no such file, 413 when it is longer than `bytes_max`, else 500 with the system's reason.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max);

// Writes beside the target, syncs, renames, syncs the folder: after a crash the file is whole. It has `mode` from its
// first moment, so give secrets 0600.
Result<void> write_file(const std::string& path, std::string_view content, mode_t mode);

}  // namespace vg
