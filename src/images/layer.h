// One layer of somebody else's image, unpacked: nothing leaves the folder, no devices, no owners, no bits that give
// rights. White-outs stay as the files that they are; tree.h knows them.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace vg::images {

struct LayerLimits {
  std::int64_t bytes_max = 0;  // of files, holes left out
  std::int64_t entries_max = 0;
};

// `archive`: tar, packed by gzip, zstd, xz or not at all. `folder` exists and is empty. Tells the bytes of its files.
Result<std::int64_t> unpack_layer(const std::string& archive, const std::string& folder, const LayerLimits& limits);

// Whether the archive of an image is OCI's, by a file that only those have. Docker's have a manifest.json.
bool is_oci_archive(const std::string& archive);

}  // namespace vg::images
