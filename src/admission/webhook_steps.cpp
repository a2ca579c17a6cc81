#include "admission/webhook_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "admission/defaults/completion.h"
#include "admission/defaults/presets.h"
#include "admission/rule.h"
#include "api/canonical.h"
#include "api/schema.h"
#include "api/webhook_schema.h"
#include "base/joined.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using config::Gate;
using std::string_view;
using enum Step;

using Answer = std::optional<Verdict>;  // nothing: go on

Answer allow_if(bool done) { return done ? Answer(Verdict::allow()) : std::nullopt; }

Verdict no_object(const Course& course, string_view member) {
  return Verdict::error(
      fmt::format("the review sent to {} has no {}; send it in "
                  "request.{}",
                  course.webhook.path, member, member));
}

bool concerns(const Course& course, string_view plural) {
  return course.review.resource.group == course.webhook.group && course.review.resource.resource == plural;
}

bool names_subject(const Course& course) {
  return std::ranges::any_of(course.webhook.subjects,
                             [&](const Subject& subject) { return concerns(course, subject.resource); });
}

bool known_version(const Course& course) {
  return std::ranges::find(course.webhook.versions, course.review.resource.version) != course.webhook.versions.end();
}

Verdict wrong_resource(const Course& course) {
  const auto& asked = course.review.resource;
  return Verdict::error(
      fmt::format("{} validates {} of {} in {}, but the review is about \"{}\" of \"{}\" in \"{}\"; check "
                  "the rules of the webhook configuration",
                  course.webhook.path, course.webhook.subjects.front().resource, course.webhook.group,
                  joined(course.webhook.versions, " or "), asked.resource, asked.group, asked.version));
}

Answer check_gate(const Course& course) {
  const Gate gate = *course.webhook.gate;
  if (!course.creates() || course.context.config.enabled(gate)) return std::nullopt;
  return Verdict::error(
      fmt::format("new {} require the feature gate {}, which is disabled; an administrator can enable "
                  "it in spec.configuration.developerConfiguration.featureGates of the KubeVirt "
                  "object",
                  course.webhook.subjects.front().resource, config::gate_name(gate)));
}

Answer check_schema(Course& course) {
  if (course.schema_causes) {
    if (course.schema_causes->empty()) return std::nullopt;
    return Verdict::invalid(std::move(*course.schema_causes));
  }
  if (!course.object) return no_object(course, "object");
  if (!course.object->is_object())
    return Verdict::error("the object under review must be a JSON object with kind and spec");
  auto causes = api::check_webhook_schema(course.webhook.schema, *course.object);
  if (causes.empty()) return std::nullopt;
  return Verdict::invalid(std::move(causes));
}

Answer check_status_schema(const Course& course) {
  if (!course.object) return no_object(course, "object");
  if (!course.object->is_object())
    return Verdict::error("the object under review must be a JSON object with kind and status");
  const string_view kind = json::get_string_or(*course.object, "kind");
  const string_view version = json::get_string_or(*course.object, "apiVersion");
  if (kind.empty() || std::ranges::count(version, '/') > 1)
    return Verdict::invalid({{.reason = "",
                              .message = "kind and apiVersion of the object are required, for example "
                                         "VirtualMachine and kubevirt.io/v1",
                              .field = ""}});
  auto causes = api::check_webhook_status_schema(kind, *course.object);
  if (causes.empty()) return std::nullopt;
  return Verdict::invalid(std::move(causes));
}

// Null for an object whose shape is not ours to know.
const api::Type* type_of(const Course& course) {
  const Subject* subject = find_subject(course.webhook, course.review.resource.resource);
  const api::Kind* kind = subject ? api::find_kind(subject->kind_group, "", subject->kind) : nullptr;
  return kind ? kind->type : nullptr;
}

// Rules see what Go has in memory; what is written back is as Go writes it.
api::Empties empties_for(const Course& course) {
  return course.webhook.mutating() ? api::Empties::left_out : api::Empties::kept;
}

Answer decode_object(Course& course) {
  if (!course.object) return no_object(course, "object");
  if (!course.webhook.schema.empty() && !course.schema_causes && course.object->is_object())
    if (std::ranges::find(std::ranges::find(course.webhook.steps, decode), course.webhook.steps.end(), schema) !=
        course.webhook.steps.end())
      course.schema_causes = api::check_webhook_schema(course.webhook.schema, *course.object);
  if (course.webhook.complete == complete_vmi) course.empty_requests = sends_empty_requests(course.object);
  if (const api::Type* type = type_of(course))
    if (auto good = api::canonicalize(*course.object, *type, {}, empties_for(course)); !good)
      return Verdict::error(good.error().message);
  return std::nullopt;
}

Answer decode_old_object(Course& course, bool must) {
  course.old_object = nullptr;
  json::Value* old = course.review.old_object;
  if (!old) return must ? Answer(no_object(course, "oldObject")) : std::nullopt;
  if (const api::Type* type = type_of(course))
    if (auto good = api::canonicalize(*old, *type, {}, empties_for(course)); !good)
      return must ? Answer(Verdict::error("the old object cannot be read: " + good.error().message)) : std::nullopt;
  course.old_object = old;
  return std::nullopt;
}

Answer known_operation_only(const Course& course) {
  if (course.creates() || course.updates()) return std::nullopt;
  return Verdict::error(fmt::format("{} validates creates and updates, but the review is about \"{}\"",
                                    course.webhook.path, course.review.operation_name));
}

// Never refuses: what keeps a VM from being expanded is for its rules to tell.
Answer expand_object(Course& course) {
  course.expansion.emplace(expand_template(course.object->get_object(), course.context));
  return std::nullopt;
}

Case case_of(const Course& course) {
  return {.context = course.context,
          .review = course.review,
          .webhook = course.webhook,
          .object = course.object,
          .old_object = course.old_object,
          .expansion = course.expansion ? &*course.expansion : nullptr,
          .empty_requests = course.empty_requests};
}

Answer ask_table(const Course& course) {
  if (!course.webhook.rules) return std::nullopt;
  Causes causes;
  ask_rules(course.webhook.rules(), case_of(course), causes);
  Verdict verdict = causes.verdict();
  if (verdict.allowed && course.webhook.mutating()) return std::nullopt;
  return verdict;
}

bool deleting(const json::Value& object) {
  const json::Value* time = json::find_path(object, {"metadata", "deletionTimestamp"});
  return time && !time->is_null();
}

Answer take(Step step, Course& course) {
  switch (step) {
    case writes_only:
      return allow_if(!course.creates() && !course.updates());
    case creates_only:
      return allow_if(!course.creates());
    case resource:
      return names_subject(course) ? std::nullopt : Answer(wrong_resource(course));
    case exact_resource:
      return names_subject(course) && known_version(course) ? std::nullopt : Answer(wrong_resource(course));
    case machines_only:
      return allow_if(!concerns(course, "virtualmachines") || !known_version(course));
    case gate:
      return check_gate(course);
    case schema:
      return check_schema(course);
    case status_schema:
      return check_status_schema(course);
    case decode:
      return decode_object(course);
    case decode_old:
      return course.updates() ? decode_old_object(course, true) : std::nullopt;
    case try_old:
      return course.updates() ? decode_old_object(course, false) : std::nullopt;
    case any_old:
      return decode_old_object(course, false);
    case living:
      return allow_if(deleting(*course.object));
    case expand:
      return expand_object(course);
    case known_operation:
      return known_operation_only(course);
    case rules:
      return ask_table(course);
    case defaults:
      return course.webhook.complete ? Answer(course.webhook.complete(case_of(course))) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

bool looks_up(Step step) { return step == expand || step == rules || step == defaults; }

Verdict run_steps(Course& course) {
  const auto steps = course.webhook.steps;
  for (std::size_t i = course.done; i < steps.size(); ++i) {
    if (i == course.done && !looks_up(steps[i])) ++course.done;
    if (auto verdict = take(steps[i], course)) return std::move(*verdict);
  }
  return Verdict::allow();
}

}  // namespace vg::admission
