// Examples of the rules about disks; what they do in detail is tested in rules/disks_test.cpp.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using std::string_view;
using ::testing::ElementsAre;
using testing::told_by;

TEST(DiskListTest, CausesStandInTheDomain) {
  EXPECT_THAT(told_by(disk_list_family, R"({"domain":{"devices":{"disks":[{"name":"a","disk":{"bus":"ide"}},
                                                                         {"name":"a","cdrom":{"bus":"virtio"}}]}}})"),
              ElementsAre("Invalid spec.domain.devices.disks[0].disk.bus", "Invalid spec.domain.devices.disks[1].name",
                          "Invalid spec.domain.devices.disks[1].cdrom.bus"));
}

}  // namespace
}  // namespace vg::admission
