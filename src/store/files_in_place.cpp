#include "store/files_in_place.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace vg::store {

void FilesInPlace::add(std::string path) {
  struct stat now{};
  if (::stat(path.c_str(), &now) != 0) now = {};  // which no file is
  files_.push_back({.path = std::move(path), .device = now.st_dev, .inode = now.st_ino});
}

std::optional<std::string> FilesInPlace::problem() const {
  for (const auto& file : files_) {
    struct stat now{};
    if (::stat(file.path.c_str(), &now) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return fmt::format("{} is gone", file.path);
      return fmt::format("{} cannot be found ({})", file.path, std::strerror(errno));
    }
    if (now.st_dev != file.device || now.st_ino != file.inode) return fmt::format("{} is another file now", file.path);
  }
  return std::nullopt;
}

}  // namespace vg::store
