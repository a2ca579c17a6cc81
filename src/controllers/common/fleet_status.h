// What replica sets and pools tell of themselves in the same way: counts, whether they are paused, and when a status is
// written.
#pragma once

#include <cstdint>
#include <string_view>

#include "controllers/pass.h"
#include "controllers/world.h"
#include "json/value.h"

namespace vg::controllers {

// A count of zero is left out, as upstream's types do.
void set_count(json::Object& status, std::string_view name, std::int64_t count);

// The words of one kind of fleet.
struct PausedTexts {
  std::string_view condition_reason;
  std::string_view paused;  // message of the condition and of the event
  std::string_view resumed_reason;
  std::string_view resumed;
};
// Keeps the condition ReplicaPaused, and tells both changes by an event.
void show_paused(json::Object& status, bool is_paused, const PausedTexts& texts, const Turn& turn, Pass& pass);

// Writes `changed`, a copy of the object with a new status, unless the status is the same. An empty list of conditions
// is left out.
void update_fleet_status(Pass& pass, const Turn& turn, std::string_view resource, const json::Object& object,
                         json::Object changed);

}  // namespace vg::controllers
