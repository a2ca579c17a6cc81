// What is copied of a VM: its volumes with their claims, and in which state those are (spec copies 0: VOLS, CN, POP).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/world.h"
#include "json/value.h"

namespace vg::controllers::copies {

using json::Array;
using json::Object;
using json::Value;
using std::string_view;

struct SourceVolume {
  std::string name;
  string_view claim;               // CN; empty: no claim
  const Object* volume = nullptr;  // of the template; null: what the VM keeps of its firmware
  // A claim, a DataVolume or a memory dump: its absence from a copy is worth telling.
  bool is_claim() const { return !claim.empty(); }
};

struct SourceVolumes {
  std::vector<SourceVolume> all = {};
  bool no_backend = false;  // what the VM keeps of its firmware is nowhere
};

// A persistent TPM or EFI, or tracked blocks.
bool needs_persistent_state(const Object& vm);
// The claim of it; null for none.
const Object* persistent_state(const World& world, string_view ns, string_view vm);
// VOLS of a VM, or of one that a snapshot holds, which has metadata and a spec as well.
SourceVolumes volumes_of(const World& world, string_view ns, const Object& vm);

// POP
bool is_populated(const World& world, const Object& claim);
string_view claim_phase(const Object& claim);
// Whether this machine keeps the claim: only those can be copied (spec copies 1.4, 2).
bool is_local(const Object& claim);
inline constexpr string_view local_class = "local";

// A VMI of the name that is not over.
bool is_running(const World& world, string_view ns, string_view vm);
// Somebody other than a VMI of this name writes the claim, or runs on it (STO-04).
bool is_busy(const World& world, string_view ns, string_view claim, string_view vm);

}  // namespace vg::controllers::copies
