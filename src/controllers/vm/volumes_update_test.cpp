#include "controllers/vm/volumes_update.h"

#include <gtest/gtest.h>

#include "controllers/vm/testing.h"

namespace vg::controllers::vm {
namespace {

using testing::conditions_of;
using testing::merged;
using testing::Scene;

constexpr string_view info = R"({"claimName":"src"})";

std::string volume(string_view claim) {
  return fmt::format(R"([{{"name":"root","persistentVolumeClaim":{{"claimName":"{}"}}}}])", claim);
}
std::string vm_with(string_view claim, string_view strategy = "Migration", string_view more = "{}") {
  return merged(
      fmt::format(
          R"({{"metadata":{{"generation":2}},"spec":{{"updateVolumesStrategy":"{}","template":{{"spec":{{"volumes":{}}}}}}}}})",
          strategy, volume(claim)),
      more);
}
std::string vmi_with(string_view claim, string_view more = "{}") {
  return merged(fmt::format(R"({{"spec":{{"volumes":{}}}}})", volume(claim)), more);
}
std::string claim(string_view name) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"n"}},"spec":{{"accessModes":["ReadWriteOnce"],"volumeMode":"Filesystem","resources":{{"requests":{{"storage":"1Gi"}}}}}},"status":{{"phase":"Bound","capacity":{{"storage":"1Gi"}}}}}})",
      name);
}

Scene scene_of(std::string vm, std::string vmi, bool with_destination = true) {
  Scene scene;
  scene.started_as(vm_with("src")).vm(vm).vmi(vmi).put(kinds::claim, claim("src"));
  if (with_destination) scene.put(kinds::claim, claim("dst"));
  return scene;
}

std::string vmi_at(Scene& scene, string_view pointer) {
  const json::Value whole(*scene.world.get(kinds::vmi, "n", "a"));
  const json::Value* found = json::resolve(whole, *json::Pointer::parse(pointer));
  return found ? json::to_text(*found) : "";
}

TEST(VolumesUpdate, MovesInTwoPasses) {
  Scene scene = scene_of(vm_with("dst"), vmi_with("src"));
  json::Value status = scene.status_after();  // VMC-105i: first what is to be moved
  EXPECT_EQ(vmi_at(scene, "/status/migratedVolumes/0/destinationPVCInfo/claimName"), R"("dst")");
  EXPECT_EQ(vmi_at(scene, "/status/migratedVolumes/0/sourcePVCInfo/accessModes"), R"(["ReadWriteOnce"])");
  EXPECT_EQ(vmi_at(scene, "/spec/volumes/0/persistentVolumeClaim/claimName"), R"("src")");
  EXPECT_EQ(json::to_text(
                status.at("volumeUpdateState").at("volumeMigrationState").at("migratedVolumes").at(0).at("volumeName")),
            R"("root")");  // VMC-105j
  scene.status_after();
  EXPECT_EQ(vmi_at(scene, "/spec/volumes/0/persistentVolumeClaim/claimName"), R"("dst")");
}

TEST(VolumesUpdate, OnlyWithTheStrategy) {  // VMC-105c
  Scene scene = scene_of(vm_with("dst", "Replacement"), vmi_with("src"));
  EXPECT_TRUE(conditions_of(scene.status_after()).contains("RestartRequired=True/"));
  EXPECT_EQ(vmi_at(scene, "/status/migratedVolumes"), "");
}

TEST(VolumesUpdate, NothingChangedIsNothingToDo) {  // VMC-105d
  Scene scene = scene_of(
      vm_with("src"),
      vmi_with(
          "src",
          R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"VolumesChange","status":"False"},{"type":"StorageLiveMigratable","status":"False"}]}})"));
  const json::Value status = scene.status_after();
  EXPECT_FALSE(conditions_of(status).contains("RestartRequired"));
  EXPECT_FALSE(json::find(status, "volumeUpdateState"));
  EXPECT_EQ(scene.last.find(Verb::patch, kinds::vmi) ? vmi_at(scene, "/status/migratedVolumes") : "", "");
  EXPECT_TRUE(vmi_at(scene, "/status/conditions").contains("VolumesChange"));
}

TEST(VolumesUpdate, AnUnknownStrategyIsAnError) {  // VMC-105c, before VMC-105d
  for (const string_view claim_now : {"src", "dst"}) {
    Scene scene = scene_of(vm_with(claim_now), vmi_with("src"));
    scene.vm(vm_with("src", "Other"));
    EXPECT_TRUE(conditions_of(scene.status_after()).contains("Failure=True/VolumesUpdateError")) << claim_now;
  }
}

TEST(VolumesUpdate, WaitsForTheDestination) {  // VMC-105e
  Scene scene = scene_of(vm_with("dst"), vmi_with("src"), false);
  EXPECT_TRUE(conditions_of(scene.status_after()).contains("VolumesChange=False/"));
  EXPECT_FALSE(scene.last.pass.try_again);
  scene.put(kinds::claim, claim("dst"));
  scene.status_after();  // VMC-105g
  EXPECT_FALSE(vmi_at(scene, "/status/conditions").contains("VolumesChange"));
}

TEST(VolumesUpdate, WhatCannotMoveNeedsARestart) {
  const string_view shareable =
      R"({"spec":{"template":{"spec":{"domain":{"devices":{"disks":[{"name":"root","disk":{},"shareable":true}]}}}}}})";
  Scene offender;  // VMC-105f
  offender.started_as(vm_with("src", "Migration", shareable))
      .vm(vm_with("dst", "Migration", shareable))
      .vmi(vmi_with("src"))
      .put(kinds::claim, claim("src"))
      .put(kinds::claim, claim("dst"));
  EXPECT_TRUE(conditions_of(offender.status_after()).contains("RestartRequired=True/"));
  Scene stuck = scene_of(
      vm_with("dst"),
      vmi_with(
          "src",
          R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"StorageLiveMigratable","status":"False"}]}})"));
  EXPECT_TRUE(conditions_of(stuck.status_after()).contains("RestartRequired=True/"));  // VMC-105h
  Scene other = scene_of(
      vm_with("dst"),
      vmi_with(
          "src",
          R"({"status":{"volumeStatus":[{"name":"data","target":"","persistentVolumeClaimInfo":{"accessModes":["ReadWriteOnce"]}}]}})"));
  EXPECT_TRUE(conditions_of(other.status_after()).contains("RestartRequired=True/"));  // VMC-105h
}

constexpr string_view moving =
    R"({"status":{"migratedVolumes":[{"volumeName":"root","sourcePVCInfo":{"claimName":"src"},"destinationPVCInfo":{"claimName":"dst"}}],"conditions":[{"type":"Ready","status":"True"},{"type":"VolumesChange","status":"True"}]}})";

TEST(VolumesUpdate, IsCancelledByGoingBack) {  // VMC-105b
  Scene scene = scene_of(vm_with("src"), vmi_with("dst", moving));
  scene.status_after();
  EXPECT_EQ(vmi_at(scene, "/spec/volumes/0/persistentVolumeClaim/claimName"), R"("src")");
  EXPECT_EQ(vmi_at(scene, "/status/migratedVolumes"), "");
  EXPECT_TRUE(vmi_at(scene, "/status/conditions").contains("VolumesChangeCancellation"));
}

TEST(VolumesUpdate, CannotGoElsewhereMeanwhile) {  // VMC-105b
  Scene scene = scene_of(vm_with("other"), vmi_with("dst", moving));
  EXPECT_TRUE(conditions_of(scene.status_after()).contains("Failure=True/VolumesUpdateError"));
  EXPECT_EQ(vmi_at(scene, "/spec/volumes/0/persistentVolumeClaim/claimName"), R"("dst")");
}

struct After {
  std::string status, conditions;
};
After migration_state(string_view at, string_view strategy, string_view vmi, string_view conditions) {
  const auto vm = testing::parsed(vm_with(at, strategy));
  auto status = testing::parsed(fmt::format(
      R"({{"volumeUpdateState":{{"volumeMigrationState":{{"migratedVolumes":[{{"volumeName":"root","sourcePVCInfo":{}}}]}}}},"conditions":[{}]}})",
      info, conditions));
  const auto running = testing::parsed(vmi);
  update_volume_migration(status.root().get_object(), vm.root().get_object(), running.root().if_object());
  return {.status = json::find(status.root(), "volumeUpdateState") ? "there" : "gone",
          .conditions = conditions_of(status.root())};
}

TEST(VolumesUpdate, StateOfTheVm) {
  constexpr string_view changing = R"({"type":"VolumesChange","status":"True"})";
  const After back = migration_state("src", "Migration", "null", changing);
  EXPECT_EQ(back.status + back.conditions, "gone");  // VMC-107
  const After replaced = migration_state("dst", "Replacement", "null", changing);
  EXPECT_EQ(replaced.status + replaced.conditions, "gone");  // VMC-107
  const After lost = migration_state("dst", "Migration", "null", changing);
  EXPECT_EQ(lost.conditions,
            "VolumesChange=True/ ManualRecoveryRequired=True/VMI was removed or was final during the volume migration");
  const After done = migration_state("dst", "Migration", "null", "");  // VMC-108
  EXPECT_EQ(done.status + done.conditions, "there");
  const After cancelled = migration_state(
      "dst", "Migration",
      R"({"status":{"phase":"Running","conditions":[{"type":"VolumesChange","status":"False","reason":"VolumesChangeCancellation"}]}})",
      "");
  EXPECT_EQ(cancelled.status, "gone");  // VMC-109
}

}  // namespace
}  // namespace vg::controllers::vm
