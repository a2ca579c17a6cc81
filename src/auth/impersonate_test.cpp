#include "auth/impersonate.h"

#include <gmock/gmock.h>

#include "auth/testing.h"

namespace vg::auth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct ImpersonateTest : ::testing::Test {
  FakeRules rules;
  http::Headers headers;
  ImpersonateTest() { rules.owned = {{.verbs = {"impersonate"}, .api_groups = {"*"}, .resources = {"*"}}}; }
  Result<std::optional<User>> ask() { return run(impersonated(idle_core(), user("root"), headers, rules)); }
};

TEST_F(ImpersonateTest, WithoutHeadersNobodyIsAsked) {
  headers.add("Accept", "*/*");
  headers.add("Impersonate-Group", "");
  EXPECT_FALSE(ask().value());
  EXPECT_THAT(rules.asked, IsEmpty());
}

TEST_F(ImpersonateTest, EachPartIsAskedFor) {
  headers.add("impersonate-user", "jane");
  headers.add("Impersonate-Group", "dev");
  headers.add("Impersonate-Group", "a,b");
  headers.add("Impersonate-Uid", "u1");
  headers.add("Impersonate-Extra-Scopes", "view");
  headers.add("Impersonate-Extra-scopes", "edit");
  headers.add("Impersonate-Extra-Example.com%2Fproject", "x");
  const User jane = ask().value().value();
  EXPECT_EQ(jane.name, "jane");
  EXPECT_EQ(jane.uid, "u1");
  EXPECT_THAT(jane.groups, ElementsAre("dev", "a,b", "system:authenticated"));
  EXPECT_THAT(jane.extra.at("scopes"), ElementsAre("view", "edit"));
  EXPECT_THAT(jane.extra.at("example.com/project"), ElementsAre("x"));
  EXPECT_THAT(rules.asked,
              ElementsAre("impersonate /users /jane", "impersonate /groups /dev", "impersonate /groups /a,b",
                          "impersonate authentication.k8s.io/userextras/example.com/project /x",
                          "impersonate authentication.k8s.io/userextras/scopes /view",
                          "impersonate authentication.k8s.io/userextras/scopes /edit",
                          "impersonate authentication.k8s.io/uids /u1"));
}

TEST_F(ImpersonateTest, ServiceAccountsBringTheirGroups) {
  headers.add("Impersonate-User", "system:serviceaccount:a:bot");
  EXPECT_THAT(ask()->value().groups,
              ElementsAre("system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"));
  EXPECT_THAT(rules.asked, ElementsAre("impersonate /serviceaccounts a/bot"));
  headers.add("Impersonate-Group", "dev");
  EXPECT_THAT(ask()->value().groups, ElementsAre("dev", "system:authenticated"));
  headers.clear();
  rules.asked.clear();
  headers.add("Impersonate-User", "system:serviceaccount:a:b:c");
  EXPECT_THAT(ask()->value().groups, ElementsAre("system:authenticated"));
  EXPECT_THAT(rules.asked, ElementsAre("impersonate /users /system:serviceaccount:a:b:c"));
}

TEST_F(ImpersonateTest, NobodyInParticularStaysSo) {
  headers.add("Impersonate-User", "system:anonymous");
  EXPECT_THAT(ask()->value().groups, ElementsAre("system:unauthenticated"));
  headers.clear();
  headers.add("Impersonate-User", "jane");
  headers.add("Impersonate-Group", "system:unauthenticated");
  EXPECT_THAT(ask()->value().groups, ElementsAre("system:unauthenticated"));
  headers.clear();
  headers.add("Impersonate-User", "jane");
  headers.add("Impersonate-Group", "system:authenticated");
  EXPECT_THAT(ask()->value().groups, ElementsAre("system:authenticated"));
}

TEST_F(ImpersonateTest, OneMissingRightIsEnoughToRefuse) {
  headers.add("Impersonate-User", "jane");
  headers.add("Impersonate-Group", "system:masters");
  rules.owned = {{.verbs = {"impersonate"}, .api_groups = {""}, .resources = {"users"}},
                 {.verbs = {"impersonate"}, .api_groups = {""}, .resources = {"groups"}, .resource_names = {"dev"}}};
  const Status refused = ask().error();
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.details.kind, "groups");
  EXPECT_EQ(refused.details.name, "system:masters");
  EXPECT_THAT(refused.message, HasSubstr("root"));
}

TEST_F(ImpersonateTest, NotKnowingIsNoLeave) {
  headers.add("Impersonate-User", "jane");
  rules.away = true;
  EXPECT_EQ(ask().error().code, 503);
}

TEST_F(ImpersonateTest, AUserMustBeNamed) {
  for (const std::string_view name : {"Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-X"}) {
    headers.clear();
    headers.add(name, "x");
    EXPECT_EQ(ask().error().code, 400) << name;
  }
}

}  // namespace
}  // namespace vg::auth
