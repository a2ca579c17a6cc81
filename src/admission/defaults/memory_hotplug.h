// Whether the memory of a machine can grow while it runs (spec vm-instancetype 1.7).
#pragma once

#include <optional>
#include <string>

#include "base/quantity.h"
#include "json/value.h"

namespace vg::admission {

// The first reason why a guest with this spec (of a VMI, or of a VM's template) cannot grow up to `max_guest`; nothing
// when it can.
std::optional<std::string> memory_hotplug_problem(const json::Object& spec, const Quantity& max_guest);

}  // namespace vg::admission
