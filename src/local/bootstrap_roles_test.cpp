#include "local/bootstrap_roles.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <set>

#include "base/test_files.h"
#include "local/rbac_test_support.h"

namespace vg::local {
namespace {

struct BootstrapRolesTest : ::testing::Test, TestStore {
  ManualClock clock{std::chrono::sys_days(std::chrono::year(2026) / 1 / 2)};

  void bootstrap() {
    const auto done = bootstrap_roles(*store, clock, simple_draft);
    ASSERT_TRUE(done) << done.error().message;
  }
  json::Document load(std::string_view resource, std::string_view name, std::string_view ns = "") {
    const ObjectPtr object = store->get(resource, ns, name);
    EXPECT_TRUE(object) << name;
    return parse(object ? object->json() : "null");
  }
};

TEST_F(BootstrapRolesTest, AFreshStoreGetsAllOfThem) {
  bootstrap();
  EXPECT_EQ(store->count(cluster_roles_resource), 25u);
  EXPECT_EQ(store->count(cluster_role_bindings_resource), 15u);
  const auto admin = load(cluster_roles_resource, "admin");
  EXPECT_EQ(json::find_path(admin.root(), {"metadata", "creationTimestamp"})->as_string(), "2026-01-02T00:00:00Z");
  EXPECT_NE(json::find_path(admin.root(), {"metadata", "uid"}), nullptr);
  // What is gathered stands in the stored roles too.
  EXPECT_GT(admin.root().at("rules").as_array().size(),
            load(cluster_roles_resource, "edit").root().at("rules").as_array().size());
  EXPECT_TRUE(Rbac(*store).stale_aggregations().empty());
  const Revision revision = store->revision();
  bootstrap();
  EXPECT_EQ(store->revision(), revision) << "a second start has nothing to write";
}

TEST_F(BootstrapRolesTest, AddsWhatIsMissingAndTakesNothingAway) {
  bootstrap();
  put(cluster_roles_resource, R"({"kind":"ClusterRole","metadata":{"name":"system:basic-user","uid":"u1",
      "labels":{"mine":"1"}},"rules":[{"verbs":["get"],"apiGroups":["mine"],"resources":["things"]},
      {"verbs":["create"],"apiGroups":["authorization.k8s.io"],"resources":["selfsubjectaccessreviews"]}]})");
  put(cluster_role_bindings_resource, R"({"kind":"ClusterRoleBinding","metadata":{"name":"system:discovery","uid":"u2"},
      "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"me"}],
      "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:discovery"}})");
  bootstrap();
  const auto role = load(cluster_roles_resource, "system:basic-user");
  const auto rules = auth::policy_rules_of(role.root().as_object());
  ASSERT_EQ(rules.size(), 4u);
  EXPECT_EQ(rules[0].api_groups[0], "mine");
  EXPECT_EQ(rules[2].resources, std::vector<std::string>{"selfsubjectrulesreviews"});
  EXPECT_EQ(role.root().at("metadata").at("labels").as_object().size(), 2u);
  EXPECT_EQ(role.root().at("metadata").at("uid").as_string(), "u1");
  EXPECT_EQ(load(cluster_role_bindings_resource, "system:discovery").root().at("subjects").as_array().size(), 2u);
}

TEST_F(BootstrapRolesTest, LeavesAloneWhatSaysSo) {
  put(cluster_roles_resource, R"({"kind":"ClusterRole","metadata":{"name":"view","uid":"u","annotations":
      {"rbac.authorization.kubernetes.io/autoupdate":"false"}},"rules":[]})");
  put(cluster_role_bindings_resource, R"({"kind":"ClusterRoleBinding","metadata":{"name":"system:discovery","uid":"u"},
      "subjects":[],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"own"}})");
  bootstrap();
  EXPECT_TRUE(load(cluster_roles_resource, "view").root().at("rules").as_array().empty());
  EXPECT_FALSE(load(cluster_roles_resource, "view").root().as_object().contains("aggregationRule"));
  EXPECT_TRUE(load(cluster_role_bindings_resource, "system:discovery").root().at("subjects").as_array().empty());
}

TEST_F(BootstrapRolesTest, KubeVirtsAreThoseOfTheFacts) {
  std::ifstream file(test_files::source("facts/rbac.json"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto facts = parse(text);
  std::size_t compared = 0;
  for (const json::Value& fact : facts.root().as_array()) {
    const json::Object& metadata = fact.at("metadata").as_object();
    bool found = false;
    for (const DefaultObject& ours : default_roles()) {
      if (ours.object.at("kind") != fact.at("kind") || ours.name != json::get_string_or(metadata, "name") ||
          ours.ns != json::get_string_or(metadata, "namespace"))
        continue;
      found = true;
      EXPECT_EQ(json::Value(ours.object), fact) << json::to_text(ours.object) << "\n" << json::to_text(fact);
    }
    EXPECT_TRUE(found) << json::to_text(fact);
    ++compared;
  }
  EXPECT_EQ(compared, 14u);
}

TEST_F(BootstrapRolesTest, EveryComponentOfKubeVirtHasItsAccount) {
  bootstrap();
  Rbac rbac(*store, at_once);
  const auto may = [&](std::string_view account, std::string_view verb, std::string_view group,
                       std::string_view resource, std::string_view ns, std::string_view name = "x") {
    User who = user(fmt::format("system:serviceaccount:kubevirt:{}", account));
    return rbac
        .decide(who, {.verb = verb,
                      .resource_request = true,
                      .path = {},
                      .group = group,
                      .version = {},
                      .resource = resource,
                      .subresource = {},
                      .ns = ns,
                      .name = name})
        ->allowed;
  };
  for (const char* name : {"kubevirt-apiserver", "kubevirt-controller", "kubevirt-exportproxy", "kubevirt-handler",
                           "kubevirt-operator", "kubevirt-synchronization-controller"})
    EXPECT_TRUE(store->get("serviceaccounts", "kubevirt", name)) << name;
  EXPECT_TRUE(may("kubevirt-controller", "create", "", "pods", "any"));
  EXPECT_TRUE(may("kubevirt-controller", "update", "coordination.k8s.io", "leases", "kubevirt"));
  EXPECT_FALSE(may("kubevirt-controller", "update", "coordination.k8s.io", "leases", "any"));
  EXPECT_TRUE(may("kubevirt-handler", "update", "kubevirt.io", "virtualmachineinstances", "any"));
  EXPECT_FALSE(may("kubevirt-handler", "create", "", "pods", "any"));
  EXPECT_TRUE(may("kubevirt-exportproxy", "get", "", "configmaps", "kubevirt", "kubevirt-export-ca"));
  EXPECT_FALSE(may("kubevirt-exportproxy", "get", "", "configmaps", "kubevirt", "another"));
  EXPECT_FALSE(may("kubevirt-operator", "get", "", "pods", "kubevirt"));
}

// Every role binding and access review that was recorded, asked of our evaluator with our roles.
TEST_F(BootstrapRolesTest, AgreesWithEveryRecordedAccessReview) {
  bootstrap();
  Rbac rbac(*store, at_once);
  std::ifstream file(test_files::recording("rest.jsonl"));
  std::size_t reviews = 0, allowed = 0;
  for (std::string line; std::getline(file, line);) {
    const auto scenario = parse(line);
    for (const json::Value& step : scenario.root().at("steps").as_array()) {
      const std::string_view path = step.at("path").as_string();
      const json::Value* body = json::find(step, "body");
      if (!body || step.at("expect").at("status") != 201) continue;
      const json::Object& object = body->as_object();
      if (path.ends_with("/rolebindings") || path.ends_with("/roles")) {
        json::Object stored(object, json::StoragePtr());
        const std::string_view ns = path.substr(path.find("/namespaces/") + 12);
        stored["metadata"].as_object()["namespace"] = ns.substr(0, ns.find('/'));
        put(path.ends_with("/roles") ? roles_resource : role_bindings_resource, stored);
      }
      if (!path.ends_with("/subjectaccessreviews")) continue;
      const json::Object& spec = object.at("spec").as_object();
      const json::Object& asked = spec.at("resourceAttributes").as_object();
      User who = user(std::string(json::get_string_or(spec, "user")));
      if (const json::Array* groups = json::get_array(spec, "groups"))
        for (const json::Value& group : *groups) who.groups.emplace_back(group.as_string());
      const auto decision = rbac.decide(who, {.verb = json::get_string_or(asked, "verb"),
                                              .resource_request = true,
                                              .path = {},
                                              .group = json::get_string_or(asked, "group"),
                                              .version = {},
                                              .resource = json::get_string_or(asked, "resource"),
                                              .subresource = json::get_string_or(asked, "subresource"),
                                              .ns = json::get_string_or(asked, "namespace"),
                                              .name = json::get_string_or(asked, "name")});
      const bool expected = step.at("expect").at("body").at("status").at("allowed").as_bool();
      EXPECT_EQ(decision->allowed, expected) << json::to_text(*body);
      ++reviews;
      allowed += expected;
    }
  }
  RecordProperty("reviews", static_cast<int>(reviews));
  EXPECT_GT(reviews, 100u);
  EXPECT_GT(allowed, 10u);
}

}  // namespace
}  // namespace vg::local
