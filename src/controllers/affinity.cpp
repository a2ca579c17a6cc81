#include "controllers/affinity.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/one_of.h"
#include "controllers/nodes.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

constexpr std::string_view namespace_name_label = "kubernetes.io/metadata.name";
constexpr std::string_view required_key = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view preferred_key = "preferredDuringSchedulingIgnoredDuringExecution";

std::vector<std::string> texts(const json::Array* array) {
  std::vector<std::string> found;
  if (array)
    for (const json::Value& value : *array)
      if (const auto text = json::as_string(&value)) found.emplace_back(*text);
  return found;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// Of a node selector. `value` is what the node has.
bool holds(const json::Value& requirement, std::optional<std::string_view> value) {
  const std::string_view op = json::get_string_or(requirement, "operator");
  const std::vector<std::string> values = texts(json::get_array(requirement, "values"));
  if (op == "Exists") return value.has_value();
  if (op == "DoesNotExist") return !value;
  if (op == "In") return value && is_one_of(*value, values);
  if (op == "NotIn") return !value || !is_one_of(*value, values);
  if (op != "Gt" && op != "Lt") return false;
  const auto left = value ? number(*value) : std::nullopt;
  const auto right = values.size() == 1 ? number(values[0]) : std::nullopt;
  return left && right && (op == "Gt" ? *left > *right : *left < *right);
}

const json::Object* part_of(const json::Object* affinity, std::string_view part) {
  return affinity ? json::get_object(*affinity, part) : nullptr;
}

// False when there is none, or nobody can read it.
bool read_term_selector(const json::Object* object, LabelSelector& selector) {
  if (!object) return false;
  std::vector<std::pair<std::string, std::string>> labels;
  if (const json::Object* match = json::get_object(*object, "matchLabels"))
    for (const auto& [key, value] : *match) labels.emplace_back(key, json::as_string(&value).value_or(""));
  std::vector<MatchExpression> expressions;
  if (const json::Array* match = json::get_array(*object, "matchExpressions"))
    for (const json::Value& one : *match)
      expressions.push_back({.key = std::string(json::get_string_or(one, "key")),
                             .op = std::string(json::get_string_or(one, "operator")),
                             .values = texts(json::get_array(one, "values"))});
  auto read = LabelSelector::from(labels, expressions);
  if (read) selector = std::move(*read);
  return read.has_value();
}

// Namespaces are known by name alone here, which is the one label that every namespace has.
void read_namespaces(PodTerm& term, const json::Value& value, std::string_view own_ns) {
  term.namespaces = texts(json::get_array(value, "namespaces"));
  const json::Object* chosen = json::get_object(value, "namespaceSelector");
  if (chosen && chosen->empty()) term.all_namespaces = true;
  if (chosen && !chosen->empty()) {
    LabelSelector selector;
    const auto own = [&](std::string_view key) {
      return key == namespace_name_label ? std::optional(own_ns) : std::nullopt;
    };
    if (read_term_selector(chosen, selector) && selector.matches(own)) term.namespaces.emplace_back(own_ns);
    if (const json::Object* labels = json::get_object(*chosen, "matchLabels"))
      if (const auto name = json::get_string(*labels, namespace_name_label)) term.namespaces.emplace_back(*name);
  }
  if (!chosen && term.namespaces.empty()) term.namespaces.emplace_back(own_ns);
}

PodTerm read_term(const json::Value& value, std::string_view own_ns) {
  PodTerm term;
  term.topology_key = json::get_string_or(value, "topologyKey");
  term.selects = read_term_selector(json::get_object(value, "labelSelector"), term.selector);
  read_namespaces(term, value, own_ns);
  return term;
}

std::vector<PodTerm> required_terms(const json::Object* affinity, std::string_view part, std::string_view own_ns) {
  std::vector<PodTerm> terms;
  const json::Object* of = part_of(affinity, part);
  if (const json::Array* listed = of ? json::get_array(*of, required_key) : nullptr)
    for (const json::Value& value : *listed) terms.push_back(read_term(value, own_ns));
  return terms;
}

void add_preferences(std::vector<PodTerm>& terms, const json::Object* of, std::int64_t sign, std::string_view own_ns) {
  const json::Array* listed = of ? json::get_array(*of, preferred_key) : nullptr;
  if (!listed) return;
  for (const json::Value& value : *listed) {
    const json::Value* inner = json::find(value, "podAffinityTerm");
    if (!inner) continue;
    terms.push_back(read_term(*inner, own_ns));
    terms.back().weight = sign * std::clamp<std::int64_t>(json::get_int_or(value, "weight", 0), 0, 100);
  }
}

}  // namespace

bool matches_term(const json::Value& term, const NodeInfo& node) {
  const json::Array* expressions = json::get_array(term, "matchExpressions");
  const json::Array* fields = json::get_array(term, "matchFields");
  if ((!expressions || expressions->empty()) && (!fields || fields->empty())) return false;
  const auto of_label = [&](const json::Value& one) { return holds(one, node.label(json::get_string_or(one, "key"))); };
  const auto of_field = [&](const json::Value& one) {
    return json::get_string_or(one, "key") == "metadata.name" && holds(one, node.name);
  };
  return (!expressions || std::ranges::all_of(*expressions, of_label)) &&
         (!fields || std::ranges::all_of(*fields, of_field));
}

bool matches_required(const json::Object* node_affinity, const NodeInfo& node) {
  const json::Object* required = part_of(node_affinity, required_key);
  if (!required) return true;
  const json::Array* terms = json::get_array(*required, "nodeSelectorTerms");
  return terms && std::ranges::any_of(*terms, [&](const json::Value& term) { return matches_term(term, node); });
}

std::int64_t preference_weight(const json::Object* node_affinity, const NodeInfo& node) {
  const json::Array* listed = node_affinity ? json::get_array(*node_affinity, preferred_key) : nullptr;
  std::int64_t sum = 0;
  if (!listed) return sum;
  for (const json::Value& value : *listed) {
    const json::Value* term = json::find(value, "preference");
    if (term && matches_term(*term, node))
      sum += std::clamp<std::int64_t>(json::get_int_or(value, "weight", 0), 0, 100);
  }
  return sum;
}

std::vector<PodTerm> required_affinity(const json::Object* affinity, std::string_view own_ns) {
  return required_terms(affinity, "podAffinity", own_ns);
}

std::vector<PodTerm> required_anti_affinity(const json::Object* affinity, std::string_view own_ns) {
  return required_terms(affinity, "podAntiAffinity", own_ns);
}

std::vector<PodTerm> preferred_affinity(const json::Object* affinity, std::string_view own_ns) {
  std::vector<PodTerm> terms;
  add_preferences(terms, part_of(affinity, "podAffinity"), 1, own_ns);
  add_preferences(terms, part_of(affinity, "podAntiAffinity"), -1, own_ns);
  return terms;
}

std::vector<PodTerm> spread_terms(const json::Array* constraints, std::string_view own_ns) {
  std::vector<PodTerm> terms;
  if (!constraints) return terms;
  for (const json::Value& value : *constraints) {
    terms.push_back(read_term(value, own_ns));
    terms.back().weight = -1;
  }
  return terms;
}

}  // namespace vg::controllers
