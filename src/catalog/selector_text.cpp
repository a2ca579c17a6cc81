#include "catalog/selector_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/joined.h"
#include "catalog/optional_parts.h"
#include "json/access.h"

namespace vg::resources {
namespace {

using Terms = std::vector<std::pair<std::string, std::string>>;  // key and text

void add_labels(Terms& terms, const json::Object& labels) {
  for (const auto& label : labels)
    if (const auto value = json::as_string(&label.value()))
      terms.emplace_back(label.key(), fmt::format("{}={}", std::string_view(label.key()), *value));
}

std::string expression_text(const json::Object& expression) {
  const std::string_view key = json::get_string_or(expression, "key");
  const std::string_view op = json::get_string_or(expression, "operator");
  if (op == "Exists") return std::string(key);
  if (op == "DoesNotExist") return fmt::format("!{}", key);
  std::vector<std::string_view> values;
  for (const json::Value& value : list_part(expression, "values"))
    values.push_back(json::as_string(&value).value_or(std::string_view()));
  std::ranges::sort(values);
  return fmt::format("{} {} ({})", key, op == "In" ? "in" : "notin", joined(values, ","));
}

}  // namespace

std::string label_selector_text(const json::Object& selector) {
  Terms terms;
  const bool plain = std::ranges::all_of(selector, [](const auto& member) { return member.value().is_string(); });
  if (plain) {
    add_labels(terms, selector);
  } else {
    add_labels(terms, part(selector, "matchLabels"));
    for (const json::Value& expression : list_part(selector, "matchExpressions"))
      if (const json::Object* members = expression.if_object())
        terms.emplace_back(json::get_string_or(*members, "key"), expression_text(*members));
  }
  std::ranges::sort(terms);
  std::string out;
  for (const auto& [key, text] : terms) {
    if (!out.empty()) out.push_back(',');
    out += text;
  }
  return out;
}

}  // namespace vg::resources
