// Writes events on another core than the one that has the passes: a third of all that is written when many VMs start
// are events, and nobody waits for one. Those of one object stay in their order.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "base/background.h"
#include "base/core.h"
#include "engine/carry_out.h"
#include "engine/events.h"

namespace vg::engine {

class EventSink : public std::enable_shared_from_this<EventSink> {
 public:
  // Held by a shared_ptr. The core may be any; the backend outlives this.
  EventSink(resources::Backend& backend, Core& core);
  ~EventSink();
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;

  // From any thread. False when too many wait: whoever has an event to tell does it then, and goes on slower.
  bool take(const controllers::EventObject& involved, const controllers::Event& event, const EventSource& source);
  // After the cores have stopped: what waits is not written.
  void stop();

 private:
  struct Item {
    WaitingEvent waiting;
    std::string component, host;
  };
  struct Lane {
    std::deque<Item> items;
    Background writing;
  };
  void add(Item item);
  Task<void> write(Lane& lane);

  Core& core_;
  EventRecorder events_;
  Carrier carrier_;
  std::array<Lane, 32> lanes_;  // by object; each has one write on its way
  std::atomic<std::size_t> waiting_ = 0;
};

}  // namespace vg::engine
