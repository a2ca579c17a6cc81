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

// Whether the machine was sent with an object of requests that is empty. It leaves no room for the requests of a
// preset, and canonical form does not tell it from none: to be asked of the machine as it was sent, null for none.
bool sends_empty_requests(const json::Value* vmi);

// True when an annotation says that a preset was applied, which deserves a warning.
bool carries_preset(const json::Object& vmi);

}  // namespace vg::admission
