// An archive of somebody else, unpacked into the folder of a claim (spec storage DV-93): nothing leaves the folder, no
// devices, no owners.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "disks/outcome.h"

namespace vg::disks {

// The steps of a path in an archive, "." left out; an error for one that is absolute or goes up.
Outcome<std::vector<std::string>> steps_of(std::string_view path);

// `file` and `to` are in the folder; `to` is made.
Outcome<> unpack_archive(int folder, const std::string& file, const std::string& to, std::int64_t bytes_max);

}  // namespace vg::disks
