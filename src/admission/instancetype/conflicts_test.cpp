#include "admission/instancetype/conflicts.h"

#include <gmock/gmock.h>

#include "admission/instancetype/testing.h"

namespace vg::admission::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> conflicts(std::string_view type, std::string_view machine,
                                   std::string_view annotations = "{}") {
  const json::Document sizing = instancetype(type);
  json::Document vm = vm_of(machine, annotations);
  std::vector<std::string> fields;
  for (const Conflict& conflict : find_conflicts(
           api::instancetype::VirtualMachineInstancetypeSpec(json::find(sizing.root(), "spec")), template_of(vm)))
    fields.push_back(conflict.field);
  return fields;
}

constexpr std::string_view small = R"({"cpu":{"guest":2},"memory":{"guest":"1Gi"}})";

TEST(ConflictsTest, AMachineThatLeavesSizesOpenHasNone) {
  EXPECT_THAT(conflicts(small, R"({"nodeSelector":{"a":"b"},"domain":{"devices":{"gpus":[{"name":"g"}]},
      "cpu":{"model":"m","dedicatedCpuPlacement":true,"numa":{},"maxSockets":4},
      "memory":{"hugepages":{"pageSize":"2Mi"},"maxGuest":"4Gi"},"ioThreadsPolicy":"auto","launchSecurity":{}}})"),
              IsEmpty());
}

TEST(ConflictsTest, OfTheCpuAllAreToldOfTheMemoryOne) {
  EXPECT_THAT(
      conflicts(small, R"({"domain":{"devices":{},"cpu":{"sockets":1,"cores":1,"threads":1},
      "memory":{"guest":"1Gi"},"resources":{"requests":{"cpu":"0","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}}})"),
      ElementsAre("spec.template.spec.domain.resources.requests.cpu", "spec.template.spec.domain.resources.limits.cpu",
                  "spec.template.spec.domain.cpu.sockets", "spec.template.spec.domain.cpu.cores",
                  "spec.template.spec.domain.cpu.threads", "spec.template.spec.domain.memory.guest"));
}

TEST(ConflictsTest, AnEmptyNodeSelectorIsOneToo) {
  json::Document sizing = parsed(R"({"spec":{"cpu":{"guest":2},"memory":{"guest":"1Gi"},"nodeSelector":{}}})");
  const api::Type& type = *api::find_kind("instancetype.kubevirt.io", "", "VirtualMachineInstancetype")->type;
  ASSERT_TRUE(api::canonicalize(sizing.root(), type, {}, api::Empties::kept));
  json::Document vm = vm_of(R"({"nodeSelector":{"a":"b"},"domain":{"devices":{}}})");
  EXPECT_EQ(find_conflicts(api::instancetype::VirtualMachineInstancetypeSpec(json::find(sizing.root(), "spec")),
                           template_of(vm))
                .size(),
            1U);
}

TEST(ConflictsTest, AFalseOfTheInstancetypeCountsAndOneOfTheMachineDoesNot) {
  constexpr std::string_view strict =
      R"({"cpu":{"guest":2,"dedicatedCPUPlacement":false,"isolateEmulatorThread":false},"memory":{"guest":"1Gi"}})";
  EXPECT_THAT(conflicts(strict, R"({"domain":{"devices":{},"cpu":{"dedicatedCpuPlacement":false}}})"), IsEmpty());
  EXPECT_THAT(conflicts(strict, R"({"domain":{"devices":{},"cpu":{"dedicatedCpuPlacement":true,
                                                                     "isolateEmulatorThread":true}}})"),
              ElementsAre("spec.template.spec.domain.cpu.dedicatedCPUPlacement",
                          "spec.template.spec.domain.cpu.isolateEmulatorThread"));
}

TEST(ConflictsTest, AnnotationsMayBeEqualAndAreToldByName) {
  constexpr std::string_view noted =
      R"({"cpu":{"guest":2},"memory":{"guest":"1Gi"},"annotations":{"z":"1","b":"1","a":"1","c":"1"}})";
  EXPECT_THAT(conflicts(noted, R"({"domain":{"devices":{}}})", R"({"c":"1","d":"2"})"), IsEmpty());
  EXPECT_THAT(conflicts(noted, R"({"domain":{"devices":{}}})", R"({"b":"2","c":"1","a":""})"),
              ElementsAre("annotations.a", "annotations.b"));
}

}  // namespace
}  // namespace vg::admission::testing
