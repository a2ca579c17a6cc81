#include "objects/core_kinds/claim.h"

#include <algorithm>
#include <array>
#include <utility>

#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 4> access_modes = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                                          "ReadWriteOncePod"};
constexpr std::array<std::string_view, 2> volume_modes = {"Block", "Filesystem"};
constexpr std::string_view class_annotation = "volume.beta.kubernetes.io/storage-class";

void default_claim(json::Object& object, const WriteContext& /*context*/) {
  default_claim_spec(json::ensure_object(object, "spec"));
  json::Object& status = json::ensure_object(object, "status");
  default_text(status, "phase", "Pending");
  round_amounts(status, "capacity");
  round_amounts(status, "allocatedResources");
}

bool is_claim_or_snapshot(const json::Object& source) {
  const std::string_view kind = text(source, "kind");
  const std::string_view group = text(source, "apiGroup");
  return (kind == "PersistentVolumeClaim" && group.empty()) ||
         (kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io");
}

void copy_source(json::Object& spec, std::string_view from, std::string_view to) {
  const json::Object source = members(spec, from);
  json::Object& copy = spec[to].emplace_object();
  for (const std::string_view member : {"apiGroup", "kind", "name"}) carry_over(copy, source, member);
}

// dataSource and dataSourceRef say the same unless the source is in another namespace. dataSource alone only ever took
// claims and snapshots; anything else in it was dropped without a word, and old clients count on that.
void align_data_sources(json::Object& spec, const json::Object* old_spec) {
  const bool had_source = old_spec && has(*old_spec, "dataSource");
  const bool has_ref = has(spec, "dataSourceRef");
  if (!had_source && !has_ref && !is_claim_or_snapshot(members(spec, "dataSource"))) json::erase(spec, "dataSource");
  if (has(spec, "dataSource") && !has_ref)
    copy_source(spec, "dataSource", "dataSourceRef");
  else if (has_ref && !has(spec, "dataSource") && text(members(spec, "dataSourceRef"), "namespace").empty())
    copy_source(spec, "dataSourceRef", "dataSource");
}

void prepare_new_claim(json::Object& object, const WriteContext& /*context*/) {
  object["status"].emplace_object()["phase"] = "Pending";
  align_data_sources(json::ensure_object(object, "spec"), nullptr);
}

void prepare_changed_claim(json::Object& object, const json::Object& old, const WriteContext& /*context*/) {
  align_data_sources(json::ensure_object(object, "spec"), &members(old, "spec"));
}

void check_access_modes(FieldCauses& causes, const Place& at, const json::Array& modes) {
  if (modes.empty()) causes.required(at, "at least one access mode, for example ReadWriteOnce");
}

void check_access_mode_values(FieldCauses& causes, const Place& at, const json::Array& modes) {
  bool one_pod = false;
  bool other = false;
  for (const json::Value& mode : modes) {
    check_supported(causes, at, as_text(mode), access_modes);
    if (as_text(mode) == "ReadWriteOncePod")
      one_pod = true;
    else
      other = other || std::ranges::find(access_modes, as_text(mode)) != access_modes.end();
  }
  if (one_pod && other) causes.forbidden(at, "ReadWriteOncePod is mutually exclusive with other access modes");
}

void check_storage(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const json::Object& requests = members(members(spec, "resources"), "requests");
  const auto storage = quantity_of(json::find(requests, "storage"));
  const Place place = at.field("resources");
  if (!storage)
    causes.required(place.key("storage"), "the size of the volume, in spec.resources.requests.storage");
  else if (storage->sign() <= 0)
    causes.invalid(place.key("storage"), "must be greater than 0");
}

void check_data_source(FieldCauses& causes, const Place& at, const json::Object& source) {
  const std::string_view kind = text(source, "kind");
  const std::string_view group = text(source, "apiGroup");
  if (text(source, "name").empty()) causes.required(at.field("name"), "the name of the object to copy from");
  if (kind.empty()) causes.required(at.field("kind"), "the kind of the object to copy from");
  if (group.empty() && kind != "PersistentVolumeClaim")
    causes.invalid(at, "must be PersistentVolumeClaim if apiGroup is empty");
  if (!group.empty()) causes.defects(at.field("apiGroup"), group, dns1123_subdomain_defects(group));
  const std::string_view ns = text(source, "namespace");
  if (!ns.empty()) causes.defects(at.field("namespace"), ns, dns1123_label_defects(ns));
}

void check_data_sources(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const json::Object& source = members(spec, "dataSource");
  const json::Object& ref = members(spec, "dataSourceRef");
  if (has(spec, "dataSource")) check_data_source(causes, at.field("dataSource"), source);
  if (has(spec, "dataSourceRef")) check_data_source(causes, at.field("dataSourceRef"), ref);
  if (!has(spec, "dataSource") || !has(spec, "dataSourceRef")) return;
  if (!text(ref, "namespace").empty())
    causes.invalid(at, "mutually exclusive with a dataSourceRef to another namespace; remove dataSource");
  else if (text(source, "apiGroup") != text(ref, "apiGroup") || text(source, "kind") != text(ref, "kind") ||
           text(source, "name") != text(ref, "name"))
    causes.invalid(at, "dataSource and dataSourceRef must be the same object");
}

void check_class_name(FieldCauses& causes, const Place& at, std::string_view name) {
  if (!name.empty()) causes.defects(at, name, dns1123_subdomain_defects(name));
}

// What of the new spec counts when it is compared with the old one: the parts that may change are set to the old ones.
json::Object comparable_spec(const json::Object& object, const json::Object& old) {
  const json::Object& before = members(old, "spec");
  json::Object spec = members(object, "spec");
  if (text(before, "volumeName").empty()) json::erase(spec, "volumeName");  // a claim is bound once
  if (!has(before, "storageClassName") && has(spec, "storageClassName") &&
      (!has_annotation(old, class_annotation) || annotation(old, class_annotation) == text(spec, "storageClassName")))
    json::erase(spec, "storageClassName");  // the default class may come later than the claim
  if (text(members(object, "status"), "phase") == "Bound") {
    carry_over(spec, before, "volumeAttributesClassName");
    if (auto* resources = json::get_object(spec, "resources"))
      if (auto* requests = json::get_object(*resources, "requests"))
        carry_over(*requests, members(members(before, "resources"), "requests"), "storage");
  }
  return spec;
}

void check_size_change(FieldCauses& causes, const json::Object& spec, const json::Object& old) {
  const Quantity now = amount(members(members(spec, "resources"), "requests"), "storage");
  const Quantity before = amount(members(members(members(old, "spec"), "resources"), "requests"), "storage");
  // Taking back a growth that failed is fine; volumes themselves never shrink.
  if (now < before && now <= amount(members(members(old, "status"), "capacity"), "storage"))
    causes.forbidden(top("spec").field("resources").field("requests").field("storage"),
                     "must not be less than status.capacity: volumes do not shrink");
}

void check_attributes_class_change(FieldCauses& causes, const json::Object& spec, const json::Object& old) {
  if (same_member(spec, members(old, "spec"), "volumeAttributesClassName")) return;
  if (has(members(old, "status"), "currentVolumeAttributesClassName") &&
      text(spec, "volumeAttributesClassName").empty())
    causes.forbidden(top("spec").field("volumeAttributesClassName"),
                     "must not be removed: a class is in use; it can only be replaced");
}

void check_claim_change(FieldCauses& causes, const json::Object& object, const json::Object& old) {
  const json::Object& spec = members(object, "spec");
  const json::Object& before = members(old, "spec");
  const bool class_moved_out_of_annotation = has_annotation(old, class_annotation) &&
                                             !has(before, "storageClassName") &&
                                             text(spec, "storageClassName") == annotation(old, class_annotation);
  if (!class_moved_out_of_annotation && annotation(object, class_annotation) != annotation(old, class_annotation))
    causes.invalid(top("metadata").field("annotations").field(class_annotation), cannot_change);
  json::Object kept = before;
  if (text(before, "volumeName").empty()) json::erase(kept, "volumeName");
  const json::Value wanted(comparable_spec(object, old));
  const json::Value had(std::move(kept));
  if (!same(&wanted, &had))
    causes.forbidden(
        top("spec"),
        "spec is immutable, except resources.requests.storage, which may grow when the claim is bound, and "
        "volumeAttributesClassName");
  check_size_change(causes, spec, old);
  if (!same_member(spec, before, "volumeMode")) causes.invalid(top("volumeMode"), cannot_change);
  check_attributes_class_change(causes, spec, old);
}

void check_status(FieldCauses& causes, const json::Object& status) {
  const Place at = top("status");
  for (const std::string_view list : {"capacity", "allocatedResources"}) {
    const Place place = at.field(list);
    for (const auto& member : members(status, list))
      if (const auto quantity = quantity_of(&member.value()); quantity && quantity->sign() < 0)
        causes.invalid(place.key(member.key()), "must be 0 or more");
  }
}

void validate_claim(const json::Object& object, const json::Object* old, const WriteContext& context,
                    std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return check_status(causes, members(object, "status"));
  check_claim_spec(causes, top("spec"), members(object, "spec"));
  if (old) check_claim_change(causes, object, *old);
}

}  // namespace

void default_claim_spec(json::Object& spec) {
  default_pointer(spec, "volumeMode", "Filesystem");
  round_requirements(spec, "resources");
}

void check_claim_spec(FieldCauses& causes, const Place& at, const json::Object& spec) {
  check_access_modes(causes, at.field("accessModes"), items(spec, "accessModes"));
  check_label_selector(causes, at.field("selector"), members(spec, "selector"));
  check_access_mode_values(causes, at.field("accessModes"), items(spec, "accessModes"));
  check_storage(causes, at, spec);
  check_class_name(causes, at.field("storageClassName"), text(spec, "storageClassName"));
  if (has(spec, "volumeMode")) check_supported(causes, at.field("volumeMode"), text(spec, "volumeMode"), volume_modes);
  check_data_sources(causes, at, spec);
  check_class_name(causes, at.field("volumeAttributesClassName"), text(spec, "volumeAttributesClassName"));
}

constinit const Strategy claim_strategy = {.group = "",
                                           .kind = "PersistentVolumeClaim",
                                           .defaults = default_claim,
                                           .prepare_create = prepare_new_claim,
                                           .prepare_update = prepare_changed_claim,
                                           .validate = validate_claim};

}  // namespace vg::resources::core_kinds
