#include <algorithm>
#include <array>
#include <string>

#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::string_view name_label = "kubernetes.io/metadata.name";
constexpr std::string_view own_finalizer = "kubernetes";

// Selectors find a namespace by this label, so it always says the name, whatever the client sent.
void set_name_label(json::Object& object) {
  const std::string_view name = name_of(object);
  if (name.empty()) return;  // yet to be made from generateName
  const std::string kept(name);
  json::ensure_path(object, {"metadata", "labels"})[name_label] = kept;
}

void default_namespace(json::Object& object, const WriteContext& /*context*/) {
  set_name_label(object);
  default_text(json::ensure_object(object, "status"), "phase", "Active");
}

void prepare_new_namespace(json::Object& object, const WriteContext& /*context*/) {
  set_name_label(object);
  object["status"].emplace_object()["phase"] = "Active";
  json::Array& finalizers = json::ensure_array(json::ensure_object(object, "spec"), "finalizers");
  if (!contains_text(finalizers, own_finalizer)) finalizers.emplace_back(own_finalizer);
}

void prepare_changed_namespace(json::Object& object, const json::Object& old, const WriteContext& context) {
  set_name_label(object);
  if (context.subresource == "finalize") {
    carry_over(object, old, "status");
  } else {
    // Only the subresource takes finalizers away: that is how the content of a namespace is cleared before it goes.
    carry_over(json::ensure_object(object, "spec"), members(old, "spec"), "finalizers");
  }
}

void check_finalizer(FieldCauses& causes, const Place& at, std::string_view name) {
  static constexpr std::array<std::string_view, 3> standard = {own_finalizer, "orphan", "foregroundDeletion"};
  causes.defects(at, name, qualified_name_defects(name));
  if (name.find('/') == std::string_view::npos && std::ranges::find(standard, name) == standard.end())
    causes.invalid(at, "must be a finalizer of Kubernetes, or have a domain, for example example.com/hold");
}

void check_phase(FieldCauses& causes, const json::Object& object) {
  const bool going = has(members(object, "metadata"), "deletionTimestamp");
  const std::string_view wanted = going ? "Terminating" : "Active";
  if (text(members(object, "status"), "phase") != wanted)
    causes.invalid(top("status").field("Phase"), going ? "must be Terminating while the namespace is being deleted"
                                                       : "must be Active unless the namespace is being deleted");
}

void validate_namespace(const json::Object& object, const json::Object* old, const WriteContext& context,
                        std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const json::Array& finalizers = items(members(object, "spec"), "finalizers");
  const Place spec = top("spec");
  const Place list = spec.field("finalizers");
  if (!old) {
    for (const json::Value& finalizer : finalizers) check_finalizer(causes, list, as_text(finalizer));
  } else if (context.subresource == "finalize") {
    for (std::size_t i = 0; i < finalizers.size(); ++i) check_finalizer(causes, list.item(i), as_text(finalizers[i]));
  } else if (context.subresource == "status") {
    check_phase(causes, object);
  }
}

}  // namespace

constinit const Strategy namespace_strategy = {.group = "",
                                               .kind = "Namespace",
                                               .defaults = default_namespace,
                                               .prepare_create = prepare_new_namespace,
                                               .prepare_update = prepare_changed_namespace,
                                               .validate = validate_namespace};

}  // namespace vg::resources::core_kinds
