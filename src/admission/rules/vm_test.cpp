#include <gmock/gmock.h>

#include "admission/admit.h"
#include "admission/defaults/testing.h"
#include "admission/rule.h"
#include "admission/rules/example.h"

namespace vg::admission::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::string_view vm = "/virtualmachines-validate";

// --- examples --------------------------------------------------------------------------------------------------------

const bool exist = add_existing({
    {"instancetype.kubevirt.io/virtualmachineclusterinstancetypes/small",
     R"({"spec":{"cpu":{"guest":2},"memory":{"guest":"1Gi"}}})"},
    {"instancetype.kubevirt.io/virtualmachineclusterinstancetypes/odd",
     R"({"spec":{"cpu":{"guest":3},"memory":{"guest":"1Gi"}}})"},
    {"instancetype.kubevirt.io/virtualmachineclusterinstancetypes/full",
     R"({"spec":{"nodeSelector":{"disk":"ssd"},"schedulerName":"mine","cpu":{"guest":2,"model":"host-model",
         "dedicatedCPUPlacement":false,"isolateEmulatorThread":false,"numa":{}},"memory":{"guest":"1Gi","maxGuest":"4Gi"},
         "ioThreadsPolicy":"supplementalPool","ioThreads":{"supplementalPoolThreadCount":2},"annotations":{"from":"type"}}})"},
    {"instancetype.kubevirt.io/virtualmachineclusterinstancetypes/special",
     R"({"spec":{"cpu":{"guest":2,"realtime":{}},"memory":{"guest":"1Gi","hugepages":{"pageSize":"2Mi"}},
         "launchSecurity":{},"gpus":[{"name":"a"}],"hostDevices":[{"name":"b"}]}})"},
    {"instancetype.kubevirt.io/virtualmachineclusterpreferences/spread",
     R"({"spec":{"cpu":{"preferredCPUTopology":"spread"}}})"},
    {"instancetype.kubevirt.io/virtualmachineclusterpreferences/two-cpus",
     R"({"spec":{"requirements":{"cpu":{"guest":2}}}})"},
    {"instancetype.kubevirt.io/virtualmachineclusterpreferences/much-memory",
     R"({"spec":{"requirements":{"memory":{"guest":"2Gi"}}}})"},
    {"instancetype.kubevirt.io/virtualmachineclusterpreferences/arm",
     R"({"spec":{"requirements":{"architecture":"arm64"}}})"},
});

constexpr std::string_view sized = R"({"object":{"spec":{"instancetype":{"name":"full"},
  "template":{"spec":{"architecture":"amd64","domain":{"resources":null}}}}}})";

const bool added = add_examples({
    {"I01", vm,
     R"({"object":{"spec":{"instancetype":{"name":"small"},"preference":{"name":"spread"},
         "template":{"spec":{"domain":{"resources":null}}}}}})",
     R"({"object":{"spec":{"instancetype":{"name":"odd"},"preference":{"name":"spread"},
         "template":{"spec":{"domain":{"resources":null}}}}}})",
     "FieldValueInvalid instancetype.spec.cpu.guest"},
    {"CF01", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"nodeSelector":{"a":"b"}}}}}})",
     "FieldValueInvalid spec.template.spec.nodeSelector"},
    {"CF02", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"schedulerName":"s"}}}}})",
     "FieldValueInvalid spec.template.spec.schedulerName"},
    {"CF03", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"resources":{"requests":{"cpu":1}}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.resources.requests.cpu"},
    {"CF04", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"resources":{"limits":{"cpu":1}}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.resources.limits.cpu"},
    {"CF05", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"cpu":{"sockets":1}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.cpu.sockets"},
    {"CF06", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"cpu":{"cores":1}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.cpu.cores"},
    {"CF07", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"cpu":{"threads":1}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.cpu.threads"},
    {"CF08", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"cpu":{"model":"m"}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.cpu.model"},
    {"CF09", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.cpu.dedicatedCPUPlacement"},
    {"CF10", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"cpu":{"isolateEmulatorThread":true}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.cpu.isolateEmulatorThread"},
    {"CF11", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"cpu":{"numa":{}}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.cpu.numa"},
    {"CF12", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"special"},"template":{"spec":{"domain":{"cpu":{"realtime":{}}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.cpu.realtime"},
    {"CF13", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"memory":{"guest":"1Gi"}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.memory.guest"},
    {"CF14", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"special"},"template":{"spec":{"domain":{"memory":{"hugepages":{"pageSize":"2Mi"}}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.memory.hugepages"},
    {"CF15", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"memory":{"maxGuest":"4Gi"}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.memory.maxGuest"},
    {"CF16", vm, sized, R"({"object":{"spec":{"instancetype":{"name":"full"}}}})",
     "FieldValueInvalid spec.template.spec.domain.resources.requests.memory"},
    {"CF17", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"resources":{"requests":null,
         "limits":{"memory":"1Gi"}}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.resources.limits.memory"},
    {"CF18", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"ioThreads":{"supplementalPoolThreadCount":1}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.ioThreads.supplementalPoolThreadCount"},
    {"CF19", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"spec":{"domain":{"ioThreadsPolicy":"auto"}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.ioThreadsPolicy"},
    {"CF20", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"special"},"template":{"spec":{"domain":{"launchSecurity":{}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.launchSecurity"},
    {"CF21", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"special"},"template":{"spec":{"domain":{"devices":{"gpus":[{"name":"g"}]}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.devices.gpus"},
    {"CF22", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"special"},"template":{"spec":{"domain":{"devices":{"hostDevices":[{"name":"h"}]}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.devices.hostDevices"},
    {"CF23", vm, sized,
     R"({"object":{"spec":{"instancetype":{"name":"full"},"template":{"metadata":{"annotations":{"from":"me"}}}}}})",
     "FieldValueInvalid annotations.from"},
    {"D01", vm,
     R"({"object":{"spec":{"template":{"spec":{"networks":[{"name":"n","pod":{}}],
         "domain":{"devices":{"interfaces":[{"name":"n","masquerade":{}}]}}}}}}})",
     "{}", "400", R"({"network":{"permitBridgeInterfaceOnPodNetwork":false}})"},
    {"R01", vm,
     R"({"object":{"spec":{"preference":{"name":"two-cpus"},"template":{"spec":{"domain":{"cpu":{"sockets":2}}}}}}})",
     R"({"object":{"spec":{"preference":{"name":"two-cpus"}}}})",
     "FieldValueNotFound spec.template.spec.domain.cpu.sockets"},
    {"R08", vm,
     R"({"object":{"spec":{"preference":{"name":"much-memory"},"template":{"spec":{"domain":{"memory":{"guest":"2Gi"}}}}}}})",
     R"({"object":{"spec":{"preference":{"name":"much-memory"}}}})",
     "FieldValueNotFound spec.template.spec.domain.memory"},
    {"R09", vm, R"({"object":{"spec":{"preference":{"name":"arm"},"template":{"spec":{"architecture":"arm64"}}}}})",
     R"({"object":{"spec":{"preference":{"name":"arm"}}}})", "FieldValueNotFound spec.template.spec.architecture"},
    {"G01", vm, "{}",
     R"({"object":{"spec":{"template":{"spec":{"domain":{"devices":{"interfaces":[{"name":"n","macvtap":{}}]}}}}}}})",
     "FieldValueNotSupported ", R"({"developerConfiguration":{"featureGates":["Macvtap"]}})"},
    {"T00", "/virtualmachinepool-validate", "{}",
     R"({"object":{"spec":{"virtualMachineTemplate":{"spec":{"template":null}}}}})",
     "FieldValueRequired spec.virtualMachineTemplate.spec.template"},
    {"P01", vm, "{}", R"({"object":{"spec":{"running":true}}})", "FieldValueInvalid spec.running"},
    {"P02", vm, "{}", R"({"object":{"spec":{"runStrategy":null}}})", "FieldValueInvalid spec.running"},
    {"P03", vm, "{}", R"({"object":{"spec":{"runStrategy":"WaitAsReceiver"}}})", "FieldValueInvalid spec.runStrategy"},
    {"P04", vm, R"({"object":{"spec":{"runStrategy":"RerunOnFailure"}}})",
     R"({"object":{"spec":{"runStrategy":"always"}}})", "FieldValueInvalid spec.runStrategy"},
    {"L01", vm, R"({"object":{"spec":{"template":{"spec":{"domain":{"cpu":{"sockets":4,"maxSockets":4}}}}}}})",
     R"({"object":{"spec":{"template":{"spec":{"domain":{"cpu":{"sockets":5,"maxSockets":4}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.cpu.sockets"},
    {"L02", vm,
     R"({"object":{"spec":{"template":{"spec":{"architecture":"amd64","domain":{"memory":{"guest":"1Gi","maxGuest":"4Gi"}}}}}}})",
     R"({"object":{"spec":{"template":{"spec":{"architecture":"amd64","domain":{"memory":{"guest":"1Gi","maxGuest":"4097M"}}}}}}})",
     "FieldValueInvalid spec.template.spec.domain.memory.guest"},
    {"W2", vm, "{}", R"({"object":{"spec":{"runStrategy":null,"running":true}}})", "warning"},
});

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
