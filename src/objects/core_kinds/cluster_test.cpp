// Namespaces and nodes.
#include <string>

#include "objects/core_kinds/testing.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::string_view plain_namespace = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})";

std::string node(const std::string& rest) {
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"})" + rest + "}";
}

TEST(CoreKindsNamespace, IsCompletedOnCreate) {
  const Outcome made = create(
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","labels":{"kubernetes.io/metadata.name":"other"}},
          "spec":{"finalizers":["example.com/hold"]},"status":{"phase":"Terminating"}})");
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/metadata/labels"), R"({"kubernetes.io/metadata.name":"n"})");
  EXPECT_EQ(made.at("/spec/finalizers"), R"(["example.com/hold","kubernetes"])");
  EXPECT_EQ(made.at("/status"), R"({"phase":"Active"})");
}

TEST(CoreKindsNamespace, FinalizersAreNamesWithADomain) {
  EXPECT_EQ(
      create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"},"spec":{"finalizers":["mine"]}})").causes,
      one("Invalid", "spec.finalizers"));
}

TEST(CoreKindsNamespace, FinalizersGoOnlyThroughTheSubresource) {
  EXPECT_EQ(update(plain_namespace, plain_namespace).at("/spec/finalizers"), R"(["kubernetes"])");
  const Outcome cleared = update(plain_namespace, plain_namespace, "finalize");
  EXPECT_EQ(cleared.at("/spec/finalizers"), "");
  EXPECT_EQ(cleared.at("/status/phase"), R"("Active")");
}

TEST(CoreKindsNamespace, PhaseFollowsDeletion) {
  const auto status = [&](const std::string& metadata, const std::string& phase) {
    return update(plain_namespace,
                  R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n")" + metadata +
                      R"(},"status":{"phase":")" + phase + "\"}}",
                  "status")
        .causes;
  };
  const std::string going = R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")";
  EXPECT_EQ(status("", "Active"), CauseList());
  EXPECT_EQ(status("", "Terminating"), one("Invalid", "status.Phase"));
  EXPECT_EQ(status(going, "Terminating"), CauseList());
  EXPECT_EQ(status(going, "Active"), one("Invalid", "status.Phase"));
}

TEST(CoreKindsNode, StatusMayComeWithIt) {
  const Outcome made = create(node(R"(,"spec":{"podCIDR":"10.0.0.0/24"},"status":{"capacity":{"cpu":"1.0005"}})"));
  EXPECT_EQ(made.causes, CauseList());
  EXPECT_EQ(made.at("/status/capacity"), R"({"cpu":"1001m"})");
  EXPECT_EQ(made.at("/status/allocatable"), R"({"cpu":"1001m"})");
  EXPECT_EQ(made.at("/spec/podCIDRs"), R"(["10.0.0.0/24"])");
}

TEST(CoreKindsNode, Taints) {
  EXPECT_EQ(
      create(node(R"(,"spec":{"taints":[{"key":"","effect":""},{"key":"a","value":"b c","effect":"Sometimes"}]})"))
          .causes,
      (CauseList{{"Invalid", "metadata.taints[0].key"},
                 {"Invalid", "metadata.taints[0].key"},
                 {"Required", "metadata.taints[0].effect"},
                 {"Invalid", "metadata.taints[1].value"},
                 {"NotSupported", "metadata.taints[1].effect"}}));
  EXPECT_EQ(
      create(
          node(R"(,"spec":{"taints":[{"key":"a","effect":"NoExecute"},{"key":"a","value":"x","effect":"NoExecute"}]})"))
          .causes,
      one("Duplicate", "metadata.taints[1]"));
}

TEST(CoreKindsNode, Resources) {
  EXPECT_EQ(
      create(node(R"(,"status":{"capacity":{"memory":"-1","example.com/gpu":"500m"},"allocatable":{"pods":"1"}})"))
          .causes,
      (CauseList{{"Invalid", "status.capacity.example.com/gpu"}, {"Invalid", "status.capacity.memory"}}));
}

TEST(CoreKindsNode, WhatStays) {
  const std::string before = node(R"(,"spec":{"podCIDR":"10.0.0.0/24","providerID":"a"})");
  EXPECT_EQ(update(before, node(R"(,"spec":{"podCIDR":"10.0.1.0/24","providerID":"b","unschedulable":true})")).causes,
            (CauseList{{"Forbidden", "spec.podCIDRs"}, {"Forbidden", "spec.providerID"}}));
  EXPECT_EQ(update(node(""), before).causes, CauseList());
}

TEST(CoreKindsNode, PodNetworks) {
  EXPECT_EQ(create(node(R"(,"spec":{"podCIDRs":["10.0.0.0/24","10.0.1.0/24"]})")).causes,
            one("Invalid", "spec.podCIDRs"));
  EXPECT_EQ(create(node(R"(,"spec":{"podCIDRs":["10.0.0.0/24","fd00::/64"]})")).causes, CauseList());
  EXPECT_EQ(create(node(R"(,"spec":{"podCIDR":"ten"})")).causes, one("Invalid", "spec.podCIDRs[0]"));
}

}  // namespace
}  // namespace vg::resources::core_kinds
