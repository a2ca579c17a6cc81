#include "objects/data_import_crons.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/cron_schedule.h"
#include "base/names.h"
#include "base/phrases.h"
#include "json/access.h"
#include "json/equal.h"
#include "objects/clone_asker.h"
#include "objects/data_volumes.h"

namespace vg::resources {
namespace {

using Defect = std::optional<StatusCause>;
using std::string_view;

constexpr string_view cron_webhook = "dataimportcron-validate.cdi.kubevirt.io";
constexpr std::size_t cron_name_length = 63;  // it is the value of a label

Defect broken(string_view field, std::string message, string_view reason = "FieldValueInvalid") {
  return StatusCause{
      .reason = std::string(reason), .message = std::move(message), .field = std::string(field), .rule = "DIC-01"};
}

Failed cron_denied(StatusCause cause) {
  Status status{
      .code = 422, .reason = "Invalid", .message = phrases::denied(cron_webhook, cause.message), .details = {}};
  status.details.causes.push_back(std::move(cause));
  return fail(std::move(status));
}

struct CronSpec {
  const json::Object& all;
  const json::Object* data_volume;  // spec of the template; may be null
};

Defect followed_source(const CronSpec& spec) {
  const json::Object* source = spec.data_volume ? json::get_object(*spec.data_volume, "source") : nullptr;
  if (spec.data_volume && json::find(*spec.data_volume, "sourceRef"))
    return broken("spec.Template", "sourceRef is not supported in the template; use a registry or pvc source");
  if (!source || source->size() != 1 || (!json::get_object(*source, "registry") && !json::get_object(*source, "pvc")))
    return broken("spec.Template", "the source of the template must be registry or pvc");
  return {};
}

Defect plain_template(const CronSpec& spec) {
  for (const string_view member : {"contentType", "checkpoints", "finalCheckpoint"})
    if (json::find(*spec.data_volume, member))
      return broken("spec.Template", fmt::format("{} is not supported in the template", member));
  return {};
}

Defect schedule(const CronSpec& spec) {
  const string_view given = json::get_string_or(spec.all, "schedule");
  if (given.empty() || CronSchedule::parse(given)) return {};
  return broken("spec.Schedule", fmt::format("\"{}\": must be five fields of cron, such as \"0 */12 * * *\", or empty",
                                             given.substr(0, 64)));
}

Defect kept(const CronSpec& spec) {
  if (json::get_int_or(spec.all, "importsToKeep", 0) >= 0) return {};
  return broken("spec.ImportsToKeep", "importsToKeep must not be negative");
}

Defect collection(const CronSpec& spec) {
  const string_view given = json::get_string_or(spec.all, "garbageCollect");
  if (given.empty() || given == "Outdated" || given == "Never") return {};
  return broken("spec.GarbageCollect", fmt::format("\"{}\": supported values: Outdated, Never", given.substr(0, 64)));
}

Defect data_source(const CronSpec& spec) {
  const string_view given = json::get_string_or(spec.all, "managedDataSource");
  if (given.empty()) return broken("spec.ManagedDataSource", "managedDataSource is required", "FieldValueRequired");
  if (given.size() <= cron_name_length - 13 && dns1123_subdomain_defects(given).empty()) return {};
  return broken("spec.ManagedDataSource", fmt::format("\"{}\": must be a name of at most 50 characters: with that of "
                                                      "a version behind it it names the DataVolumes",
                                                      given.substr(0, 64)));
}

constexpr std::array cron_rules = std::to_array<Defect (*)(const CronSpec&)>(
    {followed_source, plain_template, schedule, kept, collection, data_source});

}  // namespace

std::optional<StatusCause> find_import_cron_defect(string_view name, const json::Object& cron) {
  if (name.size() > cron_name_length) return broken("metadata.name", "the name must be at most 63 characters long");
  const json::Object nothing;
  const json::Object* all = json::get_object(cron, "spec");
  const json::Object* made = all ? json::get_object(*all, "template") : nullptr;
  const CronSpec spec{.all = all ? *all : nothing, .data_volume = made ? json::get_object(*made, "spec") : nullptr};
  for (const auto rule : cron_rules)
    if (auto found = rule(spec)) return found;
  return find_data_volume_defect(*made);
}

Task<Result<void>> check_new_import_cron(ObjectRequest& request, string_view name, json::Object& object) {
  if (!request.backend.fills_data_volumes) co_return Result<void>();
  if (auto found = find_import_cron_defect(name, object)) co_return cron_denied(std::move(*found));
  auto allowed = co_await may_clone(request, *json::get_object(*json::get_object(object, "spec"), "template"));
  if (allowed) write_down_asker(request, object);
  co_return allowed;
}

Result<void> check_changed_import_cron(const ObjectRequest& request, const json::Object& old,
                                       const json::Object& wanted) {
  if (!request.backend.fills_data_volumes) return {};
  const json::Value *before = json::find(old, "spec"), *after = json::find(wanted, "spec");
  if ((!before && !after) || (before && after && json::equal(*before, *after))) return {};
  return cron_denied({.reason = "FieldValueDuplicate",
                      .message = "the spec of a DataImportCron must not change; delete it and make another one",
                      .field = "DataImportCron.Spec",
                      .rule = "DIC-01"});
}

}  // namespace vg::resources
