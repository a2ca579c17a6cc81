// Filling in what a machine leaves open as a preference says (spec vm-instancetype 4.5).
#pragma once

#include <span>
#include <string_view>

#include "admission/instancetype/apply.h"
#include "json/value.h"

namespace vg::admission {

// Never conflicts: what the machine says wins, but for two members that upstream overwrites (K24).
void apply_preference(const json::Object& preference, MachineTemplate& machine);

// --- its parts

// A member of a preference, and where the machine has it.
struct Preferred {
  std::string_view from, to;
};
// Copies what `from` has and `into` has not; an empty text is as good as none.
void fill(const json::Object& from, json::Object& into, std::span<const Preferred> rows);

// preference_devices.cpp: rows 2 to 15; `devices` of the preference.
void prefer_devices(const json::Object& devices, json::Object& spec);
// preference_firmware.cpp: row 19; `firmware` of the preference.
void prefer_firmware(const json::Object& firmware, json::Object& domain);

}  // namespace vg::admission
