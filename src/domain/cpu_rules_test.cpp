// DOM-CPU, DOM-MEM, DOM-IOT, DOM-PIN, DOM-NUMA
#include "domain/cpu_pool.h"
#include "domain/testing.h"

namespace vg::domain::testing {
namespace {

using CpuRule = DomainRule;
TEST_P(CpuRule, Holds) { check(); }

const std::vector<Row> cpu_rows = {
    {"DOM-CPU-01 a",
     dom(R"({"cpu":{"cores":2,"threads":3,"sockets":4,"maxSockets":0}})"),
     {{"vcpu", "24"}, {"vcpu@placement", "static"}, {"cpu/topology@sockets", "4"}, {"vcpus", "(none)"}}},
    {"DOM-CPU-01 b",
     dom(R"({"cpu":null,"resources":{"limits":{"cpu":"1500m"},"requests":{"cpu":"5"}}})"),
     {{"vcpu", "2"}}},
    {"DOM-CPU-01 c", dom(R"({"cpu":null,"resources":{"requests":{"cpu":"5"}}})"), {{"vcpu", "5"}}},
    {"DOM-CPU-01 d",
     dom(R"({"cpu":null,"resources":{"limits":{"cpu":"0"}}})"),
     {{"vcpu", "0"}, {"cpu/topology@sockets", "(none)"}, {"cpu/topology@cores", "1"}}},
    {"DOM-CPU-02",
     dom(R"({"cpu":{"cores":2,"threads":1,"sockets":2,"maxSockets":4}})"),
     {{"vcpu", "8"},
      {"cpu/topology@sockets", "4"},
      {"vcpus/vcpu#", "#8"},
      {"vcpus/vcpu[1]@hotpluggable", "no"},
      {"vcpus/vcpu[2]@hotpluggable", "yes"},
      {"vcpus/vcpu[3]@enabled", "yes"},
      {"vcpus/vcpu[4]@enabled", "no"}}},
    {"DOM-CPU-03",
     dom(R"({"cpu":{"model":"host-passthrough"}})"),
     {{"cpu@mode", "host-passthrough"}, {"cpu/model", "(none)"}, {"cpu/feature", "(none)"}}},
    {"DOM-CPU-04",
     dom(R"({"cpu":{"model":"Conroe","features":[{"name":"pcid","policy":"require"}]}})"),
     {{"cpu@mode", "custom"},
      {"cpu/model", "Conroe"},
      {"cpu/feature@name", "pcid"},
      {"cpu/feature[1]@name", "mpx"},
      {"cpu/feature[1]@policy", "disable"}}},
    {"DOM-CPU-05", dom(R"({"cpu":null})"), {{"cpu@mode", "host-model"}, {"cpu/feature", "(none)"}}},
    {"DOM-CPU-07",
     dom(R"({"cpu":{"features":[{"name":"aes"}]}})"),
     {{"cpu/feature@name", "aes"}, {"cpu/feature@policy", "(none)"}, {"cpu/feature#", "#1"}}},
    {"DOM-CPU-08 a", dom(R"({"cpu":{"model":null}})"), {{"cpu@mode", "host-model"}, {"cpu/feature@name", "mpx"}}},
    {"DOM-CPU-08 b",
     dom(R"({"cpu":{"model":"Conroe","features":[{"name":"mpx","policy":"force"}]}})"),
     {{"cpu/feature#", "#1"}, {"cpu/feature@policy", "force"}}},
    {"DOM-MEM-01 a", dom(R"({"memory":null,"resources":{"limits":{"memory":"2Gi"}}})"), {{"memory", "2147483648"}}},
    {"DOM-MEM-01 b",
     dom(R"({"memory":null,"resources":{"limits":{"memory":"2Gi"},"requests":{"memory":"1M"}}})"),
     {{"memory", "1000000"}}},
    {"DOM-MEM-01 c", dom(R"({"memory":null})"), {{"memory", "0"}, {"memory@unit", "b"}}},
    {"DOM-MEM-02", dom(R"({"memory":{"maxGuest":"1024Mi"}})"), {{"memory", "1073741824"}, {"maxMemory", "(none)"}}},
    {"DOM-MEM-03 a", "{}", {{"memory", "1073741824"}, {"maxMemory", "4294967296"}, {"maxMemory@slots", "0"}}},
    {"DOM-MEM-03 b", dom(R"({"memory":{"guest":null}})")},
    {"DOM-MEM-04 a", dom(R"({"memory":{"guest":"-1"}})")},
    {"DOM-MEM-04 b", dom(R"({"memory":{"guest":"1500m"}})"), {{"memory", "1"}}},
    {"DOM-MEM-05 a",
     dom(R"({"memory":{"guest":"64Mi","maxGuest":null,"hugepages":{"pageSize":"2Mi"}},"cpu":{"maxSockets":0}})"),
     {{"memoryBacking/hugepages", ""},
      {"memoryBacking/source@type", "memfd"},
      {"cpu/numa/cell@cpus", "0-0"},
      {"cpu/numa/cell@memory", "65536"},
      {"cpu/numa/cell@unit", "KiB"}}},
    {"DOM-MEM-05 b",
     R"({"metadata":{"annotations":{"kubevirt.io/memfd":"false"}},
         "spec":{"domain":{"memory":{"hugepages":{"pageSize":"2Mi"}}}}})",
     {{"memoryBacking/source", "(none)"}, {"memoryBacking/hugepages", ""}, {"cpu/numa", "(none)"}}},
    {"DOM-MEM-06 a",
     R"({"metadata":{"annotations":{"kubevirt.io/memfd":"false"}},
         "spec":{"domain":{"devices":{"filesystems":[{"name":"f","virtiofs":{}}]}}}})",
     {{"memoryBacking/access@mode", "shared"}, {"memoryBacking/source@type", "memfd"}}},
    {"DOM-MEM-06 b",
     dev(R"({"interfaces":[{"name":"x","passtBinding":{},"state":"absent"}]})"),
     {{"memoryBacking/access@mode", "shared"}}},
    {"DOM-MEM-07", dev(R"({"filesystems":[{"name":"f","virtiofs":{}}]})"), {{"cpu/numa/cell@cpus", "0-3"}}},
    {"DOM-MEM-08", "{}", {{"currentMemory", "(none)"}, {"memtune", "(none)"}}},
};
INSTANTIATE_TEST_SUITE_P(CpuAndMemory, CpuRule, ::testing::ValuesIn(cpu_rows), name_of);

// Disks d0, d1, ... on these buses; a + in front of one gives it a thread of its own.
std::string disks_on(const std::vector<std::string_view>& buses, std::string_view rest) {
  std::string disks, volumes;
  for (std::size_t i = 0; i < buses.size(); ++i) {
    const bool own = buses[i].starts_with('+');
    disks += fmt::format(R"({}{{"name":"d{}",{}"disk":{{"bus":"{}"}}}})", i ? "," : "", i,
                         own ? R"("dedicatedIOThread":true,)" : "", buses[i].substr(own));
    volumes += fmt::format(R"({}{{"name":"d{}","emptyDisk":{{"capacity":"1Gi"}}}})", i ? "," : "", i);
  }
  return fmt::format(R"({{"spec":{{"domain":{{"devices":{{"disks":[{}]}}{}{}}},"volumes":[{}]}}}})", disks,
                     rest.empty() ? "" : ",", rest, volumes);
}
const std::vector<std::string_view> one_and_six = {"+virtio", "virtio", "virtio", "virtio",
                                                   "virtio",  "virtio", "virtio"};

const std::vector<Row> thread_rows = {
    {"DOM-IOT-01 a",
     disks_on({"virtio", "sata"},
              R"("ioThreadsPolicy":"supplementalPool","ioThreads":{"supplementalPoolThreadCount":3})"),
     {{"iothreads", "3"},
      {"devices/disk/driver/iothreads/iothread#", "#3"},
      {"devices/disk/driver/iothreads/iothread[2]@id", "3"},
      {"devices/disk/driver@iothread", "(none)"},
      {"devices/disk[1]/driver/iothreads", "(none)"}}},
    {"DOM-IOT-01 b", disks_on({"virtio"}, R"("ioThreadsPolicy":"supplementalPool")")},
    {"DOM-IOT-03 shared",
     disks_on(one_and_six, R"("ioThreadsPolicy":"shared")"),
     {{"iothreads", "2"}, {"devices/disk/driver@iothread", "2"}, {"devices/disk[6]/driver@iothread", "1"}}},
    {"DOM-IOT-03 auto2",
     disks_on(one_and_six, R"("ioThreadsPolicy":"auto","resources":{"requests":{"cpu":"2"}})"),
     {{"iothreads", "4"},
      {"devices/disk/driver@iothread", "4"},
      {"devices/disk[3]/driver@iothread", "3"},
      {"devices/disk[4]/driver@iothread", "1"}}},
    {"DOM-IOT-03 auto3",
     disks_on(one_and_six, R"("ioThreadsPolicy":"auto","resources":{"limits":{"cpu":"3"}})"),
     {{"iothreads", "6"}, {"devices/disk/driver@iothread", "6"}, {"devices/disk[6]/driver@iothread", "1"}}},
    {"DOM-IOT-03 auto4",
     disks_on(one_and_six, R"("ioThreadsPolicy":"auto","resources":{"requests":{"cpu":"4"}})"),
     {{"iothreads", "7"}, {"devices/disk/driver@iothread", "7"}, {"devices/disk[6]/driver@iothread", "6"}}},
    {"DOM-IOT-03 other", disks_on({"virtio", "virtio"}, R"("ioThreadsPolicy":"other")"), {{"iothreads", "1"}}},
    {"DOM-IOT-05", disks_on({}, R"("ioThreadsPolicy":"shared")"), {{"iothreads", "(none)"}}},
    {"DOM-IOT-06",
     disks_on({"+virtio", "virtio", "sata"}, ""),
     {{"iothreads", "2"},
      {"devices/disk/driver@iothread", "2"},
      {"devices/disk[1]/driver@iothread", "1"},
      {"devices/disk[2]/driver@iothread", "(none)"}}},
    {"DOM-IOT-08",
     disks_on({"+scsi", "virtio", "virtio"}, R"("ioThreadsPolicy":"auto","cpu":{"sockets":2})"),
     {{"devices/controller[1]/driver@iothread", "1"}, {"devices/controller[1]/driver@queues", "2"}}},
};
INSTANTIATE_TEST_SUITE_P(IoThreads, CpuRule, ::testing::ValuesIn(thread_rows), name_of);

// Two cells of six CPUs each, two siblings a core; CPU 0 and 1 are not ours.
constexpr std::string_view two_cells = R"({"cpuSet":[2,3,4,5,6,7,8,9,10,11],"topology":{"numa_cells":[
  {"id":0,"cpus":[{"id":0,"siblings":[0,1]},{"id":1,"siblings":[0,1]},{"id":2,"siblings":[2,3]},
           {"id":3,"siblings":[2,3]},{"id":4,"siblings":[4,5]},{"id":5,"siblings":[4,5]}]},
  {"id":1,"cpus":[{"id":6,"siblings":[6,7]},{"id":7,"siblings":[6,7]},{"id":8,"siblings":[8,9]},
           {"id":9,"siblings":[8,9]},{"id":10,"siblings":[10,11]},{"id":11,"siblings":[10,11]}]}]}})";

std::string dedicated(std::string_view cpu, std::string_view rest = "") {
  return dom(fmt::format(R"({{"cpu":{{"dedicatedCpuPlacement":true,"maxSockets":0,{}}}{}{}}})", cpu,
                         rest.empty() ? "" : ",", rest));
}
// With a disk of one own and one shared thread.
const std::string pooled = R"("ioThreadsPolicy":"supplementalPool","ioThreads":{"supplementalPoolThreadCount":2})";

const std::vector<Row> pin_rows = {
    {"DOM-PIN-01",
     dom(R"({"cpu":{"dedicatedCpuPlacement":true,"cores":2,"threads":1,"sockets":1,"maxSockets":4}})"),
     {{"cputune/vcpupin#", "#2"}, {"vcpu", "8"}},
     two_cells},
    {"DOM-PIN-02", dedicated(R"("cores":2)")},
    {"DOM-PIN-03",
     dedicated(R"("cores":3,"threads":2)"),
     {{"cputune/vcpupin@cpuset", "2"},
      {"cputune/vcpupin[1]@cpuset", "3"},
      {"cputune/vcpupin[4]@cpuset", "6"},
      {"cputune/vcpupin[5]@vcpu", "5"}},
     two_cells},
    {"DOM-PIN-04",
     dedicated(R"("cores":3,"threads":3)"),
     {{"cputune/vcpupin[2]@cpuset", "4"}, {"cputune/vcpupin[3]@cpuset", "6"}, {"cputune/vcpupin[8]@cpuset", "11"}},
     two_cells},
    {"DOM-PIN-05", dedicated(R"("cores":2,"threads":5)"), {{"cputune/vcpupin#", "#10"}}, two_cells},
    {"DOM-PIN-06 a", dedicated(R"("cores":11)"), {}, two_cells},
    {"DOM-PIN-06 b", dedicated(R"("cores":2,"threads":5,"numa":{"guestMappingPassthrough":{}})"), {}, two_cells},
    {"DOM-PIN-09",
     dedicated(R"("cores":2)", pooled),
     {{"cputune/iothreadpin@iothread", "1"},
      {"cputune/iothreadpin@cpuset", "4"},
      {"cputune/iothreadpin[1]@cpuset", "5"}},
     two_cells},
    {"DOM-PIN-09 b", dedicated(R"("cores":9)", pooled), {}, two_cells},
    {"DOM-PIN-10 a",
     dedicated(R"("cores":2,"isolateEmulatorThread":true)"),
     {{"cputune/emulatorpin@cpuset", "4"}},
     two_cells},
    {"DOM-PIN-10 b",
     R"({"metadata":{"annotations":{"alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity":""}},
         "spec":{"domain":{"cpu":{"dedicatedCpuPlacement":true,"maxSockets":0,"cores":2,"isolateEmulatorThread":true}}}})",
     {{"cputune/emulatorpin@cpuset", "4,5"}},
     two_cells},
    {"DOM-PIN-11 a",
     dedicated(R"("cores":2,"isolateEmulatorThread":true)", R"("ioThreadsPolicy":"shared")"),
     {{"cputune/iothreadpin#", "#1"}, {"cputune/iothreadpin@cpuset", "4"}},
     two_cells},
    {"DOM-PIN-11 b",
     dedicated(R"("cores":1)", R"("ioThreadsPolicy":"shared")"),
     {{"cputune/iothreadpin@cpuset", "2"}},
     two_cells},
    {"DOM-PIN-11 c",
     dedicated(R"("cores":5)", R"("ioThreadsPolicy":"shared")"),
     {{"cputune/iothreadpin@cpuset", "2,3,4,5,6"}},
     two_cells},
    {"DOM-PIN-12", dedicated(R"("cores":0,"sockets":0,"threads":0)", R"("ioThreadsPolicy":"shared")"), {}, two_cells},
    {"DOM-FEAT-09", dedicated(R"("cores":1)"), {{"features/kvm/hint-dedicated@state", "on"}}, two_cells},
    {"DOM-FEAT-10", dedicated(R"("cores":1,"realtime":{})"), {{"features/pmu@state", "off"}}, two_cells},
    {"DOM-NUMA-01",
     dedicated(R"("cores":6,"numa":{"guestMappingPassthrough":{}},"realtime":{})",
               R"("memory":{"guest":"10Mi","maxGuest":null,"hugepages":{"pageSize":"2Mi"}})"),
     {{"numatune/memory@mode", "strict"},
      {"numatune/memory@nodeset", "0,1"},
      {"numatune/memnode[1]@cellid", "1"},
      {"numatune/memnode[1]@nodeset", "1"},
      {"memoryBacking/allocation@mode", "immediate"},
      {"memoryBacking/nosharepages", ""},
      {"memoryBacking/hugepages/page[1]@size", "2097152"},
      {"memoryBacking/hugepages/page[1]@nodeset", "1"},
      {"cpu/numa/cell#", "#2"},
      {"cpu/numa/cell@cpus", "0,1,2,3"},
      {"cpu/numa/cell@memory", "6291456"},
      {"cpu/numa/cell[1]@cpus", "4,5"},
      {"cpu/numa/cell[1]@memory", "4194304"},
      {"cpu/numa/cell[1]@unit", "b"}},
     two_cells},
    {"DOM-NUMA-01 b",
     dedicated(R"("cores":2,"numa":{"guestMappingPassthrough":{}})", R"("memory":{"hugepages":{"pageSize":"2Mi"}})"),
     {},
     R"({"cpuSet":[0,1],"topology":{"numa_cells":[{"cpus":[{"id":0,"siblings":[0,1]}]}]}})"},
    {"DOM-NUMA-03 a", dedicated(R"("cores":1,"numa":{"guestMappingPassthrough":{}})"), {}, two_cells},
    {"DOM-NUMA-03 b",
     dedicated(R"("cores":1,"numa":{"guestMappingPassthrough":{}})", R"("memory":{"hugepages":{"pageSize":"0"}})"),
     {},
     two_cells},
    {"DOM-NUMA-04 a",
     dedicated(R"("cores":6,"numa":{"guestMappingPassthrough":{}})",
               R"("memory":{"guest":"1Gi","hugepages":{"pageSize":"1Gi"}})"),
     {},
     two_cells},
    {"DOM-NUMA-04 b",
     dedicated(R"("cores":1,"numa":{"guestMappingPassthrough":{}})",
               R"("memory":{"guest":"3Mi","hugepages":{"pageSize":"2Mi"}})"),
     {},
     two_cells},
};
INSTANTIATE_TEST_SUITE_P(Pinning, CpuRule, ::testing::ValuesIn(pin_rows), name_of);

TEST(CpuPoolTest, DOM_PIN_11_slices_the_given_set) {
  std::string cpus = "[5", topology = R"({"id":5})";
  for (int cpu = 6; cpu <= 20; ++cpu) {
    cpus += fmt::format(",{}", cpu);
    topology += fmt::format(R"(,{{"id":{}}})", cpu);
  }
  const auto context = fmt::format(R"({{"cpuSet":{}],"topology":{{"numa_cells":[{{"cpus":[{}]}}]}}}})", cpus, topology);
  const auto made = converted(disks_on({"virtio", "virtio", "virtio", "virtio", "virtio", "virtio"},
                                       R"("ioThreadsPolicy":"auto","resources":{"requests":{"cpu":"16"}},
                  "cpu":{"dedicatedCpuPlacement":true,"cores":16,"maxSockets":0})"),
                              context);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(at(*made, "cputune/iothreadpin[0]@cpuset"), "5,6,7");
  EXPECT_EQ(at(*made, "cputune/iothreadpin[3]@cpuset"), "14,15,16");
  EXPECT_EQ(at(*made, "cputune/iothreadpin[4]@cpuset"), "17,18");
  EXPECT_EQ(at(*made, "cputune/iothreadpin[5]@cpuset"), "19,20");
}

TEST(CpuPoolTest, DOM_PIN_08_takes_single_threads_from_fragments_first) {
  const HostTopology host = {{.id = 0, .cpus = {{.id = 0, .siblings = {0, 1}}, {.id = 2, .siblings = {2}}}}};
  const std::uint32_t cpus[] = {0, 1, 2};
  CpuPool pool(host, cpus, 2);
  EXPECT_EQ(pool.take_thread(), 2u);
  EXPECT_EQ(pool.take_thread(), 0u);
  EXPECT_EQ(pool.take_thread(), 1u);  // what was left of the core
  EXPECT_EQ(pool.take_thread(), std::nullopt);
}

TEST(CpuPoolTest, DOM_PIN_03_keeps_the_rest_of_a_large_core_whole) {
  const HostTopology host = {{.id = 0, .cpus = {{.id = 0, .siblings = {0, 1, 2, 3, 4}}}}};
  const std::uint32_t cpus[] = {0, 1, 2, 3, 4};
  CpuPool pool(host, cpus, 2);
  EXPECT_EQ(pool.take_cores(2, false), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(pool.take_thread(), 4u);
}

TEST(DomainNumaTest, DOM_NUMA_needs_cells) {
  const auto made =
      converted(dedicated(R"("cores":1,"numa":{"guestMappingPassthrough":{}})"), R"({"cpuSet":[1],"topology":{}})");
  EXPECT_EQ(refused_by(made), "DOM-PIN-06");  // a host without cells has no CPUs to give
}

}  // namespace
}  // namespace vg::domain::testing
