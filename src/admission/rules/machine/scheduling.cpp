// Where a machine may run: affinity and topology spread. These are Kubernetes' own rules for pods, but every cause is
// of reason Invalid here, and the places leave out "affinity", as upstream has it.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "admission/rules/machine/families.h"
#include "api/canonical_words.h"
#include "api/views/k8s_meta.h"
#include "api/views/k8s_scheduling.h"
#include "base/names.h"
#include "base/one_of.h"
#include "base/phrases.h"

namespace vg::admission {
namespace {

using api::in_words;
using api::List;
using api::meta::LabelSelector;
using std::string_view;
namespace k8s = api::k8s;

constexpr string_view required_terms = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr string_view preferred_terms = "preferredDuringSchedulingIgnoredDuringExecution";

// Each defect is a cause of its own.
void tell_defects(const Defects& defects, string_view what, string_view name, const Place& place, Causes& causes) {
  for (const std::string& defect : defects)
    causes.invalid(place, fmt::format("{} {}: {}", what, in_words(name), defect));
}

// Asks the rows about each item of a list of requirements, labels, ...
template <auto& rows, class Subject, class Item>
void ask_each(const List<Item>& items, const Place& list, Causes& causes) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Place at = list.item(i);
    ask_all<rows>(Subject{items[i], at}, causes);
  }
}

// ---- requirements: a key, an operator, values -----------------------------------------------------------------------

// Of a label of nodes, of a field of nodes, or of a label of pods and namespaces.
struct RequirementAt {
  string_view key, op;
  List<string_view> values;
  const Place& place;

  template <class Requirement>
  RequirementAt(const Requirement& of, const Place& at)
      : key(of.key()), op(of.operator_()), values(of.values()), place(at) {}

  bool picks() const { return is_one_of(op, {"In", "NotIn"}); }
  bool asks_for_key() const { return is_one_of(op, {"Exists", "DoesNotExist"}); }
  bool compares() const { return is_one_of(op, {"Gt", "Lt"}); }
};

void picks_from_values(const RequirementAt& at, Causes& causes) {
  if (at.picks() && at.values.empty())
    causes.invalid(at.place.field("values"), fmt::format("operator {} requires at least one value", at.op));
}

void key_alone_has_no_values(const RequirementAt& at, Causes& causes) {
  if (at.asks_for_key() && !at.values.empty())
    causes.invalid(at.place.field("values"), fmt::format("operator {} does not support values; remove them", at.op));
}

void compares_with_one_value(const RequirementAt& at, Causes& causes) {
  if (at.compares() && at.values.size() != 1)
    causes.invalid(at.place.field("values"), fmt::format("operator {} requires exactly one value", at.op));
}

void node_operator_is_known(const RequirementAt& at, Causes& causes) {
  if (!at.picks() && !at.asks_for_key() && !at.compares())
    causes.invalid(at.place.field("operator"),
                   fmt::format("{}: supported values: In, NotIn, Exists, DoesNotExist, Gt, Lt", in_words(at.op)));
}

void label_operator_is_known(const RequirementAt& at, Causes& causes) {
  if (!at.picks() && !at.asks_for_key())
    causes.invalid(at.place.field("operator"),
                   fmt::format("{}: supported values: In, NotIn, Exists, DoesNotExist", in_words(at.op)));
}

void key_is_a_qualified_name(const RequirementAt& at, Causes& causes) {
  tell_defects(qualified_name_defects(at.key), "key", at.key, at.place.field("key"), causes);
}

template <auto& defects_of>
void check_values(const RequirementAt& at, Causes& causes) {
  const Place values = at.place.field("values");
  for (std::size_t i = 0; i < at.values.size(); ++i)
    tell_defects(defects_of(at.values[i]), "value", at.values[i], values.item(i), causes);
}

void values_are_label_values(const RequirementAt& at, Causes& causes) { check_values<label_value_defects>(at, causes); }

constexpr string_view name_of_node = "metadata.name";

void field_picks_one_value(const RequirementAt& at, Causes& causes) {
  if (at.picks() && at.values.size() != 1)
    causes.invalid(at.place.field("values"), fmt::format("operator {} on fields requires exactly one value", at.op));
}

void field_operator_is_known(const RequirementAt& at, Causes& causes) {
  if (!at.picks())
    causes.invalid(at.place.field("operator"),
                   fmt::format("{}: supported values for fields: In, NotIn", in_words(at.op)));
}

void field_is_the_name(const RequirementAt& at, Causes& causes) {
  if (at.key != name_of_node)
    causes.invalid(at.place.field("key"),
                   fmt::format("{1}: {0} is the only supported field", name_of_node, in_words(at.key)));
}

void field_values_are_names(const RequirementAt& at, Causes& causes) {
  if (at.key == name_of_node) check_values<dns1123_subdomain_defects>(at, causes);
}

constexpr RuleOn<RequirementAt> node_label_rows[] = {
    {"AFF-02", "operators In and NotIn require values", "nodeAffinity.*.matchExpressions[].values", picks_from_values},
    {"AFF-03", "operators Exists and DoesNotExist do not support values", "nodeAffinity.*.matchExpressions[].values",
     key_alone_has_no_values},
    {"AFF-04", "operators Gt and Lt require one value", "nodeAffinity.*.matchExpressions[].values",
     compares_with_one_value},
    {"AFF-05", "the operator must be supported", "nodeAffinity.*.matchExpressions[].operator", node_operator_is_known},
    {"AFF-06", "the key must be a qualified name", "nodeAffinity.*.matchExpressions[].key", key_is_a_qualified_name},
};

constexpr RuleOn<RequirementAt> node_field_rows[] = {
    {"AFF-07", "operators on fields require one value", "nodeAffinity.*.matchFields[].values", field_picks_one_value},
    {"AFF-08", "the operator on fields must be In or NotIn", "nodeAffinity.*.matchFields[].operator",
     field_operator_is_known},
    {"AFF-09", "the field must be metadata.name", "nodeAffinity.*.matchFields[].key", field_is_the_name},
    {"AFF-10", "names of nodes must be DNS subdomains", "nodeAffinity.*.matchFields[].values[]",
     field_values_are_names},
};

constexpr RuleOn<RequirementAt> label_requirement_rows[] = {
    {"LSL-03", "operators In and NotIn require values", "*.labelSelector.matchExpressions[].values", picks_from_values},
    {"LSL-04", "operators Exists and DoesNotExist do not support values", "*.labelSelector.matchExpressions[].values",
     key_alone_has_no_values},
    {"LSL-05", "the operator must be supported", "*.labelSelector.matchExpressions[].operator",
     label_operator_is_known},
    {"LSL-06", "the key must be a qualified name", "*.labelSelector.matchExpressions[].key", key_is_a_qualified_name},
    {"LSL-07", "values must be label values", "*.labelSelector.matchExpressions[].values[]", values_are_label_values},
};

// ---- label selectors ------------------------------------------------------------------------------------------------

struct LabelAt {
  string_view key, value;
  const Place& place;  // of all labels
};

void label_key_is_a_qualified_name(const LabelAt& at, Causes& causes) {
  tell_defects(qualified_name_defects(at.key), "key", at.key, at.place, causes);
}

void label_value_is_one(const LabelAt& at, Causes& causes) {
  tell_defects(label_value_defects(at.value), "value", at.value, at.place, causes);
}

constexpr RuleOn<LabelAt> label_rows[] = {
    {"LSL-01", "the key must be a qualified name", "*.labelSelector.matchLabels", label_key_is_a_qualified_name},
    {"LSL-02", "the value must be a label value", "*.labelSelector.matchLabels", label_value_is_one},
};

void check_selector(const LabelSelector& selector, const Place& place, Causes& causes) {
  const Place labels = place.field("matchLabels");
  for (const auto [key, value] : selector.match_labels())
    ask_all<label_rows>(LabelAt{.key = key, .value = value, .place = labels}, causes);
  ask_each<label_requirement_rows, RequirementAt>(selector.match_expressions(), place.field("matchExpressions"),
                                                  causes);
}

// ---- weights of what is preferred -----------------------------------------------------------------------------------

struct WeightAt {
  std::int32_t weight;
  const Place& place;  // of what is weighed
};

void weight_is_a_percentage(const WeightAt& at, Causes& causes) {
  if (at.weight < 1 || at.weight > 100)
    causes.invalid(at.place.field("weight"), fmt::format("{}: must be from 1 to 100", at.weight));
}

constexpr RuleOn<WeightAt> node_weight_rows[] = {
    {"AFF-11", "the weight of a preference must be from 1 to 100", "nodeAffinity.preferred*[].weight",
     weight_is_a_percentage},
};
constexpr RuleOn<WeightAt> pod_weight_rows[] = {
    {"AFF-12", "the weight of a preference must be from 1 to 100", "pod*Affinity.preferred*[].weight",
     weight_is_a_percentage},
};

// ---- nodes ----------------------------------------------------------------------------------------------------------

struct NodeSelectorAt {
  k8s::NodeSelector selector;
  const Place& terms;
};

void selector_has_a_term(const NodeSelectorAt& at, Causes& causes) {
  if (at.selector.node_selector_terms().empty())
    causes.invalid(at.terms, phrases::missing("at least one term; a node selector without terms matches no node"));
}

constexpr RuleOn<NodeSelectorAt> node_selector_rows[] = {
    {"AFF-01", "a node selector must have terms", "nodeAffinity.required*.nodeSelectorTerms", selector_has_a_term},
};

void check_node_term(const k8s::NodeSelectorTerm& term, const Place& place, Causes& causes) {
  ask_each<node_label_rows, RequirementAt>(term.match_expressions(), place.field("matchExpressions"), causes);
  ask_each<node_field_rows, RequirementAt>(term.match_fields(), place.field("matchFields"), causes);
}

void check_required_nodes(const k8s::NodeSelector& selector, const Place& place, Causes& causes) {
  const Place list = place.field("nodeSelectorTerms");
  ask_all<node_selector_rows>(NodeSelectorAt{.selector = selector, .terms = list}, causes);
  const auto terms = selector.node_selector_terms();
  for (std::size_t i = 0; i < terms.size(); ++i) check_node_term(terms[i], list.item(i), causes);
}

void check_preferred_nodes(const List<k8s::PreferredSchedulingTerm>& preferences, const Place& list, Causes& causes) {
  for (std::size_t i = 0; i < preferences.size(); ++i) {
    const Place at = list.item(i);
    ask_all<node_weight_rows>(WeightAt{.weight = preferences[i].weight(), .place = at}, causes);
    check_node_term(preferences[i].preference(), at.field("preference"), causes);
  }
}

void check_node_affinity(const k8s::NodeAffinity& affinity, const Place& place, Causes& causes) {
  if (const auto selector = affinity.required_during_scheduling_ignored_during_execution())
    check_required_nodes(selector, place.field(required_terms), causes);
  check_preferred_nodes(affinity.preferred_during_scheduling_ignored_during_execution(), place.field(preferred_terms),
                        causes);
}

// ---- other pods -----------------------------------------------------------------------------------------------------

struct PodTermAt {
  k8s::PodAffinityTerm term;
  const Place& place;
};

void labels_are_sound(const PodTermAt& at, Causes& causes) {
  check_selector(at.term.label_selector(), at.place.field("labelSelector"), causes);
}

void namespace_labels_are_sound(const PodTermAt& at, Causes& causes) {
  check_selector(at.term.namespace_selector(), at.place.field("namespaceSelector"), causes);
}

void namespaces_are_labels(const PodTermAt& at, Causes& causes) {
  for (const string_view name : at.term.namespaces())
    tell_defects(dns1123_label_defects(name), "namespace", name, at.place.field("namespace"), causes);
}

void topology_is_said(const PodTermAt& at, Causes& causes) {
  if (at.term.topology_key().empty())
    causes.invalid(at.place.field("topologyKey"),
                   phrases::missing("a label of nodes, for example kubernetes.io/hostname"));
}

void topology_is_a_qualified_name(const PodTermAt& at, Causes& causes) {
  const string_view key = at.term.topology_key();
  tell_defects(qualified_name_defects(key), "topologyKey", key, at.place.field("topologyKey"), causes);
}

constexpr RuleOn<PodTermAt> pod_term_rows[] = {
    {"AFF-13", "the label selector must be valid", "pod*Affinity.*.labelSelector", labels_are_sound},
    {"AFF-14", "the namespace selector must be valid", "pod*Affinity.*.namespaceSelector", namespace_labels_are_sound},
    {"AFF-15", "namespaces must be DNS labels", "pod*Affinity.*.namespace", namespaces_are_labels},
    {"AFF-16", "topologyKey is required", "pod*Affinity.*.topologyKey", topology_is_said},
    {"AFF-17", "topologyKey must be a qualified name", "pod*Affinity.*.topologyKey", topology_is_a_qualified_name},
};

void check_preferred_pods(const List<k8s::WeightedPodAffinityTerm>& preferences, const Place& list, Causes& causes) {
  for (std::size_t i = 0; i < preferences.size(); ++i) {
    const Place at = list.item(i), term = at.field("podAffinityTerm");
    ask_all<pod_weight_rows>(WeightAt{.weight = preferences[i].weight(), .place = at}, causes);
    ask_all<pod_term_rows>(PodTermAt{.term = preferences[i].pod_affinity_term(), .place = term}, causes);
  }
}

// `affinity`: to pods, or away from them.
void check_pod_affinity(const auto& affinity, const Place& place, Causes& causes) {
  ask_each<pod_term_rows, PodTermAt>(affinity.required_during_scheduling_ignored_during_execution(),
                                     place.field(required_terms), causes);
  check_preferred_pods(affinity.preferred_during_scheduling_ignored_during_execution(), place.field(preferred_terms),
                       causes);
}

// ---- topology spread ------------------------------------------------------------------------------------------------

struct ConstraintAt {
  k8s::TopologySpreadConstraint constraint;
  const Place& place;
  bool repeated;  // a later one is about the same
};

void skew_is_positive(const ConstraintAt& at, Causes& causes) {
  if (at.constraint.max_skew() <= 0)
    causes.invalid(at.place.field("maxSkew"), fmt::format("{}: must be 1 or more", at.constraint.max_skew()));
}

void spread_has_a_topology(const ConstraintAt& at, Causes& causes) {
  if (at.constraint.topology_key().empty())
    causes.invalid(at.place.field("topologyKey"),
                   phrases::missing("a label of nodes, for example kubernetes.io/hostname"));
}

void spread_topology_is_a_qualified_name(const ConstraintAt& at, Causes& causes) {
  if (const string_view key = at.constraint.topology_key(); !key.empty())
    tell_defects(qualified_name_defects(key), "topologyKey", key, at.place.field("topologyKey"), causes);
}

void spread_is_strict_or_not(const ConstraintAt& at, Causes& causes) {
  const string_view when = at.constraint.when_unsatisfiable();
  if (!is_one_of(when, {"DoNotSchedule", "ScheduleAnyway"}))
    causes.invalid(at.place.field("whenUnsatisfiable"),
                   fmt::format("{}: supported values: DoNotSchedule, ScheduleAnyway", in_words(when)));
}

// The place is that of all constraints, as upstream has it.
void spread_selector_is_sound(const ConstraintAt& at, Causes& causes) {
  check_selector(at.constraint.label_selector(), at.place.parent->field("labelSelector"), causes);
}

void spread_is_not_repeated(const ConstraintAt& at, Causes& causes) {
  if (at.repeated)
    causes.invalid(at.place.field("{topologyKey, whenUnsatisfiable}"),
                   fmt::format("a later constraint has {} and {} as well; remove one of them",
                               in_words(at.constraint.topology_key()), in_words(at.constraint.when_unsatisfiable())));
}

constexpr RuleOn<ConstraintAt> constraint_rows[] = {
    {"TSC-01", "maxSkew must be 1 or more", "topologySpreadConstraints[].maxSkew", skew_is_positive},
    {"TSC-02", "topologyKey is required", "topologySpreadConstraints[].topologyKey", spread_has_a_topology},
    {"TSC-03", "topologyKey must be a qualified name", "topologySpreadConstraints[].topologyKey",
     spread_topology_is_a_qualified_name},
    {"TSC-04", "whenUnsatisfiable must be supported", "topologySpreadConstraints[].whenUnsatisfiable",
     spread_is_strict_or_not},
    {"TSC-05", "the label selector must be valid", "topologySpreadConstraints.labelSelector", spread_selector_is_sound},
    {"TSC-06", "topologyKey and whenUnsatisfiable must be unique together",
     "topologySpreadConstraints[].{topologyKey, whenUnsatisfiable}", spread_is_not_repeated},
};

// For each constraint, whether a later one has its key and its way to fail.
std::vector<bool> repeated_later(const List<k8s::TopologySpreadConstraint>& constraints) {
  std::vector<bool> repeated(constraints.size());
  if (constraints.size() < 2) return repeated;
  std::set<std::pair<string_view, string_view>> later;
  for (std::size_t i = constraints.size(); i-- > 0;)
    repeated[i] = !later.emplace(constraints[i].topology_key(), constraints[i].when_unsatisfiable()).second;
  return repeated;
}

void check_spread(const List<k8s::TopologySpreadConstraint>& constraints, const Place& list, Causes& causes) {
  const std::vector<bool> repeated = repeated_later(constraints);
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const Place at = list.item(i);
    ask_all<constraint_rows>(ConstraintAt{.constraint = constraints[i], .place = at, .repeated = repeated[i]}, causes);
  }
}

void check_scheduling(const Machine& machine, Causes& causes) {
  const k8s::Affinity affinity = machine.spec.affinity();
  check_node_affinity(affinity.node_affinity(), machine.place.field("nodeAffinity"), causes);
  check_pod_affinity(affinity.pod_affinity(), machine.place.field("podAffinity"), causes);
  check_pod_affinity(affinity.pod_anti_affinity(), machine.place.field("podAntiAffinity"), causes);
  check_spread(machine.spec.topology_spread_constraints(), machine.place.field("topologySpreadConstraints"), causes);
}

}  // namespace

const MachineFamily scheduling_family = {
    .check = check_scheduling,
    .list = list_rows<node_selector_rows, node_label_rows, node_field_rows, node_weight_rows, pod_weight_rows,
                      pod_term_rows, label_rows, label_requirement_rows, constraint_rows>};

}  // namespace vg::admission
