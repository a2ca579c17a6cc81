#include "images/layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/image_limits.h"
#include "disks/archive.h"
#include "disks/outcome.h"
#include "disks/program.h"
#include "sandbox/enter.h"
#include "sandbox/landlock.h"
#include "sandbox/syscalls.h"

namespace vg::images {
namespace {

using disks::Descriptor;

constexpr int open_folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t layer_folder_mode = 0700, layer_file_mode = 0400;
constexpr std::size_t hole_bytes = 4096;
constexpr int unpacker_failed = 1;
constexpr std::string_view bad_mark = "bad: ";  // the archive is to blame
// Large files are synced one by one, many small ones with everything else that waits for the disk.
constexpr std::int64_t small_file_bytes = 1 << 20;

Failed bad_layer(std::string_view name, std::string_view why) {
  return fail(Status::bad_request(fmt::format("the image has \"{}\", which {}", name.substr(0, 100), why)));
}
Failed cannot(std::string_view what) {
  return fail(Status::internal_error(fmt::format("{}: {}", what, std::strerror(errno))));
}

struct CloseArchive {
  void operator()(archive* given) const { archive_read_free(given); }
};
using ArchivePtr = std::unique_ptr<archive, CloseArchive>;

Failed cannot_read(archive* given) {
  const char* why = archive_error_string(given);
  return fail(Status::bad_request(fmt::format("a layer of the image cannot be read: {}", why ? why : "it is broken")));
}

// "./a//b/" and "/a/b" -> a, b. An absolute path is one of the image.
Result<std::vector<std::string>> steps_of(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  if (path.size() > limits::archive_name_bytes_max) return bad_layer(path, "is too long a name");
  auto steps = disks::steps_of(path);
  if (!steps) return fail(Status::bad_request(std::move(steps.error().message)));
  if (steps->size() > limits::image_depth_max) return bad_layer(path, "is too deep");
  return std::move(*steps);
}

// The folder of the last step, made where it is missing. Links on the way are not followed.
Result<Descriptor> open_parent(int root, const std::vector<std::string>& steps, bool make) {
  Descriptor at(::openat(root, ".", open_folder_flags));
  if (!at) return cannot("a folder cannot be opened");
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (make && ::mkdirat(at.get(), steps[i].c_str(), layer_folder_mode) != 0 && errno != EEXIST)
      return cannot("a folder cannot be made");
    at = Descriptor(::openat(at.get(), steps[i].c_str(), open_folder_flags));
    if (!at) return bad_layer(steps[i], "is not a folder and has something below it");
  }
  return at;
}

bool is_zero(std::string_view block) { return block.front() == '\0' && block.find_first_not_of('\0') == block.npos; }

class Unpacker {
 public:
  Unpacker(archive* from, int root, const LayerLimits& limits) : from_(from), root_(root), limits_(limits) {}

  Result<void> put(archive_entry* entry) {
    if (++entries_ > limits_.entries_max) return bad_layer("", "has too many entries");
    const char* path = archive_entry_pathname(entry);
    if (!path) return bad_layer("", "has no name");
    const auto steps = steps_of(path);
    if (!steps) return fail(steps.error());
    if (steps->empty()) return {};  // the root itself
    const auto parent = open_parent(root_, *steps, true);
    if (!parent) return fail(parent.error());
    const std::string& name = steps->back();
    if (const char* target = archive_entry_hardlink(entry)) return put_hard_link(parent->get(), name, target);
    switch (archive_entry_filetype(entry)) {
      case AE_IFREG:
        return put_file(parent->get(), name, entry);
      case AE_IFDIR:
        return put_folder(parent->get(), name);
      case AE_IFLNK:
        return put_link(parent->get(), name, archive_entry_symlink(entry));
      default:
        return {};  // devices and the like are no use to a guest's disk
    }
  }
  std::int64_t bytes() const { return bytes_; }
  bool has_small_files() const { return has_small_files_; }

 private:
  static Result<void> put_folder(int parent, const std::string& name) {
    if (::mkdirat(parent, name.c_str(), layer_folder_mode) == 0) return {};
    struct stat info{};
    if (errno == EEXIST && ::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode))
      return {};
    return bad_layer(name, "is a folder and something else");
  }
  static Result<void> put_link(int parent, const std::string& name, const char* target) {
    if (!target || *target == '\0') return bad_layer(name, "is a link to nothing");
    ::unlinkat(parent, name.c_str(), 0);
    if (::symlinkat(target, parent, name.c_str()) != 0) return cannot("a link of the image cannot be made");
    return {};
  }
  // To a file of the same layer.
  Result<void> put_hard_link(int parent, const std::string& name, const char* target) {
    const auto steps = steps_of(target);
    if (!steps) return fail(steps.error());
    if (steps->empty()) return bad_layer(name, "is a hard link to a folder");
    const auto folder = open_parent(root_, *steps, false);
    if (!folder) return fail(folder.error());
    struct stat info{};
    if (::fstatat(folder->get(), steps->back().c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
      return bad_layer(name, "is a hard link to a file that is not there");
    struct stat here{};
    if (::fstatat(parent, name.c_str(), &here, AT_SYMLINK_NOFOLLOW) == 0 && here.st_ino == info.st_ino) return {};
    ::unlinkat(parent, name.c_str(), 0);
    if (::linkat(folder->get(), steps->back().c_str(), parent, name.c_str(), 0) != 0)
      return cannot("a hard link of the image cannot be made");
    return {};
  }
  Result<void> put_file(int parent, const std::string& name, archive_entry* entry) {
    const std::int64_t size = archive_entry_size(entry);
    if (size < 0 || size > limits::disk_claim_bytes_max) return bad_layer(name, "has no size that a disk may have");
    ::unlinkat(parent, name.c_str(), 0);
    const Descriptor file(
        ::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, layer_file_mode));
    if (!file) return cannot("a file of the image cannot be made");
    if (auto copied = copy_data(file.get(), size, name); !copied) return copied;
    if (::ftruncate(file.get(), size) != 0) return cannot("a file of the image cannot be written");
    if (size < small_file_bytes) {
      has_small_files_ = true;
      return {};
    }
    if (::fdatasync(file.get()) != 0) return cannot("a file of the image cannot be synced");
    return {};
  }
  Result<void> copy_data(int file, std::int64_t size, const std::string& name) {
    const void* data = nullptr;
    std::size_t length = 0;
    la_int64_t offset = 0;
    while (true) {
      const int status = archive_read_data_block(from_, &data, &length, &offset);
      if (status == ARCHIVE_EOF) return {};
      if (status != ARCHIVE_OK) return cannot_read(from_);
      if (offset < 0 || offset > size || static_cast<std::int64_t>(length) > size - offset)
        return bad_layer(name, "has more than its size");
      const std::string_view block(static_cast<const char*>(data), length);
      if (auto wrote = write_block(file, block, offset); !wrote) return wrote;
    }
  }
  // Zeros stay holes.
  Result<void> write_block(int file, std::string_view block, std::int64_t offset) {
    while (!block.empty()) {
      const std::size_t to_boundary = hole_bytes - static_cast<std::size_t>(offset) % hole_bytes;
      const std::string_view piece = block.substr(0, to_boundary);
      if (!is_zero(piece)) {
        bytes_ += static_cast<std::int64_t>(piece.size());
        if (bytes_ > limits_.bytes_max)
          return fail(Status::internal_error("the image is larger than the room that there is for it"));
        if (::pwrite(file, piece.data(), piece.size(), offset) != static_cast<ssize_t>(piece.size()))
          return cannot("a file of the image cannot be written");
      }
      offset += static_cast<std::int64_t>(piece.size());
      block.remove_prefix(piece.size());
    }
    return {};
  }

  archive* from_;
  int root_;
  LayerLimits limits_;
  std::int64_t bytes_ = 0, entries_ = 0;
  bool has_small_files_ = false;
};

ArchivePtr open_archive(int file) {
  ArchivePtr opened(archive_read_new());
  archive_read_support_filter_gzip(opened.get());
  archive_read_support_filter_zstd(opened.get());
  archive_read_support_filter_xz(opened.get());
  archive_read_support_format_tar(opened.get());
  archive_read_support_format_empty(opened.get());
  if (archive_read_open_fd(opened.get(), file, 256 * 1024) != ARCHIVE_OK) return opened;
  return opened;
}

bool names_oci_layout(int file) {
  const ArchivePtr from = open_archive(file);
  archive_entry* entry = nullptr;
  for (std::int64_t i = 0; i < limits::archive_entries_max; ++i) {
    if (archive_read_next_header(from.get(), &entry) != ARCHIVE_OK) return false;
    const char* path = archive_entry_pathname(entry);
    std::string_view name = path ? path : "";
    if (name.starts_with("./")) name.remove_prefix(2);
    if (name == "oci-layout") return true;
  }
  return false;
}

struct Unpacked {
  std::int64_t bytes = 0;
  bool has_small_files = false;
};
Result<Unpacked> unpack(int file, int root, const LayerLimits& limits) {
  const ArchivePtr from = open_archive(file);
  Unpacker unpacker(from.get(), root, limits);
  archive_entry* entry = nullptr;
  while (true) {
    const int status = archive_read_next_header(from.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return cannot_read(from.get());
    if (auto put = unpacker.put(entry); !put) return fail(std::move(put.error()));
  }
  return Unpacked{.bytes = unpacker.bytes(), .has_small_files = unpacker.has_small_files()};
}

// --- the process apart -----------------------------------------------------------------------------------------------

constexpr const char* look_word = "look";

// Its program and libraries are loaded; standard input is the archive, and the working directory the folder that it is
// unpacked into, if it is.
bool give_up_the_rest(bool unpacks) {
  using Access = sandbox::PathRule::Access;
  if (sandbox::sanitized_build) return true;
  if (!sandbox::forbid_new_privileges()) return false;
  std::vector<sandbox::PathRule> rules{{"/usr", Access::read}};
  if (unpacks) rules.push_back({".", Access::write});
  if (const int abi = sandbox::landlock_abi(); abi > 0 && !sandbox::apply_landlock({.paths = rules}, abi)) return false;
  return sandbox::apply_seccomp({.network = false}).has_value();
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// --- this process ----------------------------------------------------------------------------------------------------

Result<std::string> ask_unpacker(int file, int root, std::vector<std::string> words, std::int64_t bytes_max) {
  words.insert(words.begin(), {"/proc/self/exe", std::string(unpacker_word)});
  const auto ended = disks::run({.command = std::move(words),
                                 .folder = root,
                                 .input_file = file,
                                 .bytes_max = limits::disk_claim_bytes_max,
                                 .image_bytes = bytes_max});
  if (!ended) return fail(Status::internal_error(ended.error().message));
  if (ended->code == 0) return ended->output;
  return fail(ended->output.starts_with(bad_mark) ? Status::bad_request(ended->output.substr(bad_mark.size()))
              : ended->output.empty()             ? Status::internal_error(fmt::format(
                                            "a layer of the image cannot be unpacked: {}", disks::complaint(*ended)))
                                                  : Status::internal_error(ended->output));
}

}  // namespace

int run_unpacker(char* const* words) {
  const bool looks = words[0] && std::string_view(words[0]) == look_word;
  if (!words[0] || !give_up_the_rest(!looks)) return unpacker_failed;
  const auto say = [](const std::string& text) {
    return ::write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  };
  if (looks) return say(names_oci_layout(STDIN_FILENO) ? "yes" : "no") ? 0 : unpacker_failed;
  const auto bytes = number_of(words[0]), entries = words[1] ? number_of(words[1]) : std::nullopt;
  const Descriptor root(::open(".", open_folder_flags));
  if (!bytes || !entries || !root) return unpacker_failed;
  const auto done = unpack(STDIN_FILENO, root.get(), {.bytes_max = *bytes, .entries_max = *entries});
  if (!done) {
    say(fmt::format("{}{}", done.error().code == 400 ? bad_mark : "", done.error().message));
    return unpacker_failed;
  }
  return say(fmt::format("{} {}", done->bytes, done->has_small_files ? "small" : "large")) ? 0 : unpacker_failed;
}

bool is_oci_archive(const std::string& archive_file) {
  const Descriptor file(::open(archive_file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  const auto said = ask_unpacker(file.get(), -1, {look_word}, limits::disk_claim_bytes_max);
  return said && *said == "yes";
}

Result<std::int64_t> unpack_layer(const std::string& archive_file, const std::string& folder,
                                  const LayerLimits& limits) {
  const Descriptor file(::open(archive_file.c_str(), O_RDONLY | O_CLOEXEC));
  const Descriptor root(::open(folder.c_str(), open_folder_flags));
  if (!file || !root) return cannot("a layer of the image cannot be opened");
  const auto said = ask_unpacker(
      file.get(), root.get(), {fmt::to_string(limits.bytes_max), fmt::to_string(limits.entries_max)}, limits.bytes_max);
  if (!said) return fail(said.error());
  const std::size_t blank = std::min(said->find(' '), said->size());
  const auto bytes = number_of(std::string_view(*said).substr(0, blank));
  if (!bytes) return fail(Status::internal_error("a layer of the image cannot be unpacked: its reader said nothing"));
  if (said->substr(blank) == " small" && ::syncfs(root.get()) != 0)
    return cannot("a layer of the image cannot be synced");
  return *bytes;
}

}  // namespace vg::images
