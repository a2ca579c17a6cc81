#include "housekeeping/flow_objects.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "json/access.h"

namespace vg::resources {
namespace {

// Who would make them in a cluster.
constexpr std::string_view producer = "api-priority-and-fairness-config-producer-v1";
constexpr std::string_view auto_update_annotation = "apf.kubernetes.io/autoupdate-spec";

struct Level {
  std::string_view name;
  std::int64_t shares, lendable_percent;
  std::int64_t queues = 0, hand_size = 0;  // none: who finds no seat is sent away
};
constexpr std::string_view exempt = "exempt";  // of the one level that nothing limits
constexpr std::array<Level, 8> levels = {{
    {exempt, 0, 0},
    {"catch-all", 5, 0},
    {"system", 30, 33, 64, 6},
    {"node-high", 40, 25, 64, 6},
    {"leader-election", 10, 0, 16, 4},
    {"workload-high", 40, 50, 128, 6},
    {"workload-low", 100, 90, 128, 6},
    {"global-default", 20, 50, 128, 6},
}};

enum class What : std::uint8_t { everything, probes, leases, nodes };
struct Schema {
  std::string_view name, level;
  std::int64_t precedence;
  std::string_view method;  // how flows are told apart; empty: not at all
  What what;
  std::array<std::string_view, 2> users = {}, groups = {};
  bool system_accounts = false;  // also the service accounts of kube-system
};
constexpr std::array<std::string_view, 2> anybody = {"system:unauthenticated", "system:authenticated"};
constexpr std::string_view manager_user = "system:kube-controller-manager", scheduler_user = "system:kube-scheduler";
constexpr std::string_view by_user = "ByUser", by_namespace = "ByNamespace";
constexpr std::array<Schema, 11> schemas = {{
    {.name = exempt,
     .level = exempt,
     .precedence = 1,
     .method = {},
     .what = What::everything,
     .groups = {"system:masters"}},
    {.name = "probes", .level = exempt, .precedence = 2, .method = {}, .what = What::probes, .groups = anybody},
    {.name = "system-leader-election",
     .level = "leader-election",
     .precedence = 100,
     .method = by_user,
     .what = What::leases,
     .users = {manager_user, scheduler_user},
     .system_accounts = true},
    {.name = "system-node-high",
     .level = "node-high",
     .precedence = 400,
     .method = by_user,
     .what = What::nodes,
     .groups = {"system:nodes"}},
    {.name = "system-nodes",
     .level = "system",
     .precedence = 500,
     .method = by_user,
     .what = What::everything,
     .groups = {"system:nodes"}},
    {.name = "kube-controller-manager",
     .level = "workload-high",
     .precedence = 800,
     .method = by_namespace,
     .what = What::everything,
     .users = {manager_user}},
    {.name = "kube-scheduler",
     .level = "workload-high",
     .precedence = 800,
     .method = by_namespace,
     .what = What::everything,
     .users = {scheduler_user}},
    {.name = "kube-system-service-accounts",
     .level = "workload-high",
     .precedence = 900,
     .method = by_namespace,
     .what = What::everything,
     .system_accounts = true},
    {.name = "service-accounts",
     .level = "workload-low",
     .precedence = 9000,
     .method = by_user,
     .what = What::everything,
     .groups = {"system:serviceaccounts"}},
    {.name = "global-default",
     .level = "global-default",
     .precedence = 9900,
     .method = by_user,
     .what = What::everything,
     .groups = anybody},
    {.name = "catch-all",
     .level = "catch-all",
     .precedence = 10'000,
     .method = by_user,
     .what = What::everything,
     .groups = anybody},
}};

json::Object flow_metadata() { return {{"annotations", json::Object{{auto_update_annotation, "true"}}}}; }

json::Object level_spec(const Level& level) {
  json::Object members{{"nominalConcurrencyShares", level.shares}, {"lendablePercent", level.lendable_percent}};
  if (level.name == exempt) return {{"type", "Exempt"}, {"exempt", std::move(members)}};
  json::Object response{{"type", level.queues ? "Queue" : "Reject"}};
  if (level.queues)
    response["queuing"] =
        json::Object{{"queues", level.queues}, {"handSize", level.hand_size}, {"queueLengthLimit", std::int64_t{50}}};
  members["limitResponse"] = std::move(response);
  return {{"type", "Limited"}, {"limited", std::move(members)}};
}

json::Array flow_texts(std::initializer_list<std::string_view> values) {
  json::Array list;
  for (const std::string_view value : values) list.emplace_back(value);
  return list;
}

json::Object resource_rule(std::initializer_list<std::string_view> verbs, std::string_view group,
                           std::initializer_list<std::string_view> resources, bool cluster_scope) {
  json::Object rule{{"verbs", flow_texts(verbs)},
                    {"apiGroups", flow_texts({group})},
                    {"resources", flow_texts(resources)},
                    {"namespaces", flow_texts({"*"})}};
  if (cluster_scope) rule["clusterScope"] = true;
  return rule;
}

void add_what(json::Object& rule, What what) {
  constexpr std::string_view coordination = "coordination.k8s.io";
  switch (what) {
    case What::everything:
      rule["resourceRules"] = json::Array{resource_rule({"*"}, "*", {"*"}, true)};
      rule["nonResourceRules"] =
          json::Array{json::Object{{"verbs", flow_texts({"*"})}, {"nonResourceURLs", flow_texts({"*"})}}};
      break;
    case What::probes:
      rule["nonResourceRules"] = json::Array{json::Object{
          {"verbs", flow_texts({"get"})}, {"nonResourceURLs", flow_texts({"/healthz", "/readyz", "/livez"})}}};
      break;
    case What::leases:
      rule["resourceRules"] = json::Array{resource_rule({"get", "create", "update"}, coordination, {"leases"}, false)};
      break;
    case What::nodes:
      rule["resourceRules"] = json::Array{resource_rule({"*"}, "", {"nodes", "nodes/status"}, true),
                                          resource_rule({"*"}, coordination, {"leases"}, false)};
      break;
  }
}

json::Array subjects_of(const Schema& schema) {
  json::Array subjects;
  for (const std::string_view user : schema.users)
    if (!user.empty()) subjects.push_back(json::Object{{"kind", "User"}, {"user", json::Object{{"name", user}}}});
  for (const std::string_view group : schema.groups)
    if (!group.empty()) subjects.push_back(json::Object{{"kind", "Group"}, {"group", json::Object{{"name", group}}}});
  if (schema.system_accounts)
    subjects.push_back(json::Object{{"kind", "ServiceAccount"},
                                    {"serviceAccount", json::Object{{"name", "*"}, {"namespace", "kube-system"}}}});
  return subjects;
}

json::Object schema_spec(const Schema& schema) {
  json::Object rule{{"subjects", subjects_of(schema)}};
  add_what(rule, schema.what);
  json::Object spec{{"priorityLevelConfiguration", json::Object{{"name", schema.level}}},
                    {"matchingPrecedence", schema.precedence},
                    {"rules", json::Array{std::move(rule)}}};
  if (!schema.method.empty()) spec["distinguisherMethod"] = json::Object{{"type", schema.method}};
  return spec;
}

}  // namespace

bool settle_dangling(json::Object& schema, bool level_exists, std::string_view now) {
  const std::string_view status = level_exists ? "False" : "True", reason = level_exists ? "Found" : "NotFound";
  json::Value& list = json::ensure_object(schema, "status")["conditions"];
  if (!list.is_array()) list = json::Array();
  json::Value* own = nullptr;
  for (json::Value& condition : list.get_array())
    if (json::get_string_or(condition, "type") == "Dangling") own = &condition;
  if (own && json::get_string_or(*own, "status") == status && json::get_string_or(*own, "reason") == reason)
    return false;
  json::Object condition{
      {"type", "Dangling"},
      {"status", status},
      {"reason", reason},
      {"message", level_exists ? "the PriorityLevelConfiguration that the FlowSchema names exists"
                               : "the PriorityLevelConfiguration that the FlowSchema names does not exist; create it"},
      {"lastTransitionTime", now}};
  if (own)
    *own = std::move(condition);
  else
    list.get_array().push_back(std::move(condition));
  return true;
}

void plan_flow_objects(PlannedWrites& planner) {
  for (const Level& level : levels)
    if (!planner.store().get(priority_levels_key, "", level.name))
      planner.create(priority_levels_key, "", level.name, {{"metadata", flow_metadata()}, {"spec", level_spec(level)}},
                     producer);
  for (const Schema& schema : schemas) {
    if (planner.store().get(flow_schemas_key, "", schema.name)) continue;
    json::Object object{{"metadata", flow_metadata()}, {"spec", schema_spec(schema)}};
    settle_dangling(object, true, planner.now());  // what is missing of the levels is made with it
    planner.create(flow_schemas_key, "", schema.name, std::move(object), producer, flow_consumer);
  }
}

}  // namespace vg::resources
