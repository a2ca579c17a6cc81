// What libvirtd and the QEMUs below it may reach of this host's files. A guest that takes over its QEMU has what QEMU
// has: not the server's store, not the keys of server and node, not the homes of people.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sandbox/plan.h"

namespace vg::hypervisor {

struct GuestFolders {
  std::vector<std::string> write = {};  // of guests and of libvirt
  std::vector<std::string> read = {};   // images that guests share
};

// Pure: the folders, and of the rest of the host what programs and devices need.
std::vector<sandbox::PathRule> visible_to_guests(const GuestFolders& folders);

// A rule as a word of the reaper's command line, and back; nothing: it is none.
std::string word_of(const sandbox::PathRule& rule);
std::optional<sandbox::PathRule> rule_of(std::string_view word);

// What stands in the way of confining them; empty: nothing.
struct Confinement {
  std::vector<std::string> words = {};  // for the reaper
  std::string missing = {};             // why there are none
};
// With Mode::required a host that cannot is an error. `bridges`: guests are attached to bridges of the host by a
// program that becomes root, which nobody below a confined libvirtd can.
Result<Confinement> confine_guests(sandbox::Mode mode, const GuestFolders& folders, int landlock_abi, bool bridges);

}  // namespace vg::hypervisor
