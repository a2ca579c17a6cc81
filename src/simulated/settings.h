// What a made-up guest does and how long it takes: annotations of its VMI, else labels of its node, else what is usual.
// docs/simulated-node.md lists them for users.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string_view>

#include "controllers/nodes.h"
#include "json/value.h"

namespace vg::simulated {

using std::chrono::milliseconds;

// Nodes of this program bear it with the value "true"; all others are somebody else's.
inline constexpr std::string_view node_label = "simulated.virtgate.io/node";
// What is to happen to the guest now. Taken off once it happened.
inline constexpr std::string_view order_annotation = "simulated.virtgate.io/do";
// When a frozen guest thaws by itself: RFC 3339. Written by the node.
inline constexpr std::string_view thaw_annotation = "simulated.virtgate.io/thaw-at";

struct Settings {
  milliseconds boot{1000};       // from Scheduled to Running
  milliseconds shutdown{1000};   // from the request to the end
  milliseconds migration{1000};  // of a memory whose bandwidth is not limited
  milliseconds agent{0};         // from Running until the guest agent is connected
  bool no_agent = false;         // there is none
  bool boot_fails = false;
  bool ignores_shutdown = false;  // it ends with the grace period
  bool migration_fails = false;
  bool silent = false;                        // of a node: it sends no heartbeat
  std::optional<milliseconds> crash = {};     // after Running
  std::optional<milliseconds> poweroff = {};  // after Running
};

// The names behind the prefix "simulated.virtgate.io/", for the documentation's test.
std::span<const std::string_view> setting_names();

// What is not readable counts as not there.
Settings settings_of(const json::Object& vmi, const controllers::NodeInfo& node);
bool is_silent(const controllers::NodeInfo& node);
// A node of this program.
bool is_simulated(const controllers::NodeInfo* node);

}  // namespace vg::simulated
