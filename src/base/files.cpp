#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/random.h"

namespace vg {
namespace {

// Reads errno: call it before anything else that may set it.
Failed failed(std::string_view what, const std::string& path) {
  const int error = errno;
  // Files are read at start too, when there is no request to speak of.
  return fail({.code = 500,
               .reason = "InternalError",
               .message = fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(error)),
               .details = {}});
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Removes the half-written file unless it was renamed.
class Temporary {
 public:
  explicit Temporary(std::string path) : path_(std::move(path)) {}
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) {
    return fail(
        Status{.code = 404, .reason = "NotFound", .message = fmt::format("file {} not found", path), .details = {}});
  }
  if (!file) return failed("open", path);
  std::string content;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read", path);
    if (count == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(count));
    if (content.size() > bytes_max) {
      return fail(Status::too_large(fmt::format("{} has more than {} bytes", path, bytes_max)));
    }
  }
}

Result<void> write_file(const std::string& path, std::string_view content, mode_t mode) {
  std::string temporary_path = fmt::format("{}.{:016x}.tmp", path, random_u64());
  Descriptor file(::open(temporary_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file) return failed("create", temporary_path);
  Temporary temporary(std::move(temporary_path));
  // The process's mask may have taken bits away; nothing may have added any.
  if (::fchmod(file.get(), mode) != 0) return failed("set the mode of", temporary.path());
  if (!write_all(file.get(), content)) return failed("write", temporary.path());
  if (::fsync(file.get()) != 0) return failed("sync", temporary.path());
  if (!file.close()) return failed("close", temporary.path());
  if (::rename(temporary.path().c_str(), path.c_str()) != 0) return failed("replace", path);
  temporary.keep();
  const std::string folder = folder_of(path);
  Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return failed("open", folder);
  if (::fsync(directory.get()) != 0) return failed("sync", folder);
  return {};
}

}  // namespace vg
