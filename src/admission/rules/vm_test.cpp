#include <gmock/gmock.h>

#include "admission/admit.h"
#include "admission/defaults/testing.h"
#include "admission/rule.h"

namespace vg::admission::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::string_view vm = "/virtualmachines-validate";

// --- the order of steps ----------------------------------------------------------------------------------------------

struct VmRulesTest : ::testing::Test {
  KnownObjects known;
  config::ConfigPtr config = configuration("{}");

  // `spec` of the VM; `old_object` empty: a create.
  Verdict judge(std::string_view spec, std::string_view old_object = "") {
    const bool creates = old_object.empty();
    json::Document document = parsed(
        R"({"request":{"operation":")" + std::string(creates ? "CREATE" : "UPDATE") +
        R"(","resource":{"group":"kubevirt.io","version":"v1","resource":"virtualmachines"},"object":{"metadata":{"name":"m",
            "namespace":"default"},"spec":)" +
        std::string(spec) + R"(},"oldObject":)" + (creates ? "null" : std::string(old_object)) + "}}");
    const auto review = read_review(document.root());
    EXPECT_TRUE(review);
    const config::FixedConfig fixed(config);
    const SystemClock clock;
    const ReadyLookups lookups(known);
    return admit(*find_webhook(vm), *review, {.config = fixed, .lookups = lookups, .clock = clock}, document.storage());
  }
  std::vector<std::string> told(const Verdict& verdict) {
    std::vector<std::string> all;
    for (const StatusCause& cause : verdict.refusal().details.causes) all.push_back(cause.reason + " " + cause.field);
    return all;
  }
  std::vector<std::string> told(std::string_view spec, std::string_view old_object = "") {
    return told(judge(spec, old_object));
  }

  void add(std::string_view kind, std::string_view name, std::string_view spec) {
    known.add_text(R"({"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":")" + std::string(kind) +
                   R"(","metadata":{"name":")" + std::string(name) + R"("},"spec":)" + std::string(spec) + "}");
  }
};

TEST_F(VmRulesTest, WhatIsNotThereIsNotMissedButWhatCannotBeReadIs) {
  EXPECT_TRUE(judge(R"({"runStrategy":"Always","instancetype":{"name":"none"},"preference":{"name":"none"},
      "template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}}}}})")
                  .allowed);
  known.break_resource("instancetype.kubevirt.io/virtualmachineclusterinstancetypes");
  const Verdict unknown = judge(R"({"runStrategy":"Always","instancetype":{"name":"none"},
      "template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}}}}})");
  EXPECT_FALSE(unknown.allowed);
  EXPECT_EQ(unknown.refusal().code, 503);
}

TEST_F(VmRulesTest, ConflictsEndTheMatter) {
  add("VirtualMachineClusterInstancetype", "small", R"({"cpu":{"guest":2},"memory":{"guest":"1Gi"}})");
  EXPECT_THAT(told(R"({"instancetype":{"name":"small"},
                       "template":{"spec":{"domain":{"devices":{},"cpu":{"sockets":1,"cores":1}}}}})"),
              ElementsAre("FieldValueInvalid spec.template.spec.domain.cpu.sockets",
                          "FieldValueInvalid spec.template.spec.domain.cpu.cores"))
      << "nothing about the missing run strategy";
}

TEST_F(VmRulesTest, OnlyTheFirstRequirementIsTold) {
  add("VirtualMachineClusterPreference", "large",
      R"({"requirements":{"cpu":{"guest":4},"memory":{"guest":"4Gi"},"architecture":"arm64"}})");
  EXPECT_THAT(told(R"({"preference":{"name":"large"},"template":{"spec":{"domain":{"devices":{}}}}})"),
              ElementsAre("FieldValueNotFound spec.template.spec.domain.cpu.sockets"));
  EXPECT_THAT(
      told(R"({"preference":{"name":"large"},"template":{"spec":{"domain":{"devices":{},"cpu":{"sockets":4}}}}})"),
      ElementsAre("FieldValueNotFound spec.template.spec.domain.memory"));
}

TEST_F(VmRulesTest, ARatioOfZeroIsRefusedWhereUpstreamCrashes) {
  add("VirtualMachineClusterInstancetype", "small", R"({"cpu":{"guest":2},"memory":{"guest":"1Gi"}})");
  add("VirtualMachineClusterPreference", "flat",
      R"({"cpu":{"preferredCPUTopology":"spread","spreadOptions":{"ratio":0}}})");
  EXPECT_THAT(told(R"({"runStrategy":"Always","instancetype":{"name":"small"},"preference":{"name":"flat"},
                       "template":{"spec":{"domain":{"devices":{}}}}})"),
              ElementsAre("FieldValueInvalid instancetype.spec.cpu.guest"));
}

TEST_F(VmRulesTest, TheMachineIsJudgedWithItsInstancetype) {
  add("VirtualMachineClusterInstancetype", "pinned",
      R"({"cpu":{"guest":4,"maxSockets":2},"memory":{"guest":"1Gi","maxGuest":"512Mi"}})");
  EXPECT_THAT(told(R"({"runStrategy":"Always","instancetype":{"name":"pinned"},
                       "template":{"spec":{"domain":{"devices":{}}}}})"),
              ::testing::IsSupersetOf({"FieldValueInvalid spec.template.spec.domain.cpu.sockets",
                                       "FieldValueInvalid spec.template.spec.domain.memory.guest"}));
}

TEST_F(VmRulesTest, WithoutLiveUpdateLimitsAreNotAsked) {
  constexpr std::string_view small = R"({"runStrategy":"Always","template":{"spec":{"domain":{"devices":{},
      "memory":{"guest":"512Mi","maxGuest":"1Gi"}}}}})";
  EXPECT_THAT(told(small), Contains("FieldValueInvalid spec.template.spec.domain.memory.guest"));
  config = configuration(R"({"vmRolloutStrategy":"Stage"})");
  EXPECT_THAT(told(small), IsEmpty());
}

TEST_F(VmRulesTest, RunPolicies) {
  constexpr std::string_view rest = R"("template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}}}}})";
  const auto with = [&](std::string_view policy) { return told("{" + std::string(policy) + std::string(rest)); };
  EXPECT_THAT(with(""), ElementsAre("FieldValueInvalid spec.running"));
  EXPECT_THAT(with(R"("running":false,"runStrategy":"x",)"),
              ElementsAre("FieldValueInvalid spec.running", "FieldValueInvalid spec.runStrategy"));
  for (const char* fine : {"Halted", "Manual", "Always", "RerunOnFailure", "Once"})
    EXPECT_THAT(with(R"("runStrategy":")" + std::string(fine) + "\","), IsEmpty()) << fine;
  for (const char* wrong : {"", "halted", "WaitAsReceiver"})
    EXPECT_THAT(with(R"("runStrategy":")" + std::string(wrong) + "\","),
                ElementsAre("FieldValueInvalid spec.runStrategy"))
        << wrong;
  config = configuration(R"({"developerConfiguration":{"featureGates":["DecentralizedLiveMigration"]}})");
  EXPECT_THAT(with(R"("runStrategy":"WaitAsReceiver",)"), IsEmpty());
}

TEST_F(VmRulesTest, AnOldObjectThatCannotBeReadIsMissedOnlyByWhoNeedsIt) {
  constexpr std::string_view wrong = R"({"spec":5})";
  EXPECT_THAT(told(R"({"template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}}}}})", wrong),
              ElementsAre("FieldValueInvalid spec.running"));
}

TEST_F(VmRulesTest, WarningsComeWithAnAllowanceOnly) {
  constexpr std::string_view rest = R"("template":{"spec":{"domain":{"devices":{},"memory":{"guest":"1Gi"}}}}})";
  EXPECT_EQ(judge(R"({"running":true,)" + std::string(rest)).warnings.size(), 1U);
  EXPECT_THAT(judge(R"({"running":true,"runStrategy":"Always",)" + std::string(rest)).warnings, IsEmpty());
}

}  // namespace
}  // namespace vg::admission::testing
