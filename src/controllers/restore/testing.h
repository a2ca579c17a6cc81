// For tests of restores: a stopped VM, its snapshot, and a restore that wants it back.
#pragma once

#include <string>
#include <string_view>

#include "controllers/copies/testing.h"
#include "controllers/restore/restore.h"

namespace vg::controllers::restore::testing {

using namespace copies::testing;  // NOLINT: the scene of these tests

inline constexpr std::string_view wanted =
    R"({"apiVersion":"snapshot.kubevirt.io/v1beta1","kind":"VirtualMachineRestore","metadata":{"name":"r",
    "namespace":"n","uid":"r-uid","creationTimestamp":"2026-01-02T03:04:00Z"},
    "spec":{"target":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"a"},"virtualMachineSnapshotName":"s"}})";
inline constexpr std::string_view ready_snapshot =
    R"({"metadata":{"name":"s","namespace":"n","uid":"s-uid"},"spec":{"source":{"kind":"VirtualMachine","name":"a"}},
    "status":{"phase":"Succeeded","readyToUse":true,"sourceUID":"vm-uid","virtualMachineSnapshotContentName":"k"}})";

inline std::string content_of(std::string_view vm, std::string_view claim = bound_claim) {
  return fmt::format(
      R"({{"metadata":{{"name":"k","namespace":"n"}},"spec":{{"virtualMachineSnapshotName":"s","source":{{
      "virtualMachine":{}}},"volumeBackups":[{{"volumeName":"d","volumeSnapshotName":"v","persistentVolumeClaim":{}}}]
      }},"status":{{"readyToUse":true}}}})",
      vm, claim);
}

inline Stage stage(std::string_view restore = wanted, std::string_view vm = stopped_vm) {
  Stage made;
  made.put(kinds::vm, vm).put(kinds::claim, bound_claim).put(kinds::snapshot, ready_snapshot);
  made.put(kinds::snapshot_content, content_of(vm)).put(kinds::restore, restore);
  made.world.fake_disks.records["n.v"] = {.virtual_size = 1 << 30, .ready = true};
  return made;
}

inline Stage elsewhere(std::string_view more = "{}") {
  return stage(merged(merged(wanted, R"({"spec":{"target":{"name":"b"}}})"), more));
}

inline void settle(Stage& stage) { stage.settle({restore_controller()}); }

inline void bind_claim(Stage& stage, std::string_view claim) {
  const json::Object* there = stage.get(kinds::claim, claim);
  ASSERT_TRUE(there) << claim;
  stage.put(kinds::claim, merged(json::to_text(json::Value(*there)), R"({"status":{"phase":"Bound"}})"));
}

inline std::string progress(const Stage& stage) { return stage.condition(kinds::restore, "r", "Progressing"); }
inline std::string at(const Stage& stage, std::string_view pointer) { return stage.text(kinds::restore, "r", pointer); }

}  // namespace vg::controllers::restore::testing
