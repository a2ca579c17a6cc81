// How guests end (spec vmi-lifecycle 3.5, 4.1, 4.2).
#pragma once

#include <cstdint>
#include <string_view>

#include "controllers/vmi/draft.h"
#include "simulated/settings.h"

namespace vg::simulated {

enum class End : std::uint8_t {
  powered_off,   // by the guest, or because it was asked to
  crashed,       // the hypervisor's process died, or the guest panicked
  killed,        // by us
  never_booted,  // there was no guest yet
};

// The phase that a VMI has then.
std::string_view phase_after(End end, bool has_acpi, std::int64_t grace_seconds);

void end(controllers::vmi::Draft& guest, End how);
// The VMI is deleted: the guest is asked to end, and ended when it does not.
void stop(controllers::vmi::Draft& guest, const Settings& settings);

}  // namespace vg::simulated
