// The library that keeps guests away from this host's loopback addresses (preload/loopback_guard.cc), put where QEMU
// finds it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace vg {
std::string_view loopback_guard_image();  // generated (module.cmake)
}

namespace vg::hypervisor {

// Into the first of the folders that it can be loaded from, which is made; its path. Nobody whom the library is loaded
// into may write there: it is loaded here and above their confinement as well. A path with a space or colon is none for
// LD_PRELOAD, and a folder may be on a file system that nothing is executed from. The dynamic linker would go on
// without it, so it is tried here.
Result<std::string> install_guard(const std::vector<std::string>& folders);

}  // namespace vg::hypervisor
