// What a job comes to, and the descriptors that it works with.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "ports/disk_agent.h"

namespace vg::disks {

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

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace vg::disks
