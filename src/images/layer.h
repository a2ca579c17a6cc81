// One layer of somebody else's image, unpacked: nothing leaves the folder, no devices, no owners, no bits that give
// rights. White-outs stay as the files that they are; tree.h knows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::images {

struct LayerLimits {
  std::int64_t bytes_max = 0;  // of files, holes left out
  std::int64_t entries_max = 0;
};

// Archives are read by a process apart, which has the archive and the folder and nothing else: no other file, no
// socket, and of this process not even its memory. It is this program with this word in front; whoever uses this module
// calls run_unpacker() with what follows it before anything else. The exit code.
inline constexpr std::string_view unpacker_word = "unpack-layer";
int run_unpacker(char* const* words);

// `archive`: tar, packed by gzip, zstd, xz or not at all. `folder` exists and is empty. Tells the bytes of its files.
Result<std::int64_t> unpack_layer(const std::string& archive, const std::string& folder, const LayerLimits& limits);

// Whether the archive of an image is OCI's, by a file that only those have. Docker's have a manifest.json.
bool is_oci_archive(const std::string& archive);

}  // namespace vg::images
