// New qcow2 images, written here: a program of its own for each would be a good part of the time that a guest takes to
// start, and what an empty image has is little (QEMU's docs/interop/qcow2.txt).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::launch {

// The first bytes of an image without content: header, reference counts, and zeros for the table of clusters. The file
// must be as long as qcow2_bytes says.
std::string qcow2_head(std::int64_t size, std::string_view backing, std::string_view backing_format);
std::int64_t qcow2_bytes(std::int64_t size);

// The virtual size that the head of a qcow2 image tells.
Result<std::int64_t> qcow2_size(std::string_view head);

}  // namespace vg::launch
