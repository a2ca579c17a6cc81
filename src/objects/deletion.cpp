#include "objects/deletion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/phrases.h"
#include "base/time_rfc3339.h"
#include "json/access.h"
#include "objects/draft.h"
#include "objects/object_meta.h"
#include "objects/scan.h"

namespace vg::resources {
namespace {

constexpr std::int64_t pod_grace_seconds_default = 30;
// More than a hundred years: whoever asks for more gets a time that can still be written down.
constexpr std::int64_t grace_seconds_max = std::int64_t{1} << 32;

bool is_namespace(const Resource& resource) { return resource.key == "namespaces"; }
bool is_pod(const Resource& resource) { return resource.key == "pods"; }

bool has_members(const json::Array* list) { return list && !list->empty(); }

bool namespace_has_content(const json::Object& object) {
  const auto* spec = json::get_object(object, "spec");
  return spec && has_members(json::get_array(*spec, "finalizers"));
}

// Kubernetes itself lives in these.
bool is_immortal(const StoredObject& object, const Resource& resource) {
  return is_namespace(resource) &&
         (object.name() == "default" || object.name() == "kube-system" || object.name() == "kube-public");
}

Result<void> check_preconditions(const StoredObject& object, const Resource& resource, const DeleteOptions& options) {
  const auto conflict = [&](std::string message) {
    const std::string_view what = is_namespace(resource) ? resource.plural() : resource.kind->kind;
    return fail(Status::conflict(std::string(resource.group()), std::string(what), std::string(object.name()),
                                 std::move(message)));
  };
  if (options.uid && *options.uid != object.uid()) return conflict(phrases::another_uid(object.uid(), *options.uid));
  if (options.revision && *options.revision != object.revision())
    return conflict(phrases::modified(fmt::to_string(object.revision()), fmt::to_string(*options.revision)));
  return {};
}

// The common case, seen without parsing: nothing asks for a mark.
bool goes_at_once(const StoredObject& object, const Resource& resource, const DeleteOptions& options) {
  if (is_namespace(resource) || is_pod(resource) || object.deleting()) return false;
  if (options.propagation == Propagation::foreground || options.propagation == Propagation::orphan) return false;
  constexpr std::array<std::string_view, 2> finalizers = {"metadata", "finalizers"};
  return !scan_value(object.json(), finalizers);
}

bool set_propagation(json::Object& metadata, Propagation propagation) {
  bool changed = false;
  switch (propagation) {
    case Propagation::unset:
      break;
    case Propagation::background:
      changed |= remove_finalizer(metadata, foreground_finalizer);
      changed |= remove_finalizer(metadata, orphan_finalizer);
      break;
    case Propagation::foreground:
      changed |= remove_finalizer(metadata, orphan_finalizer);
      changed |= add_finalizer(metadata, foreground_finalizer);
      break;
    case Propagation::orphan:
      changed |= remove_finalizer(metadata, foreground_finalizer);
      changed |= add_finalizer(metadata, orphan_finalizer);
      break;
  }
  return changed;
}

// A pod on a node gets time to stop; one that never ran or has ended needs none.
std::int64_t grace_seconds(const json::Object& object, const Resource& resource, const DeleteOptions& options) {
  if (!is_pod(resource)) return 0;
  const auto* spec = json::get_object(object, "spec");
  const auto* status = json::get_object(object, "status");
  const std::string_view phase = status ? json::get_string_or(*status, "phase") : std::string_view();
  if (!spec || json::get_string_or(*spec, "nodeName").empty() || phase == "Succeeded" || phase == "Failed") return 0;
  const std::int64_t asked = options.grace_period_seconds.value_or(
      json::get_int_or(*spec, "terminationGracePeriodSeconds", pod_grace_seconds_default));
  return asked < 0 ? 1 : std::min(asked, grace_seconds_max);  // as for a deletion that says so
}

void mark(json::Object& object, const Resource& resource, std::int64_t now_seconds, std::int64_t grace) {
  json::Object& metadata = metadata_of(object);
  metadata["deletionTimestamp"] = print_rfc3339({.seconds = now_seconds + grace, .nanoseconds = 0});
  metadata["deletionGracePeriodSeconds"] = grace;
  if (const auto generation = json::get_int_or(metadata, "generation", 0); generation > 0)
    metadata["generation"] = generation + 1;
  if (is_namespace(resource)) {
    json::erase(metadata, "deletionGracePeriodSeconds");
    json::ensure_object(object, "status")["phase"] = "Terminating";
  }
}

Status still_terminating(const StoredObject& object) {
  return Status::conflict("", "namespaces", std::string(object.name()),
                          "the namespace is being deleted; it will be removed when it is empty");
}

}  // namespace

bool deletion_completes(const json::Object& object, const Resource& resource) {
  const json::Object& metadata = metadata_of(object);
  if (!json::get_string(metadata, "deletionTimestamp") || has_members(json::get_array(metadata, "finalizers")))
    return false;
  if (is_namespace(resource)) return !namespace_has_content(object);
  return json::get_int_or(metadata, "deletionGracePeriodSeconds", 0) == 0;
}

Result<DeletionPlan> plan_deletion(const StoredObject& object, const Resource& resource, const DeleteOptions& options,
                                   std::int64_t now_seconds, const json::StoragePtr& storage) {
  if (auto holds = check_preconditions(object, resource, options); !holds) return fail(std::move(holds.error()));
  if (is_immortal(object, resource))
    return fail(Status::forbidden("", "namespaces", std::string(object.name()),
                                  "this namespace is required by the cluster and cannot be deleted"));
  if (goes_at_once(object, resource, options)) return DeletionPlan{};

  json::Value document = load_object(object, storage);
  json::Object& members = document.get_object();
  json::Object& metadata = metadata_of(members);
  const bool changed = set_propagation(metadata, options.propagation);
  const bool held = has_members(json::get_array(metadata, "finalizers")) ||
                    (is_namespace(resource) && namespace_has_content(members));
  const std::int64_t grace = grace_seconds(members, resource, options);
  if (!held && grace == 0) {
    if (!is_pod(resource)) return DeletionPlan{};
    // A pod tells in its last state how it went.
    mark(members, resource, now_seconds, 0);
    return DeletionPlan{.removal = Removal::remove, .marked = make_draft(members, resource)};
  }
  if (object.deleting()) {
    const auto left = json::get_int_or(metadata, "deletionGracePeriodSeconds", 0);
    const bool sooner = is_pod(resource) && options.grace_period_seconds && grace < left;
    if (sooner) {
      mark(members, resource, now_seconds, grace);
    } else if (!changed) {
      if (is_namespace(resource)) return fail(still_terminating(object));
      return DeletionPlan{.removal = Removal::keep};
    }
  } else {
    mark(members, resource, now_seconds, grace);
  }
  return DeletionPlan{.removal = Removal::mark, .marked = make_draft(members, resource)};
}

Transaction deletion_transaction(const StoredObject& object, DeletionPlan plan) {
  Transaction transaction;
  transaction.writes.push_back({.kind = plan.removal == Removal::remove ? WriteKind::remove : WriteKind::update,
                                .key = object.key(),
                                .expected_revision = object.revision(),
                                .object = plan.removal == Removal::remove ? ObjectDraft{} : std::move(plan.marked)});
  return transaction;
}

}  // namespace vg::resources
