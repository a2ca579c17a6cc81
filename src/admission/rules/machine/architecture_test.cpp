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
