#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

void check_rule(FieldCauses& causes, const Place& at, const json::Object& rule, bool namespaced) {
  if (items(rule, "verbs").empty())
    causes.required(at.field("verbs"), "at least one verb, for example get, or * for all");
  if (!items(rule, "nonResourceURLs").empty()) {
    const Place urls = at.field("nonResourceURLs");
    if (namespaced) causes.invalid(urls, "nonResourceURLs require a ClusterRole");
    if (!items(rule, "apiGroups").empty() || !items(rule, "resources").empty() || !items(rule, "resourceNames").empty())
      causes.invalid(urls, "nonResourceURLs are mutually exclusive with resources; use two rules");
    return;
  }
  if (items(rule, "apiGroups").empty())
    causes.required(at.field("apiGroups"), "at least one API group; \"\" is the core group and * is all");
  if (items(rule, "resources").empty()) causes.required(at.field("resources"), "at least one resource, or * for all");
}

void check_rules(FieldCauses& causes, const json::Object& object, bool namespaced) {
  const json::Array& rules = items(object, "rules");
  const Place list = top("rules");
  for (std::size_t i = 0; i < rules.size(); ++i) check_rule(causes, list.item(i), members(rules[i]), namespaced);
}

void check_aggregation(FieldCauses& causes, const json::Object& object) {
  if (!has(object, "aggregationRule")) return;
  const json::Array& selectors = items(members(object, "aggregationRule"), "clusterRoleSelectors");
  const Place at = top("aggregationRule");
  const Place list = at.field("clusterRoleSelectors");
  if (selectors.empty()) causes.required(list, "at least one selector");
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    const std::size_t before = causes.count();
    check_label_selector(causes, list.item(i), members(selectors[i]));
    if (causes.count() != before) causes.invalid(list.item(i), "the selector is not valid");
  }
}

void validate_role(const json::Object& object, const json::Object* /*old*/, const WriteContext& /*context*/,
                   std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  check_rules(causes, object, true);
}

void validate_cluster_role(const json::Object& object, const json::Object* /*old*/, const WriteContext& /*context*/,
                           std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  check_rules(causes, object, false);
  check_aggregation(causes, object);
}

}  // namespace

constinit const Strategy role_strategy = {
    .group = "rbac.authorization.k8s.io", .kind = "Role", .validate = validate_role};
constinit const Strategy cluster_role_strategy = {
    .group = "rbac.authorization.k8s.io", .kind = "ClusterRole", .validate = validate_cluster_role};

}  // namespace vg::resources::core_kinds
