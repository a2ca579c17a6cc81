#include <fmt/format.h>

#include <array>
#include <set>
#include <utility>

#include "base/net.h"
#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/taints.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::string_view pod_cidr_rule = "podCIDRs is immutable once it is set";

// podCIDR is the older spelling of the first of podCIDRs; where they differ, the older one counts.
void align_pod_cidrs(json::Object& spec) {
  const std::string one(text(spec, "podCIDR"));
  const json::Array& all = items(spec, "podCIDRs");
  if (!one.empty() && (all.empty() || as_text(all[0]) != one))
    set_texts(spec, "podCIDRs", {one});
  else if (!all.empty())
    spec["podCIDR"] = json::Value(all[0]);
}

void default_node(json::Object& object, const WriteContext& /*context*/) {
  align_pod_cidrs(json::ensure_object(object, "spec"));
  json::Object& status = json::ensure_object(object, "status");
  round_amounts(status, "capacity");
  round_amounts(status, "allocatable");
  if (const auto* capacity = json::find(status, "capacity"); capacity && !has(status, "allocatable"))
    status["allocatable"] = json::Value(*capacity);
}

// A node may come with its status: the one that registers it knows it. Only what is no longer used goes.
void prepare_new_node(json::Object& object, const WriteContext& /*context*/) {
  json::erase(json::ensure_object(object, "spec"), "configSource");
  json::erase(json::ensure_object(object, "status"), "config");
}

void prepare_changed_node(json::Object& object, const json::Object& old, const WriteContext& /*context*/) {
  if (!has(members(old, "spec"), "configSource")) json::erase(json::ensure_object(object, "spec"), "configSource");
}

void check_taints(FieldCauses& causes, const json::Object& spec) {
  const json::Array& taints = items(spec, "taints");
  std::set<std::pair<std::string_view, std::string_view>> seen;
  const Place metadata = top("metadata");
  const Place list = metadata.field("taints");  // not below spec: so it is upstream
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const json::Object& taint = members(taints[i]);
    const Place at = list.item(i);
    const std::string_view key = text(taint, "key");
    const std::string_view effect = text(taint, "effect");
    causes.defects(at.field("key"), key, qualified_name_defects(key));
    causes.joined_defects(at.field("value"), text(taint, "value"), label_value_defects(text(taint, "value")));
    check_choice(causes, at.field("effect"), effect, taint_effects);
    if (!seen.emplace(key, effect).second) causes.duplicate(at, fmt::format("{}:{}", key, effect));
  }
}

void check_resources(FieldCauses& causes, const json::Object& status) {
  const Place at = top("status");
  for (const std::string_view list : {"capacity", "allocatable"}) {
    const Place place = at.field(list);
    for (const auto& member : members(status, list))
      check_amount(causes, place.field(member.key()), member.key(), member.value());
  }
}

void check_pod_cidrs(FieldCauses& causes, const json::Object& spec) {
  const json::Array& cidrs = items(spec, "podCIDRs");
  const Place place = top("spec");
  const Place list = place.field("podCIDRs");
  std::size_t v4 = 0;
  for (std::size_t i = 0; i < cidrs.size(); ++i) {
    check_cidr(causes, list.item(i), as_text(cidrs[i]));
    const auto cidr = parse_cidr(as_text(cidrs[i]), LeadingZeros::ignored);
    if (cidr && cidr->address.is_v4()) ++v4;
  }
  if (cidrs.size() > 2 || (cidrs.size() == 2 && v4 != 1))
    causes.invalid(list, "must have at most one CIDR of each IP family");
}

void check_addresses(FieldCauses& causes, const json::Object& status) {
  const json::Array& addresses = items(status, "addresses");
  const Place place = top("status");
  const Place list = place.field("addresses");
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const json::Object& address = members(addresses[i]);
    if (!seen.emplace(text(address, "type"), text(address, "address")).second)
      causes.duplicate(list.item(i), text(address, "address"));
  }
}

void check_node_change(FieldCauses& causes, const json::Object& spec, const json::Object& old) {
  const Place at = top("spec");
  const json::Array& before = items(old, "podCIDRs");
  const json::Array& now = items(spec, "podCIDRs");
  if (!before.empty() && before.size() != now.size()) {
    causes.forbidden(at.field("podCIDRs"), pod_cidr_rule);
  } else {
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i] != now[i]) causes.forbidden(at.field("podCIDRs"), pod_cidr_rule);
  }
  if (!text(old, "providerID").empty() && text(old, "providerID") != text(spec, "providerID"))
    causes.forbidden(at.field("providerID"), "providerID is immutable once it is set");
}

void validate_node(const json::Object& object, const json::Object* old, const WriteContext& context,
                   std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const json::Object& spec = members(object, "spec");
  const json::Object& status = members(object, "status");
  // Upstream checks a node as such and then, on updates, most of it once more; a status update only has the second.
  if (!old || context.subresource != "status") {
    check_taints(causes, spec);
    check_resources(causes, status);
    check_pod_cidrs(causes, spec);
  }
  if (!old) return;
  check_resources(causes, status);
  check_addresses(causes, status);
  check_node_change(causes, spec, members(*old, "spec"));
  check_taints(causes, spec);
  if (text(spec, "externalID") != text(members(*old, "spec"), "externalID"))
    causes.forbidden(top("spec").field("externalID"), cannot_change);
}

}  // namespace

constinit const Strategy node_strategy = {.group = "",
                                          .kind = "Node",
                                          .defaults = default_node,
                                          .prepare_create = prepare_new_node,
                                          .prepare_update = prepare_changed_node,
                                          .validate = validate_node};

}  // namespace vg::resources::core_kinds
