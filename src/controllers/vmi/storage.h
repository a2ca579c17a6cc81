// The claims of a VMI: whether they can be used, and what its status says of its volumes (spec vmi-lifecycle 2.2, 2.7).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "controllers/vmi/draft.h"

namespace vg::controllers::vmi {

enum class ClaimState : std::uint8_t {
  missing,
  unknown,    // its DataVolume is not there
  waiting,    // nothing is in it yet, and nobody made it
  first_use,  // it is filled once somebody uses it
  lost,       // what was in it is not there
  ready,
};
// `needs_image`: it is to be a disk, not a place for files.
ClaimState claim_state(const World& world, std::string_view ns, std::string_view claim, bool needs_image);
inline constexpr std::string_view claim_lost_reason = "PersistentVolumeClaimLost";

// The DataVolumes behind the volumes of a VMI that exist.
std::vector<const json::Object*> data_volumes(const Draft& draft);

// VMI-A03, A04, A08: false when the VMI cannot be placed yet; the draft knows why if that is an error.
bool volumes_are_ready(Draft& draft);
// VMI-A03: of the draft's error, once.
void tell_missing_claim(Draft& draft);

// VMI-V01..V10.
void update_volume_status(Draft& draft);

// --- what persistent TPM, firmware variables and change tracking are kept in (VMI-A10, A11, U07)

bool needs_backend_storage(const Draft& draft);
// Null when there is none.
const json::Object* backend_claim(const Draft& draft);
// False when the VMI cannot be placed yet.
bool backend_storage_is_ready(Draft& draft);
void show_backend_claim(Draft& draft);

}  // namespace vg::controllers::vmi
