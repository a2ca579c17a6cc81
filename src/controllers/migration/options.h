// How a VMI is migrated (spec migration-and-fleets 2.11): the cluster's settings over the defaults, and the settings of
// the policy that fits the VMI best over those.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/cluster_config.h"
#include "json/value.h"

namespace vg::controllers::migration {

struct Options {
  json::Object values;      // as status.migrationState.migrationConfiguration shows them
  std::string_view policy;  // its name; empty: none fits
};

// What every migration has without a policy.
json::Object cluster_options(const config::ClusterConfig& config, const json::StoragePtr& storage);
// Labels may be null.
Options options_for(const json::Object* vmi_labels, const json::Object* namespace_labels,
                    const std::vector<const json::Object*>& policies, const config::ClusterConfig& config,
                    const json::StoragePtr& storage);

struct Limits {
  std::int64_t in_cluster = 0;
  std::int64_t from_node = 0;
};
// How many migrations there may be at once.
Limits limits_of(const config::ClusterConfig& config);

}  // namespace vg::controllers::migration
