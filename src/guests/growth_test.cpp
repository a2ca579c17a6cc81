#include "guests/growth.h"

#include <gmock/gmock.h>

#include "controllers/common/conditions.h"
#include "controllers/testing.h"
#include "domain/xml.h"
#include "guests/build.h"
#include "guests/testing.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::guests {
namespace {

using ::testing::AllOf;
using testing::Given;
using ::testing::HasSubstr;
using testing::Made;
using ::testing::Not;

constexpr std::string_view both_conditions =
    R"(,"currentCPUTopology":{"sockets":1},"memory":{"guestAtBoot":"1Gi","guestRequested":"1Gi"},
       "conditions":[{"type":"HotVCPUChange","status":"True"},{"type":"HotMemoryChange","status":"True"}])";

Growth growth_of(std::string_view status, DomainFacts facts = {}, Place place = Place::here) {
  const json::Document vmi = Made::read(fmt::format(
      R"({{"spec":{{"domain":{{"cpu":{{"sockets":2,"cores":3}},"memory":{{"guest":"1280Mi","maxGuest":"4Gi"}}}}}},"status":{{"phase":"Running"{}}}}})",
      status));
  return wanted_growth(vmi.root(), facts, place);
}

TEST(Growth, FollowsConditions) {  // RUN-CPU-01, RUN-MEM-01
  const Growth all = growth_of(both_conditions);
  EXPECT_EQ(all.vcpus, 6U);
  ASSERT_TRUE(all.memory);
  EXPECT_EQ(all.memory->change, hypervisor::Change::attach);
  EXPECT_THAT(all.memory->xml, HasSubstr("<requested unit=\"b\">268435456<"));
  EXPECT_THAT(all.memory->xml, HasSubstr("<size unit=\"b\">3221225472<"));
  const Growth none = growth_of("");
  EXPECT_FALSE(none.vcpus || none.memory);
  // One that failed is not tried again.
  EXPECT_FALSE(growth_of(R"(,"conditions":[{"type":"HotMemoryChange","status":"False"}])").memory);
}

// A node grows a guest only where there is room; a target has it.
TEST(Growth, WaitsForRoom) {
  const std::string_view status = R"(,"memory":{"guestAtBoot":"1Gi"},"conditions":[
    {"type":"HotVCPUChange","status":"True","reason":"InsufficientNodeResources"},{"type":"HotMemoryChange","status":"True"}])";
  EXPECT_FALSE(growth_of(status).vcpus);
  EXPECT_TRUE(growth_of(status).memory);
  EXPECT_EQ(growth_of(status, {}, Place::arrived).vcpus, 6U);
  const std::string_view other = R"(,"memory":{"guestAtBoot":"1Gi"},"conditions":[
    {"type":"HotMemoryChange","status":"True","reason":"InsufficientNodeResources"}])";
  EXPECT_FALSE(growth_of(other).memory);
  EXPECT_TRUE(growth_of(other, {}, Place::arrived).memory);
}

TEST(Growth, ADeviceThatIsThereIsChanged) {  // RUN-MEM-02
  DomainFacts facts;
  facts.memory_device = "<memory model='virtio-mem'><target><requested unit='KiB'>0</requested></target></memory>";
  const auto change = growth_of(both_conditions, facts).memory;
  ASSERT_TRUE(change);
  EXPECT_EQ(change->change, hypervisor::Change::update);
  EXPECT_THAT(change->xml, HasSubstr("<requested unit=\"b\">268435456</requested>"));
}

// The status of a VMI after an attempt.
std::string shown(const Grown& grown, bool keep_failed) {
  const Made made(Given{.more_status = std::string(both_conditions)});
  const controllers::TestWorld world;
  const controllers::Key key{.ns = "default", .name = "vm1"};
  json::Document document;
  const controllers::Turn turn{.world = world,
                               .key = key,
                               .config = world.config(),
                               .now = testing::noon,
                               .random = 0,
                               .storage = document.storage()};
  controllers::vmi::Draft draft(turn, *made.one->vmi);
  show_growth(draft, grown, keep_failed);
  const json::Object& status = draft.status();
  return fmt::format("cpu:{} memory:{} told:{}", controllers::condition_status(&status, "HotVCPUChange"),
                     controllers::condition_status(&status, "HotMemoryChange"), draft.pass.events.size());
}

TEST(Growth, IsShown) {  // MIG-D30, MIG-D31, MIG-D31b, MIG-D32
  EXPECT_EQ(shown({}, true), "cpu:True memory:True told:0");
  EXPECT_EQ(shown({.cpus = true, .memory = true}, true), "cpu: memory: told:0");
  EXPECT_EQ(shown({.cpus = true, .memory = true, .cpu_error = "x", .memory_error = "y"}, true),
            "cpu:True memory:False told:2");
  EXPECT_EQ(shown({.cpus = true, .cpu_error = "x"}, false), "cpu: memory:True told:1");
}

// The document of a VMI with so much memory.
std::string built(std::string_view memory) {
  const json::Document vmi = Made::read(fmt::format(
      R"({{"metadata":{{"name":"vm1","namespace":"default","uid":"u-1"}},"spec":{{"architecture":"amd64","domain":{{
      "cpu":{{"sockets":1,"maxSockets":4}},"memory":{},"machine":{{"type":"q35"}},"devices":{{}}}}}}}})",
      memory));
  const controllers::TestWorld world;
  const Host host;
  const auto made =
      build({.vmi = vmi.root(), .config = world.config(), .host = host, .put_paths = [](auto&) {}, .disk_formats = {}});
  return made ? domain::to_xml(made->document) : made.error().message;
}

TEST(Build, AnEmulatedGuestHasNothingOfHyperV) {
  const json::Document vmi = Made::read(
      R"({"metadata":{"name":"vm1","namespace":"default","uid":"u-1"},"spec":{"architecture":"amd64","domain":{
      "cpu":{"sockets":1,"model":"host-passthrough"},"memory":{"guest":"1Gi"},"machine":{"type":"q35"},"devices":{},
      "clock":{"utc":{},"timer":{"hyperv":{"present":true},"hpet":{"present":false}}},
      "features":{"acpi":{"enabled":true},"hyperv":{"relaxed":{"enabled":true},"vpindex":{"enabled":true}}}}}})");
  const controllers::TestWorld world;
  for (const bool kvm : {false, true}) {
    const Host host{.kvm = kvm};
    const auto made = build(
        {.vmi = vmi.root(), .config = world.config(), .host = host, .put_paths = [](auto&) {}, .disk_formats = {}});
    ASSERT_TRUE(made) << made.error().message;
    const std::string document = domain::to_xml(made->document);
    EXPECT_EQ(document.contains("<hyperv"), kvm) << document;
    EXPECT_EQ(document.contains("hypervclock"), kvm) << document;
    EXPECT_THAT(document, HasSubstr("hpet"));
    EXPECT_EQ(document.contains(R"(mode="maximum")"), !kvm) << document;
  }
}

// Before libvirt 10.10 a disk has no data store, in which blocks would be tracked: the guest runs all the same.
TEST(Build, ADiskWhoseBlocksShouldBeTrackedIsAnOrdinaryOne) {
  const json::Document vmi = Made::read(
      R"({"metadata":{"name":"vm1","namespace":"default","uid":"u-1"},"spec":{"architecture":"amd64","domain":{
      "memory":{"guest":"1Gi"},"machine":{"type":"q35"},"devices":{"disks":[{"name":"d","disk":{"bus":"virtio"}}]}},
      "volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"c"}}]},
      "status":{"changedBlockTracking":{"state":"Initializing"}}})");
  const controllers::TestWorld world;
  const Host host;
  const auto made =
      build({.vmi = vmi.root(), .config = world.config(), .host = host, .put_paths = [](auto&) {}, .disk_formats = {}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(domain::to_xml(made->document), AllOf(HasSubstr("disk.img"), Not(HasSubstr("dataStore"))));
}

TEST(Growth, NeedsASlotAndANumaNode) {  // DOM-MEM-03
  const std::string growable = built(R"({"guest":"1Gi","maxGuest":"4Gi"})");
  EXPECT_THAT(growable, HasSubstr(R"(<maxMemory unit="b" slots="1">4294967296</maxMemory>)"));
  EXPECT_THAT(growable, HasSubstr(R"(<cell id="0" cpus="0-3" memory="1048576" unit="KiB")"));
  EXPECT_THAT(built(R"({"guest":"1Gi"})"), Not(HasSubstr("<numa>")));
}

}  // namespace
}  // namespace vg::guests
