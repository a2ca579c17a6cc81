#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using std::string_view;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

constexpr string_view no_declarative_hotplug =
    R"({"developerConfiguration":{"disabledFeatureGates":["DeclarativeHotplugVolumes"]}})";

std::vector<std::string> mapping(string_view devices, string_view volumes, string_view configured = "{}") {
  return told_by(disk_volume_family, fmt::format(R"({{"domain":{{"devices":{{{}}}}},"volumes":{}}})", devices, volumes),
                 configured);
}

std::vector<std::string> usage(string_view devices, string_view volumes) {
  return told_by(volume_usage_family,
                 fmt::format(R"({{"domain":{{"devices":{{{}}}}},"volumes":{}}})", devices, volumes));
}

TEST(DiskVolumesTest, DiskNeedsAVolumeAndAnEmptyCdromAGate) {
  EXPECT_THAT(mapping(R"("disks":[{"name":"a","disk":{},"lun":{"bus":"scsi"}}])", "[]"),
              ElementsAre("Invalid spec.domain.devices.disks[0].name"));
  EXPECT_THAT(mapping(R"("disks":[{"name":"a","cdrom":{}}])", "[]"), IsEmpty());
  EXPECT_THAT(mapping(R"("disks":[{"name":"a","cdrom":{}}])", "[]", no_declarative_hotplug),
              ElementsAre("Invalid spec.domain.devices.disks[0].name"));
}

TEST(DiskVolumesTest, LastVolumeOfANameCounts) {
  const string_view lun = R"("disks":[{"name":"a","lun":{}}])";
  EXPECT_THAT(mapping(lun, R"([{"name":"a","emptyDisk":{"capacity":"1"}},{"name":"a","dataVolume":{"name":"d"}}])"),
              IsEmpty());
  EXPECT_THAT(mapping(lun, R"([{"name":"a","dataVolume":{"name":"d"}},{"name":"a","emptyDisk":{"capacity":"1"}}])"),
              ElementsAre("Invalid spec.domain.devices.disks[0].lun"));
}

TEST(DiskVolumesTest, DownwardMetricsWantADiskOnVirtio) {
  const string_view volumes = R"([{"name":"a","downwardMetrics":{}}])";
  EXPECT_THAT(mapping(R"("disks":[{"name":"a"}])", volumes), ElementsAre("Required spec.domain.devices.disks[0].disk"));
  EXPECT_THAT(mapping(R"("disks":[{"name":"a","disk":{}}])", volumes), IsEmpty());
  EXPECT_THAT(mapping(R"("disks":[{"name":"a","disk":{"bus":"sata"}}])", volumes),
              ElementsAre("Invalid spec.domain.devices.disks[0].disk.bus"));
}

TEST(DiskVolumesTest, DisksAreToldOneByOneThenInterfaces) {
  EXPECT_THAT(mapping(R"("disks":[{"name":"a","cdrom":{},"bootOrder":1},{"name":"b","cdrom":{},"bootOrder":1},
                                  {"name":"c","disk":{},"bootOrder":2}],
                         "interfaces":[{"name":"n","bootOrder":0},{"name":"o","bootOrder":2},{"name":"p","bootOrder":3},
                                       {"name":"q","bootOrder":3},{"name":"r"}])",
                      "[]"),
              ElementsAre("Invalid spec.domain.devices.disks[1].bootOrder", "Invalid spec.domain.devices.disks[2].name",
                          "Invalid spec[0].bootOrder", "Invalid spec.domain.devices.interfaces[1].bootOrder",
                          "Invalid spec.domain.devices.interfaces[3].bootOrder"));
}

TEST(DiskVolumesTest, ZeroIsATurnOfDisksButNotOfInterfaces) {
  EXPECT_THAT(mapping(R"("disks":[{"name":"a","cdrom":{},"bootOrder":0},{"name":"b","cdrom":{},"bootOrder":0}])", "[]"),
              ElementsAre("Invalid spec.domain.devices.disks[1].bootOrder"));
  EXPECT_THAT(mapping(R"("interfaces":[{"name":"a","bootOrder":0},{"name":"b","bootOrder":0}])", "[]"),
              ElementsAre("Invalid spec[0].bootOrder", "Invalid spec[1].bootOrder"));
}

TEST(VolumeUsageTest, MemoryDumpsAreLeftAlone) {
  EXPECT_THAT(usage("", R"([{"name":"a","memoryDump":{"claimName":"c"}},{"name":"b","emptyDisk":{"capacity":"1"}}])"),
              ElementsAre("Invalid spec.domain.volumes[1].name"));
}

TEST(VolumeUsageTest, ContainerPathIsAFilesystemAndNoDisk) {
  const string_view volume = R"([{"name":"a","containerPath":{"path":"/var/run/libvirt"}}])";
  EXPECT_THAT(usage(R"("disks":[{"name":"a"}])", volume),
              ElementsAre("Invalid spec.domain.volumes[0]", "Invalid spec.domain.volumes[0]",
                          "Invalid spec.domain.volumes[0].containerPath.path"));
  EXPECT_THAT(usage(R"("filesystems":[{"name":"a","virtiofs":{}}])", volume),
              ElementsAre("Invalid spec.domain.volumes[0].containerPath.path"));
  EXPECT_THAT(
      usage(R"("filesystems":[{"name":"a","virtiofs":{}}])", R"([{"name":"a","containerPath":{"path":"/var/run"}}])"),
      IsEmpty());
}

}  // namespace
}  // namespace vg::admission
