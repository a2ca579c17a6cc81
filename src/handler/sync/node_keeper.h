// Keeps the Node object of this node: made or brought up to date at the start, a sign of life every minute.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/background.h"
#include "base/clock.h"
#include "controllers/nodes.h"
#include "guests/node_object.h"
#include "handler/sync/node_api.h"
#include "hypervisor/hypervisor.h"

namespace vg::handler {

class NodeKeeper {
 public:
  struct Parts {
    Core& core;
    NodeApi& api;
    hypervisor::Hypervisor& hypervisor;
    const Clock& clock;
    std::string node;
    std::string address = {};
    unsigned sharers = 1;
    std::string why_no_groups = {};
    // Which container disks are here; reads files, so it is called beside the core. Empty: none are told of.
    std::function<std::vector<guests::NodeImage>()> images = {};
    // On the core: what the Node object says now.
    std::function<void(const hypervisor::HostFacts&, controllers::NodeInfo)> written = {};
  };
  explicit NodeKeeper(Parts parts) : parts_(std::move(parts)) {}

  // On the core.
  void start();
  // On the core: now, not in a minute. For when the hypervisor came or went.
  void beat();
  // After the core has stopped.
  void stop() { running_ = Background(); }

 private:
  Task<void> run();
  Task<Result<void>> say_away();
  Task<Result<void>> write(const hypervisor::HostFacts& facts);
  Task<Result<json::Value>> put(const hypervisor::HostFacts& facts, const json::StoragePtr& storage);

  const Parts parts_;
  Background running_;
};

}  // namespace vg::handler
