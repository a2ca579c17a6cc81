// Conditions of a status as the controllers keep them: a list of entries, one for each type. All functions take the
// object that has the list (a status), or null for none.
#pragma once

#include <string_view>

#include "controllers/world.h"
#include "json/value.h"

namespace vg::controllers {

// Times of a condition are RFC 3339; the empty text is written as null, as Kubernetes writes a time that is not set.
struct Condition {
  std::string_view type;
  std::string_view status;  // "True", "False", "Unknown"
  std::string_view reason = {};
  std::string_view message = {};
  std::string_view last_probe = {};
  std::string_view last_transition = {};
};

// "2026-01-02T03:04:05Z"
std::string time_text(Time time);

const json::Object* find_condition(const json::Object* status, std::string_view type);
// Empty when there is none of the type.
std::string_view condition_status(const json::Object* status, std::string_view type);
std::string_view condition_reason(const json::Object* status, std::string_view type);
inline bool is_true(const json::Object* status, std::string_view type) {
  return condition_status(status, type) == "True";
}
inline bool is_false(const json::Object* status, std::string_view type) {
  return condition_status(status, type) == "False";
}

// An entry as it is stored: reason and message only where there is one.
json::Value condition_value(const Condition& condition, const json::StoragePtr& storage);

// Replaces the whole entry of the type if its status or reason differ, and leaves it alone otherwise: message and times
// stay those of the first. Appends it when there is none. True when something changed.
bool set_condition(json::Object& status, const Condition& condition);
// The same with an entry of another object.
bool set_condition(json::Object& status, const json::Object& entry);
// Status and reason as above, and other words are taken over as well.
bool set_condition_and_message(json::Object& status, const Condition& condition);
// True when there was one. A list that becomes empty stays, as an empty one.
bool drop_condition(json::Object& status, std::string_view type);

}  // namespace vg::controllers
