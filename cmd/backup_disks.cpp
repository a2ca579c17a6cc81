#include "backup_disks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include "base/disk_limits.h"
#include "base/files.h"
#include "base/limits.h"
#include "disks/copy.h"
#include "disks/folder.h"
#include "local_guests.h"

namespace vg::cmd {
namespace {

namespace fs = std::filesystem;
constexpr const char* made_file = "made";

Failed refuse_data(std::string message) { return fail(Status::internal_error(std::move(message))); }

// QEMU holds locks on images and firmware variables as long as it has them, swtpm on its state.
bool is_locked(const fs::path& folder) {
  std::error_code error;
  // Jobs make and remove folders meanwhile: what cannot be gone through counts as in use.
  for (fs::recursive_directory_iterator at(folder, error); !error && at != fs::end(at); at.increment(error)) {
    if (at.depth() > static_cast<int>(limits::archive_depth_max)) return true;  // deeper than is copied
    std::error_code gone;
    if (!at->is_symlink(gone) && at->is_regular_file(gone) && lock_holder(at->path()) != 0) return true;
  }
  return static_cast<bool>(error);
}

// A guest that began and ended meanwhile has changed it.
std::string written_at(const fs::path& folder) {
  struct stat info{};
  if (::lstat((folder / disks::image_file).c_str(), &info) != 0) return {};
  return fmt::format("{}.{}", info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

// Into a new folder, as sparse as it is. What a job works with is left out: it begins again, and it may be a secret.
Result<void> copy_folder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to, error);
  const disks::Descriptor source(::open(from.c_str(), disks::open_folder)),
      target(::open(to.c_str(), disks::open_folder));
  if (!source || !target) return refuse_data(fmt::format("cannot copy {} to {}", from.native(), to.native()));
  constexpr auto all = std::numeric_limits<std::int64_t>::max();
  if (auto copied = disks::copy_tree(source.get(), target.get(), all, ".part-"); !copied)
    return refuse_data(fmt::format("cannot copy {}: {}", from.native(), copied.error().message));
  return {};
}

Result<void> copy_claims(const fs::path& disks, const fs::path& to, const ClaimsOnDisk& claims, bool skip_used,
                         std::vector<std::string>& left_out) {
  for (const std::string& claim : claims.all) {
    const std::string before = written_at(disks / claim);
    bool used = is_locked(disks / claim);
    if (!used) {
      if (auto copied = copy_folder(disks / claim, to / claim); !copied) return copied;
      used = is_locked(disks / claim) || written_at(disks / claim) != before;
    }
    if (!used) continue;
    std::error_code error;
    fs::remove_all(to / claim, error);
    if (!skip_used) return refuse_data(fmt::format("claim {} came into use while it was copied; try again", claim));
    left_out.push_back(claim);
  }
  return {};
}

Result<void> copy_parts(const fs::path& state, const fs::path& to, const BackupParts& parts,
                        std::vector<std::string>& left_out) {
  std::error_code error;
  if (parts.disks) {
    fs::create_directories(to / "disks", error);
    const auto claims = find_claims(state);
    if (auto copied = copy_claims(state / "disks", to / "disks", claims, parts.skip_used, left_out); !copied)
      return copied;
    for (const char* kept : {".records", ".released"})
      if (fs::is_directory(state / "disks" / kept, error))
        if (auto copied = copy_folder(state / "disks" / kept, to / "disks" / kept); !copied) return copied;
  }
  if (parts.images && fs::is_directory(state / "images", error))
    if (auto copied = copy_folder(state / "images", to / "images"); !copied) return copied;
  return {};
}

}  // namespace

fs::path backup_data_folder(const std::string& file) { return file + ".data"; }

ClaimsOnDisk find_claims(const fs::path& state) {
  ClaimsOnDisk found;
  std::error_code error;
  for (const auto& ns : fs::directory_iterator(state / "disks", error)) {
    if (ns.path().filename().native().starts_with('.') || ns.is_symlink(error)) continue;
    for (const auto& claim : fs::directory_iterator(ns.path(), error)) {
      if (!claim.is_directory(error) || claim.is_symlink(error) || !fs::exists(claim.path() / disks::note_file, error))
        continue;
      found.all.push_back(fmt::format("{}/{}", ns.path().filename().native(), claim.path().filename().native()));
    }
  }
  std::ranges::sort(found.all);
  for (const std::string& claim : found.all)
    if (is_locked(state / "disks" / claim)) found.used.push_back(claim);
  return found;
}

Result<void> check_backup_parts(const fs::path& state, const std::string& file, const BackupParts& parts) {
  std::error_code error;
  if ((parts.disks || parts.images) && fs::exists(fs::symlink_status(backup_data_folder(file), error)))
    return refuse_data(
        fmt::format("{} already exists; remove it, or name another file", backup_data_folder(file).native()));
  if (!parts.disks || parts.skip_used) return {};
  const auto claims = find_claims(state);
  if (claims.used.empty()) return {};
  return refuse_data(
      fmt::format("guests use the disks of {}, so that no copy of them would be whole; stop their VMs, take "
                  "snapshots of them instead, or leave them out with --skip-used",
                  fmt::join(claims.used, ", ")));
}

Result<std::vector<std::string>> write_backup_data(const fs::path& state, const std::string& file,
                                                   const BackupParts& parts, std::string_view made) {
  std::vector<std::string> left_out;
  if (!parts.disks && !parts.images) return left_out;
  const fs::path whole = backup_data_folder(file), partial = whole.native() + ".partial";
  std::error_code error;
  fs::remove_all(partial, error);
  // Files in it may be readable for all: in the state folder nobody else gets to them.
  if (::mkdir(partial.c_str(), S_IRWXU) != 0)
    return refuse_data(fmt::format("cannot make {}: {}", partial.native(), std::strerror(errno)));
  auto done = copy_parts(state, partial, parts, left_out);
  if (done) done = write_file((partial / made_file).native(), made, S_IRUSR | S_IWUSR);
  if (done && ::rename(partial.c_str(), whole.c_str()) != 0)
    done = refuse_data(fmt::format("cannot rename {}", partial.native()));
  if (done) return left_out;
  fs::remove_all(partial, error);
  return fail(std::move(done.error()));
}

Result<BackupParts> unpack_backup_data(const std::string& file, const fs::path& into, std::string_view made) {
  const fs::path data = backup_data_folder(file);
  std::error_code error;
  BackupParts parts;
  if (!fs::is_directory(data, error)) return parts;
  const auto of = read_file((data / made_file).native(), limits::config_file_bytes_max);
  if (!of || *of != made) return refuse_data(fmt::format("{} is not of the backup {}", data.native(), file));
  parts = {.disks = fs::is_directory(data / "disks", error), .images = fs::is_directory(data / "images", error)};
  for (const auto& [wanted, name] : {std::pair(parts.disks, "disks"), std::pair(parts.images, "images")})
    if (wanted)
      if (auto copied = copy_folder(data / name, into / name); !copied) return fail(std::move(copied.error()));
  return parts;
}

}  // namespace vg::cmd
