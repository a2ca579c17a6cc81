// Where administrators keep disks of the host that guests may have (hostDisk). Read by what confines QEMU and by what
// judges the paths of host disks, which must not differ.
#pragma once

#include <array>
#include <string_view>

namespace vg::sandbox {

inline constexpr std::array<std::string_view, 4> host_folders{"/data", "/mnt", "/media", "/srv"};

}  // namespace vg::sandbox
