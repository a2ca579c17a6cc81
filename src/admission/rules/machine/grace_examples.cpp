#include <fmt/format.h>

#include <deque>
#include <string>

#include "admission/rules/examples.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr std::string_view good = R"({"object":{"spec":{"architecture":"arm64","domain":{"machine":{"type":"virt"},
    "cpu":{"dedicatedCpuPlacement":true,"cores":2},
    "devices":{"gpus":[{"name":"g","deviceName":"nvidia.com/grace"}]}}}}})";
constexpr std::string_view bad =
    R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","deviceName":"nvidia.com/grace"}]}}}}})";

// A cluster that knows one Grace device, one that may be one, and one that is none.
std::string with_gates(std::string_view gates) {
  return fmt::format(R"({{"developerConfiguration":{{"featureGates":[{}]}},"permittedHostDevices":{{"pciHostDevices":[
      {{"pciVendorSelector":"10de:2342","resourceName":"nvidia.com/grace"}},
      {{"pciVendorSelector":"10DE:*","resourceName":"nvidia.com/any"}},
      {{"pciVendorSelector":"10DE:1EB8","resourceName":"nvidia.com/t4"}}]}}}})",
                     gates);
}

// Made when somebody asks: their texts are put together.
std::vector<Example> make_grace_examples() {
  static const std::string permitted = with_gates("");
  static const std::string without_numa = with_gates(R"("GraceIOVirtualization","IOMMUFD")");
  static const std::string without_iommufd = with_gates(R"("GraceIOVirtualization","PCINUMAAwareTopology")");
  static const std::string all_on = with_gates(R"("GraceIOVirtualization","PCINUMAAwareTopology","IOMMUFD")");
  return {
      {"GRC-01", vmi, good,
       R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","deviceName":"nvidia.com/any"}]}}}}})",
       "FieldValueInvalid spec.domain.devices.gpus[0].deviceName", all_on},
      {"GRC-02", vmi,
       R"({"object":{"spec":{"domain":{"devices":{"gpus":[{"name":"g","deviceName":"nvidia.com/any"}]}}}}})", bad,
       "FieldValueInvalid spec.domain.devices.gpus[0].deviceName", permitted},
      {"GRC-03", vmi, good, bad, "FieldValueInvalid spec.architecture", all_on},
      {"GRC-04", vmi, good, bad, "FieldValueInvalid spec.domain.machine.type", all_on},
      {"GRC-05", vmi, good, bad, "FieldValueRequired spec.domain.cpu.dedicatedCpuPlacement", all_on},
      {"GRC-06", vmi, "{}", good, "FieldValueInvalid spec.domain.devices", without_numa},
      {"GRC-07", vmi, "{}", good, "FieldValueInvalid spec.domain.devices", without_iommufd},
      {"GRC-08", vmi, R"({"object":{"metadata":{"annotations":{"kubevirt.io/placePCIDevicesOnRootComplex":"true"}}}})",
       R"({"object":{"metadata":{"annotations":{"kubevirt.io/placePCIDevicesOnRootComplex":"true"}},
         "spec":{"domain":{"devices":{"gpus":[{"name":"g","deviceName":"nvidia.com/grace"}]}}}}})",
       "FieldValueInvalid metadata.annotations[kubevirt.io/placePCIDevicesOnRootComplex]", permitted},
      {"GRC-09", vmi,
       R"({"object":{"metadata":{"annotations":{"kubevirt.io/disablePCIHole64":"True"}},"spec":{"architecture":"arm64",
         "domain":{"machine":{"type":"virt"},"cpu":{"dedicatedCpuPlacement":true,"cores":2},
         "devices":{"gpus":[{"name":"g","deviceName":"nvidia.com/grace"}]}}}}})",
       R"({"object":{"metadata":{"annotations":{"kubevirt.io/disablePCIHole64":"true"}},
         "spec":{"domain":{"devices":{"gpus":[{"name":"g","deviceName":"nvidia.com/grace"}]}}}}})",
       "FieldValueInvalid metadata.annotations[kubevirt.io/disablePCIHole64]", all_on},
  };
}

}  // namespace

std::span<const Example> grace_examples() {
  static const std::vector<Example> rows = make_grace_examples();
  return rows;
}

}  // namespace vg::admission
