#include "controllers/vm/status.h"

#include <gtest/gtest.h>

#include "controllers/vm/testing.h"

namespace vg::controllers::vm {
namespace {

using testing::conditions_of;
using testing::parsed;
using testing::Scene;

struct ConditionRow {
  string_view id;
  string_view before;  // conditions of the VM
  string_view vmi;     // conditions of the VMI; "-": there is no VMI
  Outcome outcome;
  string_view after;
};

RestartMark dropped() {
  RestartMark mark;
  mark.drop();
  return mark;
}
RestartMark wanted() {
  RestartMark mark;
  mark.set("why");
  return mark;
}

constexpr string_view restart = R"({"type":"RestartRequired","status":"True"})";
constexpr string_view recovery = R"({"type":"ManualRecoveryRequired","status":"True","reason":"r"})";

std::vector<ConditionRow> condition_rows() {
  const SoftError error{.reason = "HotPlugCPUError", .message = "busy"};
  return {
      {"VMC-144 set", "", "", {.restart = wanted()}, "RestartRequired=True/ Ready=False/VMIConditionMissing"},
      {"VMC-144 by a live update",
       "",
       "",
       {.restart = dropped(), .live_restart = wanted()},
       "RestartRequired=True/ Ready=False/VMIConditionMissing"},
      {"VMC-144 not by one that failed",
       restart,
       "",
       {.error = error, .restart = dropped(), .live_restart = wanted()},
       "Ready=False/VMIConditionMissing Failure=True/HotPlugCPUError"},
      {"VMC-144 removed", restart, "", {.restart = dropped()}, "Ready=False/VMIConditionMissing"},
      {"VMC-144 left alone", restart, "", {}, "RestartRequired=True/ Ready=False/VMIConditionMissing"},
      {"VMC-144 never mirrored", "", restart, {}, "Ready=False/VMIConditionMissing"},
      {"VMC-144 not the VMI's to end",
       restart,
       R"({"type":"RestartRequired","status":"False","reason":"r"})",
       {},
       "RestartRequired=True/ Ready=False/VMIConditionMissing"},
      {"VMC-145 stays without a VMI", recovery, "-", {}, "ManualRecoveryRequired=True/r Ready=False/VMINotExists"},
      {"VMC-145 goes with one", recovery, "", {}, "Ready=False/VMIConditionMissing"},
  };
}

TEST(VmStatus, Conditions) {
  for (const ConditionRow& row : condition_rows()) {
    auto status = parsed(fmt::format(R"({{"conditions":[{}]}})", row.before));
    const auto vmi = parsed(row.vmi == "-" ? "null" : fmt::format(R"({{"status":{{"conditions":[{}]}}}})", row.vmi));
    update_conditions(status.root().get_object(), vmi.root().if_object(), row.outcome, test_now);
    EXPECT_EQ(conditions_of(status.root()), row.after) << row.id;
  }
}

// VMC-144: whatever starts a VM takes the mark off; STOP is tested with VMC-66.
TEST(VmStatus, AStartTakesTheMarkOff) {
  Scene scene;
  scene.vm(R"({"status":{"conditions":[{"type":"RestartRequired","status":"True"}]}})");
  EXPECT_EQ(conditions_of(scene.status_after()), "Ready=False/VMIConditionMissing");
}

// VMC-145: VMC-108 sets it once the VMI is gone, and going back to the old volume (VMC-107) takes it off.
TEST(VmStatus, ManualRecoveryComesAndGoes) {
  const auto after = [](string_view claim, string_view vmi) {
    Scene scene;
    scene.vm(fmt::format(
        R"({{"spec":{{"runStrategy":"Halted","updateVolumesStrategy":"Migration","template":{{"spec":{{"volumes":[{{"name":"root","persistentVolumeClaim":{{"claimName":"{}"}}}}]}}}}}},
        "status":{{"volumeUpdateState":{{"volumeMigrationState":{{"migratedVolumes":[{{"volumeName":"root","sourcePVCInfo":{{"claimName":"src"}}}}]}}}},
        "conditions":[{{"type":"VolumesChange","status":"True"}}]}}}})",
        claim));
    if (!vmi.empty()) scene.vmi(vmi);
    return conditions_of(scene.status_after());
  };
  EXPECT_TRUE(after("dst", "").contains("ManualRecoveryRequired=True/"));
  EXPECT_FALSE(after("src", "").contains("ManualRecoveryRequired"));
  EXPECT_FALSE(
      after("dst", R"({"status":{"phase":"Failed"}})").contains("ManualRecoveryRequired"));  // spec vm-controller Q-05
}

}  // namespace
}  // namespace vg::controllers::vm
