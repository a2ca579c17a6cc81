// Events as clients know them: one object for what happened, which counts when the same thing happens again.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "controllers/pass.h"
#include "json/value.h"

namespace vg::engine {

struct EventSource {
  std::string_view component;
  std::string_view host = {};
};

// An event that waits to be written, with what it is about: the object may be gone by then.
class WaitingEvent {
 public:
  WaitingEvent(const controllers::EventObject& involved, controllers::Event event);
  controllers::EventObject involved() const;
  const controllers::Event& event() const { return event_; }

 private:
  std::string api_version_, kind_, ns_, name_, uid_, resource_version_;
  controllers::Event event_;
};

std::string_view type_name(controllers::EventType type);

// Where an event belongs: into a new object, or on the count of the one that is there.
struct EventPlace {
  bool is_new = true;
  std::string ns, name;
  std::uint32_t count = 1;
};

// What is to be written for an event: a new object, or a patch of the one that is there.
struct EventWrite {
  bool is_new = true;
  std::string ns, name;
  json::Value document;  // the event, or a merge patch
};

EventWrite event_write(const EventPlace& place, const controllers::EventObject& involved,
                       const controllers::Event& event, const EventSource& source, std::string_view now,
                       const json::StoragePtr& storage);

// Remembers the last events, so that a repetition becomes a higher count. One thread.
class EventRecorder {
 public:
  // `serial`: something that no other event has, for its name.
  EventPlace place(const controllers::EventObject& involved, const controllers::Event& event, const EventSource& source,
                   std::uint64_t serial);
  // The same, and what is to be written. `now`: RFC 3339 with whole seconds.
  EventWrite write(const controllers::EventObject& involved, const controllers::Event& event, const EventSource& source,
                   std::string_view now, std::uint64_t serial, const json::StoragePtr& storage) {
    return event_write(place(involved, event, source, serial), involved, event, source, now, storage);
  }
  // The same was told before, and is remembered.
  bool knows(const controllers::EventObject& involved, const controllers::Event& event,
             const EventSource& source) const;
  // It could not be counted where it was thought to be: the next one makes a new object.
  void forget(std::string_view ns, std::string_view name);

 private:
  struct Known {
    std::string key;
    std::string ns, name;
    std::uint32_t count = 1;
  };
  std::list<Known> recent_;  // the last used first
  std::map<std::string, std::list<Known>::iterator, std::less<>> by_key_;
};

}  // namespace vg::engine
