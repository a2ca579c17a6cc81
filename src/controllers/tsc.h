// The frequencies that guests count time with (spec vmi-lifecycle 2.8, NODE-07).
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "config/cluster_config.h"
#include "controllers/nodes.h"

namespace vg::controllers {

struct TscOfNode {
  std::int64_t frequency = 0;  // 0: it has none that guests could rely on
  bool scalable = false;
};
TscOfNode tsc_of(const NodeInfo& node);

// VMI-T02: what every guest of the cluster can have; 0 when no node says. Absent when the configured one is none.
std::optional<std::int64_t> lowest_tsc_frequency(const Nodes& nodes, const config::ClusterConfig& config);

// Those of `asked` and its own that guests on this node can have: close enough, or lower where the node scales them.
std::set<std::int64_t> offered_frequencies(const TscOfNode& node, const std::set<std::int64_t>& asked);

}  // namespace vg::controllers
