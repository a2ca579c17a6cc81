// What `virtgate serve` runs VMs on when it is not told: this host, where it can.
#pragma once

#include <optional>
#include <string>

#include "confine.h"

namespace vg::cmd {

// Why guests cannot be run on this host; nothing: they can. `libvirt`: URI of one that is there; empty: one is started.
std::optional<std::string> why_no_guests(const ConfineOptions& options, const std::string& state,
                                         const std::string& libvirt);

}  // namespace vg::cmd
