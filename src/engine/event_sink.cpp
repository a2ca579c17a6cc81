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
  Item item{.api_version = std::string(involved.api_version),
            .kind = std::string(involved.kind),
            .ns = std::string(involved.ns),
            .name = std::string(involved.name),
            .uid = std::string(involved.uid),
            .resource_version = std::string(involved.resource_version),
            .event = event,
            .component = std::string(source.component),
            .host = std::string(source.host)};
  core_.post([self = shared_from_this(), item = std::move(item)]() mutable { self->add(std::move(item)); });
  return true;
}

void EventSink::add(Item item) {
  Lane& lane = lanes_[std::hash<std::string>()(item.uid) % lanes_.size()];
  lane.items.push_back(std::move(item));
  if (lane.writing.done()) lane.writing = Background(write(lane));
}

Task<void> EventSink::write(Lane& lane) {
  while (!lane.items.empty()) {
    const Item item = std::move(lane.items.front());
    lane.items.pop_front();
    controllers::Pass pass;
    pass.events.push_back({.event = item.event});
    const controllers::EventObject involved{.api_version = item.api_version,
                                            .kind = item.kind,
                                            .ns = item.ns,
                                            .name = item.name,
                                            .uid = item.uid,
                                            .resource_version = item.resource_version};
    co_await carrier_.carry_out(pass, involved, {.component = item.component, .host = item.host});
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void EventSink::stop() {
  for (Lane& lane : lanes_) {
    lane.writing = Background();
    lane.items.clear();
  }
}

}  // namespace vg::engine
