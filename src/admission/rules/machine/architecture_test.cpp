#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "admission/rules/example.h"
#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view good_arm64 =
    R"({"object":{"spec":{"architecture":"arm64","domain":{"machine":{"type":"virt"},"cpu":{"model":"host-passthrough"},
        "devices":{"video":{"type":"ramfb"}}}}}})";
constexpr std::string_view good_s390x =
    R"({"object":{"spec":{"architecture":"s390x","domain":{"machine":{"type":"s390-ccw-virtio"},
        "devices":{"watchdog":{"name":"w","diag288":{}},"video":{"type":"virtio"}}}}}})";

const bool added = add_examples({
    {"ARC-01", vmi, good_arm64, R"({"object":{"spec":{"architecture":"riscv64"}}})",
     "FieldValueInvalid spec.architecture"},
    {"AMD-01", vmi, R"({"object":{"spec":{"domain":{"devices":{"watchdog":{"name":"w","i6300esb":{}}}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"watchdog":{"name":"w","i6300esb":{},"diag288":{}}}}}}})",
     "FieldValueNotSupported spec.domain.devices.watchdog"},
    {"AMD-02", vmi, R"({"object":{"spec":{"domain":{"devices":{"video":{"type":"bochs"}}}}}})",
     R"({"object":{"spec":{"domain":{"devices":{"video":{}}}}}})",
     "FieldValueNotSupported spec.domain.devices.video.type"},
    {"ARM-01", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"firmware":{"bootloader":{"bios":{}}}}}}})",
     "FieldValueNotSupported spec.domain.firmware.bootloader.bios"},
    {"ARM-02", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"cpu":{"model":"host-model"}}}}})",
     "FieldValueNotSupported spec.domain.cpu.model"},
    {"ARM-03", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"devices":{"disks":[{"name":"a","cdrom":{"bus":"sata"}}]}}}}})",
     "FieldValueNotSupported spec.domain.devices.disks[0].cdrom.bus"},
    {"ARM-04", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"devices":{"watchdog":{"name":"w","i6300esb":{}}}}}}})",
     "FieldValueNotSupported spec.domain.devices.watchdog"},
    {"ARM-05", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"devices":{"sound":{"name":"s"}}}}}})",
     "FieldValueNotSupported spec.domain.devices.sound"},
    {"ARM-06", vmi, good_arm64,
     R"({"object":{"spec":{"architecture":"arm64","domain":{"devices":{"video":{"type":"vga"}}}}}})",
     "FieldValueNotSupported spec.domain.devices.video.type"},
    {"S39-01", vmi, good_s390x,
     R"({"object":{"spec":{"architecture":"s390x","domain":{"devices":{"watchdog":{"name":"w"}}}}}})",
     "FieldValueNotSupported spec.domain.devices.watchdog"},
    {"S39-02", vmi, good_s390x,
     R"({"object":{"spec":{"architecture":"s390x","domain":{"devices":{"video":{"type":"vga"}}}}}})",
     "FieldValueNotSupported spec.domain.devices.video.type"},
});

std::vector<std::string> told(std::string_view architecture, std::string_view domain) {
  return testing::told_by(architecture_family,
                          fmt::format(R"({{"architecture":"{}","domain":{}}})", architecture, domain), "{}", "arm64");
}

TEST(ArchitectureRulesTest, TheClustersArchitectureDoesNotCount) {
  EXPECT_THAT(told("", R"({"devices":{"sound":{"name":"s"}}})"), ElementsAre("Invalid spec.architecture"));
}

TEST(ArchitectureRulesTest, EachHasItsOwnRules) {
  constexpr std::string_view domain = R"({"cpu":{"model":"x"},"devices":{"sound":{},"watchdog":{"diag288":{}},
    "video":{"type":"ramfb"},"disks":[{"name":"a","disk":{"bus":"usb"}}]}})";
  EXPECT_THAT(told("amd64", domain), ElementsAre("NotSupported spec.domain.devices.watchdog"));
  EXPECT_THAT(told("arm64", domain),
              ElementsAre("NotSupported spec.domain.cpu.model", "NotSupported spec.domain.devices.disks[0].disk.bus",
                          "NotSupported spec.domain.devices.watchdog", "NotSupported spec.domain.devices.sound"));
  EXPECT_THAT(told("s390x", domain), ElementsAre("NotSupported spec.domain.devices.video.type"));
}

TEST(ArchitectureRulesTest, EveryTargetOfADiskIsLookedAt) {
  EXPECT_THAT(told("arm64", R"({"devices":{"disks":[{"name":"a","disk":{"bus":"virtio"},"lun":{}},
                {"name":"b","disk":{"bus":"sata"},"cdrom":{"bus":"ide"},"lun":{"bus":"sata"}}]}})"),
              ElementsAre("NotSupported spec.domain.devices.disks[1].disk.bus",
                          "NotSupported spec.domain.devices.disks[1].cdrom.bus",
                          "NotSupported spec.domain.devices.disks[1].lun.bus"));
}

TEST(ArchitectureRulesTest, AWatchdogWithoutDeviceIsNone) {
  EXPECT_THAT(told("amd64", R"({"devices":{"watchdog":{"name":"w"}}})"),
              ElementsAre("NotSupported spec.domain.devices.watchdog"));
  EXPECT_THAT(told("s390x", R"({"devices":{"watchdog":{"name":"w","diag288":{"action":"?"}}}})"), IsEmpty());
}

}  // namespace
}  // namespace vg::admission
