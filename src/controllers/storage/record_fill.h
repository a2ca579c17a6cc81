// Claims whose data source is a volume snapshot: they are filled from the image record that it stands for, and bound
// when that is done (spec copies RST-70).
#pragma once

#include <string>

#include "controllers/pass.h"
#include "controllers/world.h"

namespace vg::controllers::storage {

// True while the claim is not to be bound: it asks for the copy, or waits for the record.
bool waits_for_record(Pass& pass, const Turn& turn, const json::Object& claim, const DiskClaim& disk);

// Why a claim is not bound that asks for a content which nobody here puts into it: it would be blank, and look like the
// copy that was asked for. Empty: it asks for none, or for a volume snapshot of its namespace.
std::string unknown_source(const json::Object& claim);

}  // namespace vg::controllers::storage
