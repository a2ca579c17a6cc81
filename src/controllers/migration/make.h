// New migrations, as controllers make them: the evacuation (8) and the workload updater (7).
#pragma once

#include <cstdint>
#include <string_view>

#include "controllers/pass.h"

namespace vg::controllers::migration {

struct Wanted {
  const json::Object& vmi;
  std::string_view name_prefix;
  std::uint64_t random = 0;
  std::string_view priority;
  std::string_view annotation, annotation_value;
  std::string_view label = {}, label_value = {};
};

// A create, with its events on the VMI: SuccessfulCreate, or FailedCreate. One that fails does not keep others from
// being made.
Effect make(const Wanted& wanted, const json::StoragePtr& storage);

}  // namespace vg::controllers::migration
