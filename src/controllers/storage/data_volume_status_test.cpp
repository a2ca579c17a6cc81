// The tables of spec storage 4.1 and 4.5, on the function that makes the status.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/common/conditions.h"
#include "controllers/storage/data_volume.h"
#include "controllers/storage/names.h"
#include "controllers/storage/storage_testing.h"

namespace vg::controllers::storage {
namespace {

constexpr std::string_view no_claim = "";

struct Given {
  std::string_view before = "";  // the phase until now
  std::string_view dv_marks = "{}";
  std::string claim = std::string(no_claim);
  Asked asked = {};
};

// A claim "a" with these annotations, of this phase.
std::string claim_with(std::string_view marks, std::string_view phase, std::string_view more = R"("x":"")") {
  return fmt::format(
      R"({{"metadata":{{"name":"a","namespace":"ns","uid":"u","annotations":{{"cdi.kubevirt.io/createdForDataVolume":"d"{}{}}},{}}},"status":{{"phase":"{}"}}}})",
      marks.empty() ? "" : ",", marks, more, phase);
}

constexpr std::string_view blank_import =
    R"("cdi.kubevirt.io/storage.import.source":"none","cdi.kubevirt.io/storage.import.importPodName":"p")";

std::string import_in(std::string_view pod_phase, std::string_view more = "") {
  return fmt::format(R"({},"cdi.kubevirt.io/storage.pod.phase":"{}"{})", blank_import, pod_phase, more);
}

std::string running_marks(std::string_view status, std::string_view reason, std::string_view message) {
  return fmt::format(
      R"(,"cdi.kubevirt.io/storage.condition.running":"{}","cdi.kubevirt.io/storage.condition.running.reason":"{}","cdi.kubevirt.io/storage.condition.running.message":"{}")",
      status, reason, message);
}

// The status that follows.
json::Value status_after(const Given& given) {
  StorageWorld world;
  data_volume(world, blank_spec, given.dv_marks, fmt::format(R"({{"phase":"{}"}})", given.before));
  if (given.claim != no_claim) world.put(kinds::claim, given.claim);
  json::Document memory;
  const TestWorld& inside = world;
  const Turn turn{.world = inside,
                  .key = test_key,
                  .config = inside.config(),
                  .now = test_now,
                  .random = 7,
                  .storage = memory.storage()};
  const json::Value made =
      data_volume_status(turn, world.stored(kinds::data_volume), world.get(kinds::claim, "ns", "a"), given.asked);
  return json::Value(made, json::StoragePtr());  // in memory of its own
}

TEST(DataVolumeStatus, ThePhaseIsThatOfTheFirstRowThatMatches) {
  struct Row {
    const char* id;
    Given given;
    const char* phase;
  };
  const std::string populated = R"("cdi.kubevirt.io/storage.populatedFor":"a")";
  const std::string deleted = R"("deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["f"])";
  const std::string prepopulated = R"({"cdi.kubevirt.io/storage.prePopulated":"a"})";
  const Row rows[] = {
      {"DV-60", {.before = "", .asked = {.reason = "ErrExceededQuota", .message = "m", .phase = "Pending"}}, "Pending"},
      {"DV-60", {.before = "ImportScheduled", .asked = {.phase = "CloneScheduled"}}, "CloneScheduled"},
      {"DV-60, before what the claim says",
       {.claim = claim_with("", "Bound"), .asked = {.phase = "Pending"}},
       "Pending"},
      {"DV-60, DV-39", {.before = "", .asked = {.reason = "ErrClaimNotValid", .message = "m"}}, ""},
      {"DV-61", {.before = ""}, "Pending"},
      {"DV-61", {.before = "Succeeded", .dv_marks = prepopulated}, "Pending"},
      {"DV-62", {.before = "Succeeded"}, "Succeeded"},
      {"DV-62", {.before = "ImportInProgress"}, "ImportInProgress"},
      {"DV-62", {.before = "Succeeded", .claim = claim_with(import_in("Running"), "Bound", deleted)}, "Succeeded"},
      {"DV-63", {.claim = claim_with(populated, "Pending")}, "Succeeded"},
      {"DV-63", {.claim = claim_with(populated, "Bound")}, "Succeeded"},
      {"DV-63", {.claim = claim_with(populated, "Lost")}, "Failed"},
      {"DV-64, before DV-65", {.claim = claim_with(import_in("Succeeded"), "Pending")}, "Succeeded"},
      {"DV-64",
       {.claim =
            claim_with(R"("cdi.kubevirt.io/storage.upload.target":"","cdi.kubevirt.io/storage.pod.phase":"Succeeded")",
                       "Pending")},
       "Succeeded"},
      {"DV-65", {.claim = claim_with(import_in("Running"), "Pending")}, "Pending"},
      {"DV-66", {.before = "Unknown", .claim = claim_with("", "Bound")}, "PVCBound"},
      {"DV-66", {.before = "WaitForFirstConsumer", .claim = claim_with("", "Bound")}, "PVCBound"},
      {"DV-66", {.before = "ImportScheduled", .claim = claim_with("", "Bound")}, "ImportScheduled"},
      {"DV-67", {.before = "Succeeded", .claim = claim_with("", "Lost")}, "Failed"},
      {"DV-67", {.before = "Pending", .claim = claim_with("", "Strange")}, "Unknown"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    const json::Value status = status_after(row.given);
    EXPECT_EQ(json::get_string_or(status, "phase"), row.phase);
  }
}

TEST(DataVolumeStatus, ConditionsFollowTheClaimAndItsJob) {
  struct Row {
    const char* id;
    Given given;
    const char* type;
    const char* expected;  // status, reason and message
  };
  const std::string why =
      R"("cdi.kubevirt.io/storage.condition.bound":"false","cdi.kubevirt.io/storage.condition.bound.reason":"ProvisioningFailed","cdi.kubevirt.io/storage.condition.bound.message":"no room")";
  const auto job = [](std::string_view status, std::string_view reason, std::string_view message,
                      std::string_view pod = "Running") {
    return Given{.claim = claim_with(import_in(pod, running_marks(status, reason, message)), "Bound")};
  };
  const Asked refused{.reason = "ErrClaimNotValid", .message = "no class"};
  const Row rows[] = {
      {"DV-70", {.claim = claim_with("", "Bound")}, "Bound", "True|Bound|PVC a Bound"},
      {"DV-70", {.claim = claim_with("", "Pending")}, "Bound", "False|Pending|PVC a Pending"},
      {"DV-70",
       {.claim = claim_with(why, "Pending")},
       "Bound",
       "False|ProvisioningFailed|target PVC a Pending and no room"},
      {"DV-70, bound since", {.claim = claim_with(why, "Bound")}, "Bound", "True|Bound|PVC a Bound"},
      {"DV-70", {.claim = claim_with("", "Lost")}, "Bound", "False|ClaimLost|PVC a is lost"},
      {"DV-70", {.asked = refused}, "Bound", "False|ErrClaimNotValid|no class"},
      {"DV-70", {}, "Bound", "False|NotFound|No PVC found"},
      {"DV-71", {.claim = claim_with(import_in("Succeeded"), "Bound")}, "Ready", "True||"},
      {"DV-71", {.claim = claim_with("", "Strange")}, "Ready", "Unknown||"},
      {"DV-71", {.claim = claim_with("", "Bound")}, "Ready", "False||"},
      {"DV-71", {.asked = refused}, "Ready", "False|ErrClaimNotValid|no class"},
      {"DV-71", job("true", "Pod is running", ""), "Ready", "False|TransferRunning|"},
      {"DV-72", job("false", "ContainerCreating", "", "Pending"), "Running", "False|ContainerCreating|"},
      {"DV-72, no job", {.claim = claim_with("", "Bound")}, "Running", "False||"},
      {"DV-72, no claim", {}, "Running", "False||"},
      {"DV-73", job("true", "Pod is running", ""), "Running", "True|Pod is running|"},
      {"DV-74", job("false", "Completed", "Import Complete", "Succeeded"), "Running",
       "False|Completed|Import Complete"},
      {"DV-75", job("false", "Error", "got 404"), "Running", "False|Error|got 404"},
      {"DV-75", job("false", "ImagePullFailed", "failed to pull image x"), "Running",
       "False|ImagePullFailed|failed to pull image x"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    const json::Value status = status_after(row.given);
    const json::Object* found = find_condition(&status.get_object(), row.type);
    ASSERT_TRUE(found);
    EXPECT_EQ(fmt::format("{}|{}|{}", json::get_string_or(*found, "status"), json::get_string_or(*found, "reason"),
                          json::get_string_or(*found, "message")),
              row.expected);
  }
}

TEST(DataVolumeStatus, EventsFollowChangesOfConditions) {
  struct Row {
    const char* id;
    const char* before;    // of Bound: status, reason, message; empty: none
    std::string_view ran;  // the message of Running until now
    Given after;
    std::vector<std::string> events;
  };
  const Given failed{.before = "ImportInProgress",
                     .claim = claim_with(import_in("Running", running_marks("false", "Error", "got 404")), "Bound")};
  const Given runs{.before = "ImportInProgress",
                   .claim = claim_with(import_in("Running", running_marks("true", "Pod is running", "x")), "Bound")};
  const Given pending{.before = "Pending", .claim = claim_with("", "Pending")};
  const char *bound = R"("status":"True","reason":"Bound","message":"PVC a Bound")",
             *waits = R"("status":"False","reason":"Pending","message":"PVC a Pending")",
             *waits_otherwise = R"("status":"False","reason":"Pending","message":"other words")";
  const Row rows[] = {
      {"DV-77", "", "", pending, {"Pending Normal"}},
      {"DV-77, no change", waits, "", pending, {}},
      {"DV-77, another message", waits_otherwise, "", pending, {"Pending Normal"}},
      {"DV-77, another reason", waits, "", failed, {"Bound Normal", "Error Warning"}},
      {"DV-77, of no claim",
       waits,
       "",
       {.before = "", .asked = {.reason = "CloneWithoutSource", .message = "m"}},
       {"CloneWithoutSource Normal"}},
      {"DV-77, a failure that is new", bound, "", failed, {"Error Warning"}},
      {"DV-77, a failure that was told", bound, "got 404", failed, {}},
      {"DV-77, it runs", bound, "", runs, {}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    StorageWorld world;
    data_volume(world, blank_spec, "{}",
                fmt::format(R"({{"phase":"{}","conditions":[{}{{"type":"Running","status":"False","message":"{}"}}]}})",
                            row.after.before, *row.before ? fmt::format(R"({{"type":"Bound",{}}},)", row.before) : "",
                            row.ran));
    const json::Value status = status_after(row.after);
    if (row.after.claim != no_claim) world.put(kinds::claim, row.after.claim);
    TestPass made;
    tell_changes(made.pass, world.stored(kinds::data_volume), status.get_object(), world.get(kinds::claim, "ns", "a"));
    EXPECT_EQ(made.events(), row.events);
  }
}

}  // namespace
}  // namespace vg::controllers::storage
