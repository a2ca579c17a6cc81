#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "admission/rules/example.h"
#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

#define REQUIRED_NODES(terms)                                                                                                       \
  R"({"object":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" terms \
  R"(]}}}}}})"
#define PREFERRED_NODES(weight)                                                                                                            \
  R"({"object":{"spec":{"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"preference":{},"weight":)" weight \
  R"(}]}}}}})"
#define REQUIRED_PODS(term) \
  R"({"object":{"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" term R"(]}}}}})"
#define PREFERRED_PODS(weight)                                                                                                                                         \
  R"({"object":{"spec":{"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"topologyKey":"zone"},"weight":)" weight \
  R"(}]}}}}})"
#define SPREAD(constraints) R"({"object":{"spec":{"topologySpreadConstraints":[)" constraints R"(]}}})"
#define TERMS "spec.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
#define PODS "spec.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
#define CONSTRAINTS "spec.topologySpreadConstraints"

const bool added = add_examples({
    {"AFF-01", vmi, REQUIRED_NODES("{}"), REQUIRED_NODES(""), "FieldValueInvalid " TERMS},
    {"AFF-02", vmi, REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]})"),
     REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"In"}]})"),
     "FieldValueInvalid " TERMS "[0].matchExpressions[0].values"},
    {"AFF-03", vmi, REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"Exists"}]})"),
     REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]})"),
     "FieldValueInvalid " TERMS "[0].matchExpressions[0].values"},
    {"AFF-04", vmi, REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["x"]}]})"),
     REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["1","2"]}]})"),
     "FieldValueInvalid " TERMS "[0].matchExpressions[0].values"},
    {"AFF-05", vmi, REQUIRED_NODES(R"({"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]})"),
     REQUIRED_NODES(R"({"matchExpressions":[{"key":"a"}]})"),
     "FieldValueInvalid " TERMS "[0].matchExpressions[0].operator"},
    {"AFF-06", vmi, REQUIRED_NODES(R"({"matchExpressions":[{"key":"a.b/c","operator":"Exists"}]})"),
     REQUIRED_NODES(R"({"matchExpressions":[{"key":"a b","operator":"Exists"}]})"),
     "FieldValueInvalid " TERMS "[0].matchExpressions[0].key"},
    {"AFF-07", vmi, REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]})"),
     REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n","m"]}]})"),
     "FieldValueInvalid " TERMS "[0].matchFields[0].values"},
    {"AFF-08", vmi, REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n"]}]})"),
     REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.name","operator":"Exists"}]})"),
     "FieldValueInvalid " TERMS "[0].matchFields[0].operator"},
    {"AFF-09", vmi, "{}", REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.uid","operator":"In","values":["n"]}]})"),
     "FieldValueInvalid " TERMS "[0].matchFields[0].key"},
    {"AFF-10", vmi, "{}", REQUIRED_NODES(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["N"]}]})"),
     "FieldValueInvalid " TERMS "[0].matchFields[0].values[0]"},
    {"AFF-11", vmi, PREFERRED_NODES("100"), PREFERRED_NODES("101"),
     "FieldValueInvalid spec.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"},
    {"AFF-12", vmi, PREFERRED_PODS("1"), PREFERRED_PODS("255"),
     "FieldValueInvalid spec.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"},
    {"AFF-13", vmi, REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"a":"b"}}})"),
     REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"a":"b c"}}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchLabels", "{}", "LSL-02"},
    {"AFF-14", vmi, REQUIRED_PODS(R"({"topologyKey":"zone","namespaceSelector":{}})"),
     REQUIRED_PODS(R"({"topologyKey":"zone","namespaceSelector":{"matchLabels":{"a b":"c"}}})"),
     "FieldValueInvalid " PODS ".namespaceSelector.matchLabels", "{}", "LSL-01"},
    {"AFF-15", vmi, REQUIRED_PODS(R"({"topologyKey":"zone","namespaces":["prod"]})"),
     REQUIRED_PODS(R"({"topologyKey":"zone","namespaces":["prod","Test"]})"), "FieldValueInvalid " PODS ".namespace"},
    {"AFF-16", vmi, REQUIRED_PODS(R"({"topologyKey":"kubernetes.io/hostname"})"), REQUIRED_PODS("{}"),
     "FieldValueInvalid " PODS ".topologyKey"},
    {"AFF-17", vmi, REQUIRED_PODS(R"({"topologyKey":"zone"})"), REQUIRED_PODS(R"({"topologyKey":"zone=a"})"),
     "FieldValueInvalid " PODS ".topologyKey"},
    {"LSL-01", vmi, "{}", REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"a/b/c":"d"}}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchLabels"},
    {"LSL-02", vmi, REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"a":""}}})"),
     REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"a":"-"}}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchLabels"},
    {"LSL-03", vmi,
     REQUIRED_PODS(
         R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"NotIn","values":[""]}]}})"),
     REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"NotIn"}]}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchExpressions[0].values"},
    {"LSL-04", vmi, "{}",
     REQUIRED_PODS(
         R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchExpressions[0].values"},
    {"LSL-05", vmi, "{}",
     REQUIRED_PODS(
         R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchExpressions[0].operator"},
    {"LSL-06", vmi, "{}",
     REQUIRED_PODS(R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"","operator":"Exists"}]}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchExpressions[0].key"},
    {"LSL-07", vmi, "{}",
     REQUIRED_PODS(
         R"({"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["b","c d"]}]}})"),
     "FieldValueInvalid " PODS ".labelSelector.matchExpressions[0].values[1]"},
    {"TSC-01", vmi, SPREAD(R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"})"),
     SPREAD(R"({"maxSkew":0,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"})"),
     "FieldValueInvalid " CONSTRAINTS "[0].maxSkew"},
    {"TSC-02", vmi, "{}", SPREAD(R"({"maxSkew":1,"topologyKey":"","whenUnsatisfiable":"DoNotSchedule"})"),
     "FieldValueInvalid " CONSTRAINTS "[0].topologyKey"},
    {"TSC-03", vmi, SPREAD(R"({"maxSkew":1,"topologyKey":"a.b/zone","whenUnsatisfiable":"DoNotSchedule"})"),
     SPREAD(R"({"maxSkew":1,"topologyKey":"a b","whenUnsatisfiable":"DoNotSchedule"})"),
     "FieldValueInvalid " CONSTRAINTS "[0].topologyKey"},
    {"TSC-04", vmi, SPREAD(R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"})"),
     SPREAD(R"({"maxSkew":1,"topologyKey":"zone"})"), "FieldValueInvalid " CONSTRAINTS "[0].whenUnsatisfiable"},
    {"TSC-05", vmi, "{}",
     SPREAD(
         R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"a":"b c"}}})"),
     "FieldValueInvalid " CONSTRAINTS ".labelSelector.matchLabels", "{}", "LSL-02"},
    {"TSC-06", vmi,
     SPREAD(
         R"({"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"},{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway"})"),
     SPREAD(
         R"({"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"},{"maxSkew":2,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"})"),
     "FieldValueInvalid " CONSTRAINTS "[0].{topologyKey, whenUnsatisfiable}"},
});

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
