// What a job comes to.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "ports/disk_agent.h"

namespace vg::disks {

using vg::Descriptor;

inline constexpr int open_folder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;  // never through a symbolic link
inline constexpr mode_t image_mode = 0660;

struct Failure {
  DiskError error = DiskError::other;
  std::string message = {};
};
template <class T = void>
using Outcome = std::expected<T, Failure>;

inline std::unexpected<Failure> failed(DiskError error, std::string message) {
  return std::unexpected(Failure{.error = error, .message = std::move(message)});
}
// A system call failed; a full disk is told apart.
inline std::unexpected<Failure> system_failed(std::string_view what) {
  const int cause = errno;
  const bool full = cause == ENOSPC || cause == EDQUOT;
  return failed(full ? DiskError::no_space : DiskError::other, fmt::format("{}: {}", what, std::strerror(cause)));
}

}  // namespace vg::disks
