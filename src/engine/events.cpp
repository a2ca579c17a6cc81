#include "engine/events.h"

#include <fmt/format.h>

#include "base/controller_limits.h"

namespace vg::engine {
namespace {

constexpr std::string_view cluster_events_namespace = "default";  // as Kubernetes has it for objects without one

std::string key_of(const controllers::EventObject& involved, const controllers::Event& event,
                   const EventSource& source) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", involved.uid, involved.name, involved.kind, event.reason,
                     type_name(event.type), source.component, event.message);
}

json::Value new_event(const EventPlace& to, const controllers::EventObject& involved, const controllers::Event& event,
                      const EventSource& source, std::string_view now, const json::StoragePtr& storage) {
  json::Object from({{"component", source.component}}, storage);
  if (!source.host.empty()) from["host"] = source.host;
  return json::Value({{"apiVersion", "v1"},
                      {"kind", "Event"},
                      {"metadata", {{"name", to.name}, {"namespace", to.ns}}},
                      {"involvedObject",
                       {{"kind", involved.kind},
                        {"namespace", involved.ns},
                        {"name", involved.name},
                        {"uid", involved.uid},
                        {"apiVersion", involved.api_version},
                        {"resourceVersion", involved.resource_version}}},
                      {"reason", event.reason},
                      {"message", event.message},
                      {"source", std::move(from)},
                      {"firstTimestamp", now},
                      {"lastTimestamp", now},
                      {"count", 1},
                      {"type", type_name(event.type)},
                      {"eventTime", nullptr},
                      {"reportingComponent", source.component},
                      {"reportingInstance", source.host}},
                     storage);
}

}  // namespace

WaitingEvent::WaitingEvent(const controllers::EventObject& involved, controllers::Event event)
    : api_version_(involved.api_version),
      kind_(involved.kind),
      ns_(involved.ns),
      name_(involved.name),
      uid_(involved.uid),
      resource_version_(involved.resource_version),
      event_(std::move(event)) {}

controllers::EventObject WaitingEvent::involved() const {
  return {.api_version = api_version_,
          .kind = kind_,
          .ns = ns_,
          .name = name_,
          .uid = uid_,
          .resource_version = resource_version_};
}

std::string_view type_name(controllers::EventType type) {
  return type == controllers::EventType::normal ? "Normal" : "Warning";
}

EventPlace EventRecorder::place(const controllers::EventObject& involved, const controllers::Event& event,
                                const EventSource& source, std::uint64_t serial) {
  std::string key = key_of(involved, event, source);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    Known& known = *found->second;
    ++known.count;
    return {.is_new = false, .ns = known.ns, .name = known.name, .count = known.count};
  }
  EventPlace made{.is_new = true,
                  .ns = std::string(involved.ns.empty() ? cluster_events_namespace : involved.ns),
                  .name = fmt::format("{}.{:016x}", involved.name, serial)};
  recent_.push_front({.key = key, .ns = made.ns, .name = made.name, .count = 1});
  by_key_.emplace(std::move(key), recent_.begin());
  if (recent_.size() > limits::remembered_events_max) {
    by_key_.erase(recent_.back().key);
    recent_.pop_back();
  }
  return made;
}

EventWrite event_write(const EventPlace& place, const controllers::EventObject& involved,
                       const controllers::Event& event, const EventSource& source, std::string_view now,
                       const json::StoragePtr& storage) {
  return {.is_new = place.is_new,
          .ns = place.ns,
          .name = place.name,
          .document = place.is_new ? new_event(place, involved, event, source, now, storage)
                                   : json::Value({{"count", place.count}, {"lastTimestamp", now}}, storage)};
}

bool EventRecorder::knows(const controllers::EventObject& involved, const controllers::Event& event,
                          const EventSource& source) const {
  return by_key_.contains(key_of(involved, event, source));
}

void EventRecorder::forget(std::string_view ns, std::string_view name) {
  for (auto known = recent_.begin(); known != recent_.end(); ++known)
    if (known->ns == ns && known->name == name) {
      by_key_.erase(known->key);
      recent_.erase(known);
      return;
    }
}

}  // namespace vg::engine
