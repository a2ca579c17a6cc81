// DOM-DISK, DOM-NAME, DOM-VOL, DOM-BLK, DOM-PRE
#include "domain/disk_names.h"
#include "domain/testing.h"

namespace vg::domain::testing {
namespace {

using DiskRule = DomainRule;
TEST_P(DiskRule, Holds) { check(); }

constexpr std::string_view claim = R"("persistentVolumeClaim":{"claimName":"c"})";
constexpr std::string_view empty_disk = R"("emptyDisk":{"capacity":"1Gi"})";
constexpr std::string_view on_virtio = R"("disk":{"bus":"virtio"})";

std::string on(std::string_view disk) { return disk_on(disk, empty_disk); }

// A disk on a volume whose claim has these access modes.
std::string only_read(std::string_view volume, std::string_view modes) {
  return disk_on(on_virtio, volume,
                 fmt::format(R"({{"volumeStatus":[{{"name":"d","target":"vda","persistentVolumeClaimInfo":{{
                     "capacity":{{"storage":"1Gi"}},"accessModes":{}}}}}]}})",
                             modes));
}

const std::vector<Row> disk_rows = {
    {"DOM-DISK-01 a", on(R"("disk":{},"lun":{})"), {{"devices/disk@device", "disk"}}},
    {"DOM-DISK-01 b", on(R"("lun":{"bus":"scsi"})"), {{"devices/disk@device", "lun"}}},
    {"DOM-DISK-01 c", on(R"("cdrom":{"bus":"sata"})"), {{"devices/disk@device", "cdrom"}}},
    {"DOM-DISK-02", on(R"("cache":"none")"), {{"devices/disk@device", ""}, {"devices/disk/target@dev", "(none)"}}},
    {"DOM-DISK-03", on(on_virtio), {{"devices/disk/target@bus", "virtio"}, {"devices/disk/target@dev", "vda"}}},
    {"DOM-DISK-04 a",
     on(R"("disk":{"bus":"scsi"})"),
     {{"devices/disk/address@type", "drive"},
      {"devices/disk/address@controller", "0"},
      {"devices/disk/address@bus", "0"},
      {"devices/disk/address@unit", "0"}}},
    {"DOM-DISK-04 b", on(R"("cdrom":{"bus":"scsi"})"), {{"devices/disk/address", "(none)"}}},
    {"DOM-DISK-05 a",
     on(R"("disk":{"bus":"virtio","pciAddress":"0000:81:0a.0"})"),
     {{"devices/disk/address@type", "pci"}, {"devices/disk/address@slot", "0x0a"}}},
    {"DOM-DISK-05 b", on(R"("disk":{"bus":"sata","pciAddress":"0000:81:00.0"})")},
    {"DOM-DISK-05 c", on(R"("disk":{"bus":"virtio","pciAddress":"x"})")},
    {"DOM-DISK-06 a", on(on_virtio), {{"devices/disk@model", "virtio-non-transitional"}}},
    {"DOM-DISK-06 b", on(R"("lun":{"bus":"virtio"})"), {{"devices/disk@model", "(none)"}}},
    {"DOM-DISK-07 a", on(R"("disk":{"bus":"sata","readonly":true})"), {{"devices/disk/readonly", ""}}},
    {"DOM-DISK-07 b", on(R"("cdrom":{"bus":"sata"})"), {{"devices/disk/readonly", ""}}},
    {"DOM-DISK-07 c", on(R"("cdrom":{"bus":"sata","readonly":false})"), {{"devices/disk/readonly", "(none)"}}},
    {"DOM-DISK-08 a", on(R"("disk":{"bus":"sata"},"serial":"s")"), {{"devices/disk/serial", "s"}}},
    {"DOM-DISK-08 b", on(R"("cdrom":{"bus":"sata"},"serial":"s")"), {{"devices/disk/serial", "(none)"}}},
    {"DOM-DISK-09 a",
     on(R"("disk":{"bus":"sata"},"shareable":true)"),
     {{"devices/disk/shareable", ""}, {"devices/disk/driver@cache", "none"}}},
    {"DOM-DISK-09 b", on(R"("disk":{"bus":"sata"},"shareable":true,"cache":"writeback")")},
    {"DOM-DISK-09 c",
     on(R"("cdrom":{"bus":"sata"},"shareable":true,"cache":"writeback")"),
     {{"devices/disk/shareable", "(none)"}}},
    {"DOM-DISK-10",
     on(R"("lun":{"bus":"scsi","reservation":true})"),
     {{"devices/disk/source/reservations@managed", "no"},
      {"devices/disk/source/reservations@migration", "yes"},
      {"devices/disk/source/reservations/source@path", "/var/run/kubevirt/daemons/pr/pr-helper.sock"}}},
    {"DOM-DISK-11", on(R"("cdrom":{"bus":"sata","tray":"open"})"), {{"devices/disk/target@tray", "open"}}},
    {"DOM-DISK-12",
     on(R"("disk":{"bus":"sata"},"cache":"writeback","io":"threads")"),
     {{"devices/disk/driver@name", "qemu"},
      {"devices/disk/driver@cache", "writeback"},
      {"devices/disk/driver@io", "threads"}}},
    {"DOM-DISK-13",
     disk_on(R"("lun":{"bus":"scsi"})", R"("secret":{"secretName":"s"})"),
     {{"devices/disk/driver@discard", "unmap"}}},
    {"DOM-DISK-13 b",
     disk_on(R"("lun":{"bus":"scsi"})", R"("secret":{"secretName":"s"})"),
     {{"devices/disk/driver@discard", "(none)"}},
     R"({"preallocatedVolumes":["d"]})"},
    {"DOM-DISK-14",
     disk_on(on_virtio, claim,
             R"({"volumeStatus":[{"name":"d","target":"vdb","persistentVolumeClaimInfo":{"volumeMode":"Block",
                "filesystemOverhead":"0.05","capacity":{"storage":"2Gi"},"requests":{"storage":"1Gi"}}}]})"),
     {{"devices/disk/filesystemOverhead", "0.05"},
      {"devices/disk/capacity", "1073741824"},
      {"devices/disk/target@dev", "vdb"},
      {"devices/disk@type", "block"}}},
    {"PVC-07 a", only_read(claim, R"(["ReadOnlyMany"])"), {{"devices/disk/readonly", ""}}},
    {"PVC-07 b", only_read(claim, R"(["ReadWriteOnce"])"), {{"devices/disk/readonly", "(none)"}}},
    {"PVC-07 c", only_read(claim, R"(["ReadOnlyMany","ReadWriteOnce"])"), {{"devices/disk/readonly", "(none)"}}},
    {"PVC-07 d",
     only_read(R"("ephemeral":{"persistentVolumeClaim":{"claimName":"c"}})", R"(["ReadOnlyMany"])"),
     {{"devices/disk/readonly", "(none)"}}},
    {"DOM-DISK-15",
     R"({"spec":{"domain":{"cpu":{"cores":3},"devices":{"blockMultiQueue":true}}}})",
     {{"devices/disk/driver@queues", "3"}}},
    {"DOM-DISK-16", on(on_virtio), {{"devices/disk/alias@name", "ua-d"}}},
    {"DOM-DISK-17", on(R"("disk":{"bus":"sata"},"bootOrder":3)"), {{"devices/disk/boot@order", "3"}}},
    {"DOM-DISK-19 a", on(on_virtio), {{"devices/disk/driver@error_policy", "stop"}}},
    {"DOM-DISK-19 b",
     on(R"("disk":{"bus":"sata"},"errorPolicy":"enospace")"),
     {{"devices/disk/driver@error_policy", "enospace"}}},
    {"DOM-DISK-19 c", on(R"("disk":{"bus":"sata"},"errorPolicy":"retry")")},
    {"DOM-DISK-20", dev(R"({"disks":[{"name":"nothing","disk":{"bus":"sata"}}]})")},
    {"DOM-DISK-21 a",
     disk_on(on_virtio, claim, R"({"volumeStatus":[{"name":"other","target":""}]})"),
     {{"devices/disk", "(none)"}}},
    {"DOM-DISK-21 b",
     disk_on(
         on_virtio, claim,
         R"({"volumeStatus":[{"name":"x","target":""},{"name":"d","target":"","phase":"Bound","hotplugVolume":{}}]})"),
     {{"devices/disk", "(none)"}}},
    {"DOM-DISK-21 c",
     disk_on(
         on_virtio, claim,
         R"({"volumeStatus":[{"name":"x","target":""},{"name":"d","target":"","phase":"Ready","hotplugVolume":{}}]})"),
     {{"devices/disk/source@file", "/var/run/kubevirt/hotplug-disks/d.img"}}},
    {"DOM-NAME-03",
     R"({"spec":{"domain":{"devices":{"disks":[{"name":"a","disk":{"bus":"virtio"}},{"name":"b","disk":{"bus":"virtio"}},
         {"name":"c","disk":{"bus":"scsi"}}]}},"volumes":[{"name":"a","emptyDisk":{"capacity":"1"}},
         {"name":"b","emptyDisk":{"capacity":"1"}},{"name":"c","emptyDisk":{"capacity":"1"}}]},
         "status":{"volumeStatus":[{"name":"a","target":""},{"name":"b","target":"vda"},{"name":"c","target":"sdc"}]}})",
     {{"devices/disk/target@dev", "vdb"},
      {"devices/disk[1]/target@dev", "vda"},
      {"devices/disk[2]/target@dev", "sdc"},
      {"devices/disk[2]/address@unit", "2"}}},
};
INSTANTIATE_TEST_SUITE_P(Disks, DiskRule, ::testing::ValuesIn(disk_rows), name_of);

// What is behind a disk: [type, file or dev, format, discard].
Row volume_row(std::string_view id, std::string_view disk, std::string_view volume, std::string_view type,
               std::string_view source, std::string_view format, std::string_view discard,
               std::string_view context = "{}") {
  return {id,
          disk_on(disk, volume),
          {{"devices/disk@type", type},
           {type == "block" ? "devices/disk/source@dev" : "devices/disk/source@file", source},
           {"devices/disk/driver@type", format},
           {"devices/disk/driver@error_policy", "stop"},
           {"devices/disk/driver@discard", discard}},
          context};
}
constexpr std::string_view cdrom = R"("cdrom":{"bus":"sata"})";

const std::vector<Row> volume_rows = {
    volume_row("DOM-VOL-01", cdrom, R"("containerDisk":{"image":"i"})", "file",
               "/var/run/kubevirt-ephemeral-disks/disk-data/d/disk.qcow2", "qcow2", "unmap"),
    {"DOM-VOL-01 b",
     "{}",
     {{"devices/disk/backingStore@type", "file"},
      {"devices/disk/backingStore/format@type", "raw"},
      {"devices/disk/backingStore/source@file", "/var/run/kubevirt/container-disks/disk_0.img"}},
     R"({"diskFormats":{"root":"raw"}})"},
    {"DOM-VOL-01 c", "{}", {}, R"({"diskFormats":{}})"},
    volume_row("DOM-VOL-02", cdrom, R"("cloudInitNoCloud":{"userData":"x"})", "file",
               "/var/run/kubevirt-ephemeral-disks/cloud-init-data/default/vm1/noCloud.iso", "raw", "(none)"),
    volume_row("DOM-VOL-03", cdrom, R"("cloudInitConfigDrive":{"userData":"x"})", "file",
               "/var/run/kubevirt-ephemeral-disks/cloud-init-data/default/vm1/configdrive.iso", "raw", "(none)"),
    volume_row("DOM-VOL-04", cdrom, R"("sysprep":{"configMap":{"name":"s"}})", "file",
               "/var/run/kubevirt-private/sysprep-disks/d.iso", "raw", "(none)"),
    volume_row("DOM-VOL-05", cdrom, R"("hostDisk":{"path":"/data/a.img","type":"Disk"})", "file",
               "/var/run/kubevirt-private/vmi-disks/d/a.img", "raw", "(none)"),
    {"DOM-VOL-05 b", disk_on(cdrom, R"("hostDisk":{"path":"/data/..","type":"Disk"})")},
    volume_row("DOM-VOL-06 a", cdrom, claim, "file", "/var/run/kubevirt-private/vmi-disks/d/disk.img", "raw", "unmap"),
    volume_row("DOM-VOL-06 b", cdrom, claim, "block", "/dev/d", "raw", "unmap", R"({"blockVolumes":["d"]})"),
    volume_row("DOM-VOL-06 c", cdrom, claim, "file", "/var/run/kubevirt-private/vmi-disks/d/disk.img", "raw", "(none)",
               R"({"preallocatedVolumes":["d"]})"),
    {"DOM-VOL-06 d", disk_on(cdrom, claim), {{"devices/disk/source@name", "d"}}, R"({"blockVolumes":["d"]})"},
    volume_row("DOM-VOL-07", cdrom, R"("dataVolume":{"name":"c"})", "block", "/dev/d", "raw", "unmap",
               R"({"blockVolumes":["d"]})"),
    volume_row("DOM-VOL-08 a", cdrom, R"("ephemeral":{"persistentVolumeClaim":{"claimName":"c"}})", "file",
               "/var/run/kubevirt-ephemeral-disks/disk-data/d/disk.qcow2", "qcow2", "unmap"),
    {"DOM-VOL-08 b",
     disk_on(cdrom, R"("ephemeral":{"persistentVolumeClaim":{"claimName":"c"}})"),
     {{"devices/disk/backingStore@type", "block"},
      {"devices/disk/backingStore/format@type", "raw"},
      {"devices/disk/backingStore/source@dev", "/dev/d"},
      {"devices/disk/backingStore/source@name", "d"}},
     R"({"blockVolumes":["d"]})"},
    {"DOM-VOL-08 c",
     disk_on(cdrom, R"("ephemeral":{"persistentVolumeClaim":{"claimName":"c"}})"),
     {{"devices/disk/backingStore@type", "file"},
      {"devices/disk/backingStore/source@file", "/var/run/kubevirt-private/vmi-disks/d/disk.img"}}},
    volume_row("DOM-VOL-09", cdrom, empty_disk, "file", "/var/run/libvirt/empty-disks/d.qcow2", "qcow2", "unmap"),
    volume_row("DOM-VOL-10", cdrom, R"("configMap":{"name":"c"})", "file",
               "/var/run/kubevirt-private/config-map-disks/d.iso", "raw", "(none)"),
    volume_row("DOM-VOL-11", cdrom, R"("secret":{"secretName":"s"})", "file",
               "/var/run/kubevirt-private/secret-disks/d.iso", "raw", "(none)"),
    volume_row("DOM-VOL-12", cdrom, R"("downwardAPI":{"fields":[]})", "file",
               "/var/run/kubevirt-private/downwardapi-disks/d.iso", "raw", "(none)"),
    volume_row("DOM-VOL-13", cdrom, R"("serviceAccount":{"serviceAccountName":"a"})", "file",
               "/var/run/kubevirt-private/service-account-disk/service-account.iso", "raw", "(none)"),
    {"DOM-VOL-14",
     disk_on(R"("disk":{"bus":"sata"},"cache":"writeback","io":"native")", R"("downwardMetrics":{})"),
     {{"devices/disk@model", "virtio-non-transitional"},
      {"devices/disk/source@file", "/var/run/kubevirt-private/downwardapi-disks/vhostmd0"},
      {"devices/disk/readonly", ""},
      {"devices/disk/driver@type", "raw"},
      {"devices/disk/driver@cache", "(none)"},
      {"devices/disk/driver@io", "(none)"},
      {"devices/disk/driver@discard", "(none)"},
      {"devices/disk/driver@error_policy", "stop"}}},
    {"DOM-VOL-19",
     dev(R"({"disks":[{"name":"e","cdrom":{"bus":"sata","tray":"closed"}}]})"),
     {{"devices/disk@type", "block"},
      {"devices/disk/source", ""},
      {"devices/disk/target@dev", "sda"},
      {"devices/disk/target@tray", "closed"},
      {"devices/disk/driver@type", "raw"},
      {"devices/disk/driver@discard", "unmap"},
      {"devices/disk/readonly", ""}}},
    {"DOM-VOL-20",
     disk_on(on_virtio, empty_disk),
     {{"devices/disk/driver@discard", "unmap"}},
     R"({"preallocatedVolumes":["d"]})"},
    {"DOM-VOL-22",
     R"({"spec":{"domain":{"devices":{"disks":[{"name":"d","disk":{"bus":"virtio"}}]}},
         "volumes":[{"name":"d","emptyDisk":{"capacity":"1"}},{"name":"x","emptyDisk":{"capacity":"1"}},
                    {"name":"d","containerDisk":{"image":"i"}}]}})",
     {{"devices/disk/backingStore/source@file", "/var/run/kubevirt/container-disks/disk_2.img"}}},
};
INSTANTIATE_TEST_SUITE_P(Volumes, DiskRule, ::testing::ValuesIn(volume_rows), name_of);

constexpr std::string_view tracking = R"({"changedBlockTracking":{"state":"Enabled"}})";

const std::vector<Row> tracked_rows = {
    {"DOM-VOL-15 block",
     disk_on(on_virtio, claim, tracking),
     {{"devices/disk@type", "file"},
      {"devices/disk/source@file", "/var/run/kubevirt-private/libvirt/qemu/cbt/d.qcow2"},
      {"devices/disk/source@name", "d"},
      {"devices/disk/source/dataStore@type", "block"},
      {"devices/disk/source/dataStore/format@type", "raw"},
      {"devices/disk/source/dataStore/source@dev", "/dev/d"},
      {"devices/disk/driver@type", "qcow2"}},
     R"({"blockVolumes":["d"]})"},
    {"DOM-VOL-15a host_disk",
     disk_on(cdrom, R"("hostDisk":{"path":"/a.img","type":"Disk"})", tracking),
     {{"devices/disk/source/dataStore@type", "file"},
      {"devices/disk/source/dataStore/source@file", "/var/run/kubevirt-private/vmi-disks/d/a.img"},
      {"devices/disk/driver@type", "qcow2"},
      {"devices/disk/driver@discard", "(none)"}}},
    {"DOM-VOL-16 tracked",
     disk_on(cdrom, claim,
             R"({"changedBlockTracking":{"state":"Initializing"},
                 "volumeStatus":[{"name":"d","target":"","phase":"Ready","hotplugVolume":{}}]})"),
     {{"devices/disk/source@name", "(none)"},
      {"devices/disk/source/dataStore/source@dev", "/var/run/kubevirt/hotplug-disks/d"}},
     R"({"blockVolumes":["d"]})"},
    {"DOM-VOL-16",
     disk_on(cdrom, R"("hostDisk":{"path":"/a.img","type":"Disk"})",
             R"({"volumeStatus":[{"name":"d","target":"","phase":"Ready","hotplugVolume":{}}]})"),
     {{"devices/disk/source@dev", "/var/run/kubevirt/hotplug-disks/d"}, {"devices/disk/source@name", "(none)"}},
     R"({"blockVolumes":["d"]})"},
    {"DOM-VOL-17",
     disk_on(cdrom, R"("dataVolume":{"name":"c"})",
             R"({"volumeStatus":[{"name":"d","target":"","phase":"MountedToPod","hotplugVolume":{}}]})"),
     {{"devices/disk/source@file", "/var/run/kubevirt/hotplug-disks/d.img"}, {"devices/disk/driver@discard", "unmap"}}},
    {"DOM-VOL-18",
     disk_on(cdrom, empty_disk, R"({"volumeStatus":[{"name":"d","target":"","phase":"Ready","hotplugVolume":{}}]})")},
    {"DOM-PRE-03 a",
     disk_on(
         cdrom, claim,
         R"({"volumeStatus":[{"name":"d","target":"","persistentVolumeClaimInfo":{"capacity":{"storage":"1Gi"}}}]})"),
     {{"devices/disk/source@file", "/var/run/kubevirt-private/vmi-disks/d/disk.img"},
      {"devices/disk/driver@discard", "(none)"}}},
    {"DOM-PRE-03 b",
     disk_on(cdrom, claim, R"({"volumeStatus":[{"name":"d","target":"","persistentVolumeClaimInfo":{}}]})")},
    {"DOM-CTX-02",
     disk_on(cdrom, claim,
             R"({"volumeStatus":[{"name":"d","target":"","persistentVolumeClaimInfo":
                               {"volumeMode":"Block","preallocated":true}}]})"),
     {{"devices/disk@type", "block"}, {"devices/disk/driver@discard", "(none)"}}},
    {"DOM-CTX-07",
     disk_on(cdrom, claim, R"({"changedBlockTracking":{"state":"Disabled"}})"),
     {{"devices/disk/source/dataStore", "(none)"}}},
};
INSTANTIATE_TEST_SUITE_P(TrackedAndHotplugged, DiskRule, ::testing::ValuesIn(tracked_rows), name_of);

const std::vector<Row> size_rows = {
    {"DOM-BLK-01",
     on(R"("disk":{"bus":"sata"},"blockSize":{"custom":{"logical":512,"physical":4096,"discardGranularity":0}})"),
     {{"devices/disk/blockio@logical_block_size", "512"},
      {"devices/disk/blockio@physical_block_size", "4096"},
      {"devices/disk/blockio@discard_granularity", "0"}}},
    {"DOM-BLK-02",
     R"({"spec":{"architecture":"s390x","domain":{"devices":{"disks":[{"name":"root","disk":{"bus":"virtio"},
         "blockSize":{"custom":{"logical":512,"physical":8192}}}]}}}})"},
    {"DOM-BLK-03", on(R"("disk":{"bus":"sata"},"blockSize":{"matchVolume":{}})")},
    {"DOM-BLK-03 b",
     on(R"("disk":{"bus":"sata"},"blockSize":{"matchVolume":{"enabled":false}})"),
     {{"devices/disk/blockio", "(none)"}}},
};
INSTANTIATE_TEST_SUITE_P(BlockSizes, DiskRule, ::testing::ValuesIn(size_rows), name_of);

Result<Element> matched(std::string_view context, BlockSizes sizes, std::string* asked = nullptr) {
  return converted(disk_on(R"("disk":{"bus":"sata"},"blockSize":{"matchVolume":{}})", claim), context,
                   [=](DomainContext& c) {
                     c.probes.block_size = [=](const std::string& path, bool block) -> Result<BlockSizes> {
                       if (asked) *asked = fmt::format("{} {}", path, block);
                       return sizes;
                     };
                   });
}

TEST(BlockSizeTest, DOM_BLK_03_asks_the_file_system) {
  std::string asked;
  const auto made = matched("{}", {.logical = 4096, .physical = 4096, .discard = 4096}, &asked);
  ASSERT_TRUE(made);
  EXPECT_EQ(asked, "/var/run/kubevirt-private/vmi-disks/d/disk.img false");
  EXPECT_EQ(at(*made, "devices/disk/blockio@discard_granularity"), "4096");
}

TEST(BlockSizeTest, DOM_BLK_03a_corrects_what_a_device_reports) {
  constexpr std::string_view block = R"({"blockVolumes":["d"]})";
  const auto shown = [&](BlockSizes sizes) {
    const auto made = matched(block, sizes);
    if (!made) return refused_by(made);
    return fmt::format("{} {} {}", at(*made, "devices/disk/blockio@logical_block_size"),
                       at(*made, "devices/disk/blockio@physical_block_size"),
                       at(*made, "devices/disk/blockio@discard_granularity"));
  };
  EXPECT_EQ(shown({.logical = 512, .physical = 4096, .discard = 1024}), "512 4096 1024");
  EXPECT_EQ(shown({.logical = 0, .physical = 4096, .discard = 0}), "4096 4096 0");
  EXPECT_EQ(shown({.logical = 512, .physical = 0, .discard = 100}), "512 512 0");
  EXPECT_EQ(shown({.logical = 512, .physical = 4096, .discard = 100}), "512 4096 4096");
  EXPECT_EQ(shown({}), "DOM-BLK-03a");
}

TEST(DiskNamesTest, DOM_NAME_02_counts_in_letters) {
  EXPECT_EQ(letters_of(0), "a");
  EXPECT_EQ(letters_of(25), "z");
  EXPECT_EQ(letters_of(26), "aa");
  EXPECT_EQ(letters_of(701), "zz");
  EXPECT_EQ(letters_of(702), "aaa");
}

TEST(DiskNamesTest, DOM_NAME_01_counts_by_prefix) {
  const auto document = vmi_with("{}");
  DiskNames names{Vmi(document.root())};
  EXPECT_EQ(names.name("a", "virtio").name, "vda");
  EXPECT_EQ(names.name("b", "sata").name, "sda");
  EXPECT_EQ(names.name("c", "scsi").name, "sdb");
  EXPECT_EQ(names.name("c", "scsi").index, 1u);  // asked again
  EXPECT_EQ(names.name("d", "virtio").name, "vdb");
  EXPECT_EQ(names.name("e", "ide").name, "a");
}

TEST(DiskNamesTest, DOM_NAME_04_finds_the_index_of_a_name) {
  const auto index = [](std::string_view target) {
    const auto document = vmi_with(
        disk_on(on_virtio, claim, fmt::format(R"({{"volumeStatus":[{{"name":"d","target":"{}"}}]}})", target)));
    return DiskNames{Vmi(document.root())}.name("d", "virtio").index;
  };
  EXPECT_EQ(index("vdc"), 2u);
  EXPECT_EQ(index("vdaa"), 26u);
  EXPECT_EQ(index("vdyyz"), 17575u);
  for (const std::string_view other : {"vd", "vdA", "sdc", "vdyza", "vdzzzz", "vdzzzzzzzzzzzzzzzzzzzzzzzzzzzz"})
    EXPECT_EQ(index(other), 0u) << other;
}

}  // namespace
}  // namespace vg::domain::testing
