// Copies of images: a reflink where the file system has them, else what is not a hole (spec copies STO-02).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "disks/outcome.h"

namespace vg::disks {

// Bytes that a copy has to write: the size without its holes.
Outcome<std::int64_t> data_bytes(int file);

// `to` is a new and empty file. `copied` is told how many bytes were written so far.
Outcome<> copy_image(int from, int to, const std::function<void(std::int64_t)>& copied);

// What is zero in it takes no room any more.
Outcome<> punch_holes(int file);

// What is in one folder into another, which is new and empty: files, folders and links, all else is left out. An error
// when it takes more than `bytes_max`. `but`: so begin the names of what is left out of the folder itself; empty: none.
Outcome<> copy_tree(int from, int to, std::int64_t bytes_max, std::string_view but = {});

}  // namespace vg::disks
