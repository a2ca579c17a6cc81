#include "store/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace vg::store {
namespace {

constexpr std::size_t stat_block_bytes = 512;

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::size_t allocated(int file) {
  struct stat info{};
  return ::fstat(file, &info) == 0 ? static_cast<std::size_t>(info.st_blocks) * stat_block_bytes : 0;
}

}  // namespace

std::size_t DiskReserve::bytes() const {
  struct statvfs disk{};
  const auto folder = std::filesystem::path(path_).parent_path();
  if (::statvfs(folder.empty() ? "." : folder.c_str(), &disk) != 0) return size_.bytes;
  return std::min(size_.bytes, std::size_t{disk.f_frsize} * std::size_t{disk.f_blocks} / size_.share);
}

bool DiskReserve::take() {
  const Descriptor file{::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR)};
  if (file.fd < 0) return errno != ENOSPC && errno != EDQUOT;  // whatever it is, it is not for lack of room
  struct statvfs disk{};
  if (::fstatvfs(file.fd, &disk) != 0) return true;
  const auto wanted = bytes();
  const auto have = allocated(file.fd);
  if (have >= wanted) return true;
  // As much has to be left besides: else the next write would have to take it back.
  const auto free = std::size_t{disk.f_frsize} * std::size_t{disk.f_bavail};
  if (free < 2 * wanted - have) return false;
  const int failed = ::posix_fallocate(file.fd, 0, static_cast<off_t>(wanted));
  if (failed != ENOSPC && failed != EDQUOT) return true;
  (void)::ftruncate(file.fd, 0);
  return false;
}

std::size_t DiskReserve::release() {
  const Descriptor file{::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
  if (file.fd < 0) return 0;
  const auto had = allocated(file.fd);
  return ::ftruncate(file.fd, 0) == 0 ? had : 0;
}

}  // namespace vg::store
