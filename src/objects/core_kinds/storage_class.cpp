#include "objects/core_kinds/storage_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "base/phrases.h"
#include "json/write.h"
#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 2> reclaim_policies = {"Delete", "Retain"};
constexpr std::array<std::string_view, 2> binding_modes = {"Immediate", "WaitForFirstConsumer"};
constexpr std::size_t parameters_max = 512;
constexpr std::size_t parameters_bytes_max = 256 * 1024;

void default_storage_class(json::Object& object, const WriteContext& /*context*/) {
  default_pointer(object, "reclaimPolicy", "Delete");
  default_pointer(object, "volumeBindingMode", "Immediate");
}

void check_topology_term(FieldCauses& causes, const Place& at, const json::Object& term) {
  const json::Array& expressions = items(term, "matchLabelExpressions");
  const Place list = at.field("matchLabelExpressions");
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const json::Object& expression = members(expressions[i]);
    const Place place = list.item(i);
    const Place values_place = place.field("values");
    const json::Array& values = items(expression, "values");
    if (values.empty()) causes.required(values_place, "at least one value");
    std::set<std::string_view> seen;
    for (std::size_t j = 0; j < values.size(); ++j)
      if (!seen.insert(as_text(values[j])).second) causes.duplicate(values_place.item(j), as_text(values[j]));
    const std::string_view key = text(expression, "key");
    causes.defects(place.field("key"), key, qualified_name_defects(key));
    if (!keys.insert(key).second) causes.duplicate(place.field("key"), key);
  }
}

void check_topologies(FieldCauses& causes, const json::Array& terms) {
  const Place at = top("allowedTopologies");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Place place = at.item(i);
    check_topology_term(causes, place, members(terms[i]));
    if (!seen.insert(json::to_text(terms[i], {.sort_keys = true})).second)
      causes.duplicate(place.field("matchLabelExpressions"), "terms must be unique");
  }
}

void check_storage_class_change(FieldCauses& causes, const json::Object& object, const json::Object& old) {
  for (const std::string_view member : {"parameters", "provisioner", "reclaimPolicy"})
    if (!same_member(object, old, member)) causes.forbidden(top(member), phrases::updates_forbidden(member));
  if (!same_member(object, old, "volumeBindingMode")) causes.invalid(top("volumeBindingMode"), cannot_change);
}

void validate_storage_class(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                            std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  check_provisioner(causes, top("provisioner"), text(object, "provisioner"));
  check_parameters(causes, members(object, "parameters"));
  if (const std::string_view policy = text(object, "reclaimPolicy"); !policy.empty())
    check_supported(causes, top("reclaimPolicy"), policy, reclaim_policies);
  check_supported(causes, top("volumeBindingMode"), text(object, "volumeBindingMode"), binding_modes);
  check_topologies(causes, items(object, "allowedTopologies"));
  if (old) check_storage_class_change(causes, object, *old);
}

}  // namespace

void check_provisioner(FieldCauses& causes, const Place& at, std::string_view written) {
  std::string name(written);
  if (name.empty()) return causes.required(at, "the driver that provisions the volumes");
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  causes.defects(at, name, qualified_name_defects(name));
}

void check_parameters(FieldCauses& causes, const json::Object& parameters) {
  const Place at = top("parameters");
  if (parameters.size() > parameters_max)
    return causes.too_long(at, fmt::format("must have at most {} parameters", parameters_max));
  std::size_t bytes = 0;
  for (const auto& parameter : parameters) {
    if (parameter.key().empty()) causes.invalid(at, "the name of the parameter");
    bytes += parameter.key().size() + as_text(parameter.value()).size();
  }
  if (bytes > parameters_bytes_max)
    causes.too_long(at,
                    fmt::format("must have at most {} bytes in all names and values together", parameters_bytes_max));
}

constinit const Strategy storage_class_strategy = {.group = "storage.k8s.io",
                                                   .kind = "StorageClass",
                                                   .defaults = default_storage_class,
                                                   .validate = validate_storage_class};

}  // namespace vg::resources::core_kinds
