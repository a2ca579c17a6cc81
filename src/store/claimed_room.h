// Room behind the end of a file, set aside for it by the file system before others ask for it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace vg::store {

class ClaimedRoom {
 public:
  ClaimedRoom() = default;
  // After SQLite has closed the file: closing any descriptor of it drops the locks that SQLite holds on it.
  ~ClaimedRoom() {
    if (file_ >= 0) ::close(file_);
  }
  ClaimedRoom(const ClaimedRoom&) = delete;
  ClaimedRoom& operator=(const ClaimedRoom&) = delete;

  void claim(const std::string& path, std::size_t bytes) {
    if (file_ < 0) file_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat now{};
    if (bytes > 0 && file_ >= 0 && ::fstat(file_, &now) == 0)
      (void)::fallocate(file_, FALLOC_FL_KEEP_SIZE, now.st_size, static_cast<off_t>(bytes));
  }

 private:
  int file_ = -1;
};

}  // namespace vg::store
