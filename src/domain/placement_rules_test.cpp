// DOM-PCI, DOM-PCN, DOM-GRC, DOM-HDV: where devices are in the guest.
#include "domain/testing.h"

namespace vg::domain::testing {
namespace {

Element hostdev(std::string_view alias, std::string_view bus) {
  Element device("hostdev");
  device.set("type", "pci").set("managed", "no");
  device.child("source")
      .child("address")
      .set("type", "pci")
      .set("domain", "0x0000")
      .set("bus", bus)
      .set("slot", "0x00")
      .set("function", "0x0");
  device.child("alias").set("name", fmt::format("ua-{}", alias));
  return device;
}

std::string on_root_complex(std::string_view devices) {
  return fmt::format(
      R"({{"metadata":{{"annotations":{{"kubevirt.io/placePCIDevicesOnRootComplex":"true"}}}},"spec":{{"domain":{{"devices":{}}}}}}})",
      devices);
}

TEST(RootComplexTest, DOM_PCI_03_gives_slots_in_order) {
  const auto made = converted(on_root_complex(
      R"({"disableHotplug":true,"rng":{},"inputs":[{"name":"t","type":"tablet","bus":"virtio"}],
          "disks":[{"name":"root","disk":{"bus":"virtio"}},{"name":"c","cdrom":{"bus":"sata"}}]})"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(at(*made, "devices/interface/address@slot"), "0x02");
  EXPECT_EQ(at(*made, "devices/interface/address@domain"), "0x0000");
  EXPECT_EQ(at(*made, "devices/controller/address@slot"), "0x03");  // DOM-PCI-06: USB, though it is off
  EXPECT_EQ(at(*made, "devices/controller[1]/address@slot"), "0x04");
  EXPECT_EQ(at(*made, "devices/disk/address@slot"), "0x05");
  EXPECT_EQ(at(*made, "devices/disk[1]/address"), "(none)");
  EXPECT_EQ(at(*made, "devices/input/address@slot"), "0x06");
  EXPECT_EQ(at(*made, "devices/rng/address@slot"), "0x07");
  EXPECT_EQ(at(*made, "devices/memballoon/address@slot"), "0x08");
}

TEST(RootComplexTest, DOM_PCI_04_keeps_what_is_given) {
  const auto made =
      converted(on_root_complex(R"({"interfaces":[{"name":"default","bridge":{},"pciAddress":"0000:05:00.0"}]})"));
  ASSERT_TRUE(made);
  EXPECT_EQ(at(*made, "devices/interface/address@bus"), "0x05");
  EXPECT_EQ(at(*made, "devices/controller/address@slot"), "0x02");
}

TEST(RootComplexTest, DOM_PCI_02_is_for_pcie_and_exactly_true) {
  const auto address = [](std::string_view patch) {
    const auto made = converted(patch);
    return made ? at(*made, "devices/interface/address@slot") : made.error().message;
  };
  EXPECT_EQ(address(R"({"metadata":{"annotations":{"kubevirt.io/placePCIDevicesOnRootComplex":"True"}}})"), "(none)");
  EXPECT_EQ(address(R"({"metadata":{"annotations":{"kubevirt.io/placePCIDevicesOnRootComplex":"true"}},
                        "spec":{"architecture":"s390x"}})"),
            "(none)");
}

TEST(RootComplexTest, DOM_PCI_05_has_28_slots) {
  const auto with = [](int disks) {
    std::string list, volumes;
    for (int i = 0; i < disks; ++i) {
      list += fmt::format(R"({}{{"name":"d{}","disk":{{"bus":"virtio"}}}})", i ? "," : "", i);
      volumes += fmt::format(R"({}{{"name":"d{}","emptyDisk":{{"capacity":"1"}}}})", i ? "," : "", i);
    }
    return converted(fmt::format(
        R"({{"metadata":{{"annotations":{{"kubevirt.io/placePCIDevicesOnRootComplex":"true"}}}},
             "spec":{{"domain":{{"devices":{{"disks":[{}]}}}},"volumes":[{}]}}}})",
        list, volumes));
  };
  // With an interface, three controllers and a balloon.
  const auto made = with(23);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(at(*made, "devices/disk[20]/address@slot"), "0x1a");
  EXPECT_EQ(at(*made, "devices/disk[21]/address@slot"), "0x1c");  // 0x1b is the sound card's
  EXPECT_EQ(at(*made, "devices/memballoon/address@slot"), "0x1e");
  EXPECT_EQ(refused_by(with(24)), "DOM-PCI-05");
}

// Four CPUs on two nodes; the guest has one core on each.
constexpr std::string_view two_nodes = R"({"cpuSet":[0,1,2,3],"topology":{"numa_cells":[
  {"id":0,"cpus":[{"id":0},{"id":1}]},{"id":1,"cpus":[{"id":2},{"id":3}]}]}})";
const std::string strict = dom(
    R"({"cpu":{"dedicatedCpuPlacement":true,"cores":3,"maxSockets":0,"numa":{"guestMappingPassthrough":{}}},
        "memory":{"guest":"8Mi","maxGuest":null,"hugepages":{"pageSize":"2Mi"}}})");
const std::string relaxed = dom(
    R"({"cpu":{"dedicatedCpuPlacement":true,"cores":3,"maxSockets":0},
        "devices":{"filesystems":[{"name":"f","virtiofs":{}}]}})");

void two_devices(DomainContext& c) {
  c.pci_numa_aware = true;
  c.generic_hostdevs = {hostdev("hostdevice-b", "0x82")};
  c.gpu_hostdevs = {hostdev("gpu-a", "0x81")};
  c.probes.pci_numa_node = [](const std::string& address) { return address == "0000:82:00.0" ? 1u : 0u; };
}

TEST(PciNumaTest, DOM_PCN_03_gives_each_node_an_expander) {
  const auto made = converted(strict, two_nodes, two_devices);
  ASSERT_TRUE(made) << made.error().message;
  // Behind usb, scsi and virtio-serial, whose indices are all 0.
  EXPECT_EQ(at(*made, "devices/controller[3]@model"), "pcie-expander-bus");
  EXPECT_EQ(at(*made, "devices/controller[3]@index"), "1");
  EXPECT_EQ(at(*made, "devices/controller[3]/target@busNr"), "254");
  EXPECT_EQ(at(*made, "devices/controller[3]/target/node"), "0");
  EXPECT_EQ(at(*made, "devices/controller[4]@model"), "pcie-root-port");
  EXPECT_EQ(at(*made, "devices/controller[4]/address@bus"), "1");
  EXPECT_EQ(at(*made, "devices/controller[4]/address@slot"), "0x00");
  EXPECT_EQ(at(*made, "devices/controller[5]@index"), "3");
  EXPECT_EQ(at(*made, "devices/controller[5]/target@busNr"), "252");
  EXPECT_EQ(at(*made, "devices/hostdev[1]/address@bus"), "2");  // DOM-PCN-06: the GPU is on node 0
  EXPECT_EQ(at(*made, "devices/hostdev/address@bus"), "4");
  EXPECT_EQ(at(*made, "devices/hostdev/alias@name"), "ua-hostdevice-b");  // generic ones first
}

TEST(PciNumaTest, DOM_PCN_02_goes_by_pinned_cpus_too) {
  const auto made = converted(relaxed, two_nodes, [](DomainContext& c) {
    two_devices(c);
    c.probes.node_cpus = [](std::uint32_t node) {
      return node == 0 ? std::vector<std::uint32_t>{7, 1} : std::vector<std::uint32_t>{9};
    };
  });
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(at(*made, "devices/hostdev[1]/address@bus"), "2");
  EXPECT_EQ(at(*made, "devices/hostdev/address"), "(none)");  // no CPU of its node is pinned, and nobody insists
}

TEST(PciNumaTest, DOM_PCN_01_insists_when_it_is_strict) {
  const auto unknown = [](DomainContext& c) {
    two_devices(c);
    c.probes.pci_numa_node = [](const std::string&) { return std::nullopt; };
  };
  EXPECT_EQ(refused_by(converted(strict, two_nodes, unknown)), "DOM-PCN-01");
  EXPECT_TRUE(converted(relaxed, two_nodes, unknown));
  const auto off = converted(strict, two_nodes, [](DomainContext& c) {
    two_devices(c);
    c.pci_numa_aware = false;
  });
  ASSERT_TRUE(off);
  EXPECT_EQ(at(*off, "devices/hostdev/address"), "(none)");
}

TEST(PciNumaTest, DOM_PCN_07_runs_out_of_buses) {
  const auto many = [](int count) {
    return [count](DomainContext& c) {
      two_devices(c);
      c.gpu_hostdevs.clear();
      c.generic_hostdevs.clear();
      c.probes.pci_numa_node = [](const std::string&) { return 0u; };
      for (int i = 0; i < count; ++i) c.generic_hostdevs.push_back(hostdev("d", fmt::format("0x{:02x}", i)));
    };
  };
  EXPECT_TRUE(converted(strict, two_nodes, many(253)));
  EXPECT_EQ(refused_by(converted(strict, two_nodes, many(254))), "DOM-PCN-07");
  const auto dropped = converted(relaxed, two_nodes, [&](DomainContext& c) {
    many(256)(c);
    c.probes.node_cpus = [](std::uint32_t) { return std::vector<std::uint32_t>{0}; };
  });
  ASSERT_TRUE(dropped);
  EXPECT_EQ(at(*dropped, "devices/controller#"), "#3");
  EXPECT_EQ(at(*dropped, "devices/hostdev/address"), "(none)");
}

void grace(DomainContext& c) {
  two_devices(c);
  c.grace_enabled = c.iommufd = true;
  c.grace_aliases = {"gpu-a"};
  c.probes.smmuv3 = [] { return true; };
  c.probes.pci_ids = [](const std::string&) { return std::pair<std::string, std::string>("0x10de", "0x2342"); };
  c.probes.prefetchable_bytes = [](const std::string&) { return std::uint64_t{1} << 30; };
  c.probes.initiator_nodes = [] { return std::vector<std::uint32_t>{2, 3, 4, 5, 6, 7, 8, 9}; };
  c.probes.numa_distances = [](std::uint32_t) {
    std::map<std::uint32_t, std::uint64_t> all;
    for (std::uint32_t node = 0; node < 10; ++node) all[node] = node < 2 ? 40 : 10;
    return all;
  };
}

TEST(GraceTest, DOM_GRC_03_gives_a_gpu_cells_and_an_expander) {
  const auto made = converted(strict, two_nodes, grace);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(at(*made, "cpu/numa/cell#"), "#10");
  EXPECT_EQ(at(*made, "cpu/numa/cell[2]@id"), "2");
  EXPECT_EQ(at(*made, "cpu/numa/cell[2]@memory"), "0");
  EXPECT_EQ(at(*made, "cpu/numa/cell[2]@cpus"), "(none)");
  EXPECT_EQ(at(*made, "devices/hostdev[1]/driver@iommufd"), "yes");
  EXPECT_EQ(at(*made, "devices/hostdev[1]/acpi@nodeset"), "2-9");
  EXPECT_EQ(at(*made, "devices/hostdev/driver"), "(none)");
  // DOM-GRC-04
  EXPECT_EQ(at(*made, "devices/iommu@model"), "smmuv3");
  EXPECT_EQ(at(*made, "devices/iommu/driver@pciBus"), "1");
  EXPECT_EQ(at(*made, "devices/iommu/driver@ssidSize"), "20");
  EXPECT_EQ(at(*made, "devices/hostdev[1]/address@bus"), "2");
  EXPECT_EQ(at(*made, "devices/hostdev/address@bus"), "4");
  // DOM-GRC-05: half a TiB and a margin, rounded up to a power of two
  EXPECT_EQ(at(*made, "devices/controller[3]@model"), "pcie-root");
  EXPECT_EQ(at(*made, "devices/controller[3]/pcihole64"), "1073741824");
  // DOM-GRC-06
  EXPECT_EQ(at(*made, "cpu/numa/cell/distances/sibling#"), "#10");
  EXPECT_EQ(at(*made, "cpu/numa/cell/distances/sibling@value"), "40");
  EXPECT_EQ(at(*made, "cpu/numa/cell/distances/sibling[2]@value"), "11");
  EXPECT_EQ(at(*made, "cpu/numa/cell[2]/distances/sibling[2]@value"), "10");
  EXPECT_EQ(at(*made, "iommufd@enabled"), "yes");
}

TEST(GraceTest, DOM_GRC_02_asks_for_everything) {
  const auto refused = [](const std::function<void(DomainContext&)>& change, std::string_view patch = strict) {
    return refused_by(converted(patch, two_nodes, [&](DomainContext& c) {
      grace(c);
      change(c);
    }));
  };
  EXPECT_EQ(refused([](DomainContext& c) { c.grace_enabled = false; }), "DOM-GRC-02");
  EXPECT_EQ(refused([](DomainContext& c) { c.pci_numa_aware = false; }), "DOM-GRC-02");
  EXPECT_EQ(refused([](DomainContext& c) { c.iommufd = false; }), "DOM-GRC-02");
  EXPECT_EQ(refused([](DomainContext&) {}, "{}"), "DOM-GRC-02");
  EXPECT_EQ(refused([](DomainContext& c) { c.probes.smmuv3 = {}; }), "DOM-GRC-02a");
  EXPECT_EQ(refused([](DomainContext& c) { c.grace_aliases = {"gpu-b"}; }), "DOM-GRC-02a");
  EXPECT_EQ(refused([](DomainContext& c) {
              c.probes.pci_ids = [](const std::string&) { return std::pair<std::string, std::string>("10de", "0001"); };
            }),
            "DOM-GRC-02a");
  EXPECT_EQ(refused([](DomainContext& c) { c.probes.initiator_nodes = [] { return std::vector<std::uint32_t>{1}; }; }),
            "DOM-GRC-03");
  EXPECT_EQ(refused([](DomainContext& c) { c.probes.pci_numa_node = [](const std::string&) { return 7u; }; }),
            "DOM-GRC-03");
  EXPECT_EQ(refused([](DomainContext&) {}, relaxed), "DOM-GRC-03");
  EXPECT_EQ(refused([](DomainContext& c) { c.probes.prefetchable_bytes = {}; }), "DOM-GRC-05");
  EXPECT_EQ(refused([](DomainContext& c) { c.probes.numa_distances = {}; }), "DOM-GRC-06");
}

}  // namespace
}  // namespace vg::domain::testing
