#include "disks/image.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/disk_limits.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::disks {
namespace {

using namespace std::string_view_literals;

std::uint64_t big_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i)
    value = value << 8U | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
  return value;
}

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;)
    value = value << 8U | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
  return value;
}

struct Magic {
  ImageFormat format;
  std::size_t at;
  std::string_view bytes;
};
constexpr std::array magics = std::to_array<Magic>({
    {ImageFormat::qcow2, 0, "QFI\xfb"sv},
    {ImageFormat::vmdk, 0, "KDMV"sv},
    {ImageFormat::vmdk, 0, "COWD"sv},
    {ImageFormat::vmdk, 0, "# Disk DescriptorFile"sv},
    {ImageFormat::vdi, 64, "\x7f\x10\xda\xbe"sv},
    {ImageFormat::vhdx, 0, "vhdxfile"sv},
    {ImageFormat::vpc, 0, "conectix"sv},
});

std::unexpected<Failure> image_refused(std::string message) { return failed(DiskError::bad_image, std::move(message)); }

// What follows the header: refused is whatever names another file, or where keys are.
Outcome<> check_qcow2_extensions(std::string_view head, std::size_t at) {
  constexpr std::uint64_t end = 0, data_file = 0x44415441, encryption = 0x0537be77, backing_format = 0xe2792aca;
  while (at + 8 <= head.size()) {
    const std::uint64_t type = big_endian(head, at, 4), length = big_endian(head, at + 4, 4);
    if (type == end) return {};
    if (type == data_file) return image_refused("the image has an external data file, and images must be complete");
    if (type == encryption) return image_refused("the image is encrypted, and nobody here has its key");
    at += 8;
    if (length > head.size() - at) return image_refused("the qcow2 image has a header that is too long");
    const std::string_view text = head.substr(at, length);
    if (type == backing_format && text.find_first_of(":/{") != text.npos)
      return image_refused("the image refers to other files, and images must be complete");
    at += (length + 7) / 8 * 8;
  }
  return {};
}

// Version 2 or 3; the header says by itself whether there are other files.
Outcome<> check_qcow2(std::string_view head) {
  constexpr std::uint64_t external_data_file = 4;
  if (big_endian(head, 4, 4) < 2 || big_endian(head, 4, 4) > 3)
    return image_refused("the qcow2 image has a version that is not supported");
  if (big_endian(head, 8, 8) != 0) return image_refused("the image has a backing file, and images must be complete");
  if (big_endian(head, 4, 4) == 3 && (big_endian(head, 72, 8) & external_data_file) != 0)
    return image_refused("the image has an external data file, and images must be complete");
  if (big_endian(head, 32, 4) != 0) return image_refused("the image is encrypted, and nobody here has its key");
  const std::uint64_t header_length = big_endian(head, 4, 4) == 2 ? 72 : std::max(big_endian(head, 100, 4), 104UL);
  if (header_length > limits::image_head_bytes / 2)
    return image_refused("the qcow2 image has a header that is too long");
  return check_qcow2_extensions(head, header_length);
}

// Only images that are one file: a descriptor, or a header without capacity, names others.
Outcome<> check_vmdk(std::string_view head) {
  if (!head.starts_with("KDMV"))
    return image_refused("the VMDK image refers to other files, and images must be complete");
  if (little_endian(head, 12, 8) == 0)
    return image_refused("the VMDK image refers to other files, and images must be complete");
  return {};
}

Outcome<> check_vpc(std::string_view head) {
  constexpr std::uint64_t differencing = 4;
  if (big_endian(head, 60, 4) == differencing)
    return image_refused("the VHD image has a parent, and images must be complete");
  return {};
}

bool names_other_files(const json::Value& info) {
  if (json::find(info, "backing-filename") || json::find(info, "full-backing-filename")) return true;
  const json::Value* data = json::find_path(info, {"format-specific", "data"});
  if (!data) return false;
  if (json::find(*data, "data-file")) return true;
  const json::Array* extents = json::get_array(*data, "extents");
  return extents && extents->size() > 1;
}

}  // namespace

Packing packing_of(std::string_view head) {
  if (head.starts_with("\x1f\x8b"sv)) return Packing::gzip;
  if (head.starts_with("\x28\xb5\x2f\xfd"sv)) return Packing::zstd;
  if (head.starts_with("\xfd\x37\x7a\x58\x5a\x00"sv)) return Packing::xz;
  return Packing::none;
}

ImageFormat format_of(std::string_view head) {
  for (const Magic& magic : magics)
    if (head.size() >= magic.at && head.substr(magic.at).starts_with(magic.bytes)) return magic.format;
  return ImageFormat::raw;
}

std::string_view name_of(ImageFormat format) {
  constexpr std::array<std::string_view, 6> names{"raw", "qcow2", "vmdk", "vdi", "vpc", "vhdx"};
  return names[static_cast<std::size_t>(format)];
}

Outcome<> check_head(ImageFormat format, std::string_view head) {
  switch (format) {
    case ImageFormat::qcow2:
      return check_qcow2(head);
    case ImageFormat::vmdk:
      return check_vmdk(head);
    case ImageFormat::vpc:
      return check_vpc(head);
    default:
      return {};
  }
}

std::optional<std::uint64_t> claimed_size(ImageFormat format, std::string_view head, std::uint64_t file_bytes) {
  constexpr std::uint64_t sector_bytes = 512, everything = std::numeric_limits<std::uint64_t>::max();
  switch (format) {
    case ImageFormat::raw:
      return file_bytes;
    case ImageFormat::qcow2:
      return big_endian(head, 24, 8);
    case ImageFormat::vmdk:
      return std::min(little_endian(head, 12, 8), everything / sector_bytes) * sector_bytes;
    case ImageFormat::vdi:
      return little_endian(head, 368, 8);
    case ImageFormat::vpc:
      return big_endian(head, 48, 8);
    case ImageFormat::vhdx:
      return std::nullopt;  // in a table somewhere
  }
  return std::nullopt;
}

Outcome<std::int64_t> judge_info(std::string_view info, ImageFormat format) {
  const auto document = json::Document::parse(info);
  if (!document) return image_refused("the image cannot be read");
  const json::Value& root = document->root();
  if (json::get_string_or(root, "format") != name_of(format))
    return image_refused("the image is of another format than its header says");
  if (json::get_bool_or(root, "encrypted", false))
    return image_refused("the image is encrypted, and nobody here has its key");
  if (names_other_files(root)) return image_refused("the image refers to other files, and images must be complete");
  const auto size = json::get_int(root, "virtual-size");
  if (!size || *size < 0 || *size > limits::disk_claim_bytes_max)
    return image_refused("the image has no size that can be used");
  return *size;
}

}  // namespace vg::disks
