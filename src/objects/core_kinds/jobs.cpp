// Jobs and cron jobs. Nothing here runs them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"
#include "objects/core_kinds/workload_parts.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::int64_t retries = 6;
constexpr std::int64_t indexed_parallelism_max = 100'000;
constexpr std::size_t managed_by_bytes_max = 63;
constexpr std::size_t failure_rules_max = 20;
constexpr std::size_t cron_job_name_bytes_max = 52;
constexpr std::string_view indexed = "Indexed";
constexpr std::string_view uid_label = "batch.kubernetes.io/controller-uid";
constexpr std::string_view name_label = "batch.kubernetes.io/job-name";
constexpr std::array<std::string_view, 2> completion_modes = {"NonIndexed", indexed};
constexpr std::array<std::string_view, 2> replacement_policies = {"Failed", "TerminatingOrFailed"};
constexpr std::array<std::string_view, 2> ending_policies = {"OnFailure", "Never"};
constexpr std::array<std::string_view, 3> concurrency_policies = {"Allow", "Forbid", "Replace"};
constexpr std::array<std::string_view, 4> failure_actions = {"Count", "FailIndex", "FailJob", "Ignore"};

json::Object& labels_of(json::Object& object) {
  return json::ensure_object(json::ensure_object(object, "metadata"), "labels");
}

void default_job(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = json::ensure_object(object, "spec");
  if (!has(spec, "completions") && !has(spec, "parallelism")) spec["completions"] = 1;
  default_pointer(spec, "parallelism", 1);
  default_pointer(
      spec, "backoffLimit",
      has(spec, "backoffLimitPerIndex") ? json::Value(std::numeric_limits<std::int32_t>::max()) : json::Value(retries));
  default_template(spec);
  const json::Object labels = members(members(members(spec, "template"), "metadata"), "labels");
  if (!labels.empty() && members(members(object, "metadata"), "labels").empty()) labels_of(object) = labels;
  default_pointer(spec, "completionMode", "NonIndexed");
  default_pointer(spec, "suspend", false);
  default_pointer(spec, "podReplacementPolicy", has(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
  default_pointer(spec, "manualSelector", false);
}

// The pods of a job are known by the uid of the job, so that two of one name do not take each other's.
void prepare_job_create(json::Object& object, const WriteContext& context) {
  prepare_counted_create(object, context);
  json::Object& spec = json::ensure_object(object, "spec");
  if (json::get_bool_or(spec, "manualSelector", false)) return;
  const std::string name(name_of(object));
  const std::string uid(text(members(object, "metadata"), "uid"));
  json::Object& labels = labels_of(json::ensure_object(spec, "template"));
  for (const std::string_view label : {std::string_view("job-name"), name_label})
    default_pointer(labels, label, json::Value(name));
  for (const std::string_view label : {std::string_view("controller-uid"), uid_label})
    default_pointer(labels, label, json::Value(uid));
  json::Object& selector = json::ensure_object(json::ensure_object(spec, "selector"), "matchLabels");
  default_pointer(selector, uid_label, json::Value(uid));
  // The default of the labels is seen again when the object is read, and by then the template has these.
  const json::Object own = labels;
  if (members(members(object, "metadata"), "labels").empty()) labels_of(object) = own;
}

void check_indexed(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const auto completions = json::get_int(spec, "completions");
  const auto failed = json::get_int(spec, "maxFailedIndexes");
  if (text(spec, "completionMode") != indexed) {
    for (const std::string_view member : {"backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"})
      if (has(spec, member)) causes.invalid(at.field(member), "requires completionMode Indexed");
    return;
  }
  if (!completions) causes.required(at.field("completions"), "completionMode Indexed counts to it");
  if (json::get_int_or(spec, "parallelism", 0) > indexed_parallelism_max)
    causes.invalid(at.field("parallelism"),
                   fmt::format("must be at most {} with completionMode Indexed", indexed_parallelism_max));
  if (completions && failed && *failed > *completions)
    causes.invalid(at.field("maxFailedIndexes"), "must be less than or equal to completions");
}

void check_failure_policy(FieldCauses& causes, const Place& at, const json::Object& spec) {
  if (!has(spec, "podFailurePolicy")) return;
  const Place list = at.field("rules");
  const json::Array& rules = items(members(spec, "podFailurePolicy"), "rules");
  if (rules.size() > failure_rules_max)
    causes.too_many(list, fmt::format("must have at most {} items", failure_rules_max));
  for (std::size_t i = 0; i < std::min(rules.size(), failure_rules_max); ++i) {
    const json::Object& rule = members(rules[i]);
    const Place place = list.item(i);
    check_choice(causes, place.field("action"), text(rule, "action"), failure_actions);
    const bool codes = has(rule, "onExitCodes");
    const bool conditions = !items(rule, "onPodConditions").empty();
    if (codes == conditions) causes.invalid(place, "must have either onExitCodes or onPodConditions");
  }
}

void check_managed_by(FieldCauses& causes, const Place& at, const json::Object& spec) {
  if (!has(spec, "managedBy")) return;
  const std::string_view value = text(spec, "managedBy");
  if (value.size() > managed_by_bytes_max)
    causes.too_long(at, fmt::format("must have at most {} bytes", managed_by_bytes_max));
  const std::size_t slash = value.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == value.size())
    causes.invalid(at, "must be a domain-prefixed path, such as example.com/controller");
  else
    causes.defects(at, value, dns1123_subdomain_defects(value.substr(0, slash)));
}

// `at` is the place of the spec, which a cron job has further down.
void check_job_spec(FieldCauses& causes, const Place& at, const json::Object& spec) {
  check_not_negative(causes, at, spec,
                     {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
                      "backoffLimitPerIndex", "maxFailedIndexes"});
  if (has(spec, "maxFailedIndexes") && !has(spec, "backoffLimitPerIndex"))
    causes.required(at.field("backoffLimitPerIndex"), "required with maxFailedIndexes");
  check_managed_by(causes, at.field("managedBy"), spec);
  if (has(spec, "completionMode"))
    check_supported(causes, at.field("completionMode"), text(spec, "completionMode"), completion_modes);
  check_indexed(causes, at, spec);
  check_failure_policy(causes, at.field("podFailurePolicy"), spec);
  if (has(spec, "podReplacementPolicy"))
    check_supported(causes, at.field("podReplacementPolicy"), text(spec, "podReplacementPolicy"), replacement_policies);
  const Place place = at.field("template");
  const json::Object& pod_template = members(spec, "template");
  check_template(causes, place, pod_template);
  const std::string_view restarts = text(members(pod_template, "spec"), "restartPolicy");
  const Place restart_place = place.field("spec");
  if (restarts.empty() || restarts == "Always")
    causes.required(restart_place.field("restartPolicy"), "a job ends: choose OnFailure or Never");
  else if (std::ranges::find(ending_policies, restarts) == ending_policies.end())
    causes.not_supported(restart_place.field("restartPolicy"), restarts, ending_policies);
  else if (has(spec, "podFailurePolicy") && restarts != "Never")
    causes.invalid(restart_place.field("restartPolicy"), "podFailurePolicy requires Never");
}

void check_job_selector(FieldCauses& causes, const json::Object& object) {
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  const json::Object& selector = members(spec, "selector");
  check_label_selector(causes, at.field("selector"), selector);
  const json::Object& labels = members(members(members(spec, "template"), "metadata"), "labels");
  if (!selector_matches(selector, labels))
    causes.invalid(at.field("template").field("metadata").field("labels"),
                   "selector does not match template labels: pods would not be found again");
  if (json::get_bool_or(spec, "manualSelector", false)) return;
  const std::string_view uid = text(members(object, "metadata"), "uid");
  if (text(labels, uid_label) != uid || text(members(selector, "matchLabels"), uid_label) != uid)
    causes.invalid(at.field("selector"), "the selector is generated; remove it, or set manualSelector");
}

// A job that has not begun may still be placed elsewhere.
json::Object comparable_template(const json::Object& spec, const json::Object& before, bool placeable) {
  json::Object pod = members(before, "template");
  if (!placeable) return pod;
  const json::Object& wanted = members(spec, "template");
  json::Object& metadata = json::ensure_object(pod, "metadata");
  for (const std::string_view member : {"labels", "annotations"})
    carry_over(metadata, members(wanted, "metadata"), member);
  json::Object& pod_spec = json::ensure_object(pod, "spec");
  const json::Object& wanted_spec = members(wanted, "spec");
  for (const std::string_view member : {"nodeSelector", "tolerations", "schedulingGates"})
    carry_over(pod_spec, wanted_spec, member);
  json::Object& affinity = json::ensure_object(pod_spec, "affinity");
  carry_over(affinity, members(wanted_spec, "affinity"), "nodeAffinity");
  return pod;
}

void check_job_change(FieldCauses& causes, const json::Object& object, const json::Object& old) {
  const json::Object& spec = members(object, "spec");
  const json::Object& before = members(old, "spec");
  const Place at = top("spec");
  const bool tandem = text(spec, "completionMode") == indexed && same_member(spec, before, "completionMode");
  if (!same_member(spec, before, "completions") &&
      (!tandem || json::get_int_or(spec, "completions", 0) != json::get_int_or(spec, "parallelism", 0)))
    causes.invalid(at.field("completions"), tandem ? "can only be changed together with parallelism" : cannot_change);
  check_immutable(causes, at, spec, before, {"selector"});
  const bool placeable = json::get_bool_or(before, "suspend", false) && !has(members(old, "status"), "startTime");
  const json::Value wanted(members(spec, "template"));
  const json::Value had(comparable_template(spec, before, placeable));
  if (!same(&wanted, &had)) causes.invalid(at.field("template"), cannot_change);
  check_immutable(causes, at, spec, before,
                  {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"});
}

void validate_job(const json::Object& object, const json::Object* old, const WriteContext& context,
                  std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return check_status_counts(causes, object);
  if (!old) check_job_selector(causes, object);
  check_job_spec(causes, top("spec"), members(object, "spec"));
  if (old) check_job_change(causes, object, *old);
}

// --- cron jobs -------------------------------------------------------------------------------------------------------

struct CronField {
  int min = 0, max = 0;
  std::string_view names;  // three letters each, from `min` on
};
constexpr std::array cron_fields = {CronField{0, 59, ""}, CronField{0, 23, ""}, CronField{1, 31, ""},
                                    CronField{1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
                                    CronField{0, 6, "sunmontuewedthufrisat"}};
constexpr std::array<std::string_view, 7> cron_words = {"@yearly", "@annually", "@monthly", "@weekly",
                                                        "@daily",  "@midnight", "@hourly"};

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<int> cron_number(std::string_view text, const CronField& field) {
  if (text.size() == 3 && !field.names.empty()) {
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    for (std::size_t i = 0; i + 3 <= field.names.size(); i += 3)
      if (field.names.substr(i, 3) == lower) return field.min + static_cast<int>(i / 3);
  }
  if (text.empty() || text.size() > 4 || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  int value = 0;
  for (const char c : text) value = value * 10 + (c - '0');
  return value;
}

// "*", "5", "1-5", "*/10", "1-30/2"
bool is_cron_range(std::string_view text, const CronField& field) {
  const auto step = split(text, "/");
  if (step.size() > 2) return false;
  if (step.size() == 2) {
    const auto width = cron_number(step[1], {});
    if (!width || *width == 0) return false;
  }
  if (step[0] == "*" || step[0] == "?") return true;
  const auto ends = split(step[0], "-");
  if (ends.size() > 2) return false;
  const auto first = cron_number(ends[0], field);
  const auto last = ends.size() == 2 ? cron_number(ends[1], field) : first;
  return first && last && *first >= field.min && *last <= field.max && *first <= *last;
}

bool is_duration(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(
             text,
             [](char c) { return (c >= '0' && c <= '9') || c == '.' || std::string_view("hmsun").contains(c); }) &&
         text.back() > '9' && text.front() <= '9';
}

bool is_schedule(std::string_view text) {
  if (text.starts_with("@every ")) return is_duration(text.substr(7));
  if (text.starts_with('@')) return std::ranges::find(cron_words, text) != cron_words.end();
  std::vector<std::string_view> parts = split(text, " \t");
  std::erase(parts, std::string_view());
  if (parts.size() != cron_fields.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const std::string_view range : split(parts[i], ","))
      if (!is_cron_range(range, cron_fields[i])) return false;
  return true;
}

void default_cron_job(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = json::ensure_object(object, "spec");
  default_text(spec, "concurrencyPolicy", "Allow");
  default_pointer(spec, "suspend", false);
  default_pointer(spec, "successfulJobsHistoryLimit", 3);
  default_pointer(spec, "failedJobsHistoryLimit", 1);
  default_template(json::ensure_object(json::ensure_object(spec, "jobTemplate"), "spec"));
}

void check_schedule(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const std::string_view schedule = text(spec, "schedule");
  if (schedule.empty()) return causes.required(at, "say when, for example \"*/5 * * * *\"");
  if (schedule.contains("TZ")) return causes.invalid(at, "TZ is not supported in schedule; use the field timeZone");
  if (!is_schedule(schedule))
    causes.invalid(at, "must be five fields (minute, hour, day, month, weekday), or a word such as @daily");
}

void check_time_zone(FieldCauses& causes, const Place& at, const json::Object& spec) {
  if (!has(spec, "timeZone")) return;
  const std::string_view zone = text(spec, "timeZone");
  const auto is_part = [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." && !part.starts_with('-') &&
           std::ranges::all_of(part, [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    std::string_view("_-+.").contains(c);
           });
  };
  if (zone.empty() || zone == "Local" || !std::ranges::all_of(split(zone, "/"), is_part))
    causes.invalid(at, "unknown time zone; name one of the IANA time zones, such as Europe/Berlin");
}

void validate_cron_job(const json::Object& object, const json::Object* old, const WriteContext& context,
                       std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return;
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  check_schedule(causes, at.field("schedule"), spec);
  check_not_negative(causes, at, spec, {"startingDeadlineSeconds"});
  check_time_zone(causes, at.field("timeZone"), spec);
  check_choice(causes, at.field("concurrencyPolicy"), text(spec, "concurrencyPolicy"), concurrency_policies);
  const Place job = at.field("jobTemplate");
  const json::Object& job_spec = members(members(spec, "jobTemplate"), "spec");
  check_job_spec(causes, job.field("spec"), job_spec);
  for (const std::string_view member : {"manualSelector", "selector"})
    if (has(job_spec, member) && (member != "manualSelector" || json::get_bool_or(job_spec, member, false)))
      causes.invalid(job.field("spec").field(member), "the selector of a job of a CronJob is generated; remove it");
  check_not_negative(causes, at, spec, {"successfulJobsHistoryLimit", "failedJobsHistoryLimit"});
  if (!old && name_of(object).size() > cron_job_name_bytes_max)
    causes.invalid(top("metadata").field("name"), "must be no more than 52 characters, since jobs get a longer name");
}

}  // namespace

constinit const Strategy job_strategy = {.group = "batch",
                                         .kind = "Job",
                                         .defaults = default_job,
                                         .prepare_create = prepare_job_create,
                                         .prepare_update = prepare_counted_update,
                                         .validate = validate_job};
constinit const Strategy cron_job_strategy = {.group = "batch",
                                              .kind = "CronJob",
                                              .defaults = default_cron_job,
                                              .prepare_create = prepare_counted_create,
                                              .prepare_update = prepare_counted_update,
                                              .validate = validate_cron_job};

}  // namespace vg::resources::core_kinds
