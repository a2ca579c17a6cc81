#include "controllers/migration/work.h"

#include <algorithm>
#include <charconv>

#include "base/duration.h"
#include "controllers/common/conditions.h"
#include "controllers/common/observed.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers::migration {
namespace {

constexpr std::string_view finalizer = "kubevirt.io/migrationJobFinalize";
constexpr std::string_view vmi_label = "kubevirt.io/vmi-name";

Told told(EventType type, std::string_view reason, std::string message) {
  return {.event = {.type = type, .reason = std::string(reason), .message = std::move(message)}};
}

const json::Value* in_metadata(const json::Object& object, std::string_view member) {
  const json::Object* metadata = json::get_object(object, "metadata");
  return metadata ? json::find(*metadata, member) : nullptr;
}

// MIG-E02
void mark_as_seen(json::PatchBuilder& patch, const json::Object& migration) {
  if (!mark_observed(patch, migration)) return;
  const json::Object* spec = json::get_object(migration, "spec");
  if (spec && label_of(migration, vmi_label).empty())
    set_metadata_entries(patch, migration, "labels", {{vmi_label, json::get_string_or(*spec, "vmiName")}});
}

bool same_status(const Editable& object) {
  const json::Value* before = json::find(object.stored(), "status");
  const json::Value* after = json::find(object.read(), "status");
  return !object.changed() || (before && after && json::equal(*before, *after));
}

}  // namespace

void Work::tell_with_vmi(EventType type, std::string_view reason, std::string message) {
  with_vmi_.push_back(told(type, reason, std::move(message)));
}

void Work::tell(EventType type, std::string_view reason, std::string message) {
  with_migration_.push_back(told(type, reason, std::move(message)));
}

void Work::tell_of_vmi(EventType type, std::string_view reason, std::string message) {
  with_vmi_.push_back(told(type, reason, std::move(message)));
  with_vmi_.back().involved = event_object(vmi.stored());
}

void Work::enter(std::string_view phase) {
  json::Object& to = status();
  to["phase"] = phase;
  json::Array& times = json::ensure_array(to, "phaseTransitionTimestamps");
  const bool known = std::ranges::any_of(
      times, [&](const json::Value& entry) { return json::get_string_or(entry, "phase") == phase; });
  if (known) return;
  times.emplace_back(
      json::Value({{"phase", phase}, {"phaseTransitionTimestamp", time_text(turn.now)}}, times.storage()));
}

std::chrono::seconds Work::annotated(std::string_view annotation, std::chrono::seconds otherwise) const {
  const std::string_view text = annotation_of(migration.stored(), annotation);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return whole ? bounded_seconds(value) : otherwise;
}

Pass Work::finish() && {
  const json::Object& object = migration.stored();
  const std::string ns(metadata_text(object, "namespace")), name(metadata_text(object, "name"));
  // What belongs to no write is told first.
  if (vmi.changed()) {
    Effect& effect = pass.add({.verb = Verb::update,
                               .resource = kinds::vmi,
                               .ns = ns,
                               .name = std::string(metadata_text(vmi.stored(), "name")),
                               .identity = Identity::own(),
                               .document = json::Value(vmi.read(), turn.storage)});
    if (if_vmi_fails) {
      effect.if_failed = std::move(if_vmi_fails->event);
      effect.involved = if_vmi_fails->involved;
    }
    effect.also_told = std::move(with_vmi_);
  } else {
    std::ranges::move(with_vmi_, std::back_inserter(pass.events));
  }
  if (!same_status(migration)) {
    Effect& effect = pass.add({.verb = Verb::update_status,
                               .resource = kinds::migration,
                               .ns = ns,
                               .name = name,
                               .identity = Identity::own(),
                               .document = json::Value(migration.read(), turn.storage)});
    effect.also_told = std::move(with_migration_);
  } else {
    std::ranges::move(with_migration_, std::back_inserter(pass.events));
  }
  json::PatchBuilder patch(turn.storage);
  mark_as_seen(patch, object);
  if (drop_finalizer && has_finalizer(object, finalizer)) {
    const json::Value left(finalizers_without(object, finalizer, turn.storage), turn.storage);
    guarded_change(patch, "/metadata/finalizers", in_metadata(object, "finalizers"), &left);
  }
  if (!patch.empty())
    pass.add({.verb = Verb::patch,
              .resource = kinds::migration,
              .ns = ns,
              .name = name,
              .identity = Identity::own(),
              .document = json::Value(patch.take(), turn.storage)});
  return std::move(pass);
}

}  // namespace vg::controllers::migration
