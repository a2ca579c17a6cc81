#include "controllers/vm/printable_status.h"

#include <gtest/gtest.h>

#include "controllers/vm/testing.h"

namespace vg::controllers::vm {
namespace {

using testing::parsed;

struct Row {
  string_view id, value, vm, vmi;
};

constexpr string_view gone = "null";
constexpr string_view with_volume =
    R"({"metadata":{"namespace":"n"},"spec":{"runStrategy":"Always","template":{"spec":{"volumes":[{"name":"v","dataVolume":{"name":"dv"}}]}}}})";
constexpr string_view looping =
    R"({"spec":{"runStrategy":"Always"},"status":{"startFailure":{"consecutiveFailCount":1}}})";

constexpr Row rows[] = {
    {"VMC-150", "Terminating", R"({"metadata":{"deletionTimestamp":"x"}})", R"({"status":{"phase":"Running"}})"},
    {"VMC-151", "Stopping", "{}", R"({"metadata":{"deletionTimestamp":"x"},"status":{"phase":"Running"}})"},
    {"VMC-151", "Stopping", "{}", R"({"metadata":{"deletionTimestamp":"x"},"status":{"phase":"Pending"}})"},
    {"VMC-164", "Stopped", "{}", R"({"metadata":{"deletionTimestamp":"x"},"status":{"phase":"Succeeded"}})"},
    {"VMC-152", "Migrating", "{}",
     R"({"status":{"phase":"Running","migrationState":{"startTimestamp":"2026-01-02T03:04:05Z"}}})"},
    {"VMC-154", "Running", "{}",
     R"({"status":{"phase":"Running","migrationState":{"startTimestamp":"2026-01-02T03:04:00Z","endTimestamp":"2026-01-02T03:04:05Z"}}})"},
    {"VMC-154", "Running", "{}",
     R"({"status":{"phase":"Running","migrationState":{"startTimestamp":"2026-01-02T03:04:06Z"}}})"},
    {"VMC-153", "Paused", "{}", R"({"status":{"phase":"Running","conditions":[{"type":"Paused","status":"True"}]}})"},
    {"VMC-154", "Running", "{}", R"({"status":{"phase":"Running"}})"},
    {"VMC-155", "ErrorPvcNotFound", "{}",
     R"({"status":{"phase":"Pending","conditions":[{"type":"Synchronized","status":"False","reason":"FailedPvcNotFound"}]}})"},
    {"VMC-157", "ErrorUnschedulable", "{}",
     R"({"status":{"phase":"Scheduling","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}})"},
    {"VMC-160", "ErrImagePull", "{}",
     R"({"status":{"phase":"Scheduling","conditions":[{"type":"Synchronized","status":"False","reason":"ErrImagePull"}]}})"},
    {"VMC-161", "ImagePullBackOff", "{}",
     R"({"status":{"phase":"Scheduling","conditions":[{"type":"Synchronized","status":"False","reason":"ImagePullBackOff"}]}})"},
    {"VMC-162", "Starting", "{}", R"({"status":{}})"},
    {"VMC-162", "Starting", "{}", R"({"status":{"phase":"Scheduled"}})"},
    {"VMC-163", "CrashLoopBackOff", looping, gone},
    {"VMC-163", "CrashLoopBackOff", looping, R"({"status":{"phase":"Failed"}})"},
    {"VMC-162", "Starting", looping, R"({"status":{"phase":"Pending"}})"},
    {"VMC-164", "Stopped", R"({"spec":{"runStrategy":"Manual"},"status":{"startFailure":{"consecutiveFailCount":1}}})",
     gone},
    {"VMC-164", "Stopped", "{}", gone},
    {"VMC-164", "Stopped", R"({"spec":{"runStrategy":"WaitAsReceiver"}})", gone},
    {"VMC-165", "WaitingForReceiver", R"({"spec":{"runStrategy":"WaitAsReceiver"}})",
     R"({"status":{"phase":"WaitingForSync"}})"},
    {"VMC-166", "Unknown", "{}", R"({"status":{"phase":"Unknown"}})"},
};

string_view shown(const TestWorld& world, const json::Document& vm, const json::Document& vmi) {
  static const Object none;
  const Object* status = status_of(vm.root().get_object());
  return printable_status({.world = world,
                           .vm = vm.root().get_object(),
                           .status = status ? *status : none,
                           .vmi = vmi.root().if_object(),
                           .now = test_now});
}

TEST(PrintableStatus, FollowsTheTable) {
  for (const Row& row : rows) {
    const auto vm = parsed(row.vm), vmi = parsed(row.vmi);
    EXPECT_EQ(shown(TestWorld(), vm, vmi), row.value) << row.id << row.vm << row.vmi;
  }
}

TEST(PrintableStatus, LooksAtVolumes) {
  struct Case {
    string_view id, value, data_volume, claim_phase;
  };
  constexpr Case cases[] = {
      {"VMC-156", "DataVolumeError", R"({"phase":"Failed"})", "Bound"},
      {"VMC-156", "DataVolumeError",
       R"({"phase":"ImportInProgress","conditions":[{"type":"Running","status":"False","reason":"ImagePullFailed"}]})",
       "Bound"},
      {"VMC-158", "Provisioning", R"({"phase":"ImportInProgress"})", "Bound"},
      {"VMC-158", "Provisioning", R"({"phase":"WaitForFirstConsumer","conditions":[{"type":"Bound","status":"True"}]})",
       "Pending"},
      {"VMC-159", "WaitingForVolumeBinding", R"({"phase":"WaitForFirstConsumer"})", "Pending"},
      {"VMC-159", "WaitingForVolumeBinding", R"({"phase":"Succeeded"})", "Pending"},
      {"VMC-164", "Stopped", R"({"phase":"Succeeded"})", "Bound"},
  };
  const auto vm = parsed(with_volume), none = parsed(gone);
  for (const Case& row : cases) {
    TestWorld world;
    world.put(kinds::data_volume,
              fmt::format(R"({{"metadata":{{"name":"dv","namespace":"n"}},"status":{}}})", row.data_volume));
    world.put(kinds::claim, fmt::format(R"({{"metadata":{{"name":"dv","namespace":"n"}},"status":{{"phase":"{}"}}}})",
                                        row.claim_phase));
    EXPECT_EQ(shown(world, vm, none), row.value) << row.id << row.data_volume;
  }
}

TEST(PrintableStatus, OnlyAWantedVmWaitsForItsClaims) {
  struct Case {
    string_view strategy, vmi, status, value;
  };
  constexpr Case cases[] = {
      {"Always", gone, "{}", "WaitingForVolumeBinding"},
      {"Halted", gone, "{}", "Stopped"},
      {"Manual", gone, "{}", "Stopped"},
      {"Manual", gone, R"({"stateChangeRequests":[{"action":"Start"}]})", "WaitingForVolumeBinding"},
      {"Manual", R"({"metadata":{"uid":"1"},"status":{"phase":"Pending"}})", "{}", "WaitingForVolumeBinding"},
      {"Manual", R"({"metadata":{"uid":"1"},"status":{"phase":"Pending"}})",
       R"({"stateChangeRequests":[{"action":"Stop","uid":"1"}]})", "Starting"},
      {"RerunOnFailure", gone, "{}", "WaitingForVolumeBinding"},  // spec vm-controller Q-17
      {"RerunOnFailure", R"({"status":{"phase":"Succeeded"}})", "{}", "Stopped"},
      {"Once", gone, "{}", "WaitingForVolumeBinding"},
      {"Once", R"({"status":{"phase":"Pending"}})", "{}", "Starting"},
  };
  TestWorld world;
  world.put(kinds::claim, string_view(R"({"metadata":{"name":"c","namespace":"n"},"status":{"phase":"Pending"}})"));
  for (const Case& row : cases) {
    const auto vm = parsed(fmt::format(
        R"({{"metadata":{{"namespace":"n"}},"spec":{{"runStrategy":"{}","template":{{"spec":{{"volumes":[{{"name":"v","persistentVolumeClaim":{{"claimName":"c"}}}}]}}}}}},"status":{}}})",
        row.strategy, row.status));
    EXPECT_EQ(shown(world, vm, parsed(row.vmi)), row.value) << row.strategy << row.vmi << row.status;
  }
}

}  // namespace
}  // namespace vg::controllers::vm
