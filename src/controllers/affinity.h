// Affinities as objects state them, read and matched: node selector terms, and terms about the VMIs that are placed
// near by (spec vmi-lifecycle 5.5, SCH-05 and SCH-06).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "controllers/nodes.h"
#include "json/value.h"

namespace vg::controllers {

// One of nodeSelectorTerms, or of the preferences: all expressions and fields hold. Without any it matches nothing.
bool matches_term(const json::Value& term, const NodeInfo& node);
// spec.affinity.nodeAffinity: one of the required terms matches, or there is no requirement. Null: no affinity.
bool matches_required(const json::Object* node_affinity, const NodeInfo& node);
// The sum of the weights of the preferences that match.
std::int64_t preference_weight(const json::Object* node_affinity, const NodeInfo& node);

// `affinity`: a VMI's spec.affinity, or null. `own_ns`: where the terms look unless they say otherwise. A selector that
// nobody can read matches nothing that is wanted and everything that is unwanted.
std::vector<PodTerm> required_affinity(const json::Object* affinity, std::string_view own_ns);
std::vector<PodTerm> required_anti_affinity(const json::Object* affinity, std::string_view own_ns);
// Those to be avoided have negative weights.
std::vector<PodTerm> preferred_affinity(const json::Object* affinity, std::string_view own_ns);
// spec.topologySpreadConstraints, as wishes: each VMI that is there already counts against a domain.
std::vector<PodTerm> spread_terms(const json::Array* constraints, std::string_view own_ns);

// Whether a VMI with these labels, in this namespace, is meant. `label(key)`: std::optional<std::string_view>.
template <class Lookup>
bool is_meant(const PodTerm& term, std::string_view ns, const Lookup& label) {
  if (!term.selects) return false;
  if (!term.all_namespaces && std::ranges::find(term.namespaces, ns) == term.namespaces.end()) return false;
  return term.selector.matches(label);
}

}  // namespace vg::controllers
