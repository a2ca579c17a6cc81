// DataVolumes: a claim each, and a status that tells how the claim is filled (spec storage 3, 4, 6).
#pragma once

#include "controllers/controller.h"

namespace vg::controllers {

Controller data_volume_controller();

namespace storage {

// What the first part of a pass asks of the status (DV-60).
struct Asked {
  std::string reason = {}, message = {};
  std::string phase = {};  // empty: it stays as it is
};

// The whole status (4.1..4.6). `claim` may be null.
json::Value data_volume_status(const Turn& turn, const json::Object& data_volume, const json::Object* claim,
                               const Asked& asked);
// DV-45, DV-46: nothing is to be done to the claim.
bool is_adopted(const json::Object& data_volume, const json::Object& claim);
// Events that follow from the change of the status (DV-77, 4.2..4.4).
void tell_changes(Pass& pass, const json::Object& data_volume, const json::Object& status, const json::Object* claim);

}  // namespace storage
}  // namespace vg::controllers
