#include "controllers/common/conditions.h"

#include <algorithm>

#include "base/time_rfc3339.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

json::Value* find_entry(json::Array& conditions, std::string_view type) {
  const auto found = std::ranges::find_if(
      conditions, [&](const json::Value& entry) { return json::get_string_or(entry, "type") == type; });
  return found == conditions.end() ? nullptr : &*found;
}

json::Value time_value(std::string_view time, const json::StoragePtr& storage) {
  return time.empty() ? json::Value(nullptr, storage) : json::Value(time, storage);
}

bool same_state(const json::Value& entry, const json::Object& wanted) {
  return json::get_string_or(entry, "status") == json::get_string_or(wanted, "status") &&
         json::get_string_or(entry, "reason") == json::get_string_or(wanted, "reason");
}

bool put(json::Object& status, const json::Object& wanted, bool words_count) {
  json::Array& conditions = json::ensure_array(status, "conditions");
  json::Value* entry = find_entry(conditions, json::get_string_or(wanted, "type"));
  if (!entry) {
    conditions.emplace_back(wanted);
    return true;
  }
  if (same_state(*entry, wanted) &&
      (!words_count || json::get_string_or(*entry, "message") == json::get_string_or(wanted, "message")))
    return false;
  *entry = wanted;
  return true;
}

}  // namespace

std::string time_text(Time time) { return print_rfc3339({.seconds = Timestamp::from(time).seconds, .nanoseconds = 0}); }

const json::Object* find_condition(const json::Object* status, std::string_view type) {
  const json::Array* conditions = status ? json::get_array(*status, "conditions") : nullptr;
  if (!conditions) return nullptr;
  for (const json::Value& entry : *conditions)
    if (json::get_string_or(entry, "type") == type) return entry.if_object();
  return nullptr;
}

std::string_view condition_status(const json::Object* status, std::string_view type) {
  const json::Object* entry = find_condition(status, type);
  return entry ? json::get_string_or(*entry, "status") : std::string_view();
}

std::string_view condition_reason(const json::Object* status, std::string_view type) {
  const json::Object* entry = find_condition(status, type);
  return entry ? json::get_string_or(*entry, "reason") : std::string_view();
}

json::Value condition_value(const Condition& condition, const json::StoragePtr& storage) {
  json::Value value(boost::json::object_kind, storage);
  json::Object& entry = value.get_object();
  entry["type"] = condition.type;
  entry["status"] = condition.status;
  entry["lastProbeTime"] = time_value(condition.last_probe, storage);
  entry["lastTransitionTime"] = time_value(condition.last_transition, storage);
  if (!condition.reason.empty()) entry["reason"] = condition.reason;
  if (!condition.message.empty()) entry["message"] = condition.message;
  return value;
}

bool set_condition(json::Object& status, const Condition& condition) {
  return put(status, condition_value(condition, status.storage()).get_object(), false);
}

bool set_condition(json::Object& status, const json::Object& entry) { return put(status, entry, false); }

bool set_condition_and_message(json::Object& status, const Condition& condition) {
  return put(status, condition_value(condition, status.storage()).get_object(), true);
}

bool drop_condition(json::Object& status, std::string_view type) {
  json::Array* conditions = json::get_array(status, "conditions");
  json::Value* entry = conditions ? find_entry(*conditions, type) : nullptr;
  if (!entry) return false;
  conditions->erase(entry);
  return true;
}

}  // namespace vg::controllers
