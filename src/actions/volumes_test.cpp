#include <fmt/format.h>
#include <gmock/gmock.h>

#include "actions/testing.h"

namespace vg::actions {
namespace {

using ::testing::AllOf;
using testing::Given;
using ::testing::HasSubstr;
using testing::in_phase;
using testing::instance_action;
using testing::machine_action;
using ::testing::Not;

constexpr std::string_view by_request = R"({"developerConfiguration":{"featureGates":["HotplugVolumes"]}})";
constexpr std::string_view off = R"({"developerConfiguration":{"disabledFeatureGates":["DeclarativeHotplugVolumes"]}})";
constexpr std::string_view add_claim =
    R"({"name":"new","disk":{"disk":{"bus":"scsi"}},"volumeSource":{"persistentVolumeClaim":{"claimName":"pvc-3"}}})";
constexpr std::string_view add_data_volume = R"({"name":"new","disk":{},"volumeSource":{"dataVolume":{"name":"dv"}}})";
constexpr std::string_view spec =
    R"({"domain":{"devices":{"disks":[{"name":"plug"},{"name":"fixed"}]}},)"
    R"("volumes":[{"name":"plug","persistentVolumeClaim":{"claimName":"pvc-1","hotpluggable":true}},)"
    R"({"name":"fixed","dataVolume":{"name":"dv-2"}}]})";

std::string instance_with(std::string_view spec_text, std::string_view metadata = "{}",
                          std::string_view phase = "Running") {
  return fmt::format(R"({{"metadata":{},"spec":{},"status":{{"phase":"{}"}}}})", metadata, spec_text, phase);
}
std::string machine_with(std::string_view spec_text, std::string_view status = "{}") {
  return fmt::format(R"({{"spec":{{"template":{{"spec":{}}}}},"status":{}}})", spec_text, status);
}

TEST(Volumes, NeedAGate) {
  for (std::string_view name : {"addvolume", "removevolume"}) {
    EXPECT_EQ(machine_action(name).configuration(off).machine("{}").body("{bad").outcome(), "400");
    EXPECT_EQ(instance_action(name).configuration(off).instance(in_phase("Pending")).outcome(), "400");
  }
  EXPECT_THAT(machine_action("addvolume").configuration(off).machine("{}").message(),
              HasSubstr("DeclarativeHotplugVolumes"));
}

TEST(Volumes, MustSayWhat) {
  const std::string_view bodies[] = {"",
                                     "{}",
                                     "{bad",
                                     R"({"name":""})",
                                     R"({"name":"x"})",
                                     R"({"name":"x","disk":{}})",
                                     R"({"name":"x","volumeSource":{}})"};
  for (std::string_view body : bodies)
    EXPECT_EQ(machine_action("addvolume").machine(machine_with(spec)).body(body).outcome(), "400") << body;
  EXPECT_EQ(machine_action("removevolume").machine(machine_with(spec)).body("{}").outcome(), "400");
}

TEST(Volumes, ArePluggedIntoAnInstance) {
  EXPECT_EQ(
      instance_action("addvolume").instance(instance_with(R"({"domain":{"devices":{}}})")).body(add_claim).outcome(),
      R"(patch virtualmachineinstances [{"op":"test","path":"/spec/volumes","value":null},)"
      R"({"op":"test","path":"/spec/domain/devices/disks","value":null},)"
      R"({"op":"add","path":"/spec/volumes","value":)"
      R"([{"name":"new","persistentVolumeClaim":{"claimName":"pvc-3","hotpluggable":true}}]},)"
      R"({"op":"add","path":"/spec/domain/devices/disks","value":[{"name":"new","disk":{"bus":"scsi"}}]}])");
  EXPECT_THAT(instance_action("addvolume").instance(instance_with(spec)).body(add_data_volume).outcome(),
              AllOf(HasSubstr(R"({"op":"replace","path":"/spec/volumes","value":[{"name":"plug")"),
                    HasSubstr(R"({"name":"new","dataVolume":{"name":"dv","hotpluggable":true}})")));
}

TEST(Volumes, OfAMachineChangeItsTemplate) {
  EXPECT_THAT(machine_action("addvolume").machine(machine_with(spec)).body(add_claim).outcome(),
              AllOf(HasSubstr("patch virtualmachines ["), HasSubstr(R"("/spec/template/spec/volumes")"),
                    HasSubstr(R"("/spec/template/spec/domain/devices/disks")")));
  EXPECT_EQ(machine_action("addvolume").machine(R"({"spec":{}})").body(add_claim).outcome(), "400");
}

TEST(Volumes, WithTheOlderGateTheControllerIsAsked) {
  EXPECT_EQ(machine_action("addvolume")
                .configuration(by_request)
                .machine(machine_with(spec, R"({"created":true})"))
                .body(add_claim)
                .outcome(),
            R"(patch virtualmachines/status [{"op":"test","path":"/status/volumeRequests","value":null},)"
            R"({"op":"add","path":"/status/volumeRequests","value":[{"addVolumeOptions":{"name":"new",)"
            R"("disk":{"name":"new","disk":{"bus":"scsi"}},)"
            R"("volumeSource":{"persistentVolumeClaim":{"claimName":"pvc-3","hotpluggable":true}}}}]}])");
}

TEST(Volumes, RequestsThatContradictEachOther) {
  const auto given = [](std::string_view action, std::string_view pending, std::string_view body) {
    return machine_action(action)
        .configuration(by_request)
        .machine(machine_with(spec, fmt::format(R"({{"volumeRequests":[{}]}})", pending)))
        .body(body)
        .outcome();
  };
  EXPECT_EQ(given("addvolume", R"({"addVolumeOptions":{"name":"new"}})", add_claim), "409 virtualmachine");
  EXPECT_EQ(given("addvolume", R"({"removeVolumeOptions":{"name":"new"}})", add_claim), "409 virtualmachine");
  EXPECT_EQ(given("removevolume", R"({"removeVolumeOptions":{"name":"plug"}})", R"({"name":"plug"})"),
            "409 virtualmachine");
  EXPECT_THAT(given("removevolume", R"({"addVolumeOptions":{"name":"plug"}},{"addVolumeOptions":{"name":"b"}})",
                    R"({"name":"plug"})"),
              HasSubstr(R"("value":[{"addVolumeOptions":{"name":"b"}},{"removeVolumeOptions":{"name":"plug"}}])"));
}

TEST(Volumes, AreThereOnce) {
  const auto add = [](std::string_view name, std::string_view source) {
    return instance_action("addvolume")
        .instance(instance_with(spec))
        .body(fmt::format(R"({{"name":"{}","disk":{{}},"volumeSource":{}}})", name, source))
        .outcome();
  };
  EXPECT_EQ(add("plug", "{}"), "409 virtualmachineinstance");
  EXPECT_EQ(add("new", R"({"persistentVolumeClaim":{"claimName":"pvc-1"}})"), "409 virtualmachineinstance");
  EXPECT_EQ(add("new", R"({"dataVolume":{"name":"dv-2"}})"), "409 virtualmachineinstance");
  EXPECT_THAT(add("new", R"({"dataVolume":{"name":"dv-3"}})"), HasSubstr("patch"));
}

TEST(Volumes, AreTakenOut) {
  EXPECT_EQ(instance_action("removevolume").instance(instance_with(spec)).body(R"({"name":"plug"})").outcome(),
            R"(patch virtualmachineinstances [{"op":"test","path":"/spec/volumes","value":)"
            R"([{"name":"plug","persistentVolumeClaim":{"claimName":"pvc-1","hotpluggable":true}},)"
            R"({"name":"fixed","dataVolume":{"name":"dv-2"}}]},)"
            R"({"op":"test","path":"/spec/domain/devices/disks","value":[{"name":"plug"},{"name":"fixed"}]},)"
            R"({"op":"replace","path":"/spec/volumes","value":[{"name":"fixed","dataVolume":{"name":"dv-2"}}]},)"
            R"({"op":"replace","path":"/spec/domain/devices/disks","value":[{"name":"fixed"}]}])");
  for (std::string_view name : {"fixed", "dv-2", "missing"})
    EXPECT_EQ(instance_action("removevolume")
                  .instance(instance_with(spec))
                  .body(fmt::format(R"({{"name":"{}"}})", name))
                  .outcome(),
              "409 virtualmachineinstance")
        << name;
}

// They are found by their claim too, but only a name takes one out.
TEST(Volumes, NamedByTheirClaimStay) {
  EXPECT_THAT(instance_action("removevolume").instance(instance_with(spec)).body(R"({"name":"pvc-1"})").outcome(),
              HasSubstr(R"({"op":"replace","path":"/spec/domain/devices/disks",)"
                        R"("value":[{"name":"plug"},{"name":"fixed"}]})"));
  EXPECT_THAT(machine_action("removevolume")
                  .configuration(by_request)
                  .machine(machine_with(spec, R"({"created":true})"))
                  .body(R"({"name":"pvc-1"})")
                  .outcome(),
              HasSubstr(R"("value":[{"removeVolumeOptions":{"name":"pvc-1"}}])"));
}

TEST(Volumes, OfAClaimAndADataVolumeAreTheClaim) {
  EXPECT_THAT(
      machine_action("addvolume")
          .machine(machine_with("{}"))
          .body(
              R"({"name":"x","disk":{},"volumeSource":{"dataVolume":{"name":"a"},"persistentVolumeClaim":{"claimName":"b"}}})")
          .outcome(),
      HasSubstr(R"([{"name":"x","persistentVolumeClaim":{"claimName":"b","hotpluggable":true}}])"));
}

TEST(Volumes, OfAnInstanceThatBelongsToAMachine) {
  const std::string owned = instance_with(
      spec, R"({"ownerReferences":[{"kind":"VirtualMachine","apiVersion":"kubevirt.io/v1","controller":true}]})");
  EXPECT_EQ(instance_action("addvolume").instance(owned).body(add_claim).outcome(), "400");
  EXPECT_THAT(instance_action("addvolume").configuration(by_request).instance(owned).body(add_claim).outcome(),
              HasSubstr("patch virtualmachineinstances ["));
  EXPECT_THAT(instance_action("addvolume").instance(owned).body(add_claim).message(),
              HasSubstr("virtctl addvolume demo --persist"));
}

TEST(Volumes, NeedARunningInstanceButNoRunningMachine) {
  EXPECT_EQ(instance_action("addvolume").instance(instance_with(spec, "{}", "Pending")).body(add_claim).outcome(),
            "409 virtualmachineinstance");
  EXPECT_THAT(machine_action("addvolume").machine(machine_with(spec)).body(add_claim).outcome(), HasSubstr("patch"));
}

TEST(Volumes, TakeADryRunByItsFirstWord) {
  constexpr std::string_view body = R"({"name":"plug","dryRun":["All"]})";
  EXPECT_THAT(instance_action("removevolume").instance(instance_with(spec)).body(body).outcome(), HasSubstr("dry run"));
  for (std::string_view other : {R"({"name":"plug","dryRun":["Some","All"]})", R"({"name":"plug","dryRun":[]})"})
    EXPECT_THAT(instance_action("removevolume").instance(instance_with(spec)).body(other).outcome(),
                AllOf(HasSubstr("patch"), Not(HasSubstr("dry run"))));
}

// --- memory dumps
// ------------------------------------------------------------------------------------------------------

constexpr std::string_view claim =
    R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})";
constexpr std::string_view wanted = R"({"claimName":"pvc-1","phase":"x","remove":true})";

Given dump(std::string_view status = "{}") {
  Given given("virtualmachines", "memorydump");
  given.machine(fmt::format(R"({{"status":{}}})", status)).instance(in_phase("Running")).claim(claim).body(wanted);
  return given;
}

TEST(MemoryDump, IsAskedForInTheStatus) {
  EXPECT_EQ(dump().outcome(),
            R"(patch virtualmachines/status [{"op":"test","path":"/status/memoryDumpRequest","value":null},)"
            R"({"op":"add","path":"/status/memoryDumpRequest","value":{"claimName":"pvc-1","phase":"Associating"}}])");
  EXPECT_THAT(dump(R"({"memoryDumpRequest":{"claimName":"pvc-1","phase":"Completed"}})").body("").outcome(),
              AllOf(HasSubstr(R"("op":"replace")"), HasSubstr(R"("claimName":"pvc-1","phase":"Associating")")));
}

TEST(MemoryDump, NeedsAClaimThatFits) {
  EXPECT_EQ(dump().body("").outcome(), "400");
  EXPECT_EQ(dump(R"({"memoryDumpRequest":{"claimName":"other","phase":"Completed"}})").outcome(), "409 virtualmachine");
  EXPECT_EQ(dump(R"({"memoryDumpRequest":{"phase":"Completed"}})").outcome(), "409 virtualmachine");
  EXPECT_EQ(dump().instance(in_phase("Pending")).outcome(), "409 virtualmachineinstance");
  for (std::string_view unfit :
       {R"({"spec":{"volumeMode":"Block","resources":{"requests":{"storage":"1Gi"}}}})",
        R"({"spec":{"accessModes":["ReadOnlyMany"],"resources":{"requests":{"storage":"1Gi"}}}})",
        R"({"spec":{"resources":{"requests":{"storage":"105Mi"}}}})", R"({"spec":{}})"})
    EXPECT_EQ(dump().claim(unfit).outcome(), "409 persistentvolumeclaim") << unfit;
}

// (0 + 100 MiB) * 1.055 is 105.5 MiB, so 106 MiB are needed.
TEST(MemoryDump, CountsTheFilesystemsShare) {
  const auto of_size = [](std::string_view size) {
    return fmt::format(R"({{"spec":{{"storageClassName":"fast","resources":{{"requests":{{"storage":"{}"}}}}}}}})",
                       size);
  };
  EXPECT_THAT(dump().claim(of_size("106Mi")).outcome(), HasSubstr("patch"));
  constexpr std::string_view shares =
      R"({"status":{"filesystemOverhead":{"global":"0","storageClass":{"fast":"0.5"}}}})";
  EXPECT_EQ(dump().cdi(shares).claim(of_size("149Mi")).outcome(), "409 persistentvolumeclaim");
  EXPECT_THAT(dump().cdi(shares).claim(of_size("150Mi")).outcome(), HasSubstr("patch"));
  EXPECT_EQ(dump().cdi("{}").outcome(), "500");
  EXPECT_EQ(dump().cdi(R"({"status":{"filesystemOverhead":{"global":"much"}}})").outcome(), "500");
  EXPECT_EQ(
      dump()
          .instance(R"({"spec":{"domain":{"resources":{"requests":{"memory":"1Gi"}}}},"status":{"phase":"Running"}})")
          .outcome(),
      "409 persistentvolumeclaim");
}

TEST(MemoryDump, OneAtATime) {
  for (std::string_view phase : {"Associating", "InProgress", "Unmounting", "Dissociating"})
    EXPECT_EQ(dump(fmt::format(R"({{"memoryDumpRequest":{{"claimName":"pvc-1","phase":"{}"}}}})", phase)).outcome(),
              "409 virtualmachine")
        << phase;
  EXPECT_THAT(dump(R"({"memoryDumpRequest":{"claimName":"pvc-1","phase":"Failed"}})").outcome(), HasSubstr("patch"));
}

TEST(MemoryDump, IsReleased) {
  const auto release = [](std::string_view status) {
    return machine_action("removememorydump").machine(fmt::format(R"({{"status":{}}})", status)).outcome();
  };
  EXPECT_EQ(release("{}"), "409 virtualmachine");
  EXPECT_EQ(release(R"({"memoryDumpRequest":{"claimName":"c","remove":true}})"), "409 virtualmachine");
  EXPECT_EQ(release(R"({"memoryDumpRequest":{"claimName":"c","phase":"InProgress","fileName":"f"}})"),
            R"(patch virtualmachines/status [{"op":"test","path":"/status/memoryDumpRequest","value":)"
            R"({"claimName":"c","phase":"InProgress","fileName":"f"}},)"
            R"({"op":"replace","path":"/status/memoryDumpRequest","value":)"
            R"({"claimName":"c","phase":"Dissociating","remove":true}}])");
}

}  // namespace
}  // namespace vg::actions
