// What every Authorizer (ports/authorizer.h) does: on one machine local::Rbac, in a cluster kube::AccessReviews.
#include <vector>

#include "world.h"

namespace vg::contract {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view rbac = "rbac.authorization.k8s.io/v1";

User user(std::string name, std::vector<std::string> groups = {}) {
  return {.name = std::move(name), .uid = {}, .groups = std::move(groups), .extra = {}};
}

class AuthorizerContract : public ContractTest {
 protected:
  // Names that are this test's own: roles of the cluster count everywhere.
  std::string own(std::string_view name) const { return fmt::format("{}-{}", ns_, name); }

  void role(std::string_view name, std::string_view rules, std::string_view ns = {}) {
    create(collection(rbac, "roles", ns), fmt::format(R"({{"metadata":{{"name":"{}"}},"rules":{}}})", name, rules));
  }
  void cluster_role(std::string_view name, std::string_view rules) {
    create(fmt::format("/apis/{}/clusterroles", rbac),
           fmt::format(R"({{"metadata":{{"name":"{}"}},"rules":{}}})", own(name), rules));
  }
  static std::string binding(std::string_view name, std::string_view kind, std::string_view role,
                             std::string_view subject_kind, std::string_view subject) {
    return fmt::format(R"({{"metadata":{{"name":"{}"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io",)"
                       R"("kind":"{}","name":"{}"}},"subjects":[{{"kind":"{}",)"
                       R"("apiGroup":"rbac.authorization.k8s.io","name":"{}"}}]}})",
                       name, kind, role, subject_kind, subject);
  }
  void bind(std::string_view name, std::string_view kind, std::string_view role, std::string_view subject_kind,
            std::string_view subject) {
    create(collection(rbac, "rolebindings"), binding(name, kind, role, subject_kind, subject));
  }
  void cluster_bind(std::string_view name, std::string_view role, std::string_view subject_kind,
                    std::string_view subject) {
    create(fmt::format("/apis/{}/clusterrolebindings", rbac),
           binding(own(name), "ClusterRole", own(role), subject_kind, subject));
  }

  Result<AccessDecision> ask(const User& who, const AccessAttributes& attributes, std::size_t core = 0) {
    return run(world().authorizer().authorize(world().core(core), who, attributes), core);
  }
  AccessAttributes attributes(std::string_view verb, std::string_view resource, std::string_view name = {},
                              std::string_view subresource = {}) const {
    AccessAttributes attributes;
    attributes.verb = verb;
    attributes.group = "kubevirt.io";
    attributes.version = "v1";
    attributes.resource = resource;
    attributes.subresource = subresource;
    attributes.ns = ns_;
    attributes.name = name;
    return attributes;
  }
  static AccessAttributes path_access(std::string_view verb, std::string_view path) {
    AccessAttributes attributes;
    attributes.verb = verb;
    attributes.resource_request = false;
    attributes.path = path;
    return attributes;
  }
  bool may(const User& who, const AccessAttributes& attributes) {
    const auto decision = ask(who, attributes);
    EXPECT_TRUE(decision) << decision.error().message;
    return decision && decision->allowed;
  }
};

constexpr std::string_view get_vms =
    R"([{"apiGroups":["kubevirt.io"],"resources":["virtualmachines"],"verbs":["get"]}])";

TEST_P(AuthorizerContract, WithoutARoleNobodyMay) {
  const auto decision = ask(user("zoe", {"dev"}), attributes("get", "virtualmachines", "a"));
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_FALSE(decision->allowed);
}

TEST_P(AuthorizerContract, ARoleAllowsWhatItSays) {
  role("r", get_vms);
  bind("b", "Role", "r", "User", "zoe");
  const auto decision = ask(user("zoe"), attributes("get", "virtualmachines", "a"));
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_TRUE(decision->allowed);
  EXPECT_THAT(decision->reason, HasSubstr("RoleBinding")) << "who looks into it wants to know why";
  EXPECT_FALSE(may(user("zoe"), attributes("update", "virtualmachines", "a")));
  EXPECT_FALSE(may(user("zoe"), attributes("get", "virtualmachineinstances", "a")));
  EXPECT_FALSE(may(user("zoe"), attributes("get", "virtualmachines", "a", "stop")));
  EXPECT_FALSE(may(user("joe"), attributes("get", "virtualmachines", "a")));
  auto other_group = attributes("get", "virtualmachines", "a");
  other_group.group = "subresources.kubevirt.io";
  EXPECT_FALSE(may(user("zoe"), other_group));
  auto other_version = attributes("get", "virtualmachines", "a");
  other_version.version = "v1alpha3";
  EXPECT_TRUE(may(user("zoe"), other_version)) << "roles know no versions";
}

TEST_P(AuthorizerContract, ARoleCountsInItsNamespace) {
  role("r", get_vms);
  bind("b", "Role", "r", "User", "zoe");
  const std::string other = make_namespace();
  auto elsewhere = attributes("get", "virtualmachines", "a");
  elsewhere.ns = other;
  EXPECT_FALSE(may(user("zoe"), elsewhere));
  auto everywhere = attributes("get", "virtualmachines", "a");
  everywhere.ns = {};
  EXPECT_FALSE(may(user("zoe"), everywhere));
  cluster_role("all", get_vms);
  cluster_bind("all", "all", "User", "zoe");
  EXPECT_TRUE(may(user("zoe"), elsewhere));
  EXPECT_TRUE(may(user("zoe"), everywhere));
  remove(fmt::format("/apis/{}/clusterrolebindings/{}", rbac, own("all")));
}

TEST_P(AuthorizerContract, GroupsAndAccountsHaveRolesToo) {
  role("r", get_vms);
  bind("group", "Role", "r", "Group", "dev");
  create(collection(rbac, "rolebindings"),
         fmt::format(R"({{"metadata":{{"name":"account"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io",)"
                     R"("kind":"Role","name":"r"}},"subjects":[{{"kind":"ServiceAccount","name":"bot",)"
                     R"("namespace":"{}"}}]}})",
                     ns_));
  const auto get = attributes("get", "virtualmachines", "a");
  EXPECT_TRUE(may(user("x", {"ops", "dev"}), get));
  EXPECT_FALSE(may(user("dev", {"ops"}), get)) << "a user is no group";
  EXPECT_TRUE(may(user(fmt::format("system:serviceaccount:{}:bot", ns_)), get));
  EXPECT_FALSE(may(user("system:serviceaccount:default:bot"), get));
  EXPECT_TRUE(may(user("root", {"system:masters"}), attributes("delete", "anything", "a", "b")));
}

TEST_P(AuthorizerContract, RolesMayNameObjectsAndParts) {
  role("r",
       R"([{"apiGroups":["subresources.kubevirt.io"],"resources":["virtualmachines/stop"],"verbs":["update"],)"
       R"("resourceNames":["mine"]},{"apiGroups":["*"],"resources":["virtualmachineinstances/*"],"verbs":["*"]}])");
  bind("b", "Role", "r", "User", "zoe");
  auto stop = attributes("update", "virtualmachines", "mine", "stop");
  stop.group = "subresources.kubevirt.io";
  EXPECT_TRUE(may(user("zoe"), stop));
  stop.name = "yours";
  EXPECT_FALSE(may(user("zoe"), stop));
  stop.name = {};
  EXPECT_FALSE(may(user("zoe"), stop)) << "all are more than one";
  EXPECT_FALSE(may(user("zoe"), attributes("get", "virtualmachineinstances", "a")));
}

TEST_P(AuthorizerContract, PathsAreNoResources) {
  cluster_role("r", R"([{"nonResourceURLs":["/contract","/contract/below/*"],"verbs":["get"]}])");
  cluster_bind("b", "r", "User", own("zoe"));
  const User zoe = user(own("zoe"));
  EXPECT_TRUE(may(zoe, path_access("get", "/contract")));
  EXPECT_TRUE(may(zoe, path_access("get", "/contract/below/x/y")));
  EXPECT_FALSE(may(zoe, path_access("get", "/contract/beside")));
  EXPECT_FALSE(may(zoe, path_access("post", "/contract")));
  EXPECT_FALSE(may(user("joe"), path_access("get", "/contract")));
  EXPECT_FALSE(may(zoe, attributes("get", "contract")));
}

TEST_P(AuthorizerContract, WhateverAUserIsCalled) {
  role("r", get_vms);
  const std::string odd = R"(O=\"zoe\" \\ é/%2f,+)";
  bind("b", "Role", "r", "User", odd);
  User zoe = user("O=\"zoe\" \\ é/%2f,+", {"", "a group\twith, everything"});
  zoe.uid = "1234";
  zoe.extra = {{"example.com/scopes", {"one", "two"}}, {"odd key%", {}}, {"quoted", {"\"\\"}}};
  EXPECT_TRUE(may(zoe, attributes("get", "virtualmachines", "a")))
      << "what else is known of them does not matter to roles";
  zoe.name += "x";
  EXPECT_FALSE(may(zoe, attributes("get", "virtualmachines", "a")));
}

// Whoever is refused, or looks into why somebody is not, hears the same from the server and from its users' reviews.
TEST_P(AuthorizerContract, TheWordsAreThoseOfAReview) {
  role("r", get_vms);
  bind("b", "Role", "r", "User", "zoe");
  for (const std::string_view name : {"zoe", "joe"}) {
    const Reply review =
        create("/apis/authorization.k8s.io/v1/subjectaccessreviews",
               fmt::format(R"({{"spec":{{"user":"{}","resourceAttributes":{{"verb":"get",)"
                           R"("group":"kubevirt.io","resource":"virtualmachines","namespace":"{}"}}}}}})",
                           name, ns_));
    const auto decision = ask(user(std::string(name)), attributes("get", "virtualmachines"));
    ASSERT_TRUE(decision) << decision.error().message;
    EXPECT_EQ(decision->allowed, review.at({"status", "allowed"}) == "true");
    EXPECT_EQ(decision->reason.empty() ? "(absent)" : decision->reason, review.at({"status", "reason"}));
  }
}

TEST_P(AuthorizerContract, NobodyInParticularIsAllowedNothing) {
  const auto decision = ask(user(""), attributes("get", "virtualmachines", "a"));
  EXPECT_FALSE(decision && decision->allowed);
}

TEST_P(AuthorizerContract, AChangeCountsAtOnce) {
  role("r", get_vms);
  const auto get = attributes("get", "virtualmachines", "a");
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(may(user("zoe"), get));
    bind("b", "Role", "r", "User", "zoe");
    EXPECT_TRUE(may(user("zoe"), get));
    remove(collection(rbac, "rolebindings") + "/b");
  }
  EXPECT_FALSE(may(user("zoe"), get));
}

TEST_P(AuthorizerContract, NotKnowingIsAnErrorAndNeverAnAllow) {
  const User zoe = user("zoe", {"dev"});
  const auto get = attributes("get", "virtualmachines", "a");
  const auto path = path_access("get", "/contract");
  for (const AccessAttributes& attributes : {get, path}) {
    const auto decision = run(world().lost_authorizer().authorize(world().core(0), zoe, attributes));
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().code, 503);
    EXPECT_FALSE(decision.error().message.empty());
  }
}

TEST_P(AuthorizerContract, ManyAskAtOnceOnBothCores) {
  role("r", get_vms);
  bind("b", "Role", "r", "User", "zoe");
  const User zoe = user("zoe"), joe = user("joe");
  const auto get = attributes("get", "virtualmachines", "a");
  const auto ask_often = [&](Core& core) -> Task<int> {
    int right = 0;
    for (int i = 0; i < 20; ++i) {
      const auto decision = co_await world().authorizer().authorize(core, i % 2 ? joe : zoe, get);
      right += decision && decision->allowed == (i % 2 == 0) && core.here();
    }
    co_return right;
  };
  auto other = std::async(std::launch::async, [&] { return run(ask_often(world().core(1)), 1); });
  EXPECT_EQ(run(ask_often(world().core(0)), 0), 20);
  EXPECT_EQ(other.get(), 20);
}

INSTANTIATE_TEST_SUITE_P(authorizer, AuthorizerContract, both_modes(), mode_name);

}  // namespace
}  // namespace vg::contract
