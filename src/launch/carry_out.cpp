#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/image_limits.h"
#include "disks/folder.h"
#include "launch/iso.h"
#include "launch/launch.h"
#include "launch/planned.h"
#include "launch/qcow2.h"

namespace vg::launch {
namespace {

using disks::Descriptor;

constexpr std::int64_t reserved_bytes = 131072, tolerance_percent = 10;
constexpr mode_t own_folder = 0700, own_file = 0600;

Failed step_failed(const Step& step, std::string_view what) {
  const std::string whose = step.volume.empty() ? std::string() : fmt::format("volume {}: ", step.volume);
  return fail(Status::internal_error(fmt::format("{}{}", whose, what)));
}
Failed system_failed(const Step& step, std::string_view what) {
  return step_failed(step, fmt::format("{}: {}", what, std::strerror(errno)));
}

// What is not whole yet has another name, and goes when it does not become whole.
class Part {
 public:
  explicit Part(std::string path) : path_(std::move(path)), part_(path_ + ".part") { ::unlink(part_.c_str()); }
  ~Part() { ::unlink(part_.c_str()); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  const std::string& path() const { return part_; }
  Descriptor create() const {
    return Descriptor(::open(part_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, own_file));
  }
  bool finish() const { return ::rename(part_.c_str(), path_.c_str()) == 0; }

 private:
  std::string path_, part_;
};

bool exists(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}
std::int64_t size_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? info.st_size : -1;
}
std::int64_t free_bytes_beside(const std::string& path) {
  struct statvfs info{};
  const std::string folder = path.substr(0, std::max<std::size_t>(1, path.rfind('/')));
  if (::statvfs(folder.c_str(), &info) != 0) return 0;
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

// A file of this content and length; what is beyond the content is a hole.
Result<void> make_file(const Step& step, std::string_view content, std::int64_t bytes) {
  const Part part(step.path);
  const Descriptor file = part.create();
  if (!file) return system_failed(step, "a file cannot be made");
  if (!write_all(file.get(), content) || ::ftruncate(file.get(), bytes) != 0)
    return system_failed(step, "a file cannot be written");
  if (!part.finish()) return system_failed(step, "a file cannot be renamed");
  return {};
}

Result<void> make_folder(const Step& step, Made& /*made*/) {
  for (const std::string& above : step.within) {
    struct stat info{};
    if (::lstat(above.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
      return step_failed(step, fmt::format("{} is missing, which holds what must not be made anew", above));
  }
  for (std::size_t end = step.path.find('/', 1);; end = step.path.find('/', end + 1)) {
    const std::string folder = step.path.substr(0, end);
    if (::mkdir(folder.c_str(), own_folder) != 0 && errno != EEXIST)
      return system_failed(step, fmt::format("the folder {} cannot be made", folder));
    if (end == step.path.npos) return {};
  }
}

Result<void> write_file(const Step& step, Made& /*made*/) {
  return make_file(step, step.content, static_cast<std::int64_t>(step.content.size()));
}

// RUN-CI-17. Upstream leaves zeros and has the migration copy disks over them, but no CD-ROMs; on one machine the file
// is at hand, and what the guest has read of it stays true.
Result<void> copy(const Step& step, Made& made) {
  if (!exists(step.path)) {
    std::string content;
    const Descriptor source(::open(step.backing.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info{};
    if (source && ::fstat(source.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= limits::iso_bytes_max)
      content.resize(static_cast<std::size_t>(info.st_size));
    for (std::size_t have = 0; have < content.size();) {
      const ssize_t got = ::read(source.get(), content.data() + have, content.size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return system_failed(step, fmt::format("{} cannot be read", step.backing));
      have += static_cast<std::size_t>(got);
    }
    const auto bytes = content.empty() ? step.size : static_cast<std::int64_t>(content.size());
    if (auto done = make_file(step, content, bytes); !done) return done;
  }
  made.iso_bytes.emplace_back(step.volume, size_of(step.path));
  return {};
}

// What a backing file holds: raw images all that is in them, the others what their head tells.
Result<std::int64_t> virtual_size(const Step& step) {
  const std::int64_t bytes = size_of(step.backing);
  if (bytes < 0) return system_failed(step, fmt::format("{} cannot be looked at", step.backing));
  if (step.backing_format == "raw") return (bytes + 511) / 512 * 512;
  const Descriptor file(::open(step.backing.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> head{};
  const ssize_t got = file ? ::read(file.get(), head.data(), head.size()) : -1;
  if (got < 0) return system_failed(step, fmt::format("{} cannot be read", step.backing));
  return qcow2_size({head.data(), static_cast<std::size_t>(got)});
}

// RUN-CD-04, RUN-IMG-01
Result<void> make_overlay(const Step& step, Made& /*made*/) {
  if (exists(step.path)) return {};
  const auto size = virtual_size(step);
  if (!size) return fail(size.error());
  return make_file(step, qcow2_head(*size, step.backing, step.backing_format), qcow2_bytes(*size));
}

Result<void> make_empty(const Step& step, Made& /*made*/) {
  if (exists(step.path)) return {};
  return make_file(step, qcow2_head(step.size, {}, {}), qcow2_bytes(step.size));
}

bool is_within(const std::string& path, const std::vector<std::string>& folders) {
  return std::ranges::any_of(folders, [&](const std::string& folder) {
    std::error_code unknown;
    const std::string real = std::filesystem::canonical(folder, unknown).native();
    return !unknown && path.starts_with(real) && path.substr(real.size()).starts_with('/');
  });
}

// The file with all links on the way to it followed, which is what counts: names of users lead past every comparison of
// texts by /proc/self/root, by links of others, or by those of an archive.
Result<std::string> real_file(const Step& step, const std::string& path) {
  if (step.within.empty()) return path;
  std::error_code unknown;
  std::string real = std::filesystem::canonical(path, unknown).native();
  if (unknown) return step_failed(step, fmt::format("{}: {}", path, unknown.message()));
  if (!is_within(real, step.within))
    return step_failed(step, fmt::format("{} is a link to a place outside of {}", path, fmt::join(step.within, ", ")));
  return real;
}

// RUN-IMG-03
Result<void> make_raw(const Step& given, Made& made) {
  Step step = given;
  if (!step.within.empty()) {
    const auto at = step.path.rfind('/');
    std::error_code unknown;
    const std::string folder = std::filesystem::canonical(step.path.substr(0, at + 1), unknown).native();
    step.path = folder + step.path.substr(at);
    if (unknown || !is_within(step.path, step.within) || step.path.starts_with("/dev/"))
      return step_failed(step, fmt::format("{} cannot be made: its folder must be below {}", given.path,
                                           fmt::join(step.within, ", ")));
  }
  if (exists(step.path)) return {};
  const std::int64_t room = free_bytes_beside(step.path) - reserved_bytes;
  std::int64_t size = step.size;
  if (size > room) {
    if (size / 100 * (100 - tolerance_percent) > room)
      return step_failed(
          step, fmt::format("there is room for {} bytes, and the disk has {}", std::max<std::int64_t>(room, 0), size));
    size = room;
    made.tolerated.push_back(step.volume);
  }
  return make_file(step, {}, size);
}

// RUN-GRW-02, RUN-GRW-03
Result<void> grow_file(const Step& step, Made& made) {
  const Descriptor file(::open(step.path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const std::int64_t allocated = info.st_blocks * 512;
  const std::int64_t most = std::min(step.size, allocated + free_bytes_beside(step.path));
  const auto usable = static_cast<std::int64_t>(std::floor((1 - step.overhead) * static_cast<double>(most)));
  const std::int64_t possible = usable / image_unit * image_unit;
  if (possible <= info.st_size) return {};
  const bool is_whole = allocated >= info.st_size && info.st_size > 0;
  const int failed =
      is_whole ? ::posix_fallocate(file.get(), 0, possible) : (::ftruncate(file.get(), possible) == 0 ? 0 : errno);
  if (failed != 0)
    made.warnings.push_back(
        fmt::format("volume {}: the image cannot grow to {} bytes: {}", step.volume, possible, std::strerror(failed)));
  return {};
}

Result<void> check_backing(const Step& step) {
  struct stat info{};
  if (::stat(step.backing.c_str(), &info) != 0) return system_failed(step, fmt::format("there is no {}", step.backing));
  if (!S_ISREG(info.st_mode) && !S_ISBLK(info.st_mode))
    return step_failed(step, fmt::format("{} is not a disk: neither a file nor a block device", step.backing));
  return {};
}

Result<void> put_link(const Step& step) {
  const Part part(step.path);
  if (::symlink(step.backing.c_str(), part.path().c_str()) != 0) return system_failed(step, "a link cannot be made");
  if (!part.finish()) return system_failed(step, "a link cannot be renamed");
  return {};
}

Result<void> make_link(const Step& given, Made& /*made*/) {
  if (auto there = check_backing(given); !there) return there;
  auto real = real_file(given, given.backing);
  if (!real) return fail(std::move(real.error()));
  Step step = given;
  step.backing = std::move(*real);
  struct stat info{};
  if (!step.within.empty() && step.backing.starts_with("/dev/") &&
      (::stat(step.backing.c_str(), &info) != 0 || !S_ISBLK(info.st_mode)))
    return step_failed(step, fmt::format("{} is not a block device", step.backing));
  return put_link(step);
}

Result<void> link_folder(const Step& step, Made& made) {
  if (auto there = make_folder({.path = step.backing, .within = step.within}, made); !there) return there;
  return put_link(step);
}

// A hard link, so that removing an image from the store takes nothing from guests that run.
Result<void> share(const Step& step, Made& made) {
  if (exists(step.path)) return {};
  if (auto there = check_backing(step); !there) return there;
  if (::link(step.backing.c_str(), step.path.c_str()) == 0) return {};
  return make_link(step, made);
}

// RUN-CI-15
Result<void> make_iso(const Step& step, Made& made) {
  if (!exists(step.path)) {
    const Part part(step.path);
    const Descriptor file = part.create();
    if (!file) return system_failed(step, "a file cannot be made");
    if (auto written = write_iso(file.get(), step.label, step.files); !written)
      return step_failed(step, written.error().message);
    if (!part.finish()) return system_failed(step, "the ISO image cannot be renamed");
  }
  made.iso_bytes.emplace_back(step.volume, size_of(step.path));
  return {};
}

Result<void> grow(const Step& step, Made& made) {
  auto done = grow_file(step, made);
  if (const std::int64_t bytes = size_of(step.path); bytes > 0) made.grown.emplace_back(step.volume, bytes);
  return done;
}

using Act = Result<void> (*)(const Step&, Made&);
// In the order of Step::Kind.
constexpr std::array<Act, 11> acts{make_folder, write_file, make_iso,  make_overlay, make_empty, make_raw,
                                   copy,        grow,       make_link, share,        link_folder};

Result<void> remove_folder(const std::string& path) {
  if (path.empty()) return {};
  if (auto removed = disks::remove_tree(AT_FDCWD, path); !removed)
    return fail(Status::internal_error(removed.error().message));
  return {};
}

}  // namespace

Result<Made> carry_out(const std::vector<Step>& steps) {
  Made made;
  for (const Step& step : steps)
    if (auto done = acts[static_cast<std::size_t>(step.kind)](step, made); !done) return fail(std::move(done.error()));
  return made;
}

// The state itself is the claim's.
void unlink_tpm(const Folders& folders) {
  std::error_code unknown;
  const auto place = std::filesystem::read_symlink(fmt::format("{}/{}", folders.guest, tpm_link), unknown);
  if (!unknown && place.parent_path() == folders.tpm && std::filesystem::is_symlink(place, unknown))
    std::filesystem::remove(place, unknown);
}

Result<void> clear(const Folders& folders) {
  unlink_tpm(folders);
  for (const std::string& folder : {folders.guest, folders.shared})
    if (auto removed = remove_folder(folder); !removed) return removed;
  return remove_folder(folders.sockets);
}

Result<void> clear_hotplug(const Folders& folders, std::string_view volume) {
  if (!domain::is_file_name(volume)) return {};
  return remove_folder(fmt::format("{}/hotplug/{}.img", folders.guest, volume));
}

}  // namespace vg::launch
