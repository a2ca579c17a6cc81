// Which open descriptors another program gets.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <span>

namespace vg::helpers {

// In a new process, right before it becomes another program: that gets these and the standard ones, whatever else is
// open here and however it was opened.
inline void pass_on_only(std::span<const int> descriptors) {
  (void)::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);  // kernels before 5.11 cannot
  for (const int descriptor : descriptors) ::fcntl(descriptor, F_SETFD, 0);
}

}  // namespace vg::helpers
