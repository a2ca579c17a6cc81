#include "controllers/common/selectors.h"

#include <algorithm>
#include <string>
#include <utility>

#include "json/access.h"

namespace vg::controllers {
namespace {

std::vector<std::string> values_of(const json::Value& expression) {
  std::vector<std::string> values;
  if (const json::Array* listed = json::get_array(expression, "values"))
    for (const json::Value& value : *listed) values.emplace_back(json::as_string(&value).value_or(""));
  return values;
}

}  // namespace

std::optional<LabelSelector> read_selector(const json::Object& selector) {
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<MatchExpression> expressions;
  if (const json::Object* wanted = json::get_object(selector, "matchLabels"))
    for (const auto& [name, value] : *wanted) labels.emplace_back(name, json::as_string(&value).value_or(""));
  if (const json::Array* wanted = json::get_array(selector, "matchExpressions"))
    for (const json::Value& one : *wanted)
      expressions.push_back({.key = std::string(json::get_string_or(one, "key")),
                             .op = std::string(json::get_string_or(one, "operator")),
                             .values = values_of(one)});
  auto made = LabelSelector::from(labels, expressions);
  return made ? std::optional(std::move(*made)) : std::nullopt;
}

bool matches(const LabelSelector& selector, const json::Object* labels) {
  return selector.matches([&](std::string_view key) -> std::optional<std::string_view> {
    return labels ? json::get_string(*labels, key) : std::nullopt;
  });
}

const json::Object* labels_of(const json::Object& object) {
  const json::Object* metadata = json::get_object(object, "metadata");
  return metadata ? json::get_object(*metadata, "labels") : nullptr;
}

std::vector<const json::Object*> select(const World& world, std::string_view resource, std::string_view ns,
                                        const LabelSelector& selector) {
  using Operator = LabelRequirement::Operator;
  const auto& asked = selector.requirements();
  const auto exact = std::ranges::find_if(asked, [](const LabelRequirement& one) {
    return (one.op() == Operator::equals || one.op() == Operator::in) && one.values().size() == 1;
  });
  std::vector<const json::Object*> found =
      exact == asked.end() ? world.list(resource, ns) : world.labelled(resource, ns, exact->key(), exact->values()[0]);
  std::erase_if(found, [&](const json::Object* object) { return !matches(selector, labels_of(*object)); });
  return found;
}

}  // namespace vg::controllers
