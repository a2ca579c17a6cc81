// ISO 9660 images with Joliet and Rock Ridge, made in this process: a program took ten times as long to start as to
// write one.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "launch/launch.h"

namespace vg::launch {

// Writes to an open, empty file. The label stands in it as it is: cloud-init looks for "cidata" and "config-2".
Result<void> write_iso(int file, std::string_view label, const std::vector<Step::File>& files);

}  // namespace vg::launch
