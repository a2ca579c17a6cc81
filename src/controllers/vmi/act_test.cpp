// What is done for a VMI before its status is written: spec vmi-lifecycle 2.1, 2.2, 2.8.
#include "controllers/vmi/act.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/vmi/testing.h"

namespace vg::controllers {
namespace {

using namespace vmi::testing;  // NOLINT: what all of this is made of

struct ActRow {
  std::string_view id;
  VmiText vmi = {};
  std::string_view placements;  // status.activePods afterwards; "none"
  std::vector<std::string> events = {};
  std::string_view synchronized = "none";
  std::string_view configuration = "{}";
};

constexpr std::string_view no_frequency = R"({"developerConfiguration":{"minimumClusterTSCFrequency":-1}})";
constexpr std::string_view boot_spec =
    R"({"architecture":"amd64","domain":{"cpu":{"features":[{"name":"invtsc","policy":"require"}]},"devices":{}}})";
constexpr std::string_view enlightened_spec =
    R"({"architecture":"amd64","domain":{"features":{"hyperv":{"reenlightenment":{"enabled":true}}},"devices":{}}})";

std::vector<ActRow> act_rows() {
  const std::string receiver = R"(,"annotations":{"kubevirt.io/create-migration-target":"true"})";
  const std::string addressed = receiver + R"(,"labels":{"kubevirt.io/migrationTargetNodeName":"n1"})";
  const std::vector<std::string> created = {"SuccessfulCreate Normal"};
  static const std::string bound = fmt::format(R"({{"{}":"n1"}})", pod), unbound = fmt::format(R"({{"{}":""}})", pod);
  const auto without = [](std::string_view phase) {
    return VmiText{.status = fmt::format(R"({{"phase":"{}","nodeName":"n1"}})", phase)};
  };
  return {
      {"VMI-A02", {.status = placed_status("Failed"), .spec = std::string(claim_spec)}, "{}"},
      {"VMI-A02", {.status = R"({"phase":"Succeeded"})", .spec = std::string(claim_spec)}, "none"},
      {"VMI-A05", {.metadata = receiver}, "none"},
      {"VMI-A05 told where", {.metadata = addressed}, bound, created},
      {"VMI-A06", without("Scheduling"), "none"},
      {"VMI-A06", without("Scheduled"), "none"},
      {"VMI-A06", without("Running"), "none"},
      {"VMI-A06", {.status = R"({"phase":"WaitingForSync"})", .metadata = addressed}, "none"},
      {"VMI-A07 for boot",
       {.spec = std::string(boot_spec)},
       "none",
       {"FailedGatherhingClusterTopologyHints Warning"},
       "none",
       no_frequency},
      {"VMI-A07 for migration", {.spec = std::string(enlightened_spec)}, "none", {}, "none", no_frequency},
      {"VMI-A07 known",
       {.status = R"({"phase":"Pending","topologyHints":{"tscFrequency":1}})", .spec = std::string(boot_spec)},
       unbound,
       created,
       "none",
       no_frequency},
      {"VMI-A15", {}, bound, created},
      {"VMI-A15 only once", {.status = placed_status("Scheduled")}, bound},
  };
}

TEST(VmiAct, EveryRow) {
  for (const ActRow& row : act_rows()) {
    SCOPED_TRACE(row.id);
    TestWorld world;
    world.configure(row.configuration);
    with_node(world).put(kinds::vmi, text_of(row.vmi));
    const Result made = pass(world);
    EXPECT_EQ(made.text({"status", "activePods"}), row.placements);
    EXPECT_EQ(made.made.events(), row.events);
    EXPECT_EQ(made.condition("Synchronized"), row.synchronized);
  }
}

TEST(VmiAct, TheEventNamesThePlacement) {  // VMI-A15
  const Result made = pass_of({});
  ASSERT_EQ(made.made.pass.events.size(), 1U);
  EXPECT_THAT(made.made.pass.events[0].event.message, testing::HasSubstr(placement_name("a", pod)));
}

TEST(VmiAct, AClaimThatIsNotNeededAnyMoreGoes) {  // VMI-A11
  TestWorld world;
  world.put(kinds::storage_class,
            R"({"metadata":{"name":"local","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}})");
  with_node(world).put(kinds::vmi, text_of({.spec = R"({"domain":{"devices":{"tpm":{"persistent":true}}}})"}));
  const Result with_tpm = pass(world);
  const Effect* made = with_tpm.made.find(Verb::create, kinds::claim);
  ASSERT_TRUE(made);
  json::Value claim = made->document;
  json::ensure_path(claim.get_object(), {"metadata"})["uid"] = "c-uid";
  world.put(kinds::claim, claim).put(kinds::vmi, text_of({}));
  const Result without = pass(world);
  const Effect* removed = without.made.find(Verb::remove, kinds::claim);
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->name, made->name);
  EXPECT_EQ(removed->uid, "c-uid");
  EXPECT_EQ(without.phase(), "Scheduled");
  world.put(kinds::vmi, text_of({.status = placed_status("Running")}));
  EXPECT_EQ(pass(world).made.find(Verb::remove, kinds::claim), nullptr) << "it is used";
}

struct VersionRow {
  std::string_view id, annotations, expected;
};

TEST(VmiAct, BothVersionsAreWrittenWithTheFirstPhase) {
  constexpr std::string_view both =
      R"({"kubevirt.io/latest-observed-api-version":"v1","kubevirt.io/storage-observed-api-version":"v1"})";
  const VersionRow rows[] = {
      {"VMI-E02 none", "{}", both},
      {"VMI-E02 old",
       R"({"kubevirt.io/latest-observed-api-version":"v1alpha3","kubevirt.io/storage-observed-api-version":"v1alpha3"})",
       both},
      {"VMI-E02 there", R"({"kubevirt.io/latest-observed-api-version":"v1"})",
       R"({"kubevirt.io/latest-observed-api-version":"v1"})"},
  };
  for (const VersionRow& row : rows) {
    SCOPED_TRACE(row.id);
    const Result made = pass_of({.metadata = fmt::format(R"(,"annotations":{})", row.annotations)});
    EXPECT_EQ(made.text({"metadata", "annotations"}), row.expected);
    EXPECT_EQ(made.phase(), "Scheduled");  // VMI-E03: the pass goes on
  }
}

TEST(VmiAct, WhatKeptItFromActingIsShownInTheSamePass) {  // VMI-E03
  TestWorld world;
  with_node(world).put(kinds::vmi, text_of({.spec = std::string(claim_spec)}));
  const Result made = pass(world);
  EXPECT_EQ(made.made.pass.effects.size(), 1U);
  EXPECT_EQ(made.condition("Synchronized"), "False FailedPvcNotFound");
  EXPECT_EQ(made.phase(), "Pending");
}

struct NeedRow {
  std::string_view id, spec;
  TscNeed need;
};

TEST(VmiAct, WhyAFrequencyMustBeKnown) {
  constexpr NeedRow rows[] = {
      {"VMI-T01 boot", boot_spec, TscNeed::for_boot},
      {"VMI-T01 boot",
       R"({"architecture":"amd64","domain":{"cpu":{"features":[{"name":"aes"},{"name":"invtsc","policy":"force"}]}}})",
       TscNeed::for_boot},
      {"VMI-T01 optional",
       R"({"architecture":"amd64","domain":{"cpu":{"features":[{"name":"invtsc","policy":"optional"}]}}})",
       TscNeed::none},
      {"VMI-T01 another",
       R"({"architecture":"amd64","domain":{"cpu":{"features":[{"name":"aes","policy":"require"}]}}})", TscNeed::none},
      {"VMI-T01 migration", enlightened_spec, TscNeed::for_migration},
      {"VMI-T01 migration", R"({"architecture":"amd64","domain":{"features":{"hyperv":{"reenlightenment":{}}}}})",
       TscNeed::for_migration},
      {"VMI-T01 off",
       R"({"architecture":"amd64","domain":{"features":{"hyperv":{"reenlightenment":{"enabled":false}}}}})",
       TscNeed::none},
      {"VMI-T01 both",
       R"({"architecture":"amd64","domain":{"cpu":{"features":[{"name":"invtsc","policy":"require"}]},"features":{"hyperv":{"reenlightenment":{}}}}})",
       TscNeed::for_boot},
      {"VMI-T01 arm64",
       R"({"architecture":"arm64","domain":{"cpu":{"features":[{"name":"invtsc","policy":"require"}]}}})",
       TscNeed::none},
      {"VMI-T01 nothing", R"({"architecture":"amd64","domain":{}})", TscNeed::none},
  };
  for (const NeedRow& row : rows) {
    const auto vmi = json::Document::parse(fmt::format(R"({{"spec":{}}})", row.spec));
    EXPECT_EQ(tsc_need(vmi->root().get_object()), row.need) << row.id << row.spec;
  }
}

}  // namespace
}  // namespace vg::controllers
