#include "handler/sync/node_keeper.h"

#include <gtest/gtest.h>

#include "base/node_limits.h"
#include "handler/sync/testing.h"
#include "hypervisor/testing.h"
#include "json/access.h"
#include "simulated/testing.h"

namespace vg::handler {
namespace {

using std::chrono::seconds;

class NodeKeeperTest : public ::testing::Test {
 protected:
  ~NodeKeeperTest() override { keeper.stop(); }

  void settle(std::chrono::nanoseconds time = std::chrono::milliseconds(100)) { core.advance(time); }
  std::string at(std::initializer_list<std::string_view> path) const {
    const auto found = api.objects.find("nodes/node01");
    if (found == api.objects.end()) return "no node";
    const auto node = json::Document::parse(found->second);
    return std::string(json::as_string(json::find_path(node->root(), path)).value_or("-"));
  }
  std::string schedulable() const { return at({"metadata", "labels", "kubevirt.io/schedulable"}); }
  std::string heartbeat() const { return at({"metadata", "annotations", "kubevirt.io/heartbeat"}); }

  ManualClock clock{Clock::Wall(seconds(1'700'000'000)), Clock::Steady(seconds(1000))};
  ManualCore core{clock};
  testing::FakeApi api{core};
  hypervisor::FakeHypervisor hypervisor;
  NodeKeeper keeper{{.core = core, .api = api, .hypervisor = hypervisor, .clock = clock, .node = "node01"}};
};

TEST_F(NodeKeeperTest, ASignOfLifeEveryMinute) {  // NODE-02
  static_assert(limits::heartbeat_interval >= seconds(60) && limits::heartbeat_interval <= seconds(132));
  keeper.start();
  settle();
  EXPECT_EQ(heartbeat(), "2023-11-14T22:13:20Z");
  settle(limits::heartbeat_interval - seconds(1));
  EXPECT_EQ(heartbeat(), "2023-11-14T22:13:20Z");
  settle(seconds(1));
  EXPECT_EQ(heartbeat(), "2023-11-14T22:14:20Z");
  EXPECT_EQ(schedulable(), "true");
}

TEST_F(NodeKeeperTest, NothingIsPlacedWhereTheHypervisorIsAway) {  // NODE-01
  keeper.start();
  settle();
  EXPECT_EQ(schedulable(), "true");
  hypervisor.set_connected(false);
  keeper.beat();
  settle();
  EXPECT_EQ(schedulable(), "false");
  const std::string before = heartbeat();
  settle(seconds(90));
  EXPECT_EQ(heartbeat(), before) << "it gives no sign of life";
  hypervisor.set_connected(true);
  keeper.beat();
  settle();
  EXPECT_EQ(schedulable(), "true");
  EXPECT_NE(heartbeat(), before);
}

TEST_F(NodeKeeperTest, ANodeThatStartsWaitsForItsHypervisor) {  // NODE-01
  hypervisor.set_connected(false);
  keeper.start();
  settle(seconds(3));
  EXPECT_EQ(schedulable(), "no node");
  api.objects["nodes/node01"] =
      R"({"metadata":{"name":"node01","labels":{"kubevirt.io/schedulable":"true","of-others":"x"}}})";
  keeper.beat();
  settle();
  EXPECT_EQ(schedulable(), "false");
  hypervisor.set_connected(true);
  settle(seconds(2));
  EXPECT_EQ(schedulable(), "true");
  EXPECT_EQ(at({"metadata", "labels", "of-others"}), "x");
}

}  // namespace
}  // namespace vg::handler
