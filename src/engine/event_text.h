// The text of a new event, as the write path would store it: nothing in it is unknown, so it is written at once instead
// of being made as values, judged and turned into text. Of all that is written while VMs start a third are events.
#pragma once

#include <optional>
#include <string_view>

#include "controllers/pass.h"
#include "engine/events.h"
#include "ports/stored_object.h"

namespace vg::engine {

struct NewEvent {
  std::string_view ns, name, uid;  // of the event itself
  const controllers::EventObject& involved;
  const controllers::Event& event;
  const EventSource& source;
  std::string_view manager;  // to whom its fields belong
  std::string_view now;      // RFC 3339 with whole seconds
};

// Nothing for one that lacks something, or whose name or size has to be judged: that goes the ordinary way.
std::optional<ObjectDraft> plain_event(const NewEvent& event);

}  // namespace vg::engine
