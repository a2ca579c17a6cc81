#include "admission/rules/machine/firmware.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/example.h"
#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

const bool added = add_examples({
    {"MACH-01", vmi, R"({"object":{"spec":{"domain":{"machine":{"type":"pc-q35-9.0"}}}}})",
     R"({"object":{"spec":{"domain":{"machine":{"type":"test-q35"}}}}})", "FieldValueInvalid spec.domain.machine.type"},
    {"FW-01", vmi,
     R"({"object":{"spec":{"domain":{"firmware":{"acpi":{"slicNameRef":"slic"}},"devices":{"disks":[{"name":"slic","disk":{}}]}},
         "volumes":[{"name":"slic","secret":{"secretName":"s"}}]}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"acpi":{}}}}}})", "FieldValueInvalid spec.acpi"},
    {"FW-02", vmi, "{}", R"({"object":{"spec":{"domain":{"firmware":{"acpi":{"msdmNameRef":"msdm"}}}}}})",
     "FieldValueInvalid spec.acpi.msdmNameRef"},
    {"FW-03", vmi, "{}",
     R"({"object":{"spec":{"domain":{"firmware":{"acpi":{"slicNameRef":"slic"}}},
         "volumes":[{"name":"slic","configMap":{"name":"s"}}]}}})",
     "FieldValueInvalid spec.acpi.slicNameRef"},
    {"FW-04", vmi, R"({"object":{"spec":{"domain":{"firmware":{"bootloader":{"bios":{}}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"bootloader":{"bios":{},"efi":{}}}}}}})",
     "FieldValueInvalid spec.domain.firmware.bootloader"},
    {"FW-05", vmi, R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"kernelArgs":"quiet"}}}}}})",
     "FieldValueInvalid spec.domain.firmware.kernelBoot.kernelArgs"},
    {"FW-06", vmi,
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i","kernelPath":"/vmlinuz"}}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"kernelPath":"/vmlinuz"}}}}}}})",
     "FieldValueRequired spec.domain.firmware.kernelBoot.container.image"},
    {"FW-07", vmi,
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i","initrdPath":"/initrd"}}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i"}}}}}}})",
     "FieldValueRequired spec.domain.firmware.kernelBoot.container"},
    {"FW-08", vmi,
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i","kernelPath":"/boot/k/"}}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i","kernelPath":"boot/k"}}}}}}})",
     "FieldValueInvalid spec.domain.firmware.kernelBoot.container.kernelPath"},
    {"FW-09", vmi, "{}",
     R"({"object":{"spec":{"domain":{"firmware":{"kernelBoot":{"container":{"image":"i","initrdPath":"/a/../b"}}}}}}})",
     "FieldValueInvalid spec.domain.firmware.kernelBoot.container.initrdPath"},
    {"FW-10", vmi, R"({"object":{"spec":{"domain":{"firmware":{"bootloader":{"efi":{}}},"features":{"smm":{}}}}}})",
     R"({"object":{"spec":{"domain":{"firmware":{"bootloader":{"efi":{}}}}}}})", "FieldValueInvalid spec.domain"},
});

TEST(MachineTypeTest, PatternsAreThoseOfTheArchitecture) {
  const auto told = [](std::string_view architecture, std::string_view type, std::string_view configured = "{}") {
    return told_by(machine_type_family,
                   fmt::format(R"({{"architecture":"{}","domain":{{"devices":{{}},"machine":{{"type":"{}"}}}}}})",
                               architecture, type),
                   configured);
  };
  const auto refused = ElementsAre("Invalid spec.domain.machine.type");
  EXPECT_THAT(told("amd64", ""), IsEmpty());
  EXPECT_THAT(told("amd64", "q35"), IsEmpty());
  EXPECT_THAT(told("arm64", "q35"), refused);
  EXPECT_THAT(told("arm64", "virt-9.0"), IsEmpty());
  EXPECT_THAT(told("s390x", "s390-ccw-virtio-9.0"), IsEmpty());
  EXPECT_THAT(told("", "q35"), IsEmpty());
  EXPECT_THAT(told("ppc64le", "virt", R"({"architectureConfiguration":{"ppc64le":{"emulatedMachines":["virt*"]}}})"),
              refused);
  EXPECT_THAT(told("arm64", "pc", R"({"emulatedMachines":["p?"]})"), IsEmpty());
  EXPECT_THAT(told("arm64", "virt", R"({"emulatedMachines":["p?"]})"), refused);
  EXPECT_THAT(told("amd64", "q35", R"({"architectureConfiguration":{"amd64":{"emulatedMachines":["q35["]}}})"),
              refused);
}

TEST(AcpiTest, TablesComeFromTheFirstVolumeOfTheirName) {
  const auto told = [](std::string_view acpi, std::string_view volumes) {
    return told_by(
        acpi_family,
        fmt::format(R"({{"domain":{{"devices":{{}},"firmware":{{"acpi":{}}}}},"volumes":[{}]}})", acpi, volumes));
  };
  EXPECT_THAT(told("{}", ""), ElementsAre("Invalid spec.acpi"));
  EXPECT_THAT(told(R"({"msdmNameRef":"m","slicNameRef":"s"})", ""),
              ElementsAre("Invalid spec.acpi.slicNameRef", "Invalid spec.acpi.msdmNameRef"));
  EXPECT_THAT(told(R"({"msdmNameRef":"m","slicNameRef":"m"})", R"({"name":"m","secret":{"secretName":"x"}})"),
              IsEmpty());
  EXPECT_THAT(told(R"({"slicNameRef":"s"})", R"({"name":"s","configMap":{"name":"x"}},{"name":"s","secret":{}})"),
              ElementsAre("Invalid spec.acpi.slicNameRef"));
  EXPECT_THAT(told(R"({"slicNameRef":"s"})", R"({"name":"s","secret":{}},{"name":"s","configMap":{"name":"x"}})"),
              IsEmpty());
}

std::vector<std::string> boot(std::string_view text) {
  const json::Document document = testing::parsed(text);
  const Place root, place = root.field("F");
  Causes causes;
  check_boot(&document.root(), place, causes);
  return testing::told(causes);
}

TEST(FirmwareTest, BootsOneWay) {
  EXPECT_THAT(boot("{}"), IsEmpty());
  EXPECT_THAT(boot("null"), IsEmpty());
  EXPECT_THAT(boot(R"({"bootloader":{"efi":{}}})"), IsEmpty());
  EXPECT_THAT(boot(R"({"bootloader":{"efi":{},"bios":{}}})"), ElementsAre("Invalid F.bootloader"));
}

TEST(FirmwareTest, KernelBoot) {
  EXPECT_THAT(boot(R"({"kernelBoot":{"kernelArgs":"x"}})"), ElementsAre("Invalid F.kernelBoot.kernelArgs"));
  EXPECT_THAT(boot(R"({"kernelBoot":{"container":{}}})"),
              ElementsAre("Required F.kernelBoot.container.image", "Required F.kernelBoot.container"));
  EXPECT_THAT(
      boot(
          R"({"kernelBoot":{"kernelArgs":"x","container":{"image":"i","kernelPath":"/boot/vmlinuz/","initrdPath":"/i"}}})"),
      IsEmpty());
  for (const char* path : {"/", "boot", "/a/../b", "/a//b", "/a/.", "/a//"})
    EXPECT_THAT(boot(fmt::format(R"({{"kernelBoot":{{"container":{{"image":"i","kernelPath":"{}"}}}}}})", path)),
                ElementsAre("Invalid F.kernelBoot.container.kernelPath"))
        << path;
}

TEST(FirmwareTest, SecureBootNeedsSystemManagementMode) {
  const auto told = [](std::string_view efi, std::string_view rest) {
    return told_by(
        firmware_family,
        fmt::format(R"({{"domain":{{"devices":{{}},"firmware":{{"bootloader":{{"efi":{}}}}}{}}}}})", efi, rest));
  };
  const auto refused = ElementsAre("Invalid spec.domain");
  EXPECT_THAT(told("{}", ""), refused);
  EXPECT_THAT(told(R"({"secureBoot":true})", R"(,"features":{"smm":{"enabled":false}})"), refused);
  EXPECT_THAT(told(R"({"secureBoot":false})", ""), IsEmpty());
  EXPECT_THAT(told("{}", R"(,"features":{"smm":{}})"), IsEmpty());
  EXPECT_THAT(told("{}", R"(,"features":{"smm":{"enabled":true}})"), IsEmpty());
  EXPECT_THAT(told("{}", R"(,"launchSecurity":{"tdx":{}})"), IsEmpty());
  EXPECT_THAT(told("{}", R"(,"launchSecurity":{"sev":{}})"), refused);
}

}  // namespace
}  // namespace vg::admission
