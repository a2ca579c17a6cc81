#include "disks/copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/disk_limits.h"
#include "disks/folder.h"
#include "disks/outcome.h"
#include "disks/room.h"

namespace vg::disks {
namespace {

constexpr std::int64_t step_bytes = std::int64_t{4} << 20;

// The next piece that is no hole, from `at` on; nothing when there is none.
struct Piece {
  std::int64_t begin = 0, end = 0;
};
Outcome<Piece> next_piece(int file, std::int64_t at, std::int64_t size) {
  const off_t begin = ::lseek(file, at, SEEK_DATA);
  if (begin < 0) {
    if (errno == ENXIO) return Piece{.begin = size, .end = size};
    if (errno == EINVAL) return Piece{.begin = at, .end = size};  // a file system without holes
    return system_failed("an image cannot be read");
  }
  const off_t end = ::lseek(file, begin, SEEK_HOLE);
  if (end < 0) return system_failed("an image cannot be read");
  return Piece{.begin = begin, .end = std::min<std::int64_t>(end, size)};
}

Outcome<std::int64_t> size_of(int file) {
  struct stat info{};
  if (::fstat(file, &info) != 0) return system_failed("an image cannot be read");
  return info.st_size;
}

// Through memory, for pairs of files that the kernel does not copy between.
Outcome<std::int64_t> copy_by_hand(int from, int to, std::int64_t at, std::int64_t bytes) {
  std::vector<char> buffer(static_cast<std::size_t>(std::min<std::int64_t>(bytes, 256 * 1024)));
  const ssize_t got = ::pread(from, buffer.data(), buffer.size(), at);
  if (got < 0) return system_failed("an image cannot be read");
  const ssize_t put = got == 0 ? 0 : ::pwrite(to, buffer.data(), static_cast<std::size_t>(got), at);
  if (put < 0) return system_failed("an image cannot be written");
  return put;
}

Outcome<std::int64_t> copy_some(int from, int to, std::int64_t at, std::int64_t bytes) {
  off_t in = at, out = at;
  const ssize_t done =
      ::copy_file_range(from, &in, to, &out, static_cast<std::size_t>(std::min(bytes, step_bytes)), 0U);
  if (done > 0) return done;
  if (done < 0 && errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
    return system_failed("an image cannot be copied");
  return copy_by_hand(from, to, at, bytes);
}

class TreeCopy {
 public:
  TreeCopy(std::int64_t bytes_max, std::string_view but) : left_(bytes_max), but_(but) {}

  Outcome<> below(int from, int to, std::size_t depth) {
    if (depth > limits::archive_depth_max) return failed(DiskError::other, "folders are nested too deeply");
    for (const std::string& name : names_in(from)) {
      if (depth == 0 && !but_.empty() && name.starts_with(but_)) continue;
      struct stat info{};
      if (::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return system_failed("a file cannot be read");
      const mode_t mode = info.st_mode & 0777U;
      Outcome<> copied = take(limits::archive_entry_bytes);
      if (copied && S_ISREG(info.st_mode)) copied = file(from, to, name, mode);
      if (copied && S_ISDIR(info.st_mode)) copied = folder(from, to, name, mode, depth);
      if (copied && S_ISLNK(info.st_mode)) copied = link(from, to, name);
      if (!copied) return copied;
    }
    return {};
  }

 private:
  Outcome<> take(std::int64_t bytes) {
    left_ -= bytes;
    if (left_ < 0) return failed(DiskError::no_space, "the disk of this host has no room for the copy");
    return {};
  }
  Outcome<> file(int from, int to, const std::string& name, mode_t mode) {
    const Descriptor in(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!in) return system_failed("a file cannot be opened");
    const auto bytes = data_bytes(in.get());
    if (!bytes) return std::unexpected(bytes.error());
    if (auto room = take(*bytes); !room) return room;
    const Descriptor out(::openat(to, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!out) return system_failed("a file cannot be made");
    return copy_image(in.get(), out.get(), [](std::int64_t) {});
  }
  Outcome<> folder(int from, int to, const std::string& name, mode_t mode, std::size_t depth) {
    if (::mkdirat(to, name.c_str(), mode) != 0) return system_failed("a folder cannot be made");
    const Descriptor in(::openat(from, name.c_str(), open_folder)), out(::openat(to, name.c_str(), open_folder));
    if (!in || !out) return system_failed("a folder cannot be opened");
    return below(in.get(), out.get(), depth + 1);
  }
  static Outcome<> link(int from, int to, const std::string& name) {
    std::string target(limits::archive_name_bytes_max, '\0');
    const ssize_t length = ::readlinkat(from, name.c_str(), target.data(), target.size());
    if (length < 0) return system_failed("a link cannot be read");
    target.resize(static_cast<std::size_t>(length));
    if (::symlinkat(target.c_str(), to, name.c_str()) != 0) return system_failed("a link cannot be made");
    return {};
  }

  std::int64_t left_;
  std::string_view but_;
};

}  // namespace

Outcome<> copy_tree(int from, int to, std::int64_t bytes_max, std::string_view but) {
  if (auto copied = TreeCopy(bytes_max, but).below(from, to, 0); !copied) return copied;
  if (::syncfs(to) != 0) return system_failed("a copy cannot be synced");
  return {};
}

Outcome<std::int64_t> data_bytes(int file) {
  const auto size = size_of(file);
  if (!size) return size;
  std::int64_t sum = 0;
  for (std::int64_t at = 0; at < *size;) {
    const auto piece = next_piece(file, at, *size);
    if (!piece) return std::unexpected(piece.error());
    sum += piece->end - piece->begin;
    at = piece->end;
  }
  return sum;
}

namespace {

constexpr std::int64_t hole_bytes = 64 * 1024;

void punch(int file, std::int64_t begin, std::int64_t end) {
  // Not every file system can; the copy is as good without.
  if (end > begin) (void)::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, end - begin);
}

Outcome<> punch_zeros(int file, const Piece& piece) {
  std::vector<char> buffer(static_cast<std::size_t>(hole_bytes));
  for (std::int64_t at = piece.begin; at < piece.end;) {
    const auto bytes = std::min(hole_bytes - at % hole_bytes, piece.end - at);
    const ssize_t got = ::pread(file, buffer.data(), static_cast<std::size_t>(bytes), at);
    if (got <= 0) return system_failed("a copy cannot be read");
    if (std::all_of(buffer.begin(), buffer.begin() + got, [](char c) { return c == 0; })) punch(file, at, at + got);
    at += got;
  }
  return {};
}

}  // namespace

Outcome<> punch_holes(int file) {
  const auto size = size_of(file);
  if (!size) return std::unexpected(size.error());
  for (std::int64_t at = 0; at < *size;) {
    const auto piece = next_piece(file, at, *size);
    if (!piece) return std::unexpected(piece.error());
    punch(file, at, piece->begin);
    if (auto punched = punch_zeros(file, *piece); !punched) return punched;
    at = piece->end;
  }
  return {};
}

Outcome<> copy_image(int from, int to, const std::function<void(std::int64_t)>& copied) {
  if (::ioctl(to, FICLONE, from) == 0) return {};
  const auto size = size_of(from);
  if (!size) return std::unexpected(size.error());
  if (::ftruncate(to, *size) != 0) return system_failed("an image cannot be made");
  std::int64_t sum = 0;
  RoomWatch room(to);
  for (std::int64_t at = 0; at < *size;) {
    const auto piece = next_piece(from, at, *size);
    if (!piece) return std::unexpected(piece.error());
    for (at = piece->begin; at < piece->end;) {
      if (auto left = room.before(std::min(step_bytes, piece->end - at)); !left) return left;
      const auto done = copy_some(from, to, at, piece->end - at);
      if (!done) return std::unexpected(done.error());
      if (*done == 0) return failed(DiskError::other, "an image became shorter while it was copied");
      at += *done;
      copied(sum += *done);
    }
  }
  return {};
}

}  // namespace vg::disks
