// Claims that are filled from an image record (spec copies RST-21, RST-70).
#pragma once

#include <optional>
#include <string_view>

#include "controllers/world.h"
#include "json/value.h"

namespace vg::controllers::copies {

// The record behind a volume snapshot of this namespace.
std::optional<ImageRecord> find_record(const Turn& turn, std::string_view volume_snapshot);

// A claim as the saved one, without metadata: no smaller than the data, which it names as its source.
json::Value claim_from_record(const Turn& turn, const json::Object& saved_claim, std::string_view volume_snapshot,
                              const ImageRecord& record);

}  // namespace vg::controllers::copies
