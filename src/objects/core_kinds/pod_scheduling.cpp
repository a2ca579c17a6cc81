#include <array>
#include <map>
#include <utility>

#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/taints.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::int64_t weight_max = 100;
constexpr std::array<std::string_view, 2> toleration_operators = {"Equal", "Exists"};
constexpr std::array<std::string_view, 2> unsatisfiable_actions = {"DoNotSchedule", "ScheduleAnyway"};
constexpr std::array<std::string_view, 2> inclusion_policies = {"Honor", "Ignore"};
constexpr std::string_view required_terms = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view preferred_terms = "preferredDuringSchedulingIgnoredDuringExecution";

void check_weight(FieldCauses& causes, const Place& at, const json::Value& term) {
  const std::int64_t weight = json::get_int_or(term, "weight", 0);
  if (weight < 1 || weight > weight_max) causes.invalid(at.field("weight"), "must be from 1 to 100");
}

// Values that no label can have are let through where a term is only a wish.
void check_node_expression(FieldCauses& causes, const Place& at, const json::Object& expression, bool wish) {
  const std::string_view op = text(expression, "operator");
  const json::Array& values = items(expression, "values");
  const Place list = at.field("values");
  if (op == "In" || op == "NotIn") {
    if (values.empty()) causes.required(list, "operators In and NotIn require at least one value");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) causes.forbidden(list, "operators Exists and DoesNotExist do not support values");
  } else if (op == "Gt" || op == "Lt") {
    if (values.size() != 1) causes.required(list, "operators Gt and Lt require exactly one value");
  } else {
    causes.invalid(at.field("operator"), "supported operators: In, NotIn, Exists, DoesNotExist, Gt, Lt");
  }
  const std::string_view key = text(expression, "key");
  causes.defects(at.field("key"), key, qualified_name_defects(key));
  if (wish) return;
  for (std::size_t i = 0; i < values.size(); ++i)
    causes.defects(list.item(i), as_text(values[i]), label_value_defects(as_text(values[i])));
}

void check_node_field(FieldCauses& causes, const Place& at, const json::Object& expression) {
  const std::string_view op = text(expression, "operator");
  const json::Array& values = items(expression, "values");
  const Place list = at.field("values");
  if (op != "In" && op != "NotIn")
    causes.invalid(at.field("operator"), "only In and NotIn are supported for fields");
  else if (values.size() != 1)
    causes.required(list, "exactly one value is required");
  if (text(expression, "key") != "metadata.name")
    return causes.invalid(at.field("key"), "only metadata.name is supported");
  for (std::size_t i = 0; i < values.size(); ++i)
    causes.defects(list.item(i), as_text(values[i]), dns1123_subdomain_defects(as_text(values[i])));
}

void check_node_term(FieldCauses& causes, const Place& at, const json::Object& term, bool wish) {
  const json::Array& expressions = items(term, "matchExpressions");
  const Place list = at.field("matchExpressions");
  for (std::size_t i = 0; i < expressions.size(); ++i)
    check_node_expression(causes, list.item(i), members(expressions[i]), wish);
  const json::Array& fields = items(term, "matchFields");
  const Place fields_place = at.field("matchFields");
  for (std::size_t i = 0; i < fields.size(); ++i) check_node_field(causes, fields_place.item(i), members(fields[i]));
}

void check_node_affinity(FieldCauses& causes, const Place& at, const json::Object& affinity) {
  if (has(affinity, required_terms)) {
    const json::Array& terms = items(members(affinity, required_terms), "nodeSelectorTerms");
    const Place selector = at.field(required_terms);
    const Place list = selector.field("nodeSelectorTerms");
    if (terms.empty()) causes.required(list, "at least one term; without terms no node matches");
    for (std::size_t i = 0; i < terms.size(); ++i) check_node_term(causes, list.item(i), members(terms[i]), false);
  }
  const json::Array& wishes = items(affinity, preferred_terms);
  const Place list = at.field(preferred_terms);
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const Place place = list.item(i);
    check_weight(causes, place, wishes[i]);
    check_node_term(causes, place.field("preference"), members(members(wishes[i]), "preference"), true);
  }
}

void check_pod_term(FieldCauses& causes, const Place& at, const json::Object& term) {
  check_label_selector(causes, at.field("labelSelector"), members(term, "labelSelector"));
  check_label_selector(causes, at.field("namespaceSelector"), members(term, "namespaceSelector"));
  for (const json::Value& ns : items(term, "namespaces"))
    causes.defects(at.field("namespace"), as_text(ns), dns1123_label_defects(as_text(ns)));
  const std::string_view key = text(term, "topologyKey");
  if (key.empty()) causes.required(at.field("topologyKey"), "a label of nodes");
  causes.defects(at.field("topologyKey"), key, qualified_name_defects(key));
}

void check_pod_affinity(FieldCauses& causes, const Place& at, const json::Object& affinity) {
  const json::Array& terms = items(affinity, required_terms);
  const Place list = at.field(required_terms);
  for (std::size_t i = 0; i < terms.size(); ++i) check_pod_term(causes, list.item(i), members(terms[i]));
  const json::Array& wishes = items(affinity, preferred_terms);
  const Place wishes_place = at.field(preferred_terms);
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const Place place = wishes_place.item(i);
    check_weight(causes, place, wishes[i]);
    check_pod_term(causes, place.field("podAffinityTerm"), members(members(wishes[i]), "podAffinityTerm"));
  }
}

void check_toleration(FieldCauses& causes, const Place& at, const json::Object& toleration) {
  const std::string_view key = text(toleration, "key");
  const std::string_view op = text(toleration, "operator");
  const std::string_view value = text(toleration, "value");
  const std::string_view effect = text(toleration, "effect");
  if (!key.empty()) causes.defects(at.field("key"), key, qualified_name_defects(key));
  if (key.empty() && op != "Exists") causes.invalid(at.field("operator"), "operator must be Exists if key is empty");
  if (has(toleration, "tolerationSeconds") && effect != "NoExecute")
    causes.invalid(at.field("effect"), "tolerationSeconds requires effect NoExecute");
  if (op.empty() || op == "Equal")
    causes.joined_defects(at.field("operator"), value, label_value_defects(value));
  else if (op != "Exists")
    causes.not_supported(at.field("operator"), op, toleration_operators);
  else if (!value.empty())
    causes.invalid(at.field("operator"), "must be empty with operator Exists");
  if (!effect.empty()) check_supported(causes, at.field("effect"), effect, taint_effects);
}

void check_constraint(FieldCauses& causes, const Place& at, const json::Object& constraint) {
  const std::string_view action = text(constraint, "whenUnsatisfiable");
  if (json::get_int_or(constraint, "maxSkew", 0) <= 0) causes.invalid(at.field("maxSkew"), "must be greater than 0");
  if (text(constraint, "topologyKey").empty()) causes.required(at.field("topologyKey"), "a label of nodes");
  check_supported(causes, at.field("whenUnsatisfiable"), action, unsatisfiable_actions);
  if (const auto domains = json::get_int(constraint, "minDomains")) {
    if (*domains <= 0) causes.invalid(at.field("minDomains"), "must be greater than 0");
    if (action != "DoNotSchedule")
      causes.invalid(at.field("minDomains"), "minDomains requires whenUnsatisfiable DoNotSchedule");
  }
  for (const std::string_view policy : {"nodeAffinityPolicy", "nodeTaintsPolicy"})
    if (has(constraint, policy))
      check_supported(causes, at.field(policy), text(constraint, policy), inclusion_policies);
  check_label_selector(causes, at.field("labelSelector"), members(constraint, "labelSelector"));
}

}  // namespace

void check_affinity(FieldCauses& causes, const Place& at, const json::Object& affinity) {
  check_node_affinity(causes, at.field("nodeAffinity"), members(affinity, "nodeAffinity"));
  check_pod_affinity(causes, at.field("podAffinity"), members(affinity, "podAffinity"));
  check_pod_affinity(causes, at.field("podAntiAffinity"), members(affinity, "podAntiAffinity"));
}

void check_tolerations(FieldCauses& causes, const Place& at, const json::Array& tolerations) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) check_toleration(causes, at.item(i), members(tolerations[i]));
}

void check_topology_spread(FieldCauses& causes, const Place& at, const json::Array& constraints) {
  using Kind = std::pair<std::string_view, std::string_view>;
  const auto kind_of = [](const json::Value& one) {
    return Kind(text(one, "topologyKey"), text(one, "whenUnsatisfiable"));
  };
  std::map<Kind, std::size_t> left;
  for (const json::Value& constraint : constraints) ++left[kind_of(constraint)];
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const Place place = at.item(i);
    check_constraint(causes, place, members(constraints[i]));
    // Of equal ones every one but the last is reported: so it is upstream.
    if (--left[kind_of(constraints[i])] > 0)
      causes.duplicate(place.field("{topologyKey, whenUnsatisfiable}"), text(constraints[i], "topologyKey"));
  }
}

}  // namespace vg::resources::core_kinds
