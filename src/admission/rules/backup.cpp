// Backups (spec work-objects 3.11).
#include <fmt/format.h>

#include "admission/rule.h"
#include "admission/semantic_equal.h"
#include "api/view.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr string_view backups = "backup.kubevirt.io/virtualmachinebackups";

string_view name_of(const json::Value& object) {
  return json::as_string(json::find_path(object, {"metadata", "name"})).value_or("");
}

bool has_ended(const json::Value& backup) {
  for (const api::View condition : api::List<api::View>(json::find_path(backup, {"status", "conditions"}))) {
    const auto type = api::Read<string_view>::or_zero(condition.get("type"));
    if ((type == "Complete" || type == "Failed") && api::Read<string_view>::or_zero(condition.get("status")) == "True")
      return true;
  }
  return false;
}

void name_is_free(const Case& judged, Causes& causes) {
  const string_view name = name_of(*judged.object);
  if (name.empty()) return;  // it will be generated
  const auto found = judged.context.lookups.get(backups, judged.review.name_space, name, judged.context.storage);
  if (found && *found)
    causes.invalid("metadata.name",
                   fmt::format("\"{}\": a backup with this name already exists; choose another name", name));
}

void source_is_free(const Case& judged, Causes& causes) {
  if (judged.review.name_space.empty()) return;  // to look-ups that means every namespace
  const auto found = judged.context.lookups.list(backups, judged.review.name_space, judged.context.storage);
  if (!found) return causes.error(found.error().message);
  const api::Type* type = type_of(judged);
  const api::Field* source = type ? member_at(*type, {"spec", "source"}) : nullptr;
  if (!source) return;
  for (const json::Value* other : *found) {
    if (has_ended(*other) || !semantically_equal(json::find_path(*judged.object, {"spec", "source"}),
                                                 json::find_path(*other, {"spec", "source"}), *source))
      continue;
    return causes.invalid(
        "spec.source",
        fmt::format("backup \"{}\" of the same source is still in progress; wait until it completes", name_of(*other)));
  }
}

constexpr Rule backup_rule_table[] = {
    Rule{"BA05", "the name of a backup must be unique", "metadata.name", name_is_free}.stops(),
    {"BA06", "a source must have at most one backup in progress", "spec.source", source_is_free},
};

}  // namespace

std::span<const Rule> backup_rules() { return backup_rule_table; }

}  // namespace vg::admission
