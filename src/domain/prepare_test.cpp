#include "domain/prepare.h"

#include <gmock/gmock.h>

#include "domain/derive.h"
#include "domain/testing.h"

namespace vg::domain {
namespace {

struct DiskRow {
  std::string_view rule, cache, source;
  bool direct, full;
  std::string_view cache_after, io_after;  // the first empty: refused
};

TEST(Prepare, DriversFollowWhatTheFilesAllow) {
  constexpr DiskRow rows[] = {
      {"DOM-FIN-04", "", "file", true, false, "none", ""},
      {"DOM-FIN-04", "", "file", false, false, "writethrough", ""},
      {"DOM-FIN-03", "none", "file", false, false, "", ""},
      {"DOM-FIN-02", "none", "file", true, false, "none", ""},
      {"DOM-FIN-04", "writeback", "file", false, true, "writeback", ""},
      {"DOM-FIN-05", "", "dev", true, false, "none", "native"},
      {"DOM-FIN-05", "", "file", true, true, "none", "native"},
  };
  for (const DiskRow& row : rows) {
    Element disk("disk");
    disk.set("device", "disk");
    if (row.source == "dev")
      disk.child("source").set("dev", "/dev/x");
    else
      disk.child("source").set("file", "/x");
    disk.child("driver").set_if("cache", row.cache);
    const auto done = complete_disk(disk, {.direct_io = [&](const std::string&, bool) { return row.direct; },
                                           .preallocated = [&](const std::string&) { return row.full; }});
    EXPECT_EQ(done.has_value(), !row.cache_after.empty()) << row.rule;
    if (!done) continue;
    EXPECT_EQ(disk.find("driver")->get("cache"), row.cache_after) << row.rule;
    EXPECT_EQ(disk.find("driver")->get("io"), row.io_after) << row.rule;
  }
}

TEST(Prepare, ABackingFileMustTakeDirectIoToo) {  // DOM-FIN-02
  Element disk("disk");
  disk.child("source").set("file", "/overlay");
  disk.child("backingStore").child("source").set("file", "/image");
  ASSERT_TRUE(complete_disk(
      disk, {.direct_io = [](const std::string& path, bool) { return path == "/overlay"; }, .preallocated = {}}));
  EXPECT_EQ(disk.find("driver")->get("cache"), "writethrough");
}

TEST(Prepare, AnEmptyDriveIsFineAndADiskWithoutAnythingIsNot) {  // DOM-FIN-01
  Element drive("disk"), disk("disk");
  drive.set("device", "cdrom");
  disk.set("device", "disk");
  EXPECT_TRUE(complete_disk(drive, {}));
  EXPECT_FALSE(complete_disk(disk, {}));
}

std::uint32_t spare(std::string_view patch) {
  const json::Document document = testing::vmi_with(patch);
  const Vmi vmi(document.root());
  const auto context = derive(vmi);
  const auto made = convert(vmi, *context);
  EXPECT_TRUE(made) << patch;
  return *spare_ports(vmi, *made);
}

// The examples of spec domain 5.3: the ports of placeholders and the others together.
TEST(Prepare, PortsAreLeftForHotplug) {  // DOM-HPP-02 to DOM-HPP-05
  EXPECT_EQ(spare(R"({"spec":{"domain":{"devices":{"disks":[{"name":"root","disk":{"bus":"virtio"}},
                      {"name":"more","disk":{"bus":"virtio"}}]}},"volumes":[{"name":"root","containerDisk":{"image":"i"}},
                      {"name":"more","emptyDisk":{"capacity":"1Gi"}}]}})"),
            3U);
  EXPECT_EQ(spare(R"({"spec":{"domain":{"devices":{"interfaces":null}},"networks":null}})"), 3U);
  EXPECT_EQ(spare(R"({"spec":{"domain":{"machine":{"type":"pc"}}}})"), 0U);
  EXPECT_EQ(spare(R"({"metadata":{"annotations":{"kubevirt.io/pci-interface-slot-count":"10"}}})"), 9U);
}

TEST(Prepare, PortsAreAddedBehindTheLast) {  // DOM-HPP-07
  EXPECT_EQ(with_spare_ports("<domain><devices></devices></domain>", 29, 5),
            "<domain><devices><controller type=\"pci\" index=\"30\" model=\"pcie-root-port\"></controller>"
            "<controller type=\"pci\" index=\"31\" model=\"pcie-root-port\"></controller></devices></domain>");
}

}  // namespace
}  // namespace vg::domain
