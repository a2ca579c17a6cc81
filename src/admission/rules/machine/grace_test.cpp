#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A cluster that knows one Grace device, one that may be one, and one that is none.
std::string with_gates(std::string_view gates) {
  return fmt::format(R"({{"developerConfiguration":{{"featureGates":[{}]}},"permittedHostDevices":{{"pciHostDevices":[
      {{"pciVendorSelector":"10de:2342","resourceName":"nvidia.com/grace"}},
      {{"pciVendorSelector":"10DE:*","resourceName":"nvidia.com/any"}},
      {{"pciVendorSelector":"10DE:1EB8","resourceName":"nvidia.com/t4"}}]}}}})",
                     gates);
}
const std::string permitted = with_gates("");
const std::string grace_on = with_gates(R"("GraceIOVirtualization")");
const std::string all_on = with_gates(R"("GraceIOVirtualization","PCINUMAAwareTopology","IOMMUFD")");

std::vector<std::string> told(std::string_view spec, std::string_view configured, std::string_view architecture = "") {
  return testing::told_by(grace_family, spec, configured, architecture);
}

TEST(GraceRulesTest, WhatASelectorMeans) {
  const auto is_grace = [](std::string_view selector) {
    const auto configured = fmt::format(
        R"({{"permittedHostDevices":{{"pciHostDevices":[{{"pciVendorSelector":"{}","resourceName":"r"}}]}}}})",
        selector);
    return !told(R"({"domain":{"devices":{"gpus":[{"name":"g","deviceName":"r"}]}}})", configured).empty();
  };
  for (const std::string_view selector : {"10DE:2342", "10de:2348", " 0x10de : 0X2941 "})
    EXPECT_TRUE(is_grace(selector)) << selector;
  for (const std::string_view selector :
       {"10DE:1EB8", "10DE", "10DE:2342:", "8086:2342", "10DE:*", "", "0x0x10DE:2342"})
    EXPECT_FALSE(is_grace(selector)) << selector;
}

TEST(GraceRulesTest, TheLastEntryForAResourceCounts) {
  constexpr std::string_view spec =
      R"({"domain":{"devices":{"hostDevices":[{"name":"h"},{"name":"g","deviceName":"r"}]}}})";
  EXPECT_THAT(
      told(spec, R"({"permittedHostDevices":{"pciHostDevices":[{"pciVendorSelector":"10DE:1EB8","resourceName":"r"},
                {"pciVendorSelector":"10DE:2342","resourceName":"r"},{"pciVendorSelector":"","resourceName":"r"}]}})"),
      ElementsAre("Invalid spec.domain.devices.hostDevices[1].deviceName"));
  EXPECT_THAT(
      told(spec, R"({"permittedHostDevices":{"pciHostDevices":[{"pciVendorSelector":"10DE:2342","resourceName":"r"},
                {"pciVendorSelector":"10DE:1EB8","resourceName":"r"}]}})"),
      IsEmpty());
}

TEST(GraceRulesTest, WithoutTheGateOnlyThatIsSaid) {
  EXPECT_THAT(told(R"({"domain":{"devices":{"gpus":[{"name":"a","deviceName":"nvidia.com/grace"},
                {"name":"b","deviceName":"nvidia.com/any"}],"hostDevices":[{"name":"c","deviceName":"nvidia.com/grace"}]}}})",
                   permitted),
              ElementsAre("Invalid spec.domain.devices.gpus[0].deviceName",
                          "Invalid spec.domain.devices.hostDevices[0].deviceName"));
}

TEST(GraceRulesTest, WithTheGateEverythingElseIsAsked) {
  EXPECT_THAT(told(R"({"domain":{"devices":{"gpus":[{"name":"a","deviceName":"nvidia.com/grace"},
                {"name":"b","deviceName":"nvidia.com/any"}]}}})",
                   grace_on, "amd64"),
              ElementsAre("Invalid spec.domain.devices.gpus[1].deviceName", "Invalid spec.architecture",
                          "Invalid spec.domain.machine.type", "Required spec.domain.cpu.dedicatedCpuPlacement",
                          "Invalid spec.domain.devices", "Invalid spec.domain.devices"));
  // Nobody knows what an ambiguous device is, so nothing is asked for its sake.
  EXPECT_THAT(told(R"({"domain":{"devices":{"gpus":[{"name":"b","deviceName":"nvidia.com/any"}]}}})", grace_on),
              ElementsAre("Invalid spec.domain.devices.gpus[0].deviceName"));
}

TEST(GraceRulesTest, ArchitectureAndMachineTypeMayBeTheClusters) {
  EXPECT_THAT(told(R"({"domain":{"cpu":{"dedicatedCpuPlacement":true},
                "devices":{"gpus":[{"name":"a","deviceName":"nvidia.com/grace"}]}}})",
                   all_on, "arm64"),
              IsEmpty());
}

}  // namespace
}  // namespace vg::admission
