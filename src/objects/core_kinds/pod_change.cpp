#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "json/write.h"
#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";

// False when the lists cannot be compared any further.
bool check_container_list(FieldCauses& causes, const Place& at, const json::Array& now, const json::Array& before) {
  if (now.size() != before.size()) {
    causes.forbidden(at, "containers of a pod must not be added or removed; create another pod");
    return false;
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::string_view image = text(now[i], "image");
    const Place place = at.item(i);
    if (image.empty())
      causes.required(place.field("image"), "the image of the container");
    else if (blanks.contains(image.front()) || blanks.contains(image.back()))
      causes.invalid(place.field("image"), "must not begin or end with whitespace");
  }
  return true;
}

// False when there is nothing more to say.
bool check_deadline(FieldCauses& causes, const Place& spec_place, const json::Object& spec, const json::Object& old) {
  const auto now = json::get_int(spec, "activeDeadlineSeconds");
  const auto before = json::get_int(old, "activeDeadlineSeconds");
  const Place at = spec_place.field("activeDeadlineSeconds");
  if (!now) {
    if (before) causes.invalid(at, "activeDeadlineSeconds must not be removed");
    return true;
  }
  if (*now < 0 || *now > std::numeric_limits<std::int32_t>::max()) {
    causes.invalid(at, "must be from 0 to 2147483647");
    return false;
  }
  if (!before || *before >= *now) return true;
  causes.invalid(at, "activeDeadlineSeconds must not be increased");
  return false;
}

// What of a toleration stays, as a text that is equal for equal ones.
std::string without_seconds(const json::Value& toleration) {
  json::Object rest = members(toleration);
  json::erase(rest, "tolerationSeconds");
  return json::to_text(json::Value(std::move(rest)), {.sort_keys = true});
}

void check_added_tolerations(FieldCauses& causes, const Place& at, const json::Array& now, const json::Array& before) {
  std::set<std::string> kept;
  for (const json::Value& toleration : now) kept.insert(without_seconds(toleration));
  for (const json::Value& old : before)
    if (!kept.contains(without_seconds(old)))
      return causes.forbidden(at, "existing tolerations are immutable except for tolerationSeconds");
  check_tolerations(causes, at, now);
}

void check_removed_gates(FieldCauses& causes, const Place& at, const json::Array& now, const json::Array& before) {
  std::set<std::string_view> known;
  for (const json::Value& gate : before) known.insert(text(gate, "name"));
  for (std::size_t i = 0; i < now.size(); ++i)
    if (!known.contains(text(now[i], "name")))
      causes.forbidden(at.item(i).field("name"), "scheduling gates must not be added to an existing pod");
}

void take_images(json::Object& spec, const json::Object& old, std::string_view list) {
  auto* now = json::get_array(spec, list);
  const json::Array& before = items(old, list);
  if (!now) return;
  for (std::size_t i = 0; i < now->size() && i < before.size(); ++i)
    if (auto* container = (*now)[i].if_object()) carry_over(*container, members(before[i]), "image");
}

void take_node_affinity(json::Object& spec, const json::Object& old) {
  const json::Object& before = members(old, "affinity");
  if (!has(spec, "affinity") && !has(old, "affinity")) return;
  carry_over(json::ensure_object(spec, "affinity"), before, "nodeAffinity");
}

// As long as a pod waits behind gates, it may still be told where to run, within what was said before.
void check_gated(FieldCauses& causes, const Place& at, json::Object& spec, const json::Object& old) {
  const json::Object& now = members(spec, "nodeSelector");
  const bool narrowed = std::ranges::all_of(members(old, "nodeSelector"), [&](const auto& label) {
    return same(&label.value(), json::find(now, label.key()));
  });
  if (!narrowed)
    causes.invalid(at.field("nodeSelector"), "existing entries are immutable; only additions are supported");
  carry_over(spec, old, "nodeSelector");
  take_node_affinity(spec, old);
}

// The new spec with everything that may change set to what it was.
json::Object comparable_pod_spec(FieldCauses& causes, const Place& at, const json::Object& spec,
                                 const json::Object& old) {
  json::Object rest = spec;
  take_images(rest, old, "containers");
  take_images(rest, old, "initContainers");
  for (const std::string_view member : {"activeDeadlineSeconds", "schedulingGates", "tolerations"})
    carry_over(rest, old, member);
  if (json::get_int_or(old, "terminationGracePeriodSeconds", 0) < 0 &&
      json::get_int_or(spec, "terminationGracePeriodSeconds", 0) == 1)
    carry_over(rest, old, "terminationGracePeriodSeconds");
  if (!items(old, "schedulingGates").empty()) check_gated(causes, at, rest, old);
  return rest;
}

void check_pod_conditions(FieldCauses& causes, const Place& at, const json::Array& conditions) {
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const std::string_view type = text(conditions[i], "type");
    const Place place = at.item(i);
    check_not_negative(causes, place.field("observedGeneration"),
                       json::get_int_or(conditions[i], "observedGeneration", 0));
    if (type != "PodScheduled" && type != "Ready" && type != "Initialized")
      causes.defects(place.field("Type"), type, qualified_name_defects(type));
  }
}

void check_address_list(FieldCauses& causes, const Place& at, const json::Array& list) {
  std::vector<std::string_view> addresses;
  for (std::size_t i = 0; i < list.size(); ++i) {
    addresses.push_back(text(list[i], "ip"));
    check_ip(causes, at.item(i), addresses.back());
  }
  if (addresses.size() > 2 || (addresses.size() == 2 && !are_dual_stack(addresses)))
    causes.invalid(at, "must have at most one address of each IP family");
}

}  // namespace

void check_pod_change(FieldCauses& causes, const json::Object& pod, const json::Object& old) {
  const json::Object& spec = members(pod, "spec");
  const json::Object& before = members(old, "spec");
  const Place at = top("spec");
  for (const std::string_view list : {"containers", "initContainers"})
    if (!check_container_list(causes, at.field(list), items(spec, list), items(before, list))) return;
  if (!check_deadline(causes, at, spec, before)) return;
  check_added_tolerations(causes, at.field("tolerations"), items(spec, "tolerations"), items(before, "tolerations"));
  check_removed_gates(causes, at.field("schedulingGates"), items(spec, "schedulingGates"),
                      items(before, "schedulingGates"));
  if (same_member(pod, old, "spec")) return;
  const json::Value rest(comparable_pod_spec(causes, at, spec, before));
  if (!same(&rest, json::find(old, "spec")))
    causes.forbidden(at,
                     "the spec of a pod is immutable, except for container images, activeDeadlineSeconds, additional "
                     "tolerations and terminationGracePeriodSeconds from below 0 to 1");
}

void check_pod_status(FieldCauses& causes, const json::Object& pod, const json::Object& old) {
  const json::Object& status = members(pod, "status");
  const json::Object& before = members(old, "status");
  const Place at = top("status");
  check_pod_conditions(causes, at.field("conditions"), items(status, "conditions"));
  if (const std::string_view node = text(status, "nominatedNodeName");
      !node.empty() && node != text(before, "nominatedNodeName"))
    causes.defects(at.field("nominatedNodeName"), node, dns1123_subdomain_defects(node));
  check_not_negative(causes, at.field("observedGeneration"), json::get_int_or(status, "observedGeneration", 0));
  if (text(status, "qosClass") != text(before, "qosClass"))
    causes.invalid(at.field("qosClass"), "qosClass must match the resources of the pod, which are immutable");
  check_address_list(causes, at.field("podIPs"), items(status, "podIPs"));
  const json::Array& host_ips = items(status, "hostIPs");
  const Place hosts = at.field("hostIPs");
  if (!host_ips.empty() && text(host_ips[0], "ip") != text(status, "hostIP"))
    causes.invalid(hosts.item(0).field("ip"), "hostIP must be the first of hostIPs");
  check_address_list(causes, hosts, host_ips);
}

}  // namespace vg::resources::core_kinds
