#include "auth/policy_rule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <ctime>

#include "auth/testing.h"
#include "json/write.h"

namespace vg::auth {
namespace {

using ::testing::ElementsAre;

AccessAttributes resource(std::string_view verb, std::string_view group, std::string_view resource,
                          std::string_view subresource = "", std::string_view name = "") {
  return {.verb = verb,
          .resource_request = true,
          .path = {},
          .group = group,
          .version = {},
          .resource = resource,
          .subresource = subresource,
          .ns = {},
          .name = name};
}
AccessAttributes path(std::string_view verb, std::string_view path) {
  return {.verb = verb,
          .resource_request = false,
          .path = path,
          .group = {},
          .version = {},
          .resource = {},
          .subresource = {},
          .ns = {},
          .name = {}};
}

TEST(PolicyRuleTest, MatchesResources) {
  const PolicyRule rule{.verbs = {"get"}, .api_groups = {"", "apps"}, .resources = {"pods", "pods/log", "*/scale"}};
  EXPECT_TRUE(allows(rule, resource("get", "", "pods")));
  EXPECT_TRUE(allows(rule, resource("get", "apps", "pods")));
  EXPECT_TRUE(allows(rule, resource("get", "", "pods", "log")));
  EXPECT_TRUE(allows(rule, resource("get", "", "anything", "scale")));
  EXPECT_FALSE(allows(rule, resource("get", "", "pods", "exec")));
  EXPECT_FALSE(allows(rule, resource("get", "", "pods", "og")));
  EXPECT_FALSE(allows(rule, resource("get", "", "po", "log")));
  EXPECT_FALSE(allows(rule, resource("get", "", "pod")));
  EXPECT_FALSE(allows(rule, resource("get", "batch", "pods")));
  EXPECT_FALSE(allows(rule, resource("list", "", "pods")));
  EXPECT_FALSE(allows(rule, path("get", "/pods")));
}

TEST(PolicyRuleTest, SubresourcesMayHaveSeveralParts) {
  const PolicyRule rule{.verbs = {"update"}, .api_groups = {"s"}, .resources = {"vms/evacuate/cancel", "*/a/b"}};
  EXPECT_TRUE(allows(rule, resource("update", "s", "vms", "evacuate/cancel")));
  EXPECT_TRUE(allows(rule, resource("update", "s", "x", "a/b")));
  EXPECT_FALSE(allows(rule, resource("update", "s", "vms", "cancel")));
  EXPECT_FALSE(allows(rule, resource("update", "s", "vms", "evacuate")));
  EXPECT_FALSE(allows(rule, resource("update", "s", "x", "b")));
}

TEST(PolicyRuleTest, StarsMatchEverything) {
  const PolicyRule rule{.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}};
  EXPECT_TRUE(allows(rule, resource("anything", "any", "thing", "sub", "name")));
  EXPECT_FALSE(allows(rule, path("get", "/")));
}

TEST(PolicyRuleTest, NamesLimitARule) {
  const PolicyRule rule{.verbs = {"get"}, .api_groups = {""}, .resources = {"pods"}, .resource_names = {"a", "b"}};
  EXPECT_TRUE(allows(rule, resource("get", "", "pods", "", "b")));
  EXPECT_FALSE(allows(rule, resource("get", "", "pods", "", "c")));
  EXPECT_FALSE(allows(rule, resource("get", "", "pods")));
}

TEST(PolicyRuleTest, MatchesPaths) {
  const PolicyRule rule{.verbs = {"get"}, .non_resource_urls = {"/healthz", "/apis/*", "/x*"}};
  EXPECT_TRUE(allows(rule, path("get", "/healthz")));
  EXPECT_TRUE(allows(rule, path("get", "/apis/a/b")));
  EXPECT_TRUE(allows(rule, path("get", "/x")));
  EXPECT_TRUE(allows(rule, path("get", "/xyz")));
  EXPECT_FALSE(allows(rule, path("get", "/apis")));
  EXPECT_FALSE(allows(rule, path("get", "/healthz/etcd")));
  EXPECT_FALSE(allows(rule, path("post", "/healthz")));
  EXPECT_TRUE(allows({.verbs = {"*"}, .non_resource_urls = {"*"}}, path("put", "/any")));
}

TEST(PolicyRuleTest, ReadsAndWritesJson) {
  const auto role = parse(R"({"rules":[{"resources":["a"],"verbs":["get"],"apiGroups":[""],"resourceNames":[]},
      {"nonResourceURLs":["/x"],"verbs":["get",7]},"no rule"]})");
  const auto rules = policy_rules_of(role.root().as_object());
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(
      json::to_text(to_json(rules)),
      R"([{"verbs":["get"],"apiGroups":[""],"resources":["a"]},{"verbs":["get"],"nonResourceURLs":["/x"]},{"verbs":[]}])");
}

// Owned, wanted, how many pieces are missing.
TEST(PolicyRuleTest, RulesCoverRules) {
  struct Sample {
    std::string_view owned, wanted;
    std::size_t missing;
  };
  const Sample cases[] = {
      {R"([])", R"([])", 0},
      {R"([])", R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])", 1},
      {R"([{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}])",
       R"([{"verbs":["get","x"],"apiGroups":["","a"],"resources":["pods","b/c"],"resourceNames":["n"]}])", 0},
      {R"([{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}])", R"([{"verbs":["get"],"nonResourceURLs":["/"]}])", 1},
      // Two rules together cover what neither covers alone.
      {R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"]},{"verbs":["list"],"apiGroups":[""],"resources":["pods"]}])",
       R"([{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}])", 0},
      {R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"]},{"verbs":["list"],"apiGroups":["a"],"resources":["pods"]}])",
       R"([{"verbs":["get","list"],"apiGroups":["","a"],"resources":["pods"]}])", 2},
      // A star is only covered by a star.
      {R"([{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}])",
       R"([{"verbs":["*"],"apiGroups":[""],"resources":["pods"]}])", 1},
      // Names: a rule without names covers any; names never cover a rule without.
      {R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])",
       R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a","b"]}])", 0},
      {R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]}])",
       R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a","b"]}])", 1},
      {R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]}])",
       R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])", 1},
      // Subresources.
      {R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])",
       R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods/log"]}])", 1},
      {R"([{"verbs":["get"],"apiGroups":[""],"resources":["*/log"]}])",
       R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods/log","*/log"]}])", 0},
      {R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods/log"]}])",
       R"([{"verbs":["get"],"apiGroups":[""],"resources":["*/log"]}])", 1},
      // Paths.
      {R"([{"verbs":["get"],"nonResourceURLs":["/apis/*"]}])",
       R"([{"verbs":["get"],"nonResourceURLs":["/apis/a","/apis/a/*"]}])", 0},
      {R"([{"verbs":["get"],"nonResourceURLs":["/apis/a"]}])", R"([{"verbs":["get"],"nonResourceURLs":["/apis/*"]}])",
       1},
      {R"([{"verbs":["get"],"nonResourceURLs":["/apis/*"]}])",
       R"([{"verbs":["get","post"],"nonResourceURLs":["/apis"]}])", 2},
  };
  for (const Sample& one : cases) {
    const auto read = [](std::string_view text) {
      return policy_rules_of(parse(fmt::format(R"({{"rules":{}}})", text)).root().as_object());
    };
    const Uncovered missing = uncovered_rules(read(one.owned), read(one.wanted));
    EXPECT_EQ(missing.pieces.size(), one.missing) << one.owned << " and " << one.wanted;
    EXPECT_FALSE(missing.too_complex);
  }
}

TEST(PolicyRuleTest, StopsWhereNobodyReadsOn) {
  PolicyRule wanted{.verbs = {"get"}, .api_groups = {""}};
  for (int i = 0; i < 1000; ++i) wanted.resources.push_back(fmt::format("r{}", i));
  const Uncovered missing = uncovered_rules({}, std::vector{wanted});
  EXPECT_EQ(missing.pieces.size(), 20u);
  EXPECT_TRUE(missing.more);
}

TEST(PolicyRuleTest, GivesUpOnProductsWithoutEnd) {
  PolicyRule wanted;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = fmt::format("x{}", i);
    for (auto* list : {&wanted.verbs, &wanted.api_groups, &wanted.resources}) list->push_back(text);
  }
  // Together they cover every verb, each alone does not, so everything is multiplied out.
  PolicyRule half = wanted, other = wanted;
  half.verbs.resize(1500);
  other.verbs.erase(other.verbs.begin(), other.verbs.begin() + 1500);
  const Uncovered missing = uncovered_rules(std::vector{half, other}, std::vector{wanted});
  EXPECT_TRUE(missing.too_complex);
  EXPECT_TRUE(uncovered_rules(std::vector{wanted}, std::vector{wanted}).pieces.empty());
}

TEST(PolicyRuleTest, MissingRulesAreMergedAgain) {
  const std::vector<PolicyRule> owned = {{.verbs = {"get"}, .api_groups = {""}, .resources = {"a"}}};
  const std::vector<PolicyRule> wanted = {
      {.verbs = {"get", "list", "watch"}, .api_groups = {""}, .resources = {"a", "b"}}};
  const auto missing = missing_rules(owned, wanted);
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(describe(missing[0]), "list, watch on a");
  EXPECT_EQ(describe(missing[1]), "get, list, watch on b");
}

TEST(PolicyRuleTest, ReadsAsASentence) {
  EXPECT_EQ(describe({.verbs = {"get", "list"},
                      .api_groups = {"kubevirt.io"},
                      .resources = {"virtualmachines"},
                      .resource_names = {"a"}}),
            "get, list on virtualmachines.kubevirt.io named a");
  EXPECT_EQ(describe({.verbs = {"get"}, .non_resource_urls = {"/x"}}), "get on /x");
}

// The index says of every question what the rules say one by one.
TEST(RuleIndexTest, AgreesWithTheRules) {
  const std::vector<std::string> verbs = {"get", "list", "*"}, groups = {"", "apps", "*"}, names = {"", "a", "b"};
  const std::vector<std::string> resources = {"pods", "pods/log", "*/scale", "*", "deployments/scale", "nodes"};
  std::vector<PolicyRule> rules;
  for (std::size_t i = 0; i < 200; ++i) {
    PolicyRule rule{.verbs = {verbs[i % 3]}, .api_groups = {groups[i / 3 % 3]}, .resources = {resources[i % 6]}};
    if (i % 4 == 0) rule.resource_names = {names[1 + i % 2]};
    if (i % 5 == 0) rule = {.verbs = {"get"}, .non_resource_urls = {"/x", "/y*"}};
    if (i % 7 == 0)
      for (int more = 0; more < 100; ++more) rule.resources.push_back("r" + std::to_string(more));
    rules.push_back(std::move(rule));
  }
  const auto ask = [&](std::span<const PolicyRule> some, const AccessAttributes& attributes) {
    const bool expected = std::ranges::any_of(some, [&](const PolicyRule& rule) { return allows(rule, attributes); });
    EXPECT_EQ(RuleIndex(some).allows(RuleQuery(attributes)), expected)
        << attributes.verb << ' ' << attributes.group << ' ' << attributes.resource << '/' << attributes.subresource
        << ' ' << attributes.name << attributes.path;
  };
  for (std::size_t first = 0; first < rules.size(); ++first) {
    const std::span<const PolicyRule> some = std::span(rules).subspan(first, 1);
    for (const std::string_view verb : {"get", "list", "watch"}) {
      for (const std::string_view group : {"", "apps"})
        for (const std::string_view resource : {"pods", "deployments", "nodes", "r7"})
          for (const std::string_view sub : {"", "log", "scale"})
            for (const std::string& name : names)
              ask(some, {.verb = verb,
                         .resource_request = true,
                         .path = {},
                         .group = group,
                         .version = "v1",
                         .resource = resource,
                         .subresource = sub,
                         .ns = {},
                         .name = name});
      for (const std::string_view path : {"/x", "/x/1", "/y1"})
        ask(some, {.verb = verb,
                   .resource_request = false,
                   .path = path,
                   .group = {},
                   .version = {},
                   .resource = {},
                   .subresource = {},
                   .ns = {},
                   .name = {}});
    }
  }
}

TEST(RuleIndexTest, ALongRoleAnswersSoon) {
  std::vector<PolicyRule> rules;
  for (int i = 0; i < 20'000; ++i)
    rules.push_back(
        {.verbs = {"get"}, .api_groups = {""}, .resources = {"pods"}, .resource_names = {fmt::format("n{}", i)}});
  PolicyRule names{.verbs = {"get"}, .api_groups = {""}, .resources = {"secrets"}};
  for (int i = 0; i < 200'000; ++i) names.resource_names.push_back(fmt::format("n{}", i));
  rules.push_back(std::move(names));
  const RuleIndex index(rules);
  const std::clock_t began = std::clock();  // CPU time: a busy machine is no defect
  const auto may = [&](std::string_view resource, std::string_view name) {
    const AccessAttributes attributes{.verb = "get",
                                      .resource_request = true,
                                      .path = {},
                                      .group = {},
                                      .version = "v1",
                                      .resource = resource,
                                      .subresource = {},
                                      .ns = {},
                                      .name = name};
    return index.allows(RuleQuery(attributes));
  };
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(may("pods", "other"));
    ASSERT_TRUE(may("secrets", "n199999"));
    ASSERT_FALSE(may("secrets", "other"));
  }
  EXPECT_LT(std::clock() - began, 10 * CLOCKS_PER_SEC);  // 30 s and more, one by one
}

}  // namespace
}  // namespace vg::auth
