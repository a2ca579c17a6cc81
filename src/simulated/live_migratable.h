// Whether a VMI can be moved while it runs, as its node judges it (spec vmi-lifecycle 3.7).
#pragma once

#include <string>
#include <string_view>

#include "config/cluster_config.h"
#include "controllers/nodes.h"
#include "json/value.h"

namespace vg::simulated {

struct Migratable {
  std::string_view reason;  // why not; empty: it is
  std::string message;
  bool block = false;           // disks are copied
  std::string storage_reasons;  // why its volumes cannot be moved; empty: they can
};

Migratable judge_migration(const json::Object& vmi, const controllers::NodeInfo& node,
                           const config::ClusterConfig& config);

}  // namespace vg::simulated
