// Which node a placement gets (spec vmi-lifecycle 5.5).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "controllers/affinity.h"
#include "controllers/nodes.h"
#include "controllers/placement.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

// Programs look for these texts, which are kube-scheduler's.
constexpr std::string_view selector_text = "node(s) didn't match Pod's node affinity/selector";
constexpr std::string_view unschedulable_text = "node(s) were unschedulable";
constexpr std::string_view taint_text = "node(s) had untolerated taint(s)";
constexpr std::string_view pod_affinity_text = "node(s) didn't match pod (anti-)affinity rules";
constexpr std::string_view hosts_it_text = "node(s) didn't match pod anti-affinity rules";

constexpr Taint unschedulable_taint_of() {
  return {.key = "node.kubernetes.io/unschedulable", .value = "", .effect = "NoSchedule"};
}

// How many VMIs that a term means are in each domain of its topology. Made once for all nodes.
struct Counted {
  PodTerm term;
  std::map<std::string, std::int64_t, std::less<>> domains;

  std::int64_t in_domain_of(const NodeInfo& node) const {
    const auto domain = node.label(term.topology_key);
    const auto found = domain ? domains.find(*domain) : domains.end();
    return found == domains.end() ? 0 : found->second;
  }
  bool has_domain(const NodeInfo& node) const { return node.label(term.topology_key).has_value(); }
};

// What a demand comes to when the others that are placed are known.
struct Surroundings {
  std::vector<Counted> wanted, unwanted, preferred;
  // "topologyKey\nvalue" of domains in which somebody does not want this one.
  std::set<std::string, std::less<>> closed;
  std::vector<std::string> closing_keys;  // the topology keys in them
};

bool tolerates(const json::Value& toleration, const Taint& taint) {
  const std::string_view effect = json::get_string_or(toleration, "effect");
  if (!effect.empty() && effect != taint.effect) return false;
  const std::string_view key = json::get_string_or(toleration, "key");
  const std::string_view op = json::get_string_or(toleration, "operator");
  if (key.empty()) return op == "Exists";
  if (key != taint.key) return false;
  if (op == "Exists") return true;
  return (op.empty() || op == "Equal") && json::get_string_or(toleration, "value") == taint.value;
}

bool is_tolerated(const PlacementDemand& demand, const Taint& taint) {
  return demand.tolerations && std::ranges::any_of(*demand.tolerations, [&](const json::Value& toleration) {
           return tolerates(toleration, taint);
         });
}

bool has_untolerated_taint(const PlacementDemand& demand, const NodeInfo& node) {
  return std::ranges::any_of(node.taints, [&](const Taint& taint) {
    return (taint.effect == "NoSchedule" || taint.effect == "NoExecute") && !is_tolerated(demand, taint);
  });
}

bool matches_labels(const PlacementDemand& demand, const NodeInfo& node) {
  for (const auto& [key, value] : demand.selector)
    if (node.label(key) != std::optional<std::string_view>(value)) return false;
  return std::ranges::none_of(demand.forbidden_labels,
                              [&](const std::string& label) { return node.labels.contains(label); });
}

auto labels_of_placed(const Placed& placed) {
  return [&placed](std::string_view key) -> std::optional<std::string_view> {
    const auto found = placed.labels.find(key);
    return found == placed.labels.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  };
}

auto own_labels(const PlacementDemand& demand) {
  return [&demand](std::string_view key) {
    return demand.vmi_labels ? json::get_string(*demand.vmi_labels, key) : std::optional<std::string_view>();
  };
}

std::vector<Counted> count_in_domains(std::vector<PodTerm> terms, const Nodes& nodes) {
  std::vector<Counted> counted;
  for (PodTerm& term : terms) counted.push_back({.term = std::move(term), .domains = {}});
  if (counted.empty()) return counted;
  for (const Placed* placed : nodes.all()) {
    const NodeInfo* node = nodes.find(placed->node);
    if (!node) continue;
    for (Counted& one : counted)
      if (const auto domain = node->label(one.term.topology_key);
          domain && is_meant(one.term, placed->ns, labels_of_placed(*placed)))
        ++one.domains[std::string(*domain)];
  }
  return counted;
}

Surroundings look_around(const PlacementDemand& demand, const Nodes& nodes) {
  Surroundings around;
  std::vector<PodTerm> preferred = preferred_affinity(demand.affinity, demand.ns);
  std::ranges::move(spread_terms(demand.spread, demand.ns), std::back_inserter(preferred));
  around.wanted = count_in_domains(required_affinity(demand.affinity, demand.ns), nodes);
  around.unwanted = count_in_domains(required_anti_affinity(demand.affinity, demand.ns), nodes);
  around.preferred = count_in_domains(std::move(preferred), nodes);
  for (const auto& [uid, placed] : nodes.keeping_away()) {
    const NodeInfo* node = nodes.find(placed->node);
    if (!node) continue;
    for (const PodTerm& term : placed->keeps_away)
      if (const auto domain = node->label(term.topology_key); domain && is_meant(term, demand.ns, own_labels(demand))) {
        around.closed.insert(fmt::format("{}\n{}", term.topology_key, *domain));
        if (std::ranges::find(around.closing_keys, term.topology_key) == around.closing_keys.end())
          around.closing_keys.push_back(term.topology_key);
      }
  }
  return around;
}

// The first of a group that wants to be together goes anywhere.
bool is_first_of_its_kind(const Counted& wanted, const PlacementDemand& demand) {
  return wanted.domains.empty() && is_meant(wanted.term, demand.ns, own_labels(demand));
}

bool fits_among_others(const PlacementDemand& demand, const Surroundings& around, const NodeInfo& node) {
  for (const Counted& wanted : around.wanted)
    if (!wanted.has_domain(node) || (wanted.in_domain_of(node) == 0 && !is_first_of_its_kind(wanted, demand)))
      return false;
  if (std::ranges::any_of(around.unwanted, [&](const Counted& one) { return one.in_domain_of(node) != 0; }))
    return false;
  return std::ranges::none_of(around.closing_keys, [&](const std::string& key) {
    const auto domain = node.label(key);
    return domain && around.closed.contains(fmt::format("{}\n{}", key, *domain));
  });
}

// SCH-08. A node that does not say how much ephemeral storage it has, as those of this server, has enough.
void find_shortages(const PlacementDemand& demand, const NodeInfo& node, const Amounts& used,
                    std::vector<std::string>& reasons) {
  for (const auto& [name, amount] : demand.requests) {
    if (amount <= 0 || (name == "ephemeral-storage" && !node.allocatable.contains(name))) continue;
    if (amount_in(used, name) + amount > amount_in(node.allocatable, name))
      reasons.push_back(fmt::format("Insufficient {}", name));
  }
}

// Why not this one; nothing when it fits.
std::vector<std::string> refusals(const PlacementDemand& demand, const Surroundings& around, const NodeInfo& node,
                                  const Nodes& nodes, Steady now) {
  std::vector<std::string> reasons;
  const auto refuse = [&](std::string_view text) { reasons.emplace_back(text); };
  if (!node.is_alive(now) || node.label(schedulable_label) != std::optional<std::string_view>("true"))
    refuse(selector_text);  // SCH-01
  else if (node.unschedulable && !is_tolerated(demand, unschedulable_taint_of()))
    refuse(unschedulable_text);  // SCH-02
  else if (has_untolerated_taint(demand, node))
    refuse(taint_text);  // SCH-03
  else if (!matches_labels(demand, node) ||
           !matches_required(demand.affinity ? json::get_object(*demand.affinity, "nodeAffinity") : nullptr, node))
    refuse(selector_text);  // SCH-04, SCH-05
  else if (!fits_among_others(demand, around, node))
    refuse(pod_affinity_text);  // SCH-06
  else if (std::ranges::find(demand.excluded_nodes, node.name) != demand.excluded_nodes.end())
    refuse(hosts_it_text);  // SCH-07
  else
    find_shortages(demand, node, nodes.used(node.name), reasons);
  return reasons;
}

std::int64_t wishes_met(const PlacementDemand& demand, const Surroundings& around, const NodeInfo& node) {
  std::int64_t sum =
      preference_weight(demand.affinity ? json::get_object(*demand.affinity, "nodeAffinity") : nullptr, node);
  for (const Counted& one : around.preferred) sum += one.term.weight * one.in_domain_of(node);
  return sum;
}

double free_memory(const PlacementDemand& demand, const NodeInfo& node, const Amounts& used) {
  const auto total = static_cast<double>(amount_in(node.allocatable, "memory"));
  if (total <= 0) return 0;
  return 1.0 - static_cast<double>(amount_in(used, "memory") + amount_in(demand.requests, "memory")) / total;
}

std::string why_none(const std::map<std::string, std::size_t>& counts, std::size_t nodes) {
  if (nodes == 0) return "0/0 nodes are available: there is no Node object.";
  std::vector<std::string> parts;
  for (const auto& [text, count] : counts) parts.push_back(fmt::format("{} {}", count, text));
  std::ranges::sort(parts);
  return fmt::format("0/{} nodes are available: {}.", nodes, fmt::join(parts, ", "));
}

}  // namespace

Scheduled schedule(const PlacementDemand& demand, const Nodes& nodes, Steady now) {
  const Surroundings around = look_around(demand, nodes);
  std::map<std::string, std::size_t> counts;
  const NodeInfo* best = nullptr;
  std::pair<std::int64_t, double> best_score;
  for (const auto& [name, node] : nodes.infos()) {  // by name: of equals the first stays
    // The score first: whether it may be takes much longer, and is not asked of those that would not be taken anyway.
    const std::pair score(wishes_met(demand, around, node), free_memory(demand, node, nodes.used(name)));
    if (best && score <= best_score) continue;
    const std::vector<std::string> reasons = refusals(demand, around, node, nodes, now);
    for (const std::string& reason : reasons) ++counts[reason];
    if (!reasons.empty()) continue;
    best = &node;
    best_score = score;
  }
  if (best) return {.node = best->name, .message = {}};
  return {.node = {}, .message = why_none(counts, nodes.infos().size())};
}

}  // namespace vg::controllers
