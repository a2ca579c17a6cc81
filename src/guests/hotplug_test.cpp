#include "guests/hotplug.h"

#include <gmock/gmock.h>

#include "guests/testing.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::guests {
namespace {

using hypervisor::Change;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

domain::Element document(
    std::initializer_list<std::tuple<std::string_view, std::string_view, std::string_view>> disks) {
  domain::Element made("domain");
  made.child("devices");
  for (const auto& [target, bus, source] : disks) {
    domain::Element& disk = made.child("devices").add("disk");
    disk.set("type", "file").set("device", bus == "sata" ? "cdrom" : "disk");
    if (!source.empty()) disk.child("source").set("file", source);
    disk.child("target").set("dev", target).set("bus", bus);
    disk.child("alias").set("name", fmt::format("ua-of-{}", target));
  }
  return made;
}

std::vector<std::pair<Change, std::string>> changes(const domain::Element& wanted) {
  std::vector<std::pair<Change, std::string>> found;
  for (const DeviceChange& one : disk_changes(*read_facts(testing::live_document), wanted, "/hot"))
    found.emplace_back(one.change, one.name);
  return found;
}

TEST(Hotplug, ADiskThatIsNotWantedGoes) {  // RUN-HPD-01
  EXPECT_THAT(changes(document({{"vda", "virtio", "/guests/u-1/root.qcow2"}, {"sdb", "sata", ""}})),
              ElementsAre(std::pair(Change::detach, "more")));
}

TEST(Hotplug, OneOutsideOfThePlaceStays) {  // RUN-HPD-01, spec launch Q-04
  EXPECT_THAT(changes(document({{"sda", "scsi", "/hot/more.img"}, {"sdb", "sata", ""}})), IsEmpty());
}

TEST(Hotplug, ADiskThatIsMissingComes) {  // RUN-HPD-02
  const auto wanted = document({{"vda", "virtio", "/guests/u-1/root.qcow2"},
                                {"sda", "scsi", "/hot/more.img"},
                                {"sdb", "sata", ""},
                                {"vdb", "virtio", "/hot/new.img"},
                                {"vdc", "virtio", "/hotter/new.img"},
                                {"vdd", "usb", "/hot/usb.img"}});
  EXPECT_THAT(changes(wanted), ElementsAre(std::pair(Change::attach, "of-vdb")));
}

TEST(Hotplug, AMediumIsPutIntoADrive) {  // RUN-HPD-03
  const auto wanted =
      document({{"vda", "virtio", "/g"}, {"sda", "scsi", "/hot/more.img"}, {"sdb", "sata", "/hot/iso.img"}});
  EXPECT_THAT(changes(wanted), ElementsAre(std::pair(Change::update, "tray")));
  const testing::Made made(testing::Given{});
  const std::string inserted = disk_changes(made.facts, wanted, "/hot").at(0).xml;
  EXPECT_THAT(inserted, HasSubstr("<source file=\"/hot/iso.img\">"));
  EXPECT_THAT(inserted, HasSubstr("ua-tray"));  // the drive that is there, and nothing of the conversion

  DomainFacts full = made.facts;
  full.disks[2].source = "/hot/iso.img";
  full.disks[2].xml = inserted;
  const auto out = disk_changes(full, document({{"vda", "virtio", "/g"}, {"sda", "scsi", "/hot/more.img"}}), "/hot");
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].change, Change::update);
  EXPECT_THAT(out[0].xml, ::testing::Not(HasSubstr("source")));
}

TEST(Hotplug, LinksFollowTheSpec) {  // RUN-NIC-03
  const testing::Made made(testing::Given{});
  const auto found = link_changes(made.facts, *made.one->vmi);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "second");
  EXPECT_THAT(found[0].xml, HasSubstr("<link state=\"up\"/></interface>"));
  EXPECT_THAT(found[0].xml, ::testing::Not(HasSubstr("down")));
}

}  // namespace
}  // namespace vg::guests
