// What a file is by its first bytes (spec storage DV-86..91), and what of an image is refused before any program reads
// it: everything that names another file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "disks/outcome.h"

namespace vg::disks {

// How many bytes decide.
inline constexpr std::size_t magic_bytes = 512;

enum class Packing : std::uint8_t { none, gzip, zstd, xz };
Packing packing_of(std::string_view head);

enum class ImageFormat : std::uint8_t { raw, qcow2, vmdk, vdi, vpc, vhdx };
ImageFormat format_of(std::string_view head);
// As qemu-img names it.
std::string_view name_of(ImageFormat format);

// DV-91 and the security rules of 5.2. `head`: the first bytes of the file, as many as there are of the first 64 KiB.
Outcome<> check_head(ImageFormat format, std::string_view head);

// The virtual size that the header claims, where it has one. `file_bytes`: what a raw image is.
std::optional<std::uint64_t> claimed_size(ImageFormat format, std::string_view head, std::uint64_t file_bytes);

// What qemu-img found out, as JSON: the virtual size, or why the image is not taken.
Outcome<std::int64_t> judge_info(std::string_view info, ImageFormat format);

}  // namespace vg::disks
