#include "admission/rules/machine/firmware.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

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
