#include "engine/event_sink.h"

#include <functional>
#include <utility>

#include "base/controller_limits.h"

namespace vg::engine {

EventSink::EventSink(resources::Backend& backend, Core& core)
    : core_(core), carrier_({.backend = backend, .core = core, .events = events_}) {}

EventSink::~EventSink() = default;

bool EventSink::take(const controllers::EventObject& involved, const controllers::Event& event,
                     const EventSource& source) {
  if (waiting_.load(std::memory_order_relaxed) >= limits::events_waiting_max) return false;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  Item item{.waiting = {involved, event}, .component = std::string(source.component), .host = std::string(source.host)};
  core_.post([self = shared_from_this(), item = std::move(item)]() mutable { self->add(std::move(item)); });
  return true;
}

void EventSink::add(Item item) {
  Lane& lane = lanes_[std::hash<std::string_view>()(item.waiting.involved().uid) % lanes_.size()];
  lane.items.push_back(std::move(item));
  if (lane.writing.done()) lane.writing = Background(write(lane));
}

Task<void> EventSink::write(Lane& lane) {
  while (!lane.items.empty()) {
    const Item item = std::move(lane.items.front());
    lane.items.pop_front();
    waiting_.fetch_sub(1, std::memory_order_relaxed);  // now, so that one that fails does not count for ever
    controllers::Pass pass;
    pass.events.push_back({.event = item.waiting.event()});
    co_await carrier_.carry_out(pass, item.waiting.involved(), {.component = item.component, .host = item.host});
  }
}

void EventSink::stop() {
  for (Lane& lane : lanes_) {
    lane.writing = Background();
    lane.items.clear();
  }
}

}  // namespace vg::engine
