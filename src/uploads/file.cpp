#include "uploads/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/disk_limits.h"
#include "disks/convert.h"
#include "disks/image.h"

namespace vg::uploads {
namespace {

// UPL-29
Failed too_large() {
  return refuse(400, "Saving stream failed: the upload is too large for the PVC, or the disk is full");
}

}  // namespace

Result<void> UploadFile::find_folder() {
  auto disks = disks::DiskFolder::open(path_);
  if (!disks) return refuse(500, fmt::format("Saving stream failed: {}", disks.error().message));
  auto folder = disks->claim(target_.name);
  if (!folder) return refuse(500, fmt::format("Saving stream failed: {}", folder.error().message));
  disks_ = std::move(*disks);
  folder_ = std::move(*folder);
  return {};
}

Result<void> UploadFile::open(std::int64_t length) {
  if (auto found = find_folder(); !found) return found;
  file_ = disks::Descriptor(::openat(folder_.get(), disks::upload_file,
                                     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, disks::file_mode));
  if (!file_) return refuse(500, "Saving stream failed: the file cannot be made");
  most_ = std::min(2 * target_.image.size + limits::disk_format_bytes_max, disks_->free_bytes());
  if (length > most_) return too_large();
  return {};
}

Result<void> UploadFile::write(std::string_view bytes) {
  have_ += static_cast<std::int64_t>(bytes.size());
  // Others take of the same room meanwhile, and the server's own store is there.
  if (have_ > most_ || disks_->free_bytes() == 0) return too_large();
  while (!bytes.empty()) {
    const ssize_t put = ::write(file_.get(), bytes.data(), bytes.size());
    if (put <= 0) return refuse(errno == ENOSPC ? 400 : 500, "Saving stream failed: the file cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> UploadFile::accept() {
  const auto head = disks::read_head(folder_.get(), disks::upload_file, disks::magic_bytes);
  if (!head) return refuse(500, fmt::format("Saving stream failed: {}", head.error().message));
  if (head->size() < disks::magic_bytes && !target_.image.archive)
    return refuse(400, "Saving stream failed: the upload is shorter than any image");
  const disks::ImageFormat format = disks::format_of(*head);
  if (auto checked = disks::check_head(format, *head); !checked)
    return refuse(400, fmt::format("Saving stream failed: {}", checked.error().message));
  struct stat file{};
  if (::fstatat(folder_.get(), disks::upload_file, &file, AT_SYMLINK_NOFOLLOW) != 0)
    return refuse(500, "Saving stream failed: the file cannot be read");
  // UPL-29. Told now where it can be: an asynchronous upload that fails later is waited for, for a day.
  const bool plain = !target_.image.archive && disks::packing_of(*head) == disks::Packing::none;
  const auto size = disks::claimed_size(format, *head, static_cast<std::uint64_t>(file.st_size));
  if (plain && size && *size > static_cast<std::uint64_t>(target_.image.size))
    return refuse(400, fmt::format("Saving stream failed: the image has {} bytes, and the PVC has room for {}", *size,
                                   target_.image.size));
  return {};
}

void UploadFile::remove() {
  if (folder_ || find_folder()) ::unlinkat(folder_.get(), disks::upload_file, 0);
}

}  // namespace vg::uploads
