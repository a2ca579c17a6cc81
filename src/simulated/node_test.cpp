#include "simulated/node.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controllers/testing_effects.h"

namespace vg::simulated {
namespace {

using controllers::test_now;
using controllers::TestPass;
using controllers::TestWorld;
using controllers::Time;
using std::chrono::seconds;

namespace kinds = controllers::kinds;

struct NodeRow {
  std::string_view id;
  std::initializer_list<std::string_view> path;
  std::string_view expected;
};

TEST(SimulatedNode, EveryRow) {  // spec vmi-lifecycle 5.1, 5.2
  const NodeRow rows[] = {
      {"NODE-01", {"metadata", "labels", "kubevirt.io/schedulable"}, "true"},
      {"NODE-02", {"metadata", "annotations", "kubevirt.io/heartbeat"}, "2026-01-02T03:04:05Z"},
      {"NODE-03", {"metadata", "labels", "cpumanager"}, "true"},
      {"NODE-03", {"metadata", "labels", "kubevirt.io/cpumanager"}, "true"},
      {"NODE-04", {"metadata", "labels", "kubevirt.io/ksm-enabled"}, "false"},
      {"NODE-04", {"metadata", "annotations", "kubevirt.io/ksm-handler-managed"}, "false"},
      {"NODE-05", {"status", "capacity", "devices.kubevirt.io/kvm"}, "1k"},
      {"NODE-05", {"status", "allocatable", "devices.kubevirt.io/tun"}, "1k"},
      {"NODE-05", {"status", "allocatable", "devices.kubevirt.io/vhost-net"}, "1k"},
      {"NODE-05b", {"status", "allocatable", "devices.kubevirt.io/vhost-vsock"}, "1k"},
      {"NODE-06", {"metadata", "labels", "host-model-cpu.node.kubevirt.io/Skylake-Server"}, "true"},
      {"NODE-06", {"metadata", "labels", "machine-type.node.kubevirt.io/q35"}, "true"},
      {"NODE-06", {"metadata", "labels", "cpu-timer.node.kubevirt.io/tsc-frequency"}, "2400000000"},
  };
  json::Document document;
  document.root() = node_object("node01", "amd64", test_now, document.storage());
  for (const NodeRow& row : rows)
    EXPECT_EQ(json::as_string(json::find_path(document.root(), row.path)).value_or("-"), row.expected)
        << row.id << *std::prev(row.path.end());
}

TEST(SimulatedNode, GivesASignOfLifeEveryMinute) {  // NODE-01, NODE-02
  TestWorld world;
  json::Document memory;
  world.put(kinds::node, node_object("node01", "amd64", test_now, memory.storage()));
  const auto pass = [&](Time now) {
    const TestPass made = controllers::sync(heartbeat_controller(), world, {.ns = {}, .name = "node01"}, now);
    controllers::carry_out(world, made);
    EXPECT_TRUE(made.pass.again);
    return fmt::format("{} {}", made.pass.effects.size(), made.pass.again.value_or(seconds(0)).count());
  };
  const auto text = [&](std::initializer_list<std::string_view> path) {
    const json::Value node(*world.get(kinds::node, "", "node01"));
    return std::string(json::as_string(json::find_path(node, path)).value_or("-"));
  };
  EXPECT_EQ(pass(test_now + seconds(59)), "0 1000");
  EXPECT_EQ(pass(test_now + seconds(60)), "1 60000");
  EXPECT_EQ(text({"metadata", "annotations", "kubevirt.io/heartbeat"}), "2026-01-02T03:05:05Z");
  json::Value lost(*world.get(kinds::node, "", "node01"));
  json::ensure_path(lost.get_object(), {"metadata", "labels"})["kubevirt.io/schedulable"] = "false";
  world.put(kinds::node, lost);
  EXPECT_EQ(pass(test_now + seconds(61)), "1 60000") << "a node that is alive says so at once";
  EXPECT_EQ(text({"metadata", "labels", "kubevirt.io/schedulable"}), "true");
  EXPECT_EQ(pass(test_now - seconds(600)), "1 60000") << "a clock that was set back";
}

}  // namespace
}  // namespace vg::simulated
