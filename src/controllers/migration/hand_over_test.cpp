#include "controllers/migration/hand_over.h"

#include <gtest/gtest.h>

#include "controllers/migration/testing.h"
#include "json/write.h"

namespace vg::controllers::migration::testing {
namespace {

// The JSON text at a place of an object.
std::string text_at(const json::Object& object, const std::vector<std::string_view>& path) {
  const json::Object* at = &object;
  for (const std::string_view member : std::span(path).first(path.size() - 1))
    if (!(at = json::get_object(*at, member))) return "(none)";
  const json::Value* found = json::find(*at, path.back());
  return found ? json::to_text(*found) : "(none)";
}

std::string labelled(std::string_view name) {
  std::string text = node(name);
  return text.insert(text.find(R"("kubernetes.io/arch")"), R"("kubevirt.io/cpumanager":"true",)");
}

class HandOverTest : public MigrationTest {
 protected:
  HandOverTest() { world.put(kinds::node, labelled("node1")).put(kinds::node, labelled("node2")); }
  std::string quoted(std::string_view text) { return fmt::format("\"{}\"", text); }
};

// 2.7, row by row: what the VMI shows once it was handed over.
TEST_F(HandOverTest, WhatTheNodesAreTold) {
  struct Row {
    std::string_view id, given;  // a merge patch on the VMI
    std::vector<std::string_view> path;
    std::string expected;
  };
  constexpr std::string_view former =
      R"({"status":{"migrationState":{"migrationUid":"old","failed":true,"completed":true,
      "failureReason":"x","mode":"PostCopy","endTimestamp":"2026-01-02T03:00:00Z","abortRequested":true}}})";
  constexpr std::string_view more_memory = R"({"status":{"conditions":[{"type":"HotMemoryChange","status":"True"}]}})";
  constexpr std::string_view more_cpus = R"({"status":{"conditions":[{"type":"HotVCPUChange","status":"True"}]},
      "spec":{"domain":{"cpu":{"cores":3,"dedicatedCpuPlacement":true}}}})";
  constexpr std::string_view shared_cpus = R"({"status":{"conditions":[{"type":"HotVCPUChange","status":"True"}]}})";
  constexpr std::string_view cpu_label = "kubevirt.io/vmi-pod-cpu-resource-limits";
  constexpr std::string_view memory_label = "kubevirt.io/vmi-pod-memory-resource-requests";
  const auto moving = [](std::string_view member) {
    return std::vector<std::string_view>{"status", "migrationState", member};
  };
  const auto label = [](std::string_view name) { return std::vector<std::string_view>{"metadata", "labels", name}; };
  const Row rows[] = {
      {"MIG-H02", former, moving("migrationUid"), quoted(uid_of("v"))},
      {"MIG-H02", former, moving("failed"), "(none)"},
      {"MIG-H02", former, moving("completed"), "(none)"},
      {"MIG-H02", former, moving("endTimestamp"), "(none)"},
      {"MIG-H02", former, moving("failureReason"), "(none)"},
      {"MIG-H02", former, moving("abortRequested"), "(none)"},
      {"MIG-H02", former, moving("mode"), "(none)"},
      {"MIG-H03", "{}", moving("migrationUid"), quoted(uid_of("v"))},
      {"MIG-H03", "{}", moving("targetNode"), R"("node2")"},
      {"MIG-H03", "{}", moving("targetPod"), quoted(placement_name("v", target_of("v")))},
      {"MIG-H03", "{}", moving("sourceNode"), R"("node1")"},
      {"MIG-H03", "{}", moving("sourcePod"), quoted(placement_name("v", "first-v"))},
      {"MIG-H03", "{}", moving("targetMemoryOverhead"), R"("268Mi")"},
      {"MIG-H04", "{}", {"status", "migrationState", "migrationConfiguration", "completionTimeoutPerGiB"}, "150"},
      {"MIG-H04", "{}", moving("migrationPolicyName"), "(none)"},
      {"MIG-H05", "{}", label("kubevirt.io/migrationTargetNodeName"), R"("node2")"},
      {"MIG-H06", "{}", label(cpu_label), "(none)"},
      {"MIG-H06", shared_cpus, label(cpu_label), "(none)"},
      {"MIG-H06", more_cpus, label(cpu_label), R"("3")"},
      {"MIG-H07", "{}", label(memory_label), "(none)"},
      {"MIG-H07", more_memory, label(memory_label), R"("396Mi")"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.id, row.path.back()));
    world.put(kinds::vmi, vmi("v")).put(kinds::migration, migration_of("v"));
    report(row.given);
    pass();
    ASSERT_EQ(phase(), "PreparingTarget");
    EXPECT_EQ(text_at(*world.get(kinds::vmi, "n", "v"), row.path), row.expected);
  }
}

// What is told when the one write of the VMI succeeds, and when it fails.
TEST_F(HandOverTest, IsOneWriteWithItsEvents) {
  struct Row {
    std::string_view id, active, status;
    Texts events;
    std::string_view failure, failure_about;  // empty: the migration itself
  };
  const std::string target = fmt::format(R"({{"{}":"node2"}})", target_of("v"));
  const Row rows[] = {
      {"MIG-H08", target, R"({"phase":"Scheduled"})", {"SuccessfulHandOver Normal"}, "FailedHandOver", ""},
      {"MIG-Q04",
       "{}",
       R"({"phase":"Pending"})",
       {"SuccessfulCreate Normal", "SuccessfulHandOver Normal"},
       "FailedCreate",
       "VirtualMachineInstance"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.id);
    world.put(kinds::vmi, vmi("v")).put(kinds::migration, migration_of("v", row.status));
    report(fmt::format(R"({{"status":{{"activePods":{}}}}})", row.active));
    const TestPass made = pass();
    EXPECT_EQ(made.events(), row.events);
    EXPECT_EQ(std::ranges::count(effects_of(made), "update virtualmachineinstances v"), 1);
    const Effect* write = made.find(Verb::update, kinds::vmi);
    ASSERT_TRUE(write && write->if_failed);
    EXPECT_EQ(write->if_failed->reason, row.failure);
    EXPECT_EQ(write->if_failed->type, EventType::warning);
    EXPECT_EQ(write->involved ? write->involved->kind : "", row.failure_about);
    EXPECT_EQ(text_at(*world.get(kinds::vmi, "n", "v"), {"status", "activePods", target_of("v")}), R"("node2")");
  }
}

}  // namespace
}  // namespace vg::controllers::migration::testing
