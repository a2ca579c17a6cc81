#include "auth/escalation.h"

#include <gmock/gmock.h>

#include "auth/testing.h"

namespace vg::auth {
namespace {

using ::testing::HasSubstr;

const PolicyRule get_pods{.verbs = {"get"}, .api_groups = {""}, .resources = {"pods"}};
const PolicyRule get_secrets{.verbs = {"get"}, .api_groups = {""}, .resources = {"secrets"}};

struct EscalationTest : ::testing::Test {
  FakeRules rules;
  EscalationTest() { rules.owned = {get_pods}; }

  std::optional<Status> write(std::string_view resource, std::string_view object, std::string_view old = "",
                              std::vector<std::string> groups = {}) {
    const auto parsed = parse(object);
    const auto parsed_old = parse(old.empty() ? "{}" : old);
    return run(check_rbac_write(idle_core(), user("jane", std::move(groups)),
                                {.resource = resource,
                                 .ns = resource.starts_with("cluster") ? "" : "a",
                                 .request_name = old.empty() ? "" : "x",
                                 .object = &parsed.root().as_object(),
                                 .old = old.empty() ? nullptr : &parsed_old.root().as_object()},
                                rules, rules));
  }
};

constexpr std::string_view pods_role =
    R"({"metadata":{"name":"x"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})";
constexpr std::string_view secrets_role =
    R"({"metadata":{"name":"x"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"]}]})";
constexpr std::string_view binding =
    R"({"metadata":{"name":"x"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"r"}})";

TEST_F(EscalationTest, ARoleMayHoldWhatItsWriterHolds) {
  EXPECT_FALSE(write("roles", pods_role));
  EXPECT_FALSE(write("clusterroles", pods_role));
  const auto refused = write("roles", secrets_role);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, 403);
  EXPECT_EQ(refused->reason, "Forbidden");
  EXPECT_EQ(refused->details.group, "rbac.authorization.k8s.io");
  EXPECT_EQ(refused->details.kind, "roles");
  EXPECT_EQ(refused->details.name, "x");
  EXPECT_THAT(refused->message, HasSubstr("get on secrets"));
  EXPECT_TRUE(write("roles", secrets_role, pods_role));
}

TEST_F(EscalationTest, MayBeAllowedToEscalate) {
  EXPECT_FALSE(write("roles", secrets_role, "", {"system:masters"}));
  rules.owned.push_back({.verbs = {"escalate"},
                         .api_groups = {"rbac.authorization.k8s.io"},
                         .resources = {"roles"},
                         .resource_names = {"x"}});
  EXPECT_FALSE(write("roles", secrets_role, pods_role));
  EXPECT_TRUE(write("roles", secrets_role)) << "a create has no name to be allowed by";
  EXPECT_TRUE(write("clusterroles", secrets_role, pods_role));
}

TEST_F(EscalationTest, ABindingMayGiveWhatItsWriterHolds) {
  rules.roles = {{"ClusterRole/r", {get_pods}}};
  EXPECT_FALSE(write("rolebindings", binding));
  EXPECT_FALSE(write("clusterrolebindings", binding));
  rules.roles = {{"ClusterRole/r", {get_pods, get_secrets}}};
  const auto refused = write("rolebindings", binding);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, 403);
  EXPECT_EQ(refused->details.kind, "rolebindings");
  rules.owned.push_back({.verbs = {"bind"},
                         .api_groups = {"rbac.authorization.k8s.io"},
                         .resources = {"clusterroles"},
                         .resource_names = {"r"}});
  EXPECT_FALSE(write("rolebindings", binding));
}

TEST_F(EscalationTest, ARoleThatDoesNotExistCannotBeCompared) {
  EXPECT_EQ(write("rolebindings", binding)->code, 404);
  EXPECT_FALSE(write("rolebindings", binding, "", {"system:masters"}));
}

TEST_F(EscalationTest, NotKnowingIsNoLeave) {
  rules.owned.push_back({.verbs = {"escalate", "bind"}, .api_groups = {"*"}, .resources = {"*"}});
  rules.away = true;
  EXPECT_EQ(write("roles", pods_role).value().code, 503);
  EXPECT_EQ(write("rolebindings", binding).value().code, 503);
}

TEST_F(EscalationTest, AggregationNeedsEverything) {
  constexpr std::string_view gathers =
      R"({"metadata":{"name":"x"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]},"rules":[]})";
  EXPECT_EQ(write("clusterroles", gathers)->code, 403);
  EXPECT_EQ(write("clusterroles", pods_role, gathers)->code, 403) << "nor may it be taken away";
  rules.owned = {{.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}},
                 {.verbs = {"*"}, .non_resource_urls = {"*"}}};
  EXPECT_FALSE(write("clusterroles", gathers));
}

TEST_F(EscalationTest, WhatLetsAnObjectBeCollectedMayAlwaysChange) {
  EXPECT_FALSE(write("roles", R"({"metadata":{"name":"x","finalizers":["a"],"resourceVersion":"2"},
      "rules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"]}]})",
                     secrets_role));
  EXPECT_TRUE(write("roles", R"({"metadata":{"name":"x","labels":{"a":"b"}},
      "rules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"]}]})",
                    secrets_role));
}

TEST_F(EscalationTest, OtherResourcesAreNotAsked) {
  EXPECT_FALSE(write("configmaps", R"({})"));
  EXPECT_TRUE(rules.asked.empty());
}

}  // namespace
}  // namespace vg::auth
