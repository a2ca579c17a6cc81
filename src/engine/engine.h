// Feeds controllers and carries out what they decide. A controller is pure (src/controllers/): the engine follows the
// changes of the store, queues the objects that they concern, gives each pass a world to look at, and writes what comes
// of it. One object has one pass at a time; failures wait longer each time; every object is looked at again now and
// then.
//
// Passes run on one core; events and writes are made on another one if there is one. Whoever has many objects does not
// keep others waiting: passes take turns with everything else on the core, and objects with one another.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/core.h"
#include "base/metrics.h"
#include "base/task.h"
#include "config/cluster_config.h"
#include "controllers/controller.h"
#include "objects/object_request.h"
#include "ports/disk_agent.h"
#include "ports/node_link.h"

namespace vg::engine {

class Elsewhere;
class EventSink;

class Engine {
 public:
  struct Parts {
    resources::Backend& backend;
    Core& core;
    const config::ConfigSource& config;
    metrics::Registry& metrics;
    std::span<const controllers::Controller> controllers;
    DiskAgent* disks = nullptr;  // null: this machine keeps none
    NodeLink* nodes = nullptr;   // null: no node can be asked
    controllers::ServerPlace place = {};
    EventSink* events = nullptr;             // null: events are written on the core, too
    const GuestProcesses* guests = nullptr;  // null: no guest of a node is a process of this machine
    Elsewhere* elsewhere = nullptr;          // takes a share of the writes; null: all are made on the core
  };
  explicit Engine(Parts parts);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Runs for ever, on the core. Throwing the task away ends it; this object must live longer.
  Task<void> run();
  // Nothing waits, nothing is worked on, and every change was seen. For tests.
  bool at_rest() const;
  // Why the controllers do not keep up; nothing while they do. From any thread.
  std::optional<std::string> problem() const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace vg::engine
