// What libvirt wrote about a guest's panic into the log of its QEMU (RUN-EVT-03).
#pragma once

#include <string>
#include <string_view>

namespace vg::hypervisor {

// The last line that tells of one, without its time: "hyper-v: arg1='0x1', arg2='0x2', ...". Empty: there is none.
std::string last_panic(std::string_view log);
// The same of a file's end.
std::string panic_text(const std::string& file);

}  // namespace vg::hypervisor
