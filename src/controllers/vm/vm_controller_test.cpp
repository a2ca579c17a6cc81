#include "controllers/vm/vm_controller.h"

#include <gmock/gmock.h>

#include "controllers/vm/machine.h"
#include "controllers/vm/testing.h"

namespace vg::controllers::vm {
namespace {

using testing::conditions_of;
using testing::effects_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::merged;
using testing::Scene;

std::string printable(const json::Value& status) { return std::string(json::get_string_or(status, "printableStatus")); }

std::string in(const Effect* effect, string_view pointer) {
  if (!effect) return "no such effect";
  const json::Value* found = json::resolve(effect->document, *json::Pointer::parse(pointer));
  return found ? json::to_text(*found) : "";
}

// --- start -----------------------------------------------------------------------------------------------------------

TEST(VmController, StartsANewVm) {
  Scene scene;
  scene.vm(R"({"metadata":{"annotations":null,"finalizers":null}})");
  const json::Value status = scene.status_after();
  EXPECT_EQ(effects_text(scene.last),
            "patch virtualmachines, create controllerrevisions, create virtualmachineinstances");
  EXPECT_THAT(scene.last.events(), ElementsAre("SuccessfulCreate Normal"));
  EXPECT_EQ(effects_text(scene.ending), "patch_status virtualmachines");
  const json::Value vm(*scene.world.get(kinds::vm, "n", "a"));
  EXPECT_EQ(
      json::to_text(*json::find_path(vm, {"metadata", "annotations"})),
      R"({"kubevirt.io/latest-observed-api-version":"v1","kubevirt.io/storage-observed-api-version":"v1"})");  // VMC-01
  EXPECT_EQ(json::to_text(*json::find_path(vm, {"metadata", "finalizers"})),
            R"(["kubevirt.io/virtualMachineControllerFinalize"])");  // VMC-15
  EXPECT_EQ(printable(status), "Starting");
  EXPECT_TRUE(json::get_bool_or(status, "created", false));
  EXPECT_EQ(json::get_string_or(status, "runStrategy"), "Always");  // VMC-48
  EXPECT_EQ(json::get_int_or(status, "observedGeneration", 0), 1);  // VMC-77
  EXPECT_EQ(json::get_int_or(status, "desiredGeneration", 0), 1);
  EXPECT_EQ(conditions_of(status), "Ready=False/VMIConditionMissing");
  EXPECT_EQ(effects_text(scene.pass()), "");  // at rest
}

TEST(VmController, TheVmiItMakes) {
  Scene scene;
  scene.vm(R"({"metadata":{"generation":3,"labels":{"of":"vm"},"annotations":{"of":"vm"}},
    "spec":{"template":{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"},"finalizers":["e"]},
      "spec":{"domain":{"devices":{"autoattachInputDevice":true,"disks":[{"name":"one","disk":{"bus":"virtio"}}]}},
        "volumes":[{"name":"one","containerDisk":{"image":"x"}},{"name":"two","containerDisk":{"image":"y"}}]}}}})");
  scene.pass();
  const Effect* made = scene.last.find(Verb::create, kinds::vmi);
  EXPECT_EQ(in(made, "/metadata"),
            R"({"labels":{"a":"b"},"annotations":{"c":"d","kubevirt.io/vm-generation":"3"},)"
            R"("finalizers":["e","kubevirt.io/virtualMachineControllerFinalize"],"name":"a","namespace":"n",)"
            R"("ownerReferences":[{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","name":"a","uid":"vm-uid",)"
            R"("controller":true,"blockOwnerDeletion":true}]})");  // rows 2 to 4, 10, 12
  EXPECT_EQ(in(made, "/spec/domain/devices/disks"), R"([{"name":"one","disk":{"bus":"virtio"}},{"name":"two"}])");
  EXPECT_EQ(in(made, "/spec/domain/devices/inputs"), R"([{"name":"default-0"}])");
  EXPECT_EQ(in(made, "/spec/domain/devices/interfaces"), R"([{"name":"default","bridge":{}}])");
  EXPECT_EQ(in(made, "/spec/networks"), R"([{"name":"default","pod":{}}])");
  EXPECT_EQ(in(made, "/status"), R"({"virtualMachineRevisionName":"revision-start-vm-vm-uid-3"})");  // row 19
  EXPECT_EQ(in(made, "/spec/startStrategy"), "");
  const Effect* revision = scene.last.find(Verb::create, kinds::revision);
  EXPECT_EQ(in(revision, "/metadata/name"), R"("revision-start-vm-vm-uid-3")");  // VMC-70
  EXPECT_EQ(in(revision, "/revision"), "3");
  EXPECT_EQ(in(revision, "/data/spec/runStrategy"), R"("Always")");  // VMC-72
}

TEST(VmController, StartsPausedWhenAsked) {  // row 6
  Scene scene;
  scene.vm(
      R"({"spec":{"runStrategy":"Manual"},"status":{"stateChangeRequests":[{"action":"Start","data":{"paused":"true"}}]}})");
  scene.pass();
  EXPECT_EQ(in(scene.last.find(Verb::create, kinds::vmi), "/spec/startStrategy"), R"("Paused")");
}

TEST(VmController, AFinishedDumpIsNotMountedAgain) {  // row 7
  const auto volumes = [](string_view phase) {
    Scene scene;
    scene.vm(fmt::format(
        R"({{"spec":{{"template":{{"spec":{{"volumes":[{{"name":"c","memoryDump":{{"claimName":"c"}}}}]}}}}}},"status":{{"memoryDumpRequest":{{"claimName":"c","phase":"{}"}}}}}})",
        phase));
    scene.pass();
    return in(scene.last.find(Verb::create, kinds::vmi), "/spec/volumes");
  };
  EXPECT_EQ(volumes("Completed"), "[]");
  EXPECT_THAT(volumes("InProgress"), HasSubstr("memoryDump"));
}

TEST(VmController, OldRevisionsGo) {  // VMC-71
  Scene scene;
  scene.started_as("{}", 1).vm(R"({"metadata":{"generation":2}})");
  EXPECT_EQ(effects_text(scene.pass()),
            "remove controllerrevisions, create controllerrevisions, create virtualmachineinstances");
  Scene same;
  same.started_as("{}", 1).vm();
  EXPECT_EQ(effects_text(same.pass()), "create virtualmachineinstances");
}

TEST(VmController, TellsWhenTheVmiIsRefused) {  // VMC-64
  Scene scene;
  scene.vm();
  const TestPass& first = scene.pass();
  ASSERT_TRUE(first.find(Verb::create, kinds::vmi)->if_failed);
  EXPECT_EQ(first.find(Verb::create, kinds::vmi)->if_failed->reason, "FailedCreate");
  const TestPass ending = finish(vm_controller(), scene.world, {.ns = "n", .name = "a"}, first,
                                 {.error = SoftError{.reason = "FailedCreate", .message = "no"}, .done = 1});
  const Effect* status = ending.find(Verb::patch_status, kinds::vm);
  ASSERT_TRUE(status);
  EXPECT_THAT(json::to_text(status->document), HasSubstr(R"("reason":"FailedCreate")"));
  EXPECT_THAT(json::to_text(status->document), HasSubstr(R"("value":"Stopped")"));
}

TEST(VmController, AForbiddenDefaultNetworkIsTold) {  // VMC-62
  Scene scene;
  scene.configure(R"({"network":{"permitBridgeInterfaceOnPodNetwork":false}})").vm();
  EXPECT_THAT(conditions_of(scene.status_after()), HasSubstr("Failure=True/FailedCreate"));
  EXPECT_EQ(scene.last.find(Verb::create, kinds::vmi), nullptr);
}

TEST(VmController, ManualRecoveryKeepsItDown) {  // VMC-60
  Scene scene;
  scene.vm(
      R"({"status":{"conditions":[{"type":"ManualRecoveryRequired","status":"True","lastProbeTime":null,"lastTransitionTime":null}]}})");
  EXPECT_EQ(printable(scene.status_after()), "Stopped");
  EXPECT_EQ(scene.last.find(Verb::create, kinds::vmi), nullptr);
}

TEST(VmController, SwitchesAHaltedVmOn) {  // VMC-35a
  const auto spec_after = [](string_view spec) {
    Scene scene;
    scene.vm(fmt::format(R"({{"spec":{},"status":{{"stateChangeRequests":[{{"action":"Start"}}]}}}})", spec));
    const json::Value status = scene.status_after();
    EXPECT_TRUE(json::find(status, "stateChangeRequests"));
    const json::Value vm(*scene.world.get(kinds::vm, "n", "a"));
    const json::Value* strategy = json::find_path(vm, {"spec", "runStrategy"});
    const json::Value* running = json::find_path(vm, {"spec", "running"});
    return fmt::format("{} {}", strategy ? json::to_text(*strategy) : "", running ? json::to_text(*running) : "");
  };
  EXPECT_EQ(spec_after(R"({"runStrategy":"Halted"})"), R"("Always" )");
  EXPECT_EQ(spec_after(R"({"runStrategy":null,"running":false})"), " true");
}

TEST(VmController, WaitsOutTheBackOff) {  // VMC-32e
  Scene scene;
  scene.vm(R"({"status":{"startFailure":{"consecutiveFailCount":1,"retryAfterTimestamp":"2026-01-02T03:04:15Z"}}})");
  EXPECT_EQ(printable(scene.status_after()), "CrashLoopBackOff");
  EXPECT_EQ(scene.last.pass.again, std::chrono::seconds(10));
}

TEST(VmController, ContradictionsStopThePass) {  // VMC-30
  Scene scene;
  scene.vm(R"({"spec":{"running":true}})");
  scene.pass();
  EXPECT_EQ(effects_text(scene.last), "");
  EXPECT_TRUE(scene.last.pass.try_again);
}

// --- stop ------------------------------------------------------------------------------------------------------------

TEST(VmController, StopsAHaltedVm) {
  Scene scene;
  scene.vm(R"({"spec":{"runStrategy":"Halted"},"status":{"runStrategy":"Always"}})").vmi();
  const json::Value status = scene.status_after();
  EXPECT_EQ(effects_text(scene.last), "remove virtualmachineinstances");
  EXPECT_EQ(scene.last.find(Verb::remove, kinds::vmi)->uid, "vmi-uid");
  EXPECT_THAT(scene.last.events(), ElementsAre("SuccessfulDelete Normal"));
  EXPECT_EQ(printable(status), "Stopping");
  EXPECT_EQ(json::get_string_or(status, "runStrategy"), "Halted");
  scene.pass();
  EXPECT_EQ(effects_text(scene.last), "");  // VMC-65
}

TEST(VmController, AStopDropsTheMark) {  // VMC-66, VMC-67
  constexpr string_view vm =
      R"({"spec":{"runStrategy":"Halted"},"status":{"conditions":[{"type":"RestartRequired","status":"True"}]}})";
  Scene scene;
  scene.vm(vm).vmi();
  EXPECT_EQ(conditions_of(scene.status_after()), "Ready=True/");
  Scene refused;
  refused.vm(vm).vmi(R"({"metadata":{"annotations":{"kubevirt.io/vm-generation":"0"}}})");
  refused.pass();
  const TestPass ending = finish(vm_controller(), refused.world, {.ns = "n", .name = "a"}, refused.last,
                                 {.error = SoftError{.reason = "FailedDelete", .message = "no"}, .done = 0});
  EXPECT_THAT(json::to_text(ending.find(Verb::patch_status, kinds::vm)->document), HasSubstr("FailedDelete"));
  EXPECT_THAT(json::to_text(ending.find(Verb::patch_status, kinds::vm)->document), HasSubstr("RestartRequired"));
}

TEST(VmController, ACrashedVmIsStartedAgain) {  // VMC-33a
  Scene scene;
  scene.vm(R"({"spec":{"runStrategy":"RerunOnFailure"}})").vmi(R"({"status":{"phase":"Failed"}})");
  const json::Value status = scene.status_after();
  EXPECT_EQ(effects_text(scene.last), "patch_status virtualmachines, remove virtualmachineinstances");
  EXPECT_EQ(json::to_text(*json::find(status, "stateChangeRequests")), R"([{"action":"Start"}])");
  scene.status_after();
  EXPECT_EQ(effects_text(scene.last), "");
}

TEST(VmController, AFinishedVmiIsLetGo) {  // VMC-19
  for (const string_view strategy : {"Manual", "Once"}) {
    Scene scene;
    scene.vm(fmt::format(R"({{"spec":{{"runStrategy":"{}"}}}})", strategy)).vmi(R"({"status":{"phase":"Failed"}})");
    EXPECT_EQ(printable(scene.status_after()), "Stopped");
    EXPECT_EQ(effects_text(scene.last), "patch_status virtualmachines, patch virtualmachineinstances");
    const json::Value vmi(*scene.world.get(kinds::vmi, "n", "a"));
    EXPECT_EQ(json::to_text(*json::find_path(vmi, {"metadata", "finalizers"})),
              R"(["kubevirt.io/foregroundDeleteVirtualMachine"])");
    EXPECT_EQ(effects_text(scene.pass()), "");
  }
}

// --- whose it is -----------------------------------------------------------------------------------------------------

struct ClaimRow {
  string_view id, vmi;
  string_view printable, effects;
};

TEST(VmController, WhoseTheVmiIs) {
  constexpr string_view write = "patch_status virtualmachines";
  constexpr ClaimRow rows[] = {
      {"VMC-10", "{}", "Running", write},
      {"VMC-10 while it is deleted", R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}})", "Stopping", write},
      {"VMC-11", R"({"metadata":{"ownerReferences":null}})", "Running", "patch virtualmachineinstances"},
      {"VMC-12",
       R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"y","controller":true}]}})",
       "Stopped", write},
      {"VMC-12 a VM of the same name",
       R"({"metadata":{"ownerReferences":[{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","name":"a","uid":"before","controller":true}]}})",
       "Stopped", write},
      {"VMC-12 while it is deleted",
       R"({"metadata":{"ownerReferences":null,"deletionTimestamp":"2026-01-02T03:04:05Z"}})", "Stopped", write},
  };
  for (const ClaimRow& row : rows) {
    SCOPED_TRACE(row.id);
    Scene scene;
    scene.vm(R"({"spec":{"runStrategy":"Manual"}})").vmi(row.vmi);
    const json::Value status = scene.status_after();
    EXPECT_EQ(printable(status), row.printable);
    EXPECT_EQ(json::get_bool_or(status, "created", false), row.printable != "Stopped");
    EXPECT_EQ(effects_text(scene.last), row.effects);
  }
}

constexpr string_view deleted = R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}})";

TEST(VmController, ADeletedVmGoesAfterItsVmi) {
  Scene scene;  // VMC-17
  scene.vm(deleted).vmi();
  EXPECT_EQ(printable(scene.status_after()), "Terminating");
  EXPECT_EQ(effects_text(scene.last), "remove virtualmachineinstances");
  EXPECT_EQ(effects_text(scene.pass()), "");
  scene.world.remove(kinds::vmi, "n", "a");  // VMC-16
  EXPECT_EQ(effects_text(scene.pass()), "patch virtualmachines");
  EXPECT_THAT(json::to_text(scene.last.pass.effects[0].document), HasSubstr(R"("value":[])"));
}

TEST(VmController, AnOrphanedVmiRunsOn) {  // VMC-18
  Scene scene;
  scene.vm(merged(deleted, R"({"metadata":{"finalizers":["orphan","kubevirt.io/virtualMachineControllerFinalize"]}})"))
      .vmi();
  EXPECT_EQ(effects_text(scene.pass()), "patch virtualmachines");
}

// --- generations -----------------------------------------------------------------------------------------------------

TEST(VmController, TheVmiShowsTheGeneration) {
  Scene outside;  // VMC-76
  outside.started_as().vmi().vm(R"({"metadata":{"generation":3},"spec":{"runStrategy":"Manual"}})");
  json::Value status = outside.status_after();
  EXPECT_EQ(json::get_int_or(status, "observedGeneration", 0), 3);
  Scene inside;
  inside.started_as().vmi().vm(R"({"metadata":{"generation":3},"spec":{"template":{"spec":{"hostname":"x"}}}})");
  status = inside.status_after();
  EXPECT_EQ(json::get_int_or(status, "observedGeneration", 0), 1);
  EXPECT_EQ(json::get_int_or(status, "desiredGeneration", 0), 3);
  Scene unreadable;  // VMC-78
  unreadable.started_as("{}", 3)
      .vmi(
          R"({"metadata":{"annotations":{"kubevirt.io/vm-generation":"2b3c"}},"status":{"virtualMachineRevisionName":"revision-start-vm-vm-uid-3"}})")
      .vm(R"({"metadata":{"generation":4},"spec":{"template":{"spec":{"hostname":"x"}}}})");
  status = unreadable.status_after();
  EXPECT_EQ(json::get_int_or(status, "observedGeneration", 0), 3);
  const json::Value vmi(*unreadable.world.get(kinds::vmi, "n", "a"));
  EXPECT_EQ(json::get_string_or(*json::find_path(vmi, {"metadata", "annotations"}), "kubevirt.io/vm-generation"), "3");
}

// --- conditions ------------------------------------------------------------------------------------------------------

TEST(VmController, ConditionsOfTheVmiAreMirrored) {
  Scene scene;
  scene
      .vm(R"({"spec":{"runStrategy":"Manual"},"status":{"conditions":[{"type":"Old","status":"True"},{"type":"Failure","status":"True","reason":"x"}]}})")
      .vmi(
          R"({"status":{"conditions":[{"type":"LiveMigratable","status":"False","reason":"r"},{"type":"Ready","status":"False","reason":"GuestNotRunning"}]}})");
  EXPECT_EQ(conditions_of(scene.status_after()),
            "Ready=False/GuestNotRunning LiveMigratable=False/r");  // VMC-140 to 142
  scene.world.remove(kinds::vmi, "n", "a");
  EXPECT_EQ(conditions_of(scene.status_after()), "Ready=False/VMINotExists LiveMigratable=False/r");  // VMC-143
}

// --- volumes ---------------------------------------------------------------------------------------------------------

TEST(VmController, SaysWhichVolumesCanBeSnapshotted) {
  Scene scene;
  scene
      .vm(R"({"spec":{"runStrategy":"Manual","template":{"spec":{"volumes":[{"name":"a","containerDisk":{"image":"x"}},{"name":"b","persistentVolumeClaim":{"claimName":"c"}},{"name":"d","persistentVolumeClaim":{"claimName":"gone"}},{"name":"e","persistentVolumeClaim":{"claimName":"mine"}}]}}}})")
      .put(kinds::claim,
           R"({"metadata":{"name":"c","namespace":"n"},"spec":{"storageClassName":"fast"},"status":{"phase":"Bound"}})")
      .put(kinds::claim,
           R"({"metadata":{"name":"mine","namespace":"n"},"spec":{"storageClassName":"local"},"status":{}})");
  const json::Value status = scene.status_after();
  const json::Array& statuses = status.at("volumeSnapshotStatuses").get_array();
  ASSERT_EQ(statuses.size(), 4U);
  EXPECT_THAT(json::to_text(statuses[0]), HasSubstr("not supported"));      // VMC-170
  EXPECT_THAT(json::to_text(statuses[1]), HasSubstr("[fast] [b]"));         // VMC-172
  EXPECT_THAT(json::to_text(statuses[2]), HasSubstr("not found"));          // VMC-171
  EXPECT_EQ(json::to_text(statuses[3]), R"({"name":"e","enabled":true})");  // VMC-174
}

std::string data_volume(string_view status) {
  return fmt::format(R"({{"metadata":{{"name":"dv","namespace":"n"}},"status":{}}})", status);
}
constexpr string_view with_template =
    R"({"spec":{"dataVolumeTemplates":[{"metadata":{"name":"dv"},"spec":{"source":{"pvc":{"name":"src","namespace":"n"}},"storage":{}}}],"template":{"spec":{"priorityClassName":"high","volumes":[{"name":"v","dataVolume":{"name":"dv"}}]}}}})";

TEST(VmController, MakesDataVolumes) {
  Scene scene;
  scene.vm(with_template);
  const json::Value status = scene.status_after();  // VMC-80, VMC-84a, VMC-86
  EXPECT_EQ(effects_text(scene.last), "create datavolumes");
  EXPECT_THAT(scene.last.events(), ElementsAre("SourcePVCNotAvailabe Warning", "SuccessfulDataVolumeCreate Normal"));
  const Effect* made = scene.last.find(Verb::create, kinds::data_volume);
  EXPECT_EQ(in(made, "/metadata/labels"), R"({"kubevirt.io/created-by":"vm-uid"})");
  EXPECT_EQ(in(made, "/metadata/annotations"), R"({"cdi.kubevirt.io/allowClaimAdoption":"true"})");
  EXPECT_EQ(in(made, "/metadata/ownerReferences/0/uid"), R"("vm-uid")");
  EXPECT_EQ(in(made, "/spec/priorityClassName"), R"("high")");
  EXPECT_EQ(printable(status), "Provisioning");
}

TEST(VmController, WaitsForDataVolumes) {
  struct Row {
    string_view id, status;
    bool starts;
    string_view events;
    string_view conditions;
  };
  constexpr Row rows[] = {
      {"VMC-81", R"({"phase":"Succeeded"})", true, "SuccessfulCreate Normal", "Ready=False/VMIConditionMissing"},
      {"VMC-81", R"({"phase":"WaitForFirstConsumer"})", true, "SuccessfulCreate Normal",
       "Ready=False/VMIConditionMissing"},
      {"VMC-81", R"({"phase":"PendingPopulation"})", true, "SuccessfulCreate Normal",
       "Ready=False/VMIConditionMissing"},
      {"VMC-82", R"({"phase":"Failed"})", false, "FailedDataVolumeImport Warning", "Ready=False/VMINotExists"},
      {"VMC-83",
       R"({"phase":"Pending","conditions":[{"type":"Bound","status":"Unknown","reason":"ErrExceededQuota"}]})", false,
       "FailedDataVolumeImport Warning", "Ready=False/VMINotExists Failure=True/FailedCreate"},
      {"", R"({"phase":"ImportInProgress"})", false, "", "Ready=False/VMINotExists"},
  };
  for (const Row& row : rows) {
    Scene scene;
    scene.vm(with_template).put(kinds::data_volume, data_volume(row.status));
    EXPECT_EQ(conditions_of(scene.status_after()), row.conditions) << row.id;
    EXPECT_EQ(scene.last.find(Verb::create, kinds::vmi) != nullptr, row.starts) << row.id << row.status;
    const auto events = scene.last.events();
    EXPECT_EQ(events.empty() ? "" : events.front(), row.events) << row.id;
  }
}

TEST(VmController, ADataVolumeThatIsRefusedIsTold) {  // VMC-88
  Scene scene;
  scene.vm(with_template);
  const TestPass& first = scene.pass();
  const Effect* made = first.find(Verb::create, kinds::data_volume);
  ASSERT_TRUE(made && made->if_failed);
  EXPECT_EQ(made->if_failed->reason, "FailedDataVolumeCreate");
  EXPECT_EQ(made->if_failed->type, EventType::warning);
  EXPECT_TRUE(made->already_done_is_fine);
  const TestPass ending = finish(vm_controller(), scene.world, {.ns = "n", .name = "a"}, first,
                                 {.error = SoftError{.reason = made->soft_reason, .message = "no"}, .done = 0});
  EXPECT_THAT(json::to_text(ending.find(Verb::patch_status, kinds::vm)->document),
              HasSubstr(R"("reason":"FailedCreate")"));
}

TEST(VmController, WhoMustBeAllowedToClone) {  // VMC-87
  const auto cloner = [](string_view machine) {
    Scene scene;
    scene.vm(merged(with_template, fmt::format(R"({{"spec":{{"template":{{"spec":{}}}}}}})", machine)));
    scene.pass();
    const Effect* made = scene.last.find(Verb::create, kinds::data_volume);
    EXPECT_TRUE(made && made->if_not_allowed && made->if_not_allowed->reason == "UnauthorizedDataVolumeCreate");
    return made && made->identity.user() ? made->identity.user()->name : "nobody";
  };
  constexpr string_view volume = R"({"name":"t","serviceAccount":{"serviceAccountName":"of-volume"}})";
  EXPECT_EQ(cloner("{}"), "system:serviceaccount:n:default");
  EXPECT_EQ(cloner(fmt::format(R"({{"volumes":[{{"name":"x","emptyDisk":{{}}}},{}]}})", volume)),
            "system:serviceaccount:n:of-volume");
  EXPECT_EQ(cloner(fmt::format(R"({{"serviceAccountName":"of-vm","volumes":[{}]}})", volume)),
            "system:serviceaccount:n:of-vm");
}

TEST(VmController, AdoptsDataVolumes) {  // VMC-13
  Scene scene;
  scene.vm(with_template).put(kinds::data_volume, data_volume(R"({"phase":"Succeeded"})"));
  EXPECT_EQ(effects_text(scene.pass()),
            "patch datavolumes, create controllerrevisions, create virtualmachineinstances");
}

TEST(VmController, DataVolumesCanWaitForTheStart) {
  const std::string later =
      merged(with_template, R"({"metadata":{"annotations":{"kubevirt.io/immediate-data-volume-creation":"false"}}})");
  Scene halted;
  halted.vm(merged(later, R"({"spec":{"runStrategy":"Halted"}})"));
  halted.pass();
  EXPECT_EQ(halted.last.find(Verb::create, kinds::data_volume), nullptr);
  Scene running;
  running.vm(later);
  EXPECT_EQ(effects_text(running.pass()), "create datavolumes");
}

TEST(VmController, DataSourcesAreResolved) {  // VMC-84b, VMC-85
  constexpr string_view from_source =
      R"({"spec":{"dataVolumeTemplates":[{"metadata":{"name":"dv"},"spec":{"sourceRef":{"kind":"DataSource","name":"s"},"storage":{}}}]}})";
  Scene scene;
  scene.vm(from_source)
      .put(kinds::data_source, R"({"metadata":{"name":"s","namespace":"n"},"spec":{"source":{"pvc":{"name":"p"}}}})");
  scene.pass();
  EXPECT_EQ(in(scene.last.find(Verb::create, kinds::data_volume), "/spec/source"),
            R"({"pvc":{"name":"p","namespace":"n"}})");
  EXPECT_EQ(in(scene.last.find(Verb::create, kinds::data_volume), "/spec/sourceRef"), "");
  Scene missing;
  missing.vm(from_source);
  EXPECT_THAT(conditions_of(missing.status_after()), HasSubstr("Failure=True/FailedCreate"));
}

// --- triggers --------------------------------------------------------------------------------------------------------

TEST(VmController, WhatConcernsAVm) {
  Scene scene;
  scene.vm(with_template).vmi();
  const Controller controller = vm_controller();
  const auto keys = [&](string_view resource, string_view text) {
    const json::Document object = testing::parsed(text);
    std::string names;
    for (const Trigger& trigger : controller.triggers)
      if (trigger.resource == resource)
        for (const Key& key :
             trigger.keys({.happened = Happened::added, .after = object.root().if_object()}, scene.world))
          names += key.name + " ";
    return names;
  };
  EXPECT_EQ(keys(kinds::vmi, testing::plain_vmi), "a ");
  EXPECT_EQ(keys(kinds::vmi, R"({"metadata":{"name":"b","namespace":"n"}})"), "b ");
  EXPECT_EQ(
      keys(
          kinds::vmi,
          R"({"metadata":{"name":"a","namespace":"n","ownerReferences":[{"kind":"VirtualMachineInstanceReplicaSet","name":"r","uid":"x","controller":true}]}})"),
      "");
  EXPECT_EQ(keys(kinds::claim, R"({"metadata":{"name":"dv","namespace":"n"}})"), "a ");
  EXPECT_EQ(keys(kinds::claim, R"({"metadata":{"name":"other","namespace":"n"}})"), "");
  EXPECT_EQ(keys(kinds::data_volume, R"({"metadata":{"name":"dv","namespace":"n"}})"), "a ");
}

}  // namespace
}  // namespace vg::controllers::vm
