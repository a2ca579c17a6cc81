#include "controllers/pool/selection.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "controllers/common/owners.h"
#include "controllers/common/selectors.h"
#include "controllers/common/shuffle.h"
#include "controllers/pool/template.h"
#include "json/access.h"

namespace vg::controllers::pool {
namespace {

// A member of spec.template of a VM, by name.
const json::Object* in_template(const json::Object& vm, std::initializer_list<std::string_view> path) {
  const json::Object* spec = json::get_object(vm, "spec");
  const json::Value* inner = spec ? json::find(*spec, "template") : nullptr;
  const json::Value* found = inner ? json::find_path(*inner, path) : nullptr;
  return found ? found->if_object() : nullptr;
}

// Requirements on labels of nodes, asked of the node selector of the template.
bool matches_nodes(const json::Object& vm, const json::Array& requirements) {
  const json::Object* labels = in_template(vm, {"spec", "nodeSelector"});
  return std::ranges::all_of(requirements, [&](const json::Value& one) {
    using Operator = LabelRequirement::Operator;
    const std::string_view named = json::get_string_or(one, "operator");
    const Operator op = named == "In"             ? Operator::in
                        : named == "NotIn"        ? Operator::not_in
                        : named == "Exists"       ? Operator::exists
                        : named == "DoesNotExist" ? Operator::does_not_exist
                        : named == "Gt"           ? Operator::greater_than
                                                  : Operator::less_than;
    std::vector<std::string> values;
    if (const json::Array* listed = json::get_array(one, "values"))
      for (const json::Value& value : *listed) values.emplace_back(json::as_string(&value).value_or(""));
    const std::string key(json::get_string_or(one, "key"));
    const auto requirement = LabelRequirement::make(key, op, std::move(values));
    return requirement && requirement->matches(labels ? json::get_string(*labels, key) : std::nullopt);
  });
}

std::int64_t index_in_name(const json::Object* vm) { return index_of(metadata_text(*vm, "name")); }
// Times are RFC 3339 in UTC: their texts sort as they do.
std::pair<std::string_view, std::int64_t> age(const json::Object* vm) {
  return {metadata_text(*vm, "creationTimestamp"), index_in_name(vm)};
}

void sort(Vms& vms, std::string_view policy, std::uint64_t random) {
  if (policy == "AscendingOrder")
    std::ranges::sort(vms, std::less(), index_in_name);
  else if (policy == "DescendingOrder")
    std::ranges::sort(vms, std::greater(), index_in_name);
  else if (policy == "Oldest")
    std::ranges::sort(vms, std::less(), age);
  else if (policy == "Newest")
    std::ranges::sort(vms, std::greater(), age);
  else
    shuffle(vms, random);
}

}  // namespace

bool is_selected(const json::Object& vm, const json::Object* policy) {
  const json::Object* selectors = policy ? json::get_object(*policy, "selectors") : nullptr;
  if (!selectors) return true;
  if (const json::Object* labels = json::get_object(*selectors, "labelSelector")) {
    const auto selector = read_selector(*labels);
    if (!selector || !matches(*selector, in_template(vm, {"metadata", "labels"}))) return false;
  }
  const json::Array* nodes = json::get_array(*selectors, "nodeSelectorRequirementMatcher");
  return !nodes || matches_nodes(vm, *nodes);
}

Vms select_vms(Vms vms, const json::Object* policy, std::uint64_t random) {
  std::erase_if(vms, [&](const json::Object* vm) { return !is_selected(*vm, policy); });
  sort(vms, policy ? json::get_string_or(*policy, "sortPolicy") : std::string_view(), random);
  return vms;
}

}  // namespace vg::controllers::pool
