#include "guests/hotplug.h"

#include <gmock/gmock.h>

#include "guests/node_object.h"
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

// --- spec vmi-lifecycle 5
// ------------------------------------------------------------------------------------------------

TEST(NodeObject, SaysWhatTheHostGives) {
  const hypervisor::HostFacts host{.architecture = "amd64",
                                   .why_no_kvm = "no device",
                                   .why_no_vsock = "no vsock",
                                   .machine_types = {"q35"},
                                   .cpu_models = {"Haswell", "486"},
                                   .known_models = {"Haswell"},
                                   .cpu_features = {"sse4.2", "a b"},
                                   .required_features = {},
                                   .host_model = "Haswell",
                                   .vendor = "Intel",
                                   .cpus = 4,
                                   .memory_bytes = std::uint64_t{8} << 30,
                                   .hypervisor_version = "x"};
  const auto kubevirt = json::Document::parse(
      R"({"spec":{"configuration":{"obsoleteCPUModels":{"486":true}}},"status":{"phase":"Deployed"}})");
  const auto config = config::ClusterConfig::read(kubevirt->root(), "1");
  ASSERT_TRUE(config);
  NodeFacts facts{.name = "node01", .host = host, .config = **config, .sharers = 2};
  json::Document document;
  document.root() = node_object(facts, testing::noon, document.storage());
  const auto at = [&](std::initializer_list<std::string_view> path) {
    return std::string(json::as_string(json::find_path(document.root(), path)).value_or("-"));
  };
  EXPECT_EQ(at({"status", "capacity", "cpu"}), "2");
  EXPECT_EQ(at({"status", "capacity", "memory"}), "4Gi");
  EXPECT_EQ(at({"metadata", "labels", "cpu-model.node.kubevirt.io/Haswell"}), "true");
  EXPECT_EQ(at({"metadata", "labels", "cpu-model.node.kubevirt.io/486"}), "-");
  EXPECT_EQ(at({"metadata", "labels", "cpu-feature.node.kubevirt.io/sse4.2"}), "true");
  EXPECT_EQ(at({"metadata", "labels", "cpu-feature.node.kubevirt.io/a b"}), "-");
  EXPECT_EQ(at({"metadata", "annotations", "node.virtgate.io/emulation"}), "no device");
  EXPECT_EQ(at({"metadata", "annotations", "node.virtgate.io/no-vsock"}), "no vsock");
  EXPECT_EQ(at({"metadata", "annotations", "node.virtgate.io/pod-network"}), "slirp");
  EXPECT_EQ(at({"status", "capacity", "devices.kubevirt.io/kvm"}), "1k");
  EXPECT_EQ(at({"status", "capacity", "devices.kubevirt.io/vhost-vsock"}), "-");
  EXPECT_EQ(at({"metadata", "annotations", "kubevirt.io/heartbeat"}), "2023-11-14T22:13:20Z");

  json::ensure_path(document.root().get_object(), {"metadata", "labels"})["cpu-model.node.kubevirt.io/Old"] = "true";
  json::ensure_path(document.root().get_object(), {"metadata", "annotations"})["node.virtgate.io/emulation"] = "old";
  facts.is_schedulable = false;
  const NodePatches patches = node_patches(document.root().get_object(), facts, testing::noon, document.storage());
  std::vector<std::string> paths;
  for (const json::Array* list : {&patches.object, &patches.status})
    for (const json::Value& one : *list)
      paths.push_back(fmt::format("{} {}", json::get_string_or(one, "op"), json::get_string_or(one, "path")));
  EXPECT_THAT(paths, ElementsAre("add /metadata/labels/kubevirt.io~1schedulable",
                                 "remove /metadata/labels/cpu-model.node.kubevirt.io~1Old",
                                 "add /metadata/annotations/node.virtgate.io~1emulation", "add /status/conditions"));
  hypervisor::HostFacts better;
  better.kvm = true;
  const NodeFacts later{.name = "node01", .host = better, .config = **config};
  const NodePatches now = node_patches(document.root().get_object(), later, testing::noon, document.storage());
  EXPECT_THAT(json::to_text(json::Value(now.object)),
              HasSubstr(R"({"op":"remove","path":"/metadata/annotations/node.virtgate.io~1no-vsock"})"));
}

}  // namespace
}  // namespace vg::guests
