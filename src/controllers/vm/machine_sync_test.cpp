// What S12 to S18 do to a VM and its VMI: interfaces, hotplug, memory dump, annotations (spec vm-controller 11 to 13).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "controllers/vm/hotplug.h"
#include "controllers/vm/memory_dump.h"
#include "controllers/vm/testing.h"

namespace vg::controllers::vm {
namespace {

using testing::conditions_of;
using testing::effects_text;
using testing::merged;
using testing::parsed;
using testing::Scene;

std::string at_pointer(Scene& scene, string_view resource, string_view pointer) {
  const Object* object = scene.world.get(resource, "n", "a");
  if (!object) return "gone";
  const json::Value whole(*object);
  const json::Value* found = json::resolve(whole, *json::Pointer::parse(pointer));
  return found ? json::to_text(*found) : "";
}

// --- hotplug ---------------------------------------------------------------------------------------------------------

std::string with_lists(string_view volumes, string_view disks) {
  return fmt::format(R"({{"volumes":[{}],"domain":{{"devices":{{"disks":[{}]}}}}}})", volumes, disks);
}
std::string vm_with(string_view volumes, string_view disks) {
  return fmt::format(R"({{"spec":{{"template":{{"spec":{}}}}}}})", with_lists(volumes, disks));
}
std::string vmi_with(string_view volumes, string_view disks, string_view more = "{}") {
  return merged(fmt::format(R"({{"spec":{}}})", with_lists(volumes, disks)), more);
}

constexpr string_view extra = R"({"name":"e","persistentVolumeClaim":{"claimName":"x","hotpluggable":true}})";
constexpr string_view other = R"({"name":"e","persistentVolumeClaim":{"claimName":"y","hotpluggable":true}})";
constexpr string_view fixed = R"({"name":"f","persistentVolumeClaim":{"claimName":"z"}})";
constexpr string_view extra_disk = R"({"name":"e","disk":{"bus":"scsi"}})";
constexpr string_view fixed_disk = R"({"name":"f","disk":{"bus":"virtio"}})";
constexpr string_view cdrom = R"({"name":"e","cdrom":{"bus":"sata"}})";

// Names of volumes and disks that the VMI has afterwards.
std::string hotplugged(const std::string& vm, const std::string& vmi, string_view configuration = "{}") {
  Scene scene;
  scene.configure(configuration).vm(vm).vmi(vmi);
  scene.status_after();
  std::string text;
  const json::Value whole(*scene.world.get(kinds::vmi, "n", "a"));
  for (const string_view list : {"/spec/volumes", "/spec/domain/devices/disks"}) {
    const json::Value* found = json::resolve(whole, *json::Pointer::parse(list));
    text += "/";
    if (found && found->is_array())
      for (const json::Value& item : found->get_array()) {
        text += json::get_string_or(item, "name");
        if (const json::Value* source = json::find(item, "persistentVolumeClaim"))
          text += json::get_string_or(*source, "claimName");
      }
  }
  return text;
}

TEST(MachineSync, VolumesFollowTheTemplate) {
  const std::string both_volumes = fmt::format("{},{}", fixed, extra),
                    both_disks = fmt::format("{},{}", fixed_disk, extra_disk);
  EXPECT_EQ(hotplugged(vm_with(both_volumes, both_disks), vmi_with(fixed, fixed_disk)), "/fzex/fe");  // VMC-116, 118
  EXPECT_EQ(hotplugged(vm_with(fixed, fixed_disk), vmi_with(both_volumes, both_disks)), "/fz/f");     // VMC-115, 117
  EXPECT_EQ(hotplugged(vm_with(other, extra_disk), vmi_with(extra, extra_disk)), "//");               // removed first
  EXPECT_EQ(hotplugged(vm_with(other, extra_disk),
                       vmi_with("", "", R"({"status":{"volumeStatus":[{"name":"e","target":""}]}})")),
            "//");  // VMC-116: still being unplugged
  EXPECT_EQ(hotplugged(vm_with(other, extra_disk), vmi_with("", "")), "/ey/e");
  EXPECT_EQ(hotplugged(vm_with("", cdrom), vmi_with(extra, cdrom)), "//e");      // ejected
  EXPECT_EQ(hotplugged(vm_with(extra, cdrom), vmi_with("", cdrom)), "/ex/e");    // injected
  EXPECT_EQ(hotplugged(vm_with(other, cdrom), vmi_with(extra, cdrom)), "//e");   // VMC-117
  EXPECT_EQ(hotplugged(vm_with("", ""), vmi_with(fixed, fixed_disk)), "/fz/f");  // permanent ones stay
  EXPECT_EQ(hotplugged(vm_with(extra, extra_disk), vmi_with("", "", R"({"status":{"phase":"Scheduled"}})")), "//");
  EXPECT_EQ(hotplugged(vm_with(extra, extra_disk), vmi_with("", ""),
                       R"({"developerConfiguration":{"featureGates":["HotplugVolumes"]}})"),
            "//");
}

TEST(MachineSync, ListsThatAreTheSameAreNotWritten) {  // VMC-119
  struct Row {
    string_view what;
    std::string vm, vmi;
    std::set<std::string> patch;  // of the VMI
  };
  const std::string both = fmt::format("{},{}", fixed, extra),
                    both_disks = fmt::format("{},{}", fixed_disk, extra_disk);
  const Row rows[] = {
      {"VMC-119 the same", vm_with(both, both_disks), vmi_with(both, both_disks), {}},
      {"VMC-119 empty and absent", "{}", vmi_with("", ""), {}},
      {"VMC-119 both",
       vm_with(both, both_disks),
       vmi_with(fixed, fixed_disk),
       {"test /spec/volumes", "replace /spec/volumes", "test /spec/domain/devices/disks",
        "replace /spec/domain/devices/disks"}},
      {"VMC-119 from nothing",
       vm_with(extra, extra_disk),
       "{}",
       {"test /spec/volumes", "add /spec/volumes", "test /spec/domain/devices/disks",
        "add /spec/domain/devices/disks"}},
  };
  for (const Row& row : rows) {
    Scene scene;
    scene.vm(row.vm).vmi(row.vmi);
    scene.pass();
    std::set<std::string> operations;
    for (const Effect& effect : scene.last.pass.effects)
      if (effect.resource == kinds::vmi)
        for (const json::Value& one : effect.document.get_array())
          operations.insert(fmt::format("{} {}", json::get_string_or(one, "op"), json::get_string_or(one, "path")));
    EXPECT_EQ(operations, row.patch) << row.what;
  }
}

constexpr string_view gate = R"({"developerConfiguration":{"featureGates":["HotplugVolumes"]}})";
constexpr string_view add_request =
    R"({"status":{"volumeRequests":[{"addVolumeOptions":{"name":"e","disk":{"name":"","disk":{"bus":"scsi"}},"volumeSource":{"persistentVolumeClaim":{"claimName":"x"}}}}]}})";
constexpr string_view remove_request = R"({"status":{"volumeRequests":[{"removeVolumeOptions":{"name":"e"}}]}})";

TEST(MachineSync, RequestsToAddVolumes) {
  Scene scene;
  scene.configure(gate).vm(add_request).vmi();
  const json::Value status = scene.status_after();
  EXPECT_EQ(at_pointer(scene, kinds::vm, "/spec/template/spec/volumes"), fmt::format("[{}]", extra));  // VMC-110
  EXPECT_EQ(at_pointer(scene, kinds::vm, "/spec/template/spec/domain/devices/disks/0/name"), R"("e")");
  EXPECT_EQ(at_pointer(scene, kinds::vmi, "/spec/volumes"), fmt::format("[{}]", extra));  // VMC-111
  EXPECT_FALSE(json::find(status, "volumeRequests"));                                     // VMC-113
}

TEST(MachineSync, RequestsToRemoveVolumes) {
  Scene scene;
  scene.configure(gate).vm(merged(vm_with(extra, extra_disk), remove_request)).vmi(vmi_with(extra, extra_disk));
  const json::Value status = scene.status_after();
  EXPECT_EQ(at_pointer(scene, kinds::vm, "/spec/template/spec/volumes"), "");
  EXPECT_EQ(at_pointer(scene, kinds::vmi, "/spec/volumes"), "");
  EXPECT_FALSE(json::find(status, "volumeRequests"));
}

TEST(MachineSync, RequestsWithoutVmiChangeTheTemplate) {  // VMC-112
  Scene scene;
  scene.configure(gate).vm(merged(add_request, R"({"spec":{"runStrategy":"Halted"}})"));
  scene.status_after();
  EXPECT_EQ(at_pointer(scene, kinds::vm, "/spec/template/spec/volumes"), fmt::format("[{}]", extra));
}

TEST(MachineSync, ARequestThatFailsStays) {  // VMC-111
  Scene scene;
  scene.vm(add_request).vmi();
  const json::Value status = scene.status_after();
  EXPECT_TRUE(conditions_of(status).contains("Failure=True/HotPlugVolumeError"));
  EXPECT_EQ(at_pointer(scene, kinds::vm, "/spec/template/spec/volumes"), "");
  EXPECT_TRUE(json::find(status, "volumeRequests"));
}

// --- interfaces ------------------------------------------------------------------------------------------------------

std::string network(string_view interfaces, string_view networks) {
  return fmt::format(R"({{"domain":{{"devices":{{"interfaces":[{}]}}}},"networks":[{}]}})", interfaces, networks);
}
struct Interfaces {
  std::string vmi, vm;
};
Interfaces interfaces_after(string_view vm, string_view vmi, string_view reported = "") {
  Scene scene;
  scene.vm(fmt::format(R"({{"spec":{{"template":{{"spec":{}}}}}}})", vm))
      .vmi(fmt::format(R"({{"spec":{},"status":{{"interfaces":[{}]}}}})", vmi, reported));
  scene.status_after();
  return {.vmi = at_pointer(scene, kinds::vmi, "/spec/domain/devices/interfaces") +
                 at_pointer(scene, kinds::vmi, "/spec/networks"),
          .vm = at_pointer(scene, kinds::vm, "/spec/template/spec/domain/devices/interfaces")};
}

TEST(MachineSync, InterfacesFollowTheTemplate) {
  constexpr string_view a = R"({"name":"a","bridge":{}})", a_net = R"({"name":"a","multus":{"networkName":"x"}})";
  constexpr string_view b = R"({"name":"b","bridge":{}})", b_net = R"({"name":"b","multus":{"networkName":"y"}})";
  constexpr string_view m = R"({"name":"b","masquerade":{}})";
  const std::string two = network(fmt::format("{},{}", a, b), fmt::format("{},{}", a_net, b_net));
  const auto text = [](string_view interfaces, string_view networks) {
    return fmt::format("[{}][{}]", interfaces, networks);
  };
  EXPECT_EQ(interfaces_after(two, network(a, a_net)).vmi,
            text(fmt::format("{},{}", a, b), fmt::format("{},{}", a_net, b_net)));  // VMC-120
  EXPECT_EQ(
      interfaces_after(network(fmt::format("{},{}", a, m), fmt::format("{},{}", a_net, b_net)), network(a, a_net)).vmi,
      text(a, a_net));
  constexpr string_view gone = R"({"name":"a","bridge":{},"state":"absent"})";
  EXPECT_EQ(interfaces_after(network(gone, a_net), network(a, a_net), R"({"name":"a"})").vmi,
            text(gone, a_net));  // VMC-121
  const Interfaces unplugged = interfaces_after(network(gone, a_net), network(gone, a_net));
  EXPECT_EQ(unplugged.vmi, "");  // VMC-122a
  EXPECT_EQ(unplugged.vm, "");   // VMC-122c
  constexpr string_view renamed = R"({"name":"a","multus":{"networkName":"z"}})";
  EXPECT_EQ(interfaces_after(network(a, renamed), network(a, a_net)).vmi, text(a, renamed));  // VMC-122b
}

// --- annotations -----------------------------------------------------------------------------------------------------

struct FollowRow {
  string_view id;
  string_view of_template, of_vm, of_vmi;  // annotations, in short
  string_view expected;
};

// "evict=x" for the annotations that are followed.
std::string annotations(string_view text) {
  static constexpr std::pair<string_view, string_view> names[] = {
      {"evict", "descheduler.alpha.kubernetes.io/evict"},
      {"stay", "descheduler.alpha.kubernetes.io/prefer-no-eviction"},
      {"skip", "kubevirt.io/skip-backup-hooks"},
      {"other", "other"},
  };
  std::string members;
  for (const auto& [word, name] : names)
    if (const std::size_t at = text.find(word); at != string_view::npos)
      members += fmt::format(R"({}"{}":"{}")", members.empty() ? "" : ",", name, text[at + word.size() + 1]);
  return fmt::format("{{{}}}", members);
}

TEST(MachineSync, SomeAnnotationsReachTheVmi) {
  constexpr FollowRow rows[] = {
      {"VMC-125 added", "evict=1 stay=2", "", "", "evict=1 stay=2"},
      {"VMC-125 changed", "evict=1", "", "evict=2", "evict=1"},
      {"VMC-125 removed", "", "", "evict=2 stay=1", ""},
      {"VMC-125 not from the VM", "", "evict=1", "", ""},
      {"VMC-125 no others", "other=1", "", "", ""},
      {"VMC-126 added", "", "skip=1", "", "skip=1"},
      {"VMC-126 changed", "", "skip=1", "skip=2", "skip=1"},
      {"VMC-126 removed", "", "", "skip=2", ""},
      {"VMC-126 not from the template", "skip=1", "", "", ""},
      {"VMC-125, VMC-126 together", "evict=1", "skip=1", "stay=1", "evict=1 skip=1"},
      {"VMC-125 of others stay", "", "", "other=1", "other=1"},
  };
  for (const FollowRow& row : rows) {
    SCOPED_TRACE(row.id);
    const std::string vm =
        fmt::format(R"({{"metadata":{{"annotations":{}}},"spec":{{"template":{{"metadata":{{"annotations":{}}}}}}}}})",
                    annotations(row.of_vm), annotations(row.of_template));
    const std::string vmi = fmt::format(R"({{"metadata":{{"annotations":{}}}}})", annotations(row.of_vmi));
    Scene scene;
    scene.vm(vm).vmi(vmi);
    scene.pass();
    EXPECT_LE(std::ranges::count(scene.last.pass.effects, kinds::vmi, &Effect::resource), 1);
    scene.after(kinds::vmi, "");
    Scene expected;
    expected.vmi(fmt::format(R"({{"metadata":{{"annotations":{}}}}})", annotations(row.expected)));
    EXPECT_EQ(parsed(at_pointer(scene, kinds::vmi, "/metadata/annotations")).root(),
              parsed(at_pointer(expected, kinds::vmi, "/metadata/annotations")).root());
    Scene leaving;
    leaving.vm(vm).vmi(merged(vmi, R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}})"));
    leaving.pass();
    EXPECT_EQ(leaving.last.find(Verb::patch, kinds::vmi), nullptr);
  }
}

TEST(MachineSync, ThePciLayoutIsKept) {  // VMC-124
  Scene scene;
  scene.vm().vmi(
      R"({"metadata":{"annotations":{"kubevirt.io/pci-topology-version":"v3","kubevirt.io/pci-interface-slot-count":"4"}}})");
  scene.status_after();
  EXPECT_EQ(at_pointer(scene, kinds::vm, "/spec/template/metadata/annotations"),
            R"({"kubevirt.io/pci-interface-slot-count":"4","kubevirt.io/pci-topology-version":"v3"})");
}

// A node makes the file of a host disk where it is missing; once it was there, that would be a blank disk.
TEST(MachineSync, HostDisksThatWereMadeAreNoted) {
  constexpr string_view volumes =
      R"({"spec":{"volumes":[{"name":"a","hostDisk":{"path":"/data/a","type":"DiskOrCreate"}},
      {"name":"b","hostDisk":{"path":"/data/b","type":"Disk"}}]}})";
  for (const auto& [phase, noted] : {std::pair("Scheduled", ""), std::pair("Running", R"("/data/a\n")")}) {
    Scene scene;
    scene.vm().vmi(merged(std::string(volumes), fmt::format(R"({{"status":{{"phase":"{}"}}}})", phase)));
    scene.status_after();
    EXPECT_EQ(at_pointer(scene, kinds::vm, "/metadata/annotations/virtgate.io~1host-disks-made"), noted);
  }
  Scene again;
  again.vm(R"({"metadata":{"annotations":{"virtgate.io/host-disks-made":"/data/a\n"}}})");
  again.pass();
  const Effect* made = again.last.find(Verb::create, kinds::vmi);
  ASSERT_TRUE(made);
  EXPECT_EQ(annotation_of(made->document.get_object(), "virtgate.io/host-disks-made"), "/data/a\n");
}

TEST(MachineSync, AVmWithoutUuidGetsOne) {  // VMC-123
  Scene scene;
  scene.vm(
      R"({"spec":{"runStrategy":"Halted","template":{"spec":{"domain":{"firmware":{"uuid":null,"serial":"s"}}}}}})");
  scene.status_after();
  EXPECT_TRUE(at_pointer(scene, kinds::vm, "/spec/template/spec/domain/firmware/uuid").contains("-5"));
  EXPECT_EQ(at_pointer(scene, kinds::vm, "/spec/template/spec/domain/firmware/serial"), R"("s")");
}

// --- memory dump -----------------------------------------------------------------------------------------------------

std::string dump_in(string_view phase, string_view more = "{}") {
  return fmt::format(R"({{"status":{{"memoryDumpRequest":{}}}}})",
                     merged(fmt::format(R"({{"claimName":"c","phase":"{}"}})", phase), more));
}
constexpr string_view dump_volume = R"({"name":"c","memoryDump":{"claimName":"c","hotpluggable":true}})";
constexpr string_view claim = R"({"metadata":{"name":"c","namespace":"n"},"status":{"phase":"Bound"}})";

TEST(MachineSync, ADumpIsMounted) {  // VMC-130, VMC-133
  Scene scene;
  scene.vm(dump_in("Associating")).vmi();
  const json::Value status = scene.status_after();
  EXPECT_EQ(at_pointer(scene, kinds::vm, "/spec/template/spec/volumes"), fmt::format("[{}]", dump_volume));
  EXPECT_EQ(at_pointer(scene, kinds::vmi, "/spec/volumes"), fmt::format("[{}]", dump_volume));
  EXPECT_EQ(json::get_string_or(status.at("memoryDumpRequest"), "phase"), "InProgress");
  Scene stopped;
  stopped.vm(dump_in("Associating")).vmi(R"({"status":{"phase":"Scheduled"}})");
  stopped.status_after();
  EXPECT_EQ(at_pointer(stopped, kinds::vm, "/spec/template/spec/volumes"), "");
}

TEST(MachineSync, ADumpIsUnmounted) {  // VMC-131
  Scene scene;
  scene.vm(merged(vm_with(dump_volume, ""), dump_in("Unmounting", R"({"fileName":"f"})")))
      .vmi(vmi_with(dump_volume, "", R"({"status":{"volumeStatus":[{"name":"c","target":""}]}})"))
      .put(kinds::claim, claim);
  scene.status_after();
  EXPECT_EQ(at_pointer(scene, kinds::vmi, "/spec/volumes"), "");
  const Object* annotated = scene.world.get(kinds::claim, "n", "c");
  EXPECT_EQ(json::to_text(*value_at(annotated, {"metadata", "annotations"})), R"({"kubevirt.io/memory-dump":"f"})");
  Scene without;
  without.vm(dump_in("Failed")).vmi();
  EXPECT_TRUE(conditions_of(without.status_after()).contains("Failure=True/MemoryDumpError"));
}

TEST(MachineSync, ADumpIsForgotten) {  // VMC-132, VMC-136
  Scene scene;
  scene.vm(merged(vm_with(dump_volume, ""), dump_in("Dissociating"))).vmi(vmi_with(dump_volume, ""));
  const json::Value status = scene.status_after();
  EXPECT_EQ(at_pointer(scene, kinds::vm, "/spec/template/spec/volumes"), "");
  EXPECT_FALSE(json::find(status, "memoryDumpRequest"));
}

TEST(MachineSync, PhasesOfADump) {
  const auto after = [](string_view request, string_view vm, string_view vmi) {
    auto status = parsed(fmt::format(R"({{"memoryDumpRequest":{}}})", request));
    const auto machine = parsed(vm), running = parsed(vmi);
    update_memory_dump(status.root().get_object(), machine.root().get_object(), running.root().if_object());
    const json::Value* left = json::find(status.root(), "memoryDumpRequest");
    return left ? json::to_text(*left) : std::string();
  };
  const std::string mounted = vm_with(dump_volume, "");
  constexpr string_view done =
      R"({"status":{"volumeStatus":[{"name":"c","phase":"MemoryDumpCompleted","memoryDumpVolume":{"startTimestamp":"s","endTimestamp":"e","targetFileName":"t"}}]}})";
  constexpr string_view failed =
      R"({"status":{"volumeStatus":[{"name":"c","phase":"MemoryDumpFailed","message":"m","memoryDumpVolume":{"endTimestamp":"e"}}]}})";
  EXPECT_EQ(after(R"({"claimName":"c","phase":"Associating"})", "{}", "null"),
            R"({"claimName":"c","phase":"Associating"})");
  EXPECT_EQ(
      after(R"({"claimName":"c","phase":"InProgress"})", mounted, done),
      R"({"claimName":"c","phase":"Unmounting","startTimestamp":"s","endTimestamp":"e","fileName":"t"})");  // VMC-134a
  EXPECT_EQ(after(R"({"claimName":"c","phase":"InProgress"})", mounted, failed),
            R"({"claimName":"c","phase":"Failed","message":"m","endTimestamp":"e"})");  // VMC-134b
  EXPECT_EQ(after(R"({"claimName":"c","phase":"Unmounting"})", mounted, done),
            R"({"claimName":"c","phase":"Unmounting"})");
  EXPECT_EQ(after(R"({"claimName":"c","phase":"Unmounting"})", mounted, "null"),
            R"({"claimName":"c","phase":"Completed"})");  // VMC-135
  EXPECT_EQ(after(R"({"claimName":"c","phase":"Completed","remove":true})", mounted, "null"),
            R"({"claimName":"c","phase":"Completed","remove":true})");  // VMC-137
  EXPECT_EQ(after(R"({"claimName":"c","phase":"Failed","remove":true})", mounted, "null"),
            R"({"claimName":"c","phase":"Dissociating","remove":true})");  // VMC-138
  EXPECT_EQ(after(R"({"claimName":"c","phase":"Dissociating"})", mounted, "null"),
            R"({"claimName":"c","phase":"Dissociating"})");
}

}  // namespace
}  // namespace vg::controllers::vm
