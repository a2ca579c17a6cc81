// Runtime classes, and devices that are asked for by claims. Nothing here gives out devices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"
#include "objects/core_kinds/workload_parts.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::size_t requests_max = 32;
constexpr std::size_t alternatives_max = 8;
constexpr std::size_t selectors_max = 32;
constexpr std::size_t configurations_max = 32;
constexpr std::size_t devices_max = 128;
constexpr std::array<std::string_view, 2> allocation_modes = {"All", "ExactCount"};

// --- runtime classes -------------------------------------------------------------------------------------------------

void default_runtime_class(json::Object& object, const WriteContext& /*context*/) {
  if (auto* overhead = json::get_object(object, "overhead")) round_amounts(*overhead, "podFixed");
}

void validate_runtime_class(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                            std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (old) return check_immutable(causes, whole_object, object, *old, {"handler"});
  const std::string_view handler = text(object, "handler");
  causes.defects(top("handler"), handler, dns1123_label_defects(handler));
  check_overhead(causes, top("overhead"), members(members(object, "overhead"), "podFixed"));
  const json::Object& scheduling = members(object, "scheduling");
  const Place at = top("scheduling");
  check_labels(causes, at.field("nodeSelector"), members(scheduling, "nodeSelector"));
  check_tolerations(causes, at.field("tolerations"), items(scheduling, "tolerations"));
}

// --- claims ----------------------------------------------------------------------------------------------------------

void default_request(json::Object& request) {
  default_text(request, "allocationMode", "ExactCount");
  if (text(request, "allocationMode") == "ExactCount") default_number(request, "count", 1);
}

void default_claim_devices(json::Object& spec) {
  auto* devices = json::get_object(spec, "devices");
  if (!devices) return;
  for_each_object(*devices, "requests", [](json::Object& request) {
    if (auto* exactly = json::get_object(request, "exactly")) default_request(*exactly);
    for_each_object(request, "firstAvailable", default_request);
  });
}

void default_device_claim(json::Object& object, const WriteContext& /*context*/) {
  default_claim_devices(json::ensure_object(object, "spec"));
}

void default_claim_template(json::Object& object, const WriteContext& /*context*/) {
  default_claim_devices(json::ensure_object(json::ensure_object(object, "spec"), "spec"));
}

bool check_size(FieldCauses& causes, const Place& at, std::size_t size, std::size_t size_max) {
  if (size > size_max) causes.too_many(at, fmt::format("must have at most {} items", size_max));
  return size <= size_max;
}

void check_selectors(FieldCauses& causes, const Place& at, const json::Array& selectors) {
  if (!check_size(causes, at, selectors.size(), selectors_max)) return;
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    const json::Object& cel = members(members(selectors[i]), "cel");
    if (text(cel, "expression").empty())
      causes.required(at.item(i).field("cel").field("expression"), "a CEL expression that selects devices");
  }
}

void check_exact_request(FieldCauses& causes, const Place& at, const json::Object& request) {
  const std::string_view name = text(request, "deviceClassName");
  if (name.empty())
    causes.required(at.field("deviceClassName"), "the name of a DeviceClass");
  else
    causes.defects(at.field("deviceClassName"), name, dns1123_subdomain_defects(name));
  check_selectors(causes, at.field("selectors"), items(request, "selectors"));
  const std::string_view mode = text(request, "allocationMode");
  const std::int64_t count = json::get_int_or(request, "count", 0);
  check_supported(causes, at.field("allocationMode"), mode, allocation_modes);
  if (mode == "All" && count != 0) causes.invalid(at.field("count"), "must not be set with allocationMode All");
  if (mode == "ExactCount" && count <= 0) causes.invalid(at.field("count"), "must be greater than zero");
}

void check_request(FieldCauses& causes, const Place& at, const json::Object& request) {
  const std::string_view name = text(request, "name");
  if (name.empty())
    causes.required(at.field("name"), "the name of the request");
  else
    causes.defects(at.field("name"), name, dns1123_label_defects(name));
  const json::Array& alternatives = items(request, "firstAvailable");
  const bool exactly = has(request, "exactly");
  if (!exactly && alternatives.empty())
    return causes.required(at, "exactly one of exactly or firstAvailable is required");
  if (exactly && !alternatives.empty()) return causes.invalid(at, "exactly is mutually exclusive with firstAvailable");
  if (exactly) return check_exact_request(causes, at.field("exactly"), members(request, "exactly"));
  const Place list = at.field("firstAvailable");
  if (!check_size(causes, list, alternatives.size(), alternatives_max)) return;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    const json::Object& alternative = members(alternatives[i]);
    const Place place = list.item(i);
    const std::string_view called = text(alternative, "name");
    causes.defects(place.field("name"), called, dns1123_label_defects(called));
    if (!names.insert(called).second) causes.duplicate(place, called);
    check_exact_request(causes, place, alternative);
  }
}

void check_claim_devices(FieldCauses& causes, const Place& spec, const json::Object& claim_spec) {
  const json::Object& devices = members(claim_spec, "devices");
  const Place at = spec.field("devices");
  const json::Array& requests = items(devices, "requests");
  const Place list = at.field("requests");
  check_size(causes, at.field("constraints"), items(devices, "constraints").size(), configurations_max);
  check_size(causes, at.field("config"), items(devices, "config").size(), configurations_max);
  if (!check_size(causes, list, requests.size(), requests_max)) return;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    check_request(causes, list.item(i), members(requests[i]));
    if (!names.insert(text(requests[i], "name")).second) causes.duplicate(list.item(i), text(requests[i], "name"));
  }
}

void validate_device_claim(const json::Object& object, const json::Object* old, const WriteContext& context,
                           std::vector<StatusCause>& into) {
  static constexpr std::size_t reserved_max = 256;
  FieldCauses causes(into);
  if (context.subresource == "status") {
    const Place at = top("status");
    check_size(causes, at.field("reservedFor"), items(members(object, "status"), "reservedFor").size(), reserved_max);
    return;
  }
  if (!old) return check_claim_devices(causes, top("spec"), members(object, "spec"));
  if (!same_member(object, *old, "spec")) causes.invalid(top("spec"), cannot_change);
}

void validate_claim_template(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                             std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const Place spec = top("spec");
  if (!old) return check_claim_devices(causes, spec.field("spec"), members(members(object, "spec"), "spec"));
  if (!same_member(object, *old, "spec")) causes.invalid(top("spec"), cannot_change);
}

// --- classes and slices ----------------------------------------------------------------------------------------------

void validate_device_class(const json::Object& object, const json::Object* /*old*/, const WriteContext& /*context*/,
                           std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  check_selectors(causes, at.field("selectors"), items(spec, "selectors"));
  check_size(causes, at.field("config"), items(spec, "config").size(), configurations_max);
}

void default_resource_slice(json::Object& object, const WriteContext& context) {
  for_each_object(json::ensure_object(object, "spec"), "devices", [&](json::Object& device) {
    for_each_object(device, "taints", [&](json::Object& taint) {
      default_pointer(taint, "timeAdded", json::Value(context.now_rfc3339));
    });
  });
}

void check_slice_nodes(FieldCauses& causes, const Place& at, const json::Object& spec) {
  std::size_t ways = has(spec, "nodeSelector") ? 1 : 0;
  if (has(spec, "nodeName")) {
    ++ways;
    causes.defects(at.field("nodeName"), text(spec, "nodeName"), dns1123_subdomain_defects(text(spec, "nodeName")));
  }
  for (const std::string_view member : {"allNodes", "perDeviceNodeSelection"}) {
    if (!has(spec, member)) continue;
    if (json::get_bool_or(spec, member, false))
      ++ways;
    else
      causes.invalid(at.field(member), "must be either unset or set to true");
  }
  static constexpr std::string_view one_of =
      "exactly one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection is required";
  if (ways == 0) causes.required(at, one_of);
  if (ways > 1) causes.invalid(at, one_of);
}

void validate_resource_slice(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                             std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  const std::string_view driver = text(spec, "driver");
  if (driver.empty())
    causes.required(at.field("driver"), "the name of the driver");
  else
    causes.defects(at.field("driver"), driver, dns1123_subdomain_defects(driver));
  const json::Object& pool = members(spec, "pool");
  const Place pool_place = at.field("pool");
  if (text(pool, "name").empty()) causes.required(pool_place.field("name"), "the name of the pool");
  if (json::get_int_or(pool, "resourceSliceCount", 0) <= 0)
    causes.invalid(pool_place.field("resourceSliceCount"), "must be greater than zero");
  check_not_negative(causes, pool_place, pool, {"generation"});
  if (old) {
    const json::Object& before = members(*old, "spec");
    check_immutable(causes, pool_place, pool, members(before, "pool"), {"name"});
    check_immutable(causes, at, spec, before, {"driver", "nodeName"});
  }
  check_slice_nodes(causes, at, spec);
  const json::Array& devices = items(spec, "devices");
  const Place list = at.field("devices");
  if (!check_size(causes, list, devices.size(), devices_max)) return;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string_view name = text(devices[i], "name");
    causes.defects(list.item(i).field("name"), name, dns1123_label_defects(name));
    if (!names.insert(name).second) causes.duplicate(list.item(i), name);
  }
}

}  // namespace

constinit const Strategy runtime_class_strategy = {.group = "node.k8s.io",
                                                   .kind = "RuntimeClass",
                                                   .defaults = default_runtime_class,
                                                   .validate = validate_runtime_class};
constinit const Strategy device_claim_strategy = {.group = "resource.k8s.io",
                                                  .kind = "ResourceClaim",
                                                  .defaults = default_device_claim,
                                                  .prepare_create = prepare_plain_create,
                                                  .validate = validate_device_claim};
constinit const Strategy device_claim_template_strategy = {.group = "resource.k8s.io",
                                                           .kind = "ResourceClaimTemplate",
                                                           .defaults = default_claim_template,
                                                           .validate = validate_claim_template};
constinit const Strategy device_class_strategy = {.group = "resource.k8s.io",
                                                  .kind = "DeviceClass",
                                                  .prepare_create = prepare_counted_create,
                                                  .prepare_update = prepare_counted_update,
                                                  .validate = validate_device_class};
constinit const Strategy resource_slice_strategy = {.group = "resource.k8s.io",
                                                    .kind = "ResourceSlice",
                                                    .defaults = default_resource_slice,
                                                    .prepare_create = prepare_counted_create,
                                                    .prepare_update = prepare_counted_update,
                                                    .validate = validate_resource_slice};

}  // namespace vg::resources::core_kinds
