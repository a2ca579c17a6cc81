// VirtualMachineInstancePresets: parts of a domain that a namespace gives to the machines whose labels match
// (spec work-objects 1.4). Upstream calls them deprecated.
#pragma once

#include <vector>

#include "admission/context.h"
#include "base/status.h"
#include "json/value.h"

namespace vg::admission {

// Merges every matching preset into `vmi`. What the machine says itself always wins. Refusals (422): a preset with a
// selector that cannot be read, or two matching presets that contradict each other.
Result<void> apply_presets(json::Object& vmi, const Context& context);

// The same with the namespace's presets in hand, in canonical form.
Result<void> apply_presets(json::Object& vmi, const std::vector<const json::Object*>& presets);

// True when an annotation says that a preset was applied, which deserves a warning.
bool carries_preset(const json::Object& vmi);

}  // namespace vg::admission
