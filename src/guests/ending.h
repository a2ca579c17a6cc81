// What a VMI says about how its guest is to end, and what is told once it did (spec vmi-lifecycle 3.6, 4.1).
#pragma once

#include <cstdint>

#include "controllers/vmi/draft.h"
#include "json/value.h"

namespace vg::guests {

inline constexpr std::int64_t usual_grace_seconds = 30;

// spec.terminationGracePeriodSeconds; nothing when it is not set.
std::optional<std::int64_t> grace_of(const json::Object& vmi);
// Whether the guest can be asked to end by its power button.
bool has_acpi(const json::Object& vmi);

// By the phase that the draft has now.
void tell_stopped(controllers::vmi::Draft& guest, bool was_killed = false);

}  // namespace vg::guests
