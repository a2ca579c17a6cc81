#include "admission/rules/template_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "admission/rules/words.h"
#include "api/view.h"
#include "base/selector.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using api::View;
using std::string_view;

constexpr string_view selector_field = "spec.selector";

Parsed<LabelSelector> read_selector(const View& selector) {
  std::vector<std::pair<std::string, std::string>> labels;
  for (const auto [key, value] : api::Map<string_view>(selector.get("matchLabels"))) labels.emplace_back(key, value);
  std::vector<MatchExpression> expressions;
  for (const View one : api::List<View>(selector.get("matchExpressions"))) {
    MatchExpression expression{
        .key = std::string(member_text(one, "key")), .op = std::string(member_text(one, "operator")), .values = {}};
    for (const string_view value : api::List<string_view>(one.get("values"))) expression.values.emplace_back(value);
    expressions.push_back(std::move(expression));
  }
  return LabelSelector::from(labels, expressions);
}

// A gate that is gone, and the member of an interface that shows that its feature is still used.
struct Leftover {
  string_view gate, member;
};
constexpr Leftover leftovers[] = {{"Passt", "passt"}, {"Macvtap", "macvtap"}};

bool uses(const json::Value* vmi_spec, string_view member) {
  if (!vmi_spec) return false;
  const api::List<View> interfaces(json::find_path(*vmi_spec, {"domain", "devices", "interfaces"}));
  return std::ranges::any_of(interfaces.begin(), interfaces.end(),
                             [member](const View& one) { return static_cast<bool>(View(one.get(member))); });
}

}  // namespace

void check_selector(const json::Value* selector, const json::Value* labels, Causes& causes) {
  const View view(selector);
  const auto read = view ? read_selector(view) : Parsed<LabelSelector>();
  if (!read) return causes.invalid(selector_field, fmt::format("the selector is not valid: {}", read.error()));
  const api::Map<string_view> given(labels);
  const auto lookup = [&given](string_view key) {
    return given.contains(key) ? std::optional(given[key]) : std::nullopt;
  };
  // Without a selector nothing is found; with an empty one, everything.
  if (!view || !read->matches(lookup))
    causes.invalid(selector_field,
                   "selector does not match labels of the template; add the "
                   "labels of the selector to the template");
}

void check_discontinued(const Case& judged, const json::Value* vmi_spec, Causes& causes) {
  for (const string_view listed : judged.context.config.listed_gates())
    for (const auto& [gate, member] : leftovers)
      if (listed == gate && uses(vmi_spec, member))
        causes.not_supported("",
                             fmt::format("{} interfaces are not supported any more, although the feature gate {} is "
                                         "listed; use a network binding plugin",
                                         member, gate));
}

}  // namespace vg::admission
