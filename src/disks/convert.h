// From bytes that came from elsewhere to an image of our own (spec storage 5.2): unpack, judge, convert, grow. Works in
// the folder of a claim, on files whose names begin with ".part".
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "disks/outcome.h"
#include "ports/disk_agent.h"

namespace vg::disks {

using Progress = std::function<void(int)>;  // hundredths of a percent

inline constexpr std::string_view too_small_for_image =
    "DataVolume too small to contain image";  // DV-90: clients know it
inline constexpr const char* new_image_file = ".part-disk";
inline constexpr const char* new_unpacked_folder = ".part-data";

// Makes new_image_file (or new_unpacked_folder) of `file`, which may go.
Outcome<> make_image(int folder, const std::string& file, const ImageTarget& target, const Progress& progress);
// The image has this size at least, with its room reserved if wanted, and is on the disk.
Outcome<> finish_image(int file, std::int64_t size, bool preallocate);
// The first bytes of a file.
Outcome<std::string> read_head(int folder, const std::string& file, std::size_t bytes);

}  // namespace vg::disks
