#include "objects/admission_stage.h"

#include <algorithm>

#include "admission/defaults/completion.h"
#include "admission/review.h"
#include "admission/trusted_accounts.h"
#include "api/field_changes.h"
#include "base/phrases.h"
#include "base/random.h"
#include "json/access.h"
#include "json/equal.h"
#include "json/patch.h"
#include "objects/object_meta.h"

namespace vg::resources {
namespace {

using admission::Subject;
using admission::Webhook;

bool contains(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

const Subject* subject_of(const Webhook& webhook, const AdmissionRequest& request) {
  if (webhook.mutating() != (request.stage == Stage::mutate) || webhook.group != request.resource.group())
    return nullptr;
  for (const Subject& subject : webhook.subjects)
    if (subject.resource == request.resource.plural() && subject.sub_resource == request.subresource) return &subject;
  return nullptr;
}

// The mutating webhook of VMIs keeps users from writing a status and leaves updates of KubeVirt's own accounts as they
// are (spec work-objects 1.6), which are nearly all. That the object can be read is asked by the validating one, too.
bool leaves_alone(const Webhook& webhook, const AdmissionRequest& request, std::string_view own_namespace) {
  return webhook.complete == admission::complete_vmi && request.operation == WriteOperation::update &&
         admission::is_trusted_account(own_namespace, request.user.name);
}

bool wants(const Webhook& webhook, const AdmissionRequest& request, std::string_view own_namespace) {
  const bool create = request.operation == WriteOperation::create;
  if (!(create ? webhook.takes_creates() : webhook.takes_updates())) return false;
  if (leaves_alone(webhook, request, own_namespace)) return false;
  return !webhook.selects || webhook.selects(*request.object);
}

json::Array group_values(const User& user, const json::StoragePtr& storage) {
  json::Array groups(storage);
  for (const auto& group : user.groups) groups.emplace_back(group);
  return groups;
}

json::Object extra_values(const User& user, const json::StoragePtr& storage) {
  json::Object extra(storage);
  for (const auto& [key, values] : user.extra) {
    json::Array list(storage);
    for (const auto& value : values) list.emplace_back(value);
    extra.emplace(key, std::move(list));
  }
  return extra;
}

// A webhook hears the version it is registered for; with only one shape that is a matter of names.
std::string_view heard_version(const Webhook& webhook, std::string_view version) {
  return contains(webhook.versions, version) ? version : webhook.versions.front();
}

// Without its managedFields, which no rule looks at, and which are half of many objects.
json::Value reviewed_copy(const json::Value& value, const json::StoragePtr& storage) {
  const json::Object* object = value.if_object();
  const json::Object* metadata = object ? json::get_object(*object, "metadata") : nullptr;
  if (!metadata || !json::find(*metadata, "managedFields")) return json::Value(value, storage);
  json::Object copy(storage);
  copy.reserve(object->size());
  for (const auto& [name, member] : *object) {
    if (&member != json::find(*object, "metadata")) {
      copy.emplace(name, member);
      continue;
    }
    json::Object& kept = copy.emplace(name, json::Object(storage)).first->value().get_object();
    kept.reserve(metadata->size());
    for (const auto& [below, one] : *metadata)
      if (below != "managedFields") kept.emplace(below, one);
  }
  return copy;
}

// Rules bring what they look at into canonical form where it lies; the object to be stored must not change by that.
struct Asked {
  json::Value object, old_object;
  json::Array groups;
  json::Object extra;

  Asked(const AdmissionRequest& request, const json::StoragePtr& storage)
      : object(request.stage == Stage::mutate ? json::Value(*request.object, storage)
                                              : reviewed_copy(*request.object, storage)),
        old_object(request.old_object ? reviewed_copy(*request.old_object, storage) : json::Value(storage)),
        groups(group_values(request.user, storage)),
        extra(extra_values(request.user, storage)) {}
};

admission::Review make_review(const Webhook& webhook, const Subject& subject, const AdmissionRequest& request,
                              std::string_view uid, Asked& asked) {
  const std::string_view version = heard_version(webhook, request.version);
  const std::string_view kind_version = subject.kind_group == webhook.group ? version : std::string_view("v1");
  admission::Review review;
  review.api_version = "admission.k8s.io/v1";
  review.uid = uid;
  review.kind = {.group = subject.kind_group, .version = kind_version, .kind = subject.kind};
  review.request_kind = review.kind;
  review.resource = {.group = webhook.group, .version = version, .resource = subject.resource};
  review.request_resource = review.resource;
  review.sub_resource = review.request_sub_resource = request.subresource;
  review.name = request.name;
  review.name_space = request.ns;
  review.operation_name = request.operation == WriteOperation::create ? "CREATE" : "UPDATE";
  review.user = {
      .username = request.user.name, .uid = request.user.uid, .groups = &asked.groups, .extra = &asked.extra};
  review.dry_run = request.dry_run;
  review.object = &asked.object;
  review.old_object = request.old_object ? &asked.old_object : nullptr;
  return review;
}

// Whether the step replaces a member of the object as a whole, which is what nearly all of them do.
bool replaces_member(const admission::PatchStep& step, const json::Value& object) {
  return step.op == "replace" && step.path.rfind('/') == 0 && step.path.find('~') == step.path.npos &&
         json::find(object, step.path.substr(1));
}

// Patches are of whole members, nearly always.
void tell_changes(const AdmissionRequest& request, std::span<const admission::PatchStep> patch) {
  for (const auto& step : patch) {
    if (step.path.rfind('/') != 0) continue;
    const std::string_view member = step.path.substr(1);
    api::add_member_changes(json::find(*request.object, member), step.value, *request.resource.kind->type, member,
                            *request.changes);
  }
}

// Brings the patch into the object to be stored, out of the one that was completed. True when that changed it.
Result<bool> apply_steps(const AdmissionRequest& request, std::span<const admission::PatchStep> patch,
                         json::Value& completed, const json::StoragePtr& storage) {
  json::Value& object = *request.object;
  if (request.changes) tell_changes(request, patch);
  if (!std::ranges::all_of(patch, [&](const auto& step) { return replaces_member(step, object); })) {
    if (auto patched = json::apply_json_patch(object, admission::patch_operations(patch, storage)); !patched)
      return fail(std::move(patched.error()));
    return !patch.empty();
  }
  bool changed = false;
  for (const auto& step : patch) {
    json::Value& into = *json::find(object, step.path.substr(1));
    // Whole members are sent, whether anything in them has changed or not.
    if (json::equal(into, *step.value)) continue;
    into = std::move(*json::find(completed, step.path.substr(1)));
    changed = true;
  }
  return changed;
}

Status denied_by(const Webhook& webhook, Status refusal) {
  // A refusal that names no code of its own is a 400, as kube-apiserver makes of it.
  if (refusal.code < 400) refusal.code = 400;
  refusal.message = phrases::denied(webhook.name, refusal.message);
  return refusal;
}

}  // namespace

Result<AdmissionOutcome> run_admission(const AdmissionRequest& request, const admission::Environment& environment,
                                       const json::StoragePtr& storage, std::vector<std::string>& warnings) {
  AdmissionOutcome outcome;
  std::string uid;
  for (const Webhook& webhook : admission::webhooks()) {
    const Subject* subject = subject_of(webhook, request);
    if (!subject || !wants(webhook, request, environment.own_namespace)) continue;
    if (uid.empty()) uid = uuid_v4();
    Asked asked(request, storage);
    const auto review = make_review(webhook, *subject, request, uid, asked);
    auto verdict = admission::admit(webhook, review, environment, storage, request.seen);
    std::ranges::move(verdict.warnings, std::back_inserter(warnings));
    if (request.effects) std::ranges::move(verdict.effects, std::back_inserter(*request.effects));
    if (!verdict.allowed) {
      if (request.refused_by) *request.refused_by = verdict.rule;
      return fail(denied_by(webhook, verdict.refusal()));
    }
    const auto changed = apply_steps(request, verdict.patch, asked.object, storage);
    if (!changed) return fail(changed.error());
    outcome.changed = outcome.changed || *changed;
  }
  return outcome;
}

}  // namespace vg::resources
