// Roles and bindings.
#include <string>

#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

std::string object(const std::string& kind, const std::string& rest) {
  return R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":")" + kind + R"(","metadata":{"name":"r"},)" + rest +
         "}";
}

TEST(CoreKindsRoles, Rules) {
  EXPECT_EQ(create(object("Role", R"("rules":[{}])")).causes, (CauseList{{"Required", "rules[0].verbs"},
                                                                         {"Required", "rules[0].apiGroups"},
                                                                         {"Required", "rules[0].resources"}}));
  const std::string urls = R"("rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}])";
  EXPECT_EQ(create(object("Role", urls)).causes, one("Invalid", "rules[0].nonResourceURLs"));
  EXPECT_EQ(create(object("ClusterRole", urls)).causes, CauseList());
  EXPECT_EQ(
      create(object("ClusterRole", R"("rules":[{"verbs":["get"],"nonResourceURLs":["/x"],"resources":["pods"]}])"))
          .causes,
      one("Invalid", "rules[0].nonResourceURLs"));
  EXPECT_EQ(create(object("Role", R"("rules":[])")).causes, CauseList());
}

TEST(CoreKindsRoles, Aggregation) {
  EXPECT_EQ(create(object("ClusterRole", R"("aggregationRule":{})")).causes,
            one("Required", "aggregationRule.clusterRoleSelectors"));
  EXPECT_EQ(
      create(object("ClusterRole", R"("aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]})")).causes,
      CauseList());
  EXPECT_EQ(
      create(object("ClusterRole", R"("aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"!"}}]})")).causes,
      (CauseList{{"Invalid", "aggregationRule.clusterRoleSelectors[0].matchLabels"},
                 {"Invalid", "aggregationRule.clusterRoleSelectors[0]"}}));
}

TEST(CoreKindsBindings, GroupsAreFilledIn) {
  const Outcome made = create(object("RoleBinding", R"("roleRef":{"kind":"Role","name":"r"},
      "subjects":[{"kind":"User","name":"u"},{"kind":"Group","name":"g"},{"kind":"ServiceAccount","name":"s"}])"));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/roleRef/apiGroup"), R"("rbac.authorization.k8s.io")");
  EXPECT_EQ(made.at("/subjects/0/apiGroup"), R"("rbac.authorization.k8s.io")");
  EXPECT_EQ(made.at("/subjects/1/apiGroup"), R"("rbac.authorization.k8s.io")");
  EXPECT_EQ(made.at("/subjects/2/apiGroup"), "");
}

TEST(CoreKindsBindings, RoleAndSubjects) {
  EXPECT_EQ(create(object("ClusterRoleBinding", R"("roleRef":{"apiGroup":"x","kind":"Role","name":""},
      "subjects":[{"kind":"Robot","name":"r"},{"kind":"ServiceAccount","name":"S","apiGroup":"x"},
        {"kind":"User","name":"","apiGroup":"y"}])"))
                .causes,
            (CauseList{{"NotSupported", "roleRef.apiGroup"},
                       {"NotSupported", "roleRef.kind"},
                       {"Required", "roleRef.name"},
                       {"NotSupported", "subjects[0].kind"},
                       {"Invalid", "subjects[1].name"},
                       {"NotSupported", "subjects[1].apiGroup"},
                       {"Required", "subjects[1].namespace"},
                       {"Required", "subjects[2].name"},
                       {"NotSupported", "subjects[2].apiGroup"}}));
}

TEST(CoreKindsBindings, TheRoleStays) {
  const auto binding = [](const std::string& role, const std::string& rest = "") {
    return object("RoleBinding", R"("roleRef":{"kind":"Role","name":")" + role + "\"}" + rest);
  };
  EXPECT_EQ(update(binding("a"), binding("b")).causes, one("Invalid", "roleRef"));
  EXPECT_EQ(update(binding("a"), binding("a", R"(,"subjects":[{"kind":"User","name":"u"}])")).causes, CauseList());
}

}  // namespace
}  // namespace vg::resources::core_kinds
