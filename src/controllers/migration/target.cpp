#include "controllers/migration/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::controllers::migration {
namespace {

constexpr std::string_view host_model_prefix = "host-model-cpu.node.kubevirt.io/";
constexpr std::string_view required_prefix = "host-model-required-features.node.kubevirt.io/";
constexpr std::string_view migration_prefix = "cpu-model-migration.node.kubevirt.io/";
constexpr std::string_view feature_prefix = "cpu-feature.node.kubevirt.io/";
constexpr std::string_view vendor_prefix = "cpu-vendor.node.kubevirt.io/";

bool is_host_model(const json::Object& vmi) {
  const json::Value* model = nullptr;
  if (const json::Value* spec = json::find(vmi, "spec")) model = json::find_path(*spec, {"domain", "cpu", "model"});
  return json::as_string(model) == "host-model";
}

template <class Each>
void for_each_label(const NodeInfo& node, std::string_view prefix, const Each& each) {
  for (auto label = node.labels.lower_bound(prefix); label != node.labels.end(); ++label) {
    if (!label->first.starts_with(prefix)) break;
    each(std::string_view(label->first).substr(prefix.size()));
  }
}

using Labels = std::set<std::string, std::less<>>;

bool is_cpu_label(std::string_view label) {
  return label.starts_with(migration_prefix) || label.starts_with(feature_prefix);
}

bool knows_host_model(const NodeInfo& node) {
  const auto label = node.labels.lower_bound(host_model_prefix);
  return label != node.labels.end() && label->first.starts_with(host_model_prefix);
}

// MIG-N05: empty when the node does not say.
Labels host_model_of(const NodeInfo& node) {
  Labels labels;
  if (!knows_host_model(node)) return labels;
  for_each_label(node, host_model_prefix,
                 [&](std::string_view model) { labels.insert(fmt::format("{}{}", migration_prefix, model)); });
  for_each_label(node, required_prefix,
                 [&](std::string_view feature) { labels.insert(fmt::format("{}{}", feature_prefix, feature)); });
  return labels;
}

// MIG-N04: of a guest that moved before, where the node that it is on would say something else.
Labels remembered_cpu(const json::Object& vmi) {
  Labels labels;
  for (const auto part : std::views::split(annotation_of(vmi, guest_cpu_annotation), ','))
    if (const std::string_view label(part.begin(), part.end()); is_cpu_label(label)) labels.emplace(label);
  return labels;
}

// MIG-N06
void ask_for_vendor(PlacementDemand& demand, const NodeInfo& source) {
  const auto asked = demand.selector.lower_bound(vendor_prefix);
  if (asked != demand.selector.end() && asked->first.starts_with(vendor_prefix)) return;
  for_each_label(source, vendor_prefix, [&](std::string_view vendor) {
    demand.selector.emplace(fmt::format("{}{}", vendor_prefix, vendor), "true");
  });
}

// MIG-N02
void exclude_hosts(PlacementDemand& demand, const json::Object& vmi) {
  const json::Object* status = json::get_object(vmi, "status");
  const json::Object* active = status ? json::get_object(*status, "activePods") : nullptr;
  if (!active) return;
  for (const auto& [uid, node] : *active)
    if (const auto name = json::as_string(&node); name && !name->empty()) demand.excluded_nodes.emplace_back(*name);
}

// MIG-N03: what the VMI asks itself stays.
void add_selectors(PlacementDemand& demand, const json::Object& migration) {
  const json::Object* spec = json::get_object(migration, "spec");
  const json::Object* added = spec ? json::get_object(*spec, "addedNodeSelector") : nullptr;
  if (!added) return;
  for (const auto& [name, value] : *added)
    if (const auto text = json::as_string(&value)) demand.selector.emplace(name, *text);
}

}  // namespace

TargetDemand target_demand(const json::Object& vmi, const json::Object& migration, const NodeInfo* source,
                           const config::ClusterConfig& config) {
  TargetDemand target{.demand = placement_demand(vmi, config)};  // MIG-N01
  exclude_hosts(target.demand, vmi);
  add_selectors(target.demand, migration);
  if (is_host_model(vmi)) {
    target.cpu_labels = remembered_cpu(vmi);
    if (target.cpu_labels.empty() && source) target.cpu_labels = host_model_of(*source);
    if (target.cpu_labels.empty()) {
      target.problem = "the CPU model of the source node is not known: it has no host-model-cpu label";
      return target;
    }
    for (const std::string& label : target.cpu_labels) target.demand.selector.emplace(label, "true");
  }
  if (source) ask_for_vendor(target.demand, *source);
  return target;
}

std::string cpu_to_remember(const TargetDemand& target, const NodeInfo& node) {
  return target.cpu_labels == host_model_of(node) ? std::string()
                                                  : fmt::format("{}", fmt::join(target.cpu_labels, ","));
}

bool cpu_is_offered(const PlacementDemand& demand, const Nodes& nodes) {
  const auto offers = [&](const NodeInfo& node) {
    return std::ranges::all_of(demand.selector, [&](const auto& label) {
      const auto found = node.labels.find(label.first);
      return !is_cpu_label(label.first) || (found != node.labels.end() && found->second == label.second);
    });
  };
  return std::ranges::any_of(nodes.infos(), [&](const auto& entry) {
    return std::ranges::find(demand.excluded_nodes, entry.first) == demand.excluded_nodes.end() && offers(entry.second);
  });
}

}  // namespace vg::controllers::migration
