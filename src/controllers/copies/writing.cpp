#include "controllers/copies/writing.h"

#include <algorithm>

#include "base/time_rfc3339.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "json/equal.h"

namespace vg::controllers::copies {
namespace {

std::string name_of(const json::Object& object) { return std::string(metadata_text(object, "name")); }
std::string namespace_of(const json::Object& object) { return std::string(metadata_text(object, "namespace")); }

Effect patch_of(Verb verb, std::string_view resource, const json::Object& object, json::PatchBuilder& patch) {
  const json::StoragePtr storage = patch.operations().storage();
  return {.verb = verb,
          .resource = resource,
          .ns = namespace_of(object),
          .name = name_of(object),
          .identity = Identity::own(),
          .document = json::Value(patch.take(), storage)};
}

void change_finalizers(Pass& pass, const Turn& turn, std::string_view resource, const json::Object& object,
                       json::Array wanted) {
  const json::Object* metadata = json::get_object(object, "metadata");
  json::PatchBuilder patch(turn.storage);
  const json::Value list(std::move(wanted), turn.storage);
  guarded_change(patch, "/metadata/finalizers", metadata ? json::find(*metadata, "finalizers") : nullptr, &list);
  pass.add(patch_of(Verb::patch, resource, object, patch));
}

}  // namespace

bool set(json::Object& status, std::string_view type, bool value, std::string_view reason, Time now) {
  return set_condition(
      status, {.type = type, .status = value ? "True" : "False", .reason = reason, .last_transition = time_text(now)});
}

json::Object status_copy(const json::Object& object, const json::StoragePtr& storage) {
  const json::Object* status = json::get_object(object, "status");
  return status ? json::Object(*status, storage) : json::Object(storage);
}

Effect* write_status(Pass& pass, const Turn& turn, std::string_view resource, const json::Object& object,
                     const json::Object& status) {
  const json::Value* before = json::find(object, "status");
  const json::Value wanted(status, turn.storage);
  if (before && json::equal(*before, wanted)) return nullptr;
  json::PatchBuilder patch(turn.storage);
  guarded_change(patch, "/status", before, &wanted);
  return &pass.add(patch_of(Verb::patch_status, resource, object, patch));
}

void write_status_member(Pass& pass, const Turn& turn, std::string_view resource, const json::Object& object,
                         std::string_view member, const json::Value* value) {
  const json::Object* status = json::get_object(object, "status");
  json::PatchBuilder patch(turn.storage);
  if (!status) patch.add("/status", json::Value(boost::json::object_kind, turn.storage));
  const json::Value* before = status ? json::find(*status, member) : nullptr;
  guarded_change(patch, patch_path("/status", {member}), before, value);
  if (!patch.empty()) pass.add(patch_of(Verb::patch_status, resource, object, patch));
}

void add_finalizer(Pass& pass, const Turn& turn, std::string_view resource, const json::Object& object,
                   std::string_view finalizer) {
  if (!has_finalizer(object, finalizer))
    change_finalizers(pass, turn, resource, object, finalizers_with(object, finalizer, turn.storage));
}

void remove_finalizer(Pass& pass, const Turn& turn, std::string_view resource, const json::Object& object,
                      std::string_view finalizer) {
  if (has_finalizer(object, finalizer))
    change_finalizers(pass, turn, resource, object, finalizers_without(object, finalizer, turn.storage));
}

Effect& remove(Pass& pass, std::string_view resource, const json::Object& object) {
  return pass.add({.verb = Verb::remove,
                   .resource = resource,
                   .ns = namespace_of(object),
                   .name = name_of(object),
                   .identity = Identity::own(),
                   .uid = std::string(metadata_text(object, "uid")),
                   .already_done_is_fine = true});
}

std::optional<Time> read_time(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto parsed = parse_rfc3339(text);
  return parsed ? std::optional(parsed->on_clock()) : std::nullopt;
}

std::optional<Time> created(const json::Object& object) {
  return read_time(metadata_text(object, "creationTimestamp"));
}

void look_again_at(Pass& pass, const Turn& turn, Time when) {
  if (when <= turn.now) return;
  // A second past it: times of objects have no fractions.
  constexpr std::chrono::hours longest{24};
  const auto left = std::min<std::chrono::milliseconds>(
      std::chrono::duration_cast<std::chrono::milliseconds>(when - turn.now), longest);
  pass.look_again(left + std::chrono::milliseconds(1));
}

}  // namespace vg::controllers::copies
