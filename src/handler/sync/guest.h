// What the steps of a pass share.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/core.h"
#include "controllers/nodes.h"
#include "controllers/pass.h"
#include "guests/agent_facts.h"
#include "guests/build.h"
#include "guests/case.h"
#include "guests/growth.h"
#include "guests/migration_request.h"
#include "handler/sync/event_writer.h"
#include "handler/sync/guest_files.h"
#include "handler/sync/guest_groups.h"
#include "handler/sync/node_api.h"
#include "handler/sync/records.h"
#include "hypervisor/hypervisor.h"

namespace vg::handler {

using AgentLook = std::function<std::shared_ptr<const guests::AgentFacts>(std::string_view domain)>;

// A node of this machine that guests may go to.
struct OtherNode {
  std::string uri;  // of its hypervisor
  guests::NodePaths paths;
};

// Everything that the loop uses; all outlives it.
struct LoopParts {
  Core& core;
  NodeApi& api;
  hypervisor::Hypervisor& hypervisor;
  GuestFiles& files;
  Records& records;
  const Clock& clock;
  std::string node;
  guests::Host host = {};
  AgentLook agent = {};
  controllers::NodeInfo info = {};  // what the Node object says
  guests::NodePaths paths = {};
  std::string address = {};    // that a migration's target shows
  std::string authority = {};  // certificates of the API server's, for disks of service accounts
  std::function<OtherNode(std::string_view node)> other_node = {};
  GuestGroups groups = {};
};

// NAMESPACE_NAME
std::string domain_name(const Key& key);
// Nothing when it is none.
std::optional<Key> key_of_domain(std::string_view name);

// How a step went.
struct Outcome {
  std::optional<Status> error = {};
  std::optional<std::chrono::milliseconds> again = {};
  std::vector<controllers::Event> events = {};      // told whatever comes
  std::optional<GuestFiles::Awaited> awaited = {};  // what the guest's start waits for
  bool is_known = false;                            // the error is the last attempt's, and was told then
  guests::Grown grown = {};

  void look_again(std::chrono::milliseconds after) { again = again ? std::min(*again, after) : after; }
  void tell(controllers::EventType type, std::string_view reason, std::string message) {
    events.push_back({.type = type, .reason = std::string(reason), .message = std::move(message)});
  }
};

// One VMI in one pass. The VMI is in canonical form.
struct Work {
  const Key& key;
  const json::Value& vmi;
  std::string uid;
  std::string domain;  // its name
  guests::Remembered& remembered;
  json::StoragePtr storage;
};

}  // namespace vg::handler
