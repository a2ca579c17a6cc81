#include "controllers/common/fleet_status.h"

#include <string>
#include <utility>

#include "controllers/common/conditions.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers {

void set_count(json::Object& status, std::string_view name, std::int64_t count) {
  if (count == 0)
    json::erase(status, name);
  else
    status[name] = count;
}

void show_paused(json::Object& status, bool is_paused, const PausedTexts& texts, const Turn& turn, Pass& pass) {
  if (is_paused == (find_condition(&status, "ReplicaPaused") != nullptr)) return;
  if (is_paused) {
    const std::string now = time_text(turn.now);
    set_condition(status, {.type = "ReplicaPaused",
                           .status = "True",
                           .reason = texts.condition_reason,
                           .message = texts.paused,
                           .last_probe = now,
                           .last_transition = now});
    pass.tell(EventType::normal, "SuccessfulPaused", std::string(texts.paused));
  } else {
    drop_condition(status, "ReplicaPaused");
    pass.tell(EventType::normal, texts.resumed_reason, std::string(texts.resumed));
  }
}

void update_fleet_status(Pass& pass, const Turn& turn, std::string_view resource, const json::Object& object,
                         json::Object changed) {
  json::Object& status = json::ensure_object(changed, "status");
  if (const json::Array* conditions = json::get_array(status, "conditions"); conditions && conditions->empty())
    json::erase(status, "conditions");
  const json::Object* before = json::get_object(object, "status");
  if (before && json::equal(*before, status)) return;
  pass.add({.verb = Verb::update_status,
            .resource = resource,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = json::Value(std::move(changed), turn.storage)});
}

}  // namespace vg::controllers
