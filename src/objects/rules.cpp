#include "objects/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/structural.h"
#include "json/access.h"
#include "json/equal.h"
#include "objects/managed_fields.h"
#include "objects/object_meta.h"

namespace vg::resources {
namespace {

bool is_identity(std::string_view member) { return member == "apiVersion" || member == "kind" || member == "metadata"; }

// Whether everything besides metadata is the same. `known`: a member of which that is known already.
bool same_content(const json::Object& a, const json::Object& b, std::string_view known = {}) {
  std::size_t members = 0;
  for (const auto& member : a) {
    if (is_identity(member.key())) continue;
    const json::Value* other = json::find(b, member.key());
    if (!other || (member.key() != known && !json::equal(*other, member.value()))) return false;
    ++members;
  }
  for (const auto& member : b)
    if (!is_identity(member.key())) --members;
  return members == 0;
}

void take_member(json::Object& to, const json::Object& from, std::string_view name) {
  if (const json::Value* value = json::find(from, name))
    to[name] = *value;
  else
    json::erase(to, name);
}

// But for managedFields, which are put there anew.
bool same_metadata(const json::Object& a, const json::Object& b) {
  const auto others = [](const json::Object& of) { return of.size() - (of.contains("managedFields") ? 1 : 0); };
  return others(a) == others(b) && std::ranges::all_of(b, [&](const auto& member) {
           const json::Value* value = json::find(a, member.key());
           return member.key() == "managedFields" || (value && json::equal(*value, member.value()));
         });
}

bool same_but_status(const json::Object& object, const json::Object& old, std::string_view known) {
  const auto others = [](const json::Object& of) { return of.size() - (of.contains("status") ? 1 : 0); };
  return others(object) == others(old) && std::ranges::all_of(old, [&](const auto& member) {
           if (member.key() == "status") return true;
           const json::Value* value = json::find(object, member.key());
           if (!value) return false;
           // Who writes in a known way leaves its managedFields out.
           if (!known.empty() && member.key() == "metadata" && value->is_object() && member.value().is_object())
             return same_metadata(value->get_object(), member.value().get_object());
           return member.key() == known || json::equal(*value, member.value());
         });
}

// A custom kind's status subresource changes nothing else; one of Kubernetes' own also takes labels, annotations and
// finalizers.
void keep_all_but_status(json::Value& object, const json::Value& old, bool custom, std::string_view known) {
  json::Object& wanted = object.get_object();
  if (custom && same_but_status(wanted, old.get_object(), known)) return;  // as after a patch of the status
  json::Object kept(old.get_object(), object.storage());
  take_member(kept, wanted, "status");
  if (!custom) {
    json::Object& metadata = metadata_of(kept);
    const json::Object& asked = metadata_of(std::as_const(wanted));
    for (const std::string_view member : {"labels", "annotations", "finalizers"}) take_member(metadata, asked, member);
  }
  wanted = std::move(kept);
}

// kube-apiserver checks the rules only once the rest could be read, and the rest includes the metadata.
bool blocks_rules(const StatusCause& cause) {
  static constexpr std::array<std::string_view, 5> blocking = {"FieldValueNotSupported", "FieldValueRequired",
                                                               "FieldValueTooLong", "FieldValueTooMany",
                                                               "FieldValueTypeInvalid"};
  return std::ranges::find(blocking, cause.reason) != blocking.end();
}

api::Rules rules_after(const std::vector<StatusCause>& causes) {
  return std::ranges::any_of(causes, blocks_rules) ? api::Rules::skipped : api::Rules::asked;
}

}  // namespace

Result<void> settle_namespace(json::Object& object, const Resource& resource, std::string_view ns) {
  json::Object& metadata = metadata_of(object);
  const std::string_view said = json::get_string_or(metadata, "namespace");
  if (!resource.kind->namespaced) {
    json::erase(metadata, "namespace");
  } else if (said.empty()) {
    metadata["namespace"] = ns;
  } else if (said != ns) {
    return fail(Status::bad_request(fmt::format(
        "metadata.namespace \"{}\" does not match the namespace of the path, \"{}\"; change one of them", said, ns)));
  }
  return {};
}

void prepare_new(json::Object& object, const Resource& resource, const WriteContext& context, std::string_view uid) {
  json::Object& metadata = metadata_of(object);
  stamp_new_object(metadata, uid, context.now_rfc3339);
  if (resource.kind->custom) {
    metadata["generation"] = 1;
    if (resource.kind->status_subresource) json::erase(object, "status");
    return;
  }
  const Strategy* strategy = find_strategy(resource.group(), resource.kind->kind);
  if (strategy && strategy->prepare_create) strategy->prepare_create(object, context);
}

void prepare_changed(json::Value& object, const json::Value& old, const Resource& resource, const WriteContext& context,
                     std::string_view known) {
  const api::Kind& kind = *resource.kind;
  const json::Object& before = old.get_object();
  if (context.subresource == "status" || context.subresource == "approval")
    keep_all_but_status(object, old, kind.custom, known);
  else if (kind.status_subresource)
    take_member(object.get_object(), before, "status");
  json::Object& after = object.get_object();
  json::Object& metadata = metadata_of(after);
  carry_over_metadata(metadata, metadata_of(before));
  if (!kind.custom) {
    const Strategy* strategy = find_strategy(resource.group(), kind.kind);
    if (strategy && strategy->prepare_update) strategy->prepare_update(after, before, context);
  } else if (context.subresource != "status" && !same_content(after, before, known)) {
    metadata["generation"] = json::get_int_or(metadata_of(before), "generation", 0) + 1;
  }
}

bool is_shown_by_controllers(const Resource& resource) {
  return resource.key == "kubevirt.io/virtualmachines" || resource.key == "kubevirt.io/virtualmachineinstances";
}

std::vector<StatusCause> find_metadata_causes(const json::Value& object, const json::Value* old,
                                              const Resource& resource) {
  std::vector<StatusCause> causes;
  const json::Object& metadata = metadata_of(object.get_object());
  if (old) check_metadata_change(metadata, metadata_of(old->get_object()), causes);
  check_metadata(metadata, resource, causes);
  return causes;
}

std::vector<StatusCause> find_causes(const json::Value& object, const json::Value* old, const Resource& resource,
                                     const WriteContext& context) {
  std::vector<StatusCause> causes = find_metadata_causes(object, old, resource);
  const json::Object& members = object.get_object();
  if (resource.kind->custom) {
    const auto validate = context.subresource == "status" ? api::validate_status_structure : api::validate_structure;
    std::ranges::move(validate(object, *resource.kind, old, rules_after(causes)), std::back_inserter(causes));
    return causes;
  }
  const Strategy* strategy = find_strategy(resource.group(), resource.kind->kind);
  if (strategy && strategy->validate) strategy->validate(members, old ? &old->get_object() : nullptr, context, causes);
  return causes;
}

bool same_object(const json::Object& object, const json::Object& old, std::string_view known) {
  static constexpr std::array<std::string_view, 12> kept = {"name",
                                                            "generateName",
                                                            "namespace",
                                                            "uid",
                                                            "generation",
                                                            "creationTimestamp",
                                                            "labels",
                                                            "deletionTimestamp",
                                                            "annotations",
                                                            "deletionGracePeriodSeconds",
                                                            "ownerReferences",
                                                            "finalizers"};
  const json::Object& a = metadata_of(object);
  const json::Object& b = metadata_of(old);
  const auto is_empty = [](const json::Value* value) {
    return !value || value->is_null() || (value->is_object() && value->get_object().empty()) ||
           (value->is_array() && value->get_array().empty()) || (value->is_string() && value->get_string().empty());
  };
  for (const std::string_view member : kept) {
    const json::Value* x = json::find(a, member);
    const json::Value* y = json::find(b, member);
    if (is_empty(x) || is_empty(y) ? is_empty(x) != is_empty(y) : !json::equal(*x, *y)) return false;
  }
  // Nothing is written for a time alone.
  return same_owners(json::find(a, "managedFields"), json::find(b, "managedFields")) &&
         same_content(object, old, known);
}

void add_kind_warning(const Resource& resource, std::vector<std::string>& warnings) {
  const Strategy* strategy = find_strategy(resource.group(), resource.kind->kind);
  if (strategy && !strategy->warning.empty()) warnings.emplace_back(strategy->warning);
}

bool takes_unconditional_update(const Resource& resource) {
  static constexpr std::array<std::string_view, 10> conditional = {
      "admissionregistration.k8s.io/validatingadmissionpolicies",
      "admissionregistration.k8s.io/validatingadmissionpolicybindings",
      "apiextensions.k8s.io/customresourcedefinitions",
      "coordination.k8s.io/leases",
      "node.k8s.io/runtimeclasses",
      "policy/poddisruptionbudgets",
      "storage.k8s.io/csidrivers",
      "storage.k8s.io/csinodes",
      "storage.k8s.io/csistoragecapacities",
      "storage.k8s.io/volumeattachments"};
  return !resource.kind->custom && std::ranges::find(conditional, resource.key) == conditional.end();
}

bool answers_with_deleted_object(const Resource& resource) {
  static constexpr std::array<std::string_view, 16> table = {"pods",
                                                             "persistentvolumeclaims",
                                                             "persistentvolumes",
                                                             "podtemplates",
                                                             "resourcequotas",
                                                             "serviceaccounts",
                                                             "services",
                                                             "storage.k8s.io/storageclasses",
                                                             "storage.k8s.io/csidrivers",
                                                             "storage.k8s.io/csinodes",
                                                             "storage.k8s.io/volumeattachments",
                                                             "storage.k8s.io/volumeattributesclasses",
                                                             "resource.k8s.io/deviceclasses",
                                                             "resource.k8s.io/resourceclaims",
                                                             "resource.k8s.io/resourceclaimtemplates",
                                                             "resource.k8s.io/resourceslices"};
  return std::ranges::find(table, resource.key) != table.end();
}

}  // namespace vg::resources
