// For tests: a VMI on one of two nodes, its migration, and passes of the controller over it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "controllers/migration/migration.h"
#include "controllers/testing_effects.h"

namespace vg::controllers::migration::testing {

using Texts = std::vector<std::string>;

inline constexpr std::string_view created_at = "2026-01-02T03:00:00Z";

inline std::string node(std::string_view name, std::string_view model = "Skylake") {
  return fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"kubevirt.io/schedulable":"true",
      "kubernetes.io/arch":"amd64","machine-type.node.kubevirt.io/q35":"true",
      "host-model-cpu.node.kubevirt.io/{}":"true","cpu-model-migration.node.kubevirt.io/{}":"true"}},
      "annotations":{{"kubevirt.io/heartbeat":"2026-01-02T03:04:00Z"}}}},
      "status":{{"allocatable":{{"cpu":"8","memory":"64Gi","pods":"110","ephemeral-storage":"1Ti",
        "devices.kubevirt.io/kvm":"1k","devices.kubevirt.io/tun":"1k","devices.kubevirt.io/vhost-net":"1k"}}}}}})",
                     name, model, model);
}

// A VMI on node1, with `more` in its status.
inline std::string vmi(std::string_view name, std::string_view phase = "Running", std::string_view more = "",
                       std::string_view metadata = "") {
  return fmt::format(R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance",
      "metadata":{{"namespace":"n","name":"{}","uid":"uid-{}","creationTimestamp":"{}"{}}},
      "spec":{{"architecture":"amd64","domain":{{"cpu":{{"model":"host-model","cores":1,"sockets":1,"threads":1}},
        "machine":{{"type":"q35"}},"memory":{{"guest":"128Mi"}},"devices":{{}}}}}},
      "status":{{"phase":"{}","nodeName":"node1","runtimeUser":107,"activePods":{{"first-{}":"node1"}}{}}}}})",
                     name, name, created_at, metadata, phase, name, more);
}

// One that was made for the VMI, with `more` in its metadata.
inline std::string migration_of(std::string_view vmi, std::string_view status = "{}", std::string_view more = "",
                                std::string_view spec = "") {
  return fmt::format(R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceMigration",
      "metadata":{{"namespace":"n","name":"m-{}","uid":"00000000-0000-4000-8000-{}","creationTimestamp":"{}",
        "finalizers":["kubevirt.io/migrationJobFinalize"]{}}},
      "spec":{{"vmiName":"{}"{}}},"status":{}}})",
                     vmi, vmi, created_at, more, vmi, spec, status);
}

inline std::string uid_of(std::string_view vmi) { return fmt::format("00000000-0000-4000-8000-{}", vmi); }
inline std::string target_of(std::string_view vmi) { return placement_uid(uid_of(vmi)); }

class MigrationTest : public ::testing::Test {
 protected:
  MigrationTest() { world.put(kinds::node, node("node1")).put(kinds::node, node("node2")); }

  // One pass, carried out.
  TestPass pass(std::string_view vmi = "v", Time now = test_now) {
    TestPass made = sync(migration_controller(), world, {.ns = "n", .name = fmt::format("m-{}", vmi)}, now);
    carry_out(world, made);
    return made;
  }
  const json::Object* migration(std::string_view vmi = "v") {
    return world.get(kinds::migration, "n", fmt::format("m-{}", vmi));
  }
  std::string phase(std::string_view vmi = "v") {
    const json::Object* status = migration(vmi) ? json::get_object(*migration(vmi), "status") : nullptr;
    return std::string(status ? json::get_string_or(*status, "phase") : "(gone)");
  }
  // The phases that have a time.
  std::string phases() {
    std::string all;
    for (const json::Value& entry :
         json::get_object(*migration(), "status")->at("phaseTransitionTimestamps").get_array())
      all += fmt::format("{} ", json::get_string_or(entry, "phase"));
    return all;
  }
  const json::Object& vmi_status() { return *json::get_object(*world.get(kinds::vmi, "n", "v"), "status"); }
  std::string moving(std::string_view member) {
    const json::Object* state = json::get_object(vmi_status(), "migrationState");
    const json::Value* value = state ? json::find(*state, member) : nullptr;
    if (!value) return "(none)";
    return value->is_bool() ? fmt::format("{}", value->get_bool()) : std::string(json::as_string(value).value_or("?"));
  }
  // What a node reports.
  void report(std::string_view merge_patch) {
    json::Value vmi(*world.get(kinds::vmi, "n", "v"));
    const auto patch = json::Document::parse(merge_patch);
    ASSERT_TRUE(json::apply_merge_patch(vmi, patch->root()));
    world.put(kinds::vmi, vmi);
  }
  void report_moving(std::string_view members) {
    report(fmt::format(R"({{"status":{{"migrationState":{{{}}}}}}})", members));
  }
  void start() {
    world.put(kinds::vmi, vmi("v")).put(kinds::migration, migration_of("v"));
    pass();
  }
  void remove() {
    carry_out(
        world,
        {.verb = Verb::remove, .resource = kinds::migration, .ns = "n", .name = "m-v", .identity = Identity::own()});
  }

  TestWorld world;
};

}  // namespace vg::controllers::migration::testing
