// Events of a node about its VMIs, one after the other and beside everything else: nobody waits for one.
#pragma once

#include <deque>
#include <string>

#include "base/background.h"
#include "base/clock.h"
#include "base/core.h"
#include "controllers/pass.h"
#include "engine/events.h"
#include "handler/sync/node_api.h"

namespace vg::handler {

class EventWriter {
 public:
  // All outlive this. On the core.
  EventWriter(Core& core, NodeApi& api, const Clock& clock, std::string node);

  // About the object. When too many wait it is dropped, and counted in the log.
  void tell(const json::Object& involved, const controllers::Event& event);
  // After the core has stopped.
  void stop();

 private:
  Task<void> write_all();
  Task<void> write(const engine::WaitingEvent& waiting);

  Core& core_;
  NodeApi& api_;
  const Clock& clock_;
  const std::string node_;
  engine::EventRecorder recorder_;
  std::deque<engine::WaitingEvent> waiting_;
  Background writing_;
};

}  // namespace vg::handler
