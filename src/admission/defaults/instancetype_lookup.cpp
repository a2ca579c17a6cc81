#include "admission/defaults/instancetype_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "admission/defaults/edit.h"
#include "api/canonical.h"
#include "api/schema.h"

namespace vg::admission {
namespace {

using json::Object;
using json::Value;
using std::string_view;

constexpr string_view group = "instancetype.kubevirt.io";
constexpr string_view revision_version = "instancetype.kubevirt.io/v1beta1";
constexpr string_view object_name_label = "instancetype.kubevirt.io/object-name";

std::string lower(string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

string_view namespace_of(const Object& vm) {
  const Object* metadata = edit::child(&vm, "metadata");
  return metadata ? json::get_string_or(*metadata, "namespace") : string_view();
}

Result<const Object*> spec_in_canonical_form(Value& object, string_view kind_name) {
  const api::Kind* kind = api::find_kind(group, "", kind_name);
  // An empty node selector is one too: the machine may not have another.
  if (auto good = api::canonicalize(object, *kind->type, {}, api::Empties::kept); !good)
    return fail(std::move(good.error()));
  return &json::ensure_object(object.get_object(), "spec");
}

Result<Value*> get_existing(string_view resource, string_view ns, string_view name, const Context& context) {
  auto found = context.lookups.get(resource, ns, name, context.storage);
  if (!found || *found) return found;
  const std::size_t slash = resource.find('/');
  return fail(slash == string_view::npos
                  ? Status::not_found("", std::string(resource), std::string(name))
                  : Status::not_found(std::string(resource.substr(0, slash)), std::string(resource.substr(slash + 1)),
                                      std::string(name)));
}

// 6.2: what a revision holds must be an object of the family, in the version that is stored today.
Result<const Object*> decode_revision(Value& revision, const Family& family) {
  Value* data = json::find(revision, "data");
  const string_view kind = data ? json::get_string_or(*data, "kind") : string_view();
  if (!data || !data->is_object() || json::get_string_or(*data, "apiVersion") != revision_version ||
      (kind != family.kind && kind != family.cluster_kind))
    return fail(Status::bad_request(fmt::format("the ControllerRevision has no {} or {} of {}", family.kind,
                                                family.cluster_kind, revision_version)));
  return spec_in_canonical_form(*data, kind);
}

Result<Value*> get_revision(const Object& vm, string_view name, const Context& context) {
  return get_existing("apps/controllerrevisions", namespace_of(vm), name, context);
}

// 4.1 rows 4 to 6
Result<const Object*> find_live(const Object& vm, const Object& matcher, const Family& family, const Context& context) {
  const std::string kind = lower(json::get_string_or(matcher, "kind"));
  const string_view name = json::get_string_or(matcher, "name");
  const bool in_namespace = kind == lower(family.kind) || kind == family.plural;
  if (!in_namespace && !kind.empty() && kind != lower(family.cluster_kind) && kind != family.cluster_plural)
    return fail(Status::bad_request(fmt::format("spec.{}.kind {} is not supported; it must be {} or {}", family.matcher,
                                                kind, family.kind, family.cluster_kind)));
  if (name.empty()) return fail(Status::bad_request(fmt::format("spec.{}.name is required", family.matcher)));
  const std::string resource = fmt::format("{}/{}", group, in_namespace ? family.plural : family.cluster_plural);
  auto found = get_existing(resource, in_namespace ? namespace_of(vm) : string_view(), name, context);
  if (!found) return fail(std::move(found.error()));
  return spec_in_canonical_form(**found, in_namespace ? family.kind : family.cluster_kind);
}

// 4.1 row 3: the revision in use, as long as the VM still means the same object.
string_view revision_in_status(const Object& vm, const Family& family) {
  const Object* reference = edit::descend(vm, {"status", family.status_reference, "controllerRevisionRef"});
  return reference ? json::get_string_or(*reference, "name") : string_view();
}

}  // namespace

const Family instancetype_family = {
    .matcher = "instancetype",
    .status_reference = "instancetypeRef",
    .kind = "VirtualMachineInstancetype",
    .cluster_kind = "VirtualMachineClusterInstancetype",
    .plural = "virtualmachineinstancetypes",
    .cluster_plural = "virtualmachineclusterinstancetypes",
    .name_label = "instancetype.kubevirt.io/default-instancetype",
    .kind_label = "instancetype.kubevirt.io/default-instancetype-kind",
    .sizes_memory = true,
};

const Family preference_family = {
    .matcher = "preference",
    .status_reference = "preferenceRef",
    .kind = "VirtualMachinePreference",
    .cluster_kind = "VirtualMachineClusterPreference",
    .plural = "virtualmachinepreferences",
    .cluster_plural = "virtualmachineclusterpreferences",
    .name_label = "instancetype.kubevirt.io/default-preference",
    .kind_label = "instancetype.kubevirt.io/default-preference-kind",
    .sizes_memory = false,
};

Result<const Object*> find_named_spec(const Object& vm, const Family& family, const Context& context) {
  return find_spec(vm, edit::descend(vm, {"spec", family.matcher}), family, context);
}

Result<const Object*> find_spec(const Object& vm, const Object* matcher, const Family& family, const Context& context) {
  if (!matcher) return nullptr;
  if (const string_view name = json::get_string_or(*matcher, "revisionName"); !name.empty()) {
    auto revision = get_revision(vm, name, context);
    return revision ? decode_revision(**revision, family) : fail(std::move(revision.error()));
  }
  if (const string_view name = revision_in_status(vm, family); !name.empty()) {
    auto revision = get_revision(vm, name, context);
    if (!revision) return fail(std::move(revision.error()));
    const Value* label = json::find_path(**revision, {"metadata", "labels", object_name_label});
    if (json::as_string(label) == json::get_string_or(*matcher, "name")) return decode_revision(**revision, family);
  }
  return find_live(vm, *matcher, family, context);
}

}  // namespace vg::admission
