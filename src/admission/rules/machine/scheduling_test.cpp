#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

#define TERMS "spec.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
#define PODS "spec.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
#define CONSTRAINTS "spec.topologySpreadConstraints"

using Told = std::vector<std::string>;

Told affinity(std::string_view text) {
  return told_by(scheduling_family, fmt::format(R"({{"domain":{{"devices":{{}}}},"affinity":{}}})", text));
}
Told required_nodes(std::string_view terms) {
  return affinity(fmt::format(
      R"({{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{}]}}}}}})",
      terms));
}
Told required_pods(std::string_view terms) {
  return affinity(fmt::format(R"({{"podAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}}}})", terms));
}
Told spread(std::string_view constraints) {
  return told_by(scheduling_family,
                 fmt::format(R"({{"domain":{{"devices":{{}}}},"topologySpreadConstraints":[{}]}})", constraints));
}

TEST(AffinityTest, EmptyTermsAreFine) {
  EXPECT_THAT(affinity("{}"), IsEmpty());
  EXPECT_THAT(required_nodes("{},{}"), IsEmpty());
  EXPECT_THAT(affinity(R"({"nodeAffinity":{},"podAffinity":{},"podAntiAffinity":{}})"), IsEmpty());
}

TEST(AffinityTest, OfAnExpressionTheOperatorComesBeforeTheKey) {
  EXPECT_THAT(
      required_nodes(R"({"matchExpressions":[{"key":"","operator":"In"}]},
                                {"matchExpressions":[{"key":"a/b/c","operator":"Lt"},{"key":"/a","operator":"x"}]})"),
      ElementsAre("Invalid " TERMS "[0].matchExpressions[0].values", "Invalid " TERMS "[0].matchExpressions[0].key",
                  "Invalid " TERMS "[0].matchExpressions[0].key", "Invalid " TERMS "[1].matchExpressions[0].values",
                  "Invalid " TERMS "[1].matchExpressions[0].key", "Invalid " TERMS "[1].matchExpressions[1].operator",
                  "Invalid " TERMS "[1].matchExpressions[1].key"));
}

TEST(AffinityTest, FieldsComeAfterExpressions) {
  const std::string long_name(254, 'A');
  EXPECT_THAT(
      required_nodes(fmt::format(R"({{"matchFields":[{{"key":"metadata.name","operator":"Gt","values":["ok","{}"]}},
                                             {{"key":"name","operator":"In","values":["N"]}}],
                                             "matchExpressions":[{{"key":"a","operator":"In"}}]}})",
                                 long_name)),
      ElementsAre("Invalid " TERMS "[0].matchExpressions[0].values", "Invalid " TERMS "[0].matchFields[0].operator",
                  "Invalid " TERMS "[0].matchFields[0].values[1]", "Invalid " TERMS "[0].matchFields[0].values[1]",
                  "Invalid " TERMS "[0].matchFields[1].key"));
}

TEST(AffinityTest, WeightsComeBeforeWhatTheyWeigh) {
  EXPECT_THAT(affinity(R"({"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
                {"weight":0,"preference":{"matchExpressions":[{"key":"a","operator":"In"}]}}]},
              "podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
                {"weight":101,"podAffinityTerm":{"topologyKey":"a b"}}]}})"),
              ElementsAre("Invalid spec.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
                          "Invalid spec.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
                          "matchExpressions[0].values",
                          "Invalid spec.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
                          "Invalid spec.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm."
                          "topologyKey"));
}

TEST(AffinityTest, AMissingTopologyIsToldThreeTimes) {
  const std::string field = "Invalid " PODS ".topologyKey";
  EXPECT_THAT(required_pods("{}"), ElementsAre(field, field, field));
}

TEST(AffinityTest, TheOrderWithinATermOfPods) {
  EXPECT_THAT(required_pods(R"({"topologyKey":"a b","namespaces":["A","b"],"matchLabelKeys":["!"],
                 "namespaceSelector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["x y"]}]},
                 "labelSelector":{"matchLabels":{"a b":"c d"},"matchExpressions":[{"key":"a","operator":"In"}]}})"),
              ElementsAre("Invalid " PODS ".labelSelector.matchLabels", "Invalid " PODS ".labelSelector.matchLabels",
                          "Invalid " PODS ".labelSelector.matchExpressions[0].values",
                          "Invalid " PODS ".namespaceSelector.matchExpressions[0].values",
                          "Invalid " PODS ".namespaceSelector.matchExpressions[0].values[0]",
                          "Invalid " PODS ".namespace", "Invalid " PODS ".topologyKey"));
}

TEST(AffinityTest, NodesThenPodsThenOthersThenSpread) {
  EXPECT_THAT(told_by(scheduling_family, R"({"domain":{"devices":{}},"topologySpreadConstraints":[
                {"maxSkew":0,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}],
              "affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"!"}]},
              "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"!"}]},
              "nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}}})"),
              ElementsAre("Invalid " TERMS, "Invalid " PODS ".topologyKey",
                          "Invalid spec.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
                          "Invalid " CONSTRAINTS "[0].maxSkew"));
}

TEST(TopologySpreadTest, TheOrderWithinAConstraint) {
  EXPECT_THAT(
      spread(R"({"maxSkew":-1,"labelSelector":{"matchExpressions":[{"key":"","operator":"bogus","values":["a b"]}]}})"),
      ElementsAre("Invalid " CONSTRAINTS "[0].maxSkew", "Invalid " CONSTRAINTS "[0].topologyKey",
                  "Invalid " CONSTRAINTS "[0].whenUnsatisfiable",
                  "Invalid " CONSTRAINTS ".labelSelector.matchExpressions[0].operator",
                  "Invalid " CONSTRAINTS ".labelSelector.matchExpressions[0].key",
                  "Invalid " CONSTRAINTS ".labelSelector.matchExpressions[0].key",
                  "Invalid " CONSTRAINTS ".labelSelector.matchExpressions[0].values[0]"));
}

TEST(TopologySpreadTest, TheEarlierOfTwoIsTheRepeatedOne) {
  const char* a = R"({"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"})";
  const char* b = R"({"maxSkew":1,"topologyKey":"b","whenUnsatisfiable":"DoNotSchedule"})";
  EXPECT_THAT(spread(fmt::format("{},{}", a, b)), IsEmpty());
  EXPECT_THAT(spread(fmt::format("{},{},{},{}", a, b, a, a)),
              ElementsAre("Invalid " CONSTRAINTS "[0].{topologyKey, whenUnsatisfiable}",
                          "Invalid " CONSTRAINTS "[2].{topologyKey, whenUnsatisfiable}"));
}

}  // namespace
}  // namespace vg::admission
