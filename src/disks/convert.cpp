#include "disks/convert.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/disk_limits.h"
#include "disks/archive.h"
#include "disks/image.h"
#include "disks/outcome.h"
#include "disks/program.h"
#include "disks/qemu_img.h"

namespace vg::disks {
namespace {

std::unexpected<Failure> does_not_fit() { return failed(DiskError::too_small, std::string(too_small_for_image)); }

std::vector<std::string> unpacker(Packing packing) {
  switch (packing) {
    case Packing::gzip:
      return {"gzip", "-dc"};
    case Packing::zstd:
      return {"zstd", "-dcq", "--no-sparse"};
    case Packing::xz:
      return {"xz", "-dc"};
    case Packing::none:
      break;
  }
  return {};
}

// What may come out: all of the image, and the tables of its format.
std::int64_t unpacked_bytes_max(const ImageTarget& target) {
  return target.size + target.size / 8 + limits::disk_format_bytes_max;
}

Outcome<> unpack(int folder, const std::string& from, const std::string& to, Packing packing,
                 const ImageTarget& target) {
  const Descriptor in(::openat(folder, from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const Descriptor out(::openat(folder, to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, image_mode));
  if (!in || !out) return system_failed("a packed image cannot be unpacked");
  const auto ended = run({.command = unpacker(packing),
                          .folder = folder,
                          .input_file = in.get(),
                          .output_file = out.get(),
                          .bytes_max = unpacked_bytes_max(target),
                          .image_bytes = target.size});
  if (!ended) return std::unexpected(ended.error());
  if (ended->wrote_too_much()) return does_not_fit();
  if (ended->errors.contains("No space left")) return failed(DiskError::no_space, std::string(too_small_for_image));
  if (ended->code != 0)
    return failed(DiskError::bad_image, fmt::format("the packed image cannot be unpacked: {}", complaint(*ended)));
  return {};
}

// DV-87: each layer at most once. The name of the file that has none of them any more.
Outcome<std::string> unpack_all(int folder, std::string file, const ImageTarget& target) {
  std::array<bool, 4> seen{};
  for (std::size_t round = 0; round < seen.size(); ++round) {
    const auto head = read_head(folder, file, magic_bytes);
    if (!head) return std::unexpected(head.error());
    if (head->size() < magic_bytes && !target.archive)
      return failed(DiskError::bad_image, "the source is shorter than any image");
    const Packing packing = packing_of(*head);
    if (packing == Packing::none || std::exchange(seen[static_cast<std::size_t>(packing)], true)) return file;
    std::string unpacked = fmt::format(".part-unpacked-{}", round);
    if (auto done = unpack(folder, file, unpacked, packing, target); !done) return std::unexpected(done.error());
    ::unlinkat(folder, file.c_str(), 0);
    file = std::move(unpacked);
  }
  return file;
}

Outcome<> make_disk(int folder, const std::string& file, const ImageTarget& target, const Progress& progress) {
  const auto checked = CheckedImage::look(folder, file, TakenFormats::every);
  if (!checked) return std::unexpected(checked.error());
  const auto size = virtual_size(*checked);
  if (!size) return std::unexpected(size.error());
  if (*size > target.size) return does_not_fit();
  if (auto converted = convert_to_raw(*checked, target.size, progress); !converted) return converted;
  const Descriptor image(::openat(folder, new_image_file, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!image) return system_failed("the image cannot be opened");
  ::fchmod(image.get(), image_mode);
  return finish_image(image.get(), target.size, target.preallocate);
}

}  // namespace

Outcome<std::string> read_head(int folder, const std::string& file, std::size_t bytes) {
  const Descriptor in(::openat(folder, file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!in) return system_failed("the source of an image cannot be opened");
  std::string head(bytes, '\0');
  const ssize_t got = ::pread(in.get(), head.data(), head.size(), 0);
  if (got < 0) return system_failed("the source of an image cannot be read");
  head.resize(static_cast<std::size_t>(got));
  return head;
}

Outcome<> finish_image(int file, std::int64_t size, bool preallocate) {
  struct stat info{};
  if (::fstat(file, &info) != 0) return system_failed("the image cannot be read");
  if (info.st_size < size && ::ftruncate(file, size) != 0) return system_failed("the image cannot grow");
  if (preallocate) {  // DV-92
    errno = ::posix_fallocate(file, 0, std::max<std::int64_t>(size, info.st_size));
    if (errno != 0) return system_failed("the room of the image cannot be reserved");
  }
  if (::fsync(file) != 0) return system_failed("the image cannot be synced");
  return {};
}

Outcome<> make_image(int folder, const std::string& file, const ImageTarget& target, const Progress& progress) {
  const auto plain = unpack_all(folder, file, target);
  if (!plain) return std::unexpected(plain.error());
  auto made = target.archive ? unpack_archive(folder, *plain, new_unpacked_folder, target.size)
                             : make_disk(folder, *plain, target, progress);
  ::unlinkat(folder, plain->c_str(), 0);
  return made;
}

}  // namespace vg::disks
