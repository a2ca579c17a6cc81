// Claims whose data source is a volume snapshot: they are filled from the image record that it stands for, and bound
// when that is done (spec copies RST-70).
#pragma once

#include "controllers/pass.h"
#include "controllers/world.h"

namespace vg::controllers::storage {

// True while the claim is not to be bound: it asks for the copy, or waits for the record.
bool waits_for_record(Pass& pass, const Turn& turn, const json::Object& claim, const DiskClaim& disk);

}  // namespace vg::controllers::storage
