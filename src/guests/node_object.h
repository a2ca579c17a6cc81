// The Node object of a node (spec vmi-lifecycle 5.1, 5.2).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/cluster_config.h"
#include "controllers/world.h"
#include "hypervisor/hypervisor.h"
#include "json/value.h"

namespace vg::guests {

// A container disk that the node has.
struct NodeImage {
  std::string reference, digest;
  std::int64_t bytes = 0;
};

struct NodeFacts {
  std::string_view name;
  const hypervisor::HostFacts& host;
  const config::ClusterConfig& config;
  unsigned sharers = 1;  // nodes of this machine, which share its CPUs and memory
  std::string_view address = {};
  std::string_view why_no_groups = {};  // why limits of guests are not the kernel's to keep; empty: they are
  bool is_schedulable = true;
  std::span<const NodeImage> images = {};
};

json::Value node_object(const NodeFacts& facts, controllers::Time now, const json::StoragePtr& storage);

// What makes the stored object say the same, as JSON patches of it and of its status: labels that are the node's own
// and true no more go, what others wrote stays.
struct NodePatches {
  json::Array object, status;
};
NodePatches node_patches(const json::Object& stored, const NodeFacts& facts, controllers::Time now,
                         const json::StoragePtr& storage);

// NODE-01: of a node that can start nothing now; empty when it says so already.
json::Array away_patch(const json::Object& stored, const json::StoragePtr& storage);

}  // namespace vg::guests
