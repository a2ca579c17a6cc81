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
  std::vector<std::string> load = {};   // what is loaded into QEMU
  // Written as well, and seen in the place of the folder around it, which all nodes share: each has one there. Without
  // a view of their own they see that one.
  std::string own = {};
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
  std::string reach = {};               // what they reach of others although there are
};
struct GuestHost {
  int landlock_abi = 0;
  // Guests are attached to bridges of the host by a program that becomes root, which nobody below a confined libvirtd
  // can.
  bool bridges = false;
  std::string why_not_isolated = {};  // they cannot have a view of the file system of their own (sandbox/isolate.h)
};
// With Mode::required a host that cannot is an error.
Result<Confinement> confine_guests(sandbox::Mode mode, const GuestFolders& folders, const GuestHost& host);

// Whether those below a reaper that is started with these words signal nobody but each other, and so no guest that an
// earlier one has left.
bool signals_stay_within(const std::vector<std::string>& words, int landlock_abi);

}  // namespace vg::hypervisor
