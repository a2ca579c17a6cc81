// What clients find out about storage on one machine: the class `local`, its profile, and the configuration that CDI
// would have (spec storage 1.3, 10).
#pragma once

#include <string>

#include "objects/planned_writes.h"

namespace vg::resources {

struct StorageFacts {
  // Claims and DataVolumes that name no class get `local`. Not where others may be the storage of the cluster.
  bool is_default = true;
  std::string upload_url = {};        // https://host:port
  std::string upload_authority = {};  // PEM
};

// The class and its profile are made once: whoever deletes or changes them does so for good. The status of the
// configuration is kept.
void plan_storage_objects(PlannedWrites& planner, const StorageFacts& facts);

}  // namespace vg::resources
