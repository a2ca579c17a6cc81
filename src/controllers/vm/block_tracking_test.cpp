#include "controllers/vm/block_tracking.h"

#include <gtest/gtest.h>

#include "controllers/vm/testing.h"

namespace vg::controllers::vm {
namespace {

constexpr string_view off = "IncrementalBackupFeatureGateDisabled";

TEST(BlockTracking, FollowsTheTable) {
  struct Row {
    string_view id;
    Tracking tracking;
    string_view state;
  };
  const Row rows[] = {
      {"VMC-180", {.gate = false, .selected = false, .vm_state = off}, off},
      {"VMC-181", {.gate = false, .selected = true}, off},
      {"VMC-181", {.gate = false, .selected = false, .vm_state = "Enabled"}, ""},
      {"VMC-181", {.gate = false, .vm_state = "Enabled", .has_vmi = true, .vmi_state = "Disabled"}, ""},
      {"VMC-182", {.gate = false, .vm_state = "Enabled", .has_vmi = true, .vmi_state = "Enabled"}, "PendingRestart"},
      {"VMC-183", {.gate = true, .selected = true, .vm_state = "Enabled"}, "Enabled"},
      {"VMC-183", {.gate = true, .selected = true, .vm_state = "Disabled"}, "Initializing"},
      {"VMC-184", {.gate = true, .selected = true, .has_vmi = true}, "PendingRestart"},
      {"VMC-184", {.gate = true, .selected = true, .vm_state = off, .has_vmi = true}, "PendingRestart"},
      {"VMC-185",
       {.gate = true, .selected = true, .vm_state = "PendingRestart", .has_vmi = true, .vmi_state = "Initializing"},
       "Initializing"},
      {"VMC-185", {.gate = true, .selected = true, .vm_state = "Disabled", .has_vmi = true}, "PendingRestart"},
      {"VMC-186",
       {.gate = true, .selected = true, .vm_state = "Initializing", .has_vmi = true, .vmi_state = "Enabled"},
       "Enabled"},
      {"VMC-186", {.gate = true, .selected = true, .vm_state = "Enabled", .has_vmi = true}, "Initializing"},
      {"VMC-187", {.gate = true, .selected = false}, ""},
      {"VMC-187", {.gate = true, .selected = false, .vm_state = "Disabled"}, "Disabled"},
      {"VMC-187", {.gate = true, .selected = false, .vm_state = "Enabled"}, "Disabled"},
      {"VMC-187",
       {.gate = true, .selected = false, .vm_state = "Enabled", .has_vmi = true, .vmi_state = "Enabled"},
       "PendingRestart"},
  };
  for (const Row& row : rows) EXPECT_EQ(tracking_state(row.tracking), row.state) << row.id << row.tracking.vm_state;
}

TEST(BlockTracking, AVmiBegins) {
  EXPECT_EQ(first_tracking_state(false, true, ""), "");
  EXPECT_EQ(first_tracking_state(true, true, ""), "Initializing");
  EXPECT_EQ(first_tracking_state(true, false, "Enabled"), "Disabled");
  EXPECT_EQ(first_tracking_state(true, false, ""), "");
}

TEST(BlockTracking, IsChosenByLabels) {
  testing::Scene scene;
  scene.configure(
      R"({"changedBlockTrackingLabelSelectors":{"virtualMachineLabelSelector":{"matchLabels":{"a":"1"}},"namespaceLabelSelector":{"matchLabels":{"b":"1"}}}})");
  json::Document memory;
  const Key key{.ns = "n", .name = "a"};
  const Turn turn{.world = scene.world,
                  .key = key,
                  .config = scene.world.config(),
                  .now = test_now,
                  .random = 0,
                  .storage = memory.storage()};
  const auto chosen = [&](string_view labels) {
    const auto vm = testing::parsed(fmt::format(R"({{"metadata":{{"namespace":"n","labels":{}}}}})", labels));
    return is_tracking_selected(turn, vm.root().get_object());
  };
  EXPECT_TRUE(chosen(R"({"a":"1"})"));
  EXPECT_FALSE(chosen(R"({"a":"2"})"));
  scene.put(kinds::ns, R"({"metadata":{"name":"n","labels":{"b":"1"}}})");
  EXPECT_TRUE(chosen(R"({"a":"2"})"));
}

}  // namespace
}  // namespace vg::controllers::vm
