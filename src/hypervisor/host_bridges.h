// Bridges of this host, which an ordinary user attaches guests to by QEMU's helper, where the administrator allows it:
// the helper is root's (setuid) and reads the list of bridges itself.
#pragma once

#include <string>

namespace vg::hypervisor {

// The administrator has done both: the helper may become root, and there is a list. Whoever starts libvirtd must leave
// it the right to run such programs then (no "no_new_privs").
bool bridges_allowed();

// Why guests cannot be attached to that bridge; empty: they can, as far as can be told before the helper is asked.
// `bridge`: a name without a slash.
std::string bridge_problem(const std::string& bridge);

}  // namespace vg::hypervisor
