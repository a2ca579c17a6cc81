#include "controllers/node/node.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/testing.h"
#include "controllers/tsc.h"
#include "json/write.h"

namespace vg::controllers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Key key{.ns = {}, .name = "n1"};

std::string node(std::string_view heartbeat, std::string_view labels = {}) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n1","labels":{{"kubevirt.io/schedulable":"true"{}}},)"
      R"("annotations":{{{}}}}}}})",
      labels, heartbeat.empty() ? "" : fmt::format(R"("kubevirt.io/heartbeat":"{}")", heartbeat));
}

std::string vmi(std::string_view name, std::string_view phase, std::string_view node_name = "n1") {
  return fmt::format(
      R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{{"name":"{0}","namespace":"ns"}},)"
      R"("status":{{"phase":"{1}","nodeName":"{2}","activePods":{{"pod-{0}":"n1"}}}}}})",
      name, phase, node_name);
}

// "resource name patch" of every effect.
std::vector<std::string> effects(const TestPass& made) {
  std::vector<std::string> found;
  for (const Effect& effect : made.pass.effects)
    found.push_back(fmt::format("{} {} {}", effect.resource, effect.name, json::to_text(effect.document)));
  return found;
}

constexpr std::string_view label_patch =
    R"(nodes n1 [{"op":"test","path":"/metadata/labels/kubevirt.io~1schedulable","value":"true"},)"
    R"({"op":"replace","path":"/metadata/labels/kubevirt.io~1schedulable","value":"false"}])";

std::string failed_patch(std::string_view name, std::string_view phase) {
  return fmt::format(R"(kubevirt.io/virtualmachineinstances {} [{{"op":"test","path":"/status/phase","value":"{}"}},)"
                     R"({{"op":"replace","path":"/status/phase","value":"Failed"}},)"
                     R"({{"op":"add","path":"/status/reason","value":"NodeUnresponsive"}}])",
                     name, phase);
}

// A guest of this machine that is known to run, or of which nobody knows, is never started a second time.
TEST(NodeControllerTest, AVmiWhoseGuestMayRunIsNotGivenUp) {
  struct Guests final : GuestProcesses {
    std::optional<std::string> may_run(std::string_view node, std::string_view ns,
                                       std::string_view vmi) const override {
      if (node != "n1" || ns != "ns" || vmi != "a") return std::nullopt;
      return "its QEMU, process 7, still runs";
    }
  } guests;
  for (const bool has_node : {true, false}) {
    TestWorld world;
    if (has_node) world.put(kinds::node, node("2026-01-02T02:59:04Z", R"(,"kubevirt.io/schedulable":"false")"));
    world.put(kinds::vmi, vmi("a", "Running")).put(kinds::vmi, vmi("b", "Scheduled"));
    TestPass made;
    made.pass = node_controller().sync({.world = world,
                                        .key = key,
                                        .config = world.config(),
                                        .now = test_now,
                                        .steady = steady_of(test_now),
                                        .random = 7,
                                        .storage = made.memory->storage(),
                                        .guests = &guests});
    EXPECT_THAT(effects(made), testing::Contains(failed_patch("b", "Scheduled")));
    EXPECT_THAT(effects(made), testing::Not(testing::Contains(failed_patch("a", "Running"))));
    EXPECT_THAT(made.events(), testing::Contains("NodeUnresponsive Warning"));
    EXPECT_TRUE(made.pass.again) << "its end brings no change";
  }
}

TEST(NodeControllerTest, ASilentNodeLosesItsLabelAndItsVmis) {  // NODE-C01..C03
  TestWorld world;
  world.put(kinds::node, node("2026-01-02T02:59:04Z"))
      .put(kinds::vmi, vmi("a", "Running"))
      .put(kinds::vmi, vmi("b", "Scheduled"))
      .put(kinds::vmi, vmi("moved", "Running", "n2"))
      .put(kinds::vmi, vmi("over", "Succeeded"));
  const TestPass made = sync(node_controller(), world, key);
  EXPECT_THAT(effects(made), ElementsAre(label_patch, failed_patch("a", "Running"), failed_patch("b", "Scheduled")));
  EXPECT_THAT(made.events(),
              ElementsAre("NodeUnresponsive Normal", "NodeUnresponsive Normal", "NodeUnresponsive Normal"));
  EXPECT_EQ(made.pass.events[0].involved, std::nullopt);
  ASSERT_TRUE(made.pass.events[1].involved);
  EXPECT_EQ(made.pass.events[1].involved->name, "a");
  EXPECT_EQ(made.pass.again, std::chrono::seconds(60));
}

// NODE-C01: nobody's clock says how long a node was silent. Whoever was not heard of for so long by this process was.
TEST(NodeControllerTest, AClockThatJumpsTakesNothingFromANode) {
  TestWorld world;
  world.put(kinds::node, node("2026-01-02T03:04:00Z")).put(kinds::vmi, vmi("a", "Running"));
  for (const std::chrono::hours step : {std::chrono::hours(-24), std::chrono::hours(1), std::chrono::hours(24 * 365)}) {
    const TestPass made = sync(node_controller(), world, key, test_now + step, steady_of(test_now));
    EXPECT_THAT(effects(made), IsEmpty()) << step.count();
  }
  const TestPass made =
      sync(node_controller(), world, key, test_now, steady_of(test_now) + heartbeat_life + std::chrono::seconds(1));
  EXPECT_THAT(effects(made), ElementsAre(label_patch, failed_patch("a", "Running")));
}

TEST(NodeControllerTest, EveryOtherHeartbeatIsASignOfLife) {
  Nodes nodes;
  const auto put = [&](std::string_view heartbeat, std::chrono::minutes at) {
    const auto document = json::Document::parse(node(heartbeat));
    const Steady now{at};
    nodes.put(nodes.read(document->root().get_object(), now), now, test_now);
  };
  const auto is_alive = [&](std::chrono::minutes at) { return nodes.find("n1")->is_alive(Steady(at)); };
  using std::chrono::minutes;
  put("2020-01-01T00:00:00Z", minutes(0));  // of before this process; it may be dead, and is not taken for it
  EXPECT_FALSE(is_alive(minutes(0)));
  EXPECT_FALSE(nodes.find("n1")->is_silent(Steady(minutes(5))));
  EXPECT_TRUE(nodes.find("n1")->is_silent(Steady(minutes(6))));
  put("2021-01-01T00:00:00Z", minutes(7));  // its clock is wrong, and goes
  EXPECT_TRUE(is_alive(minutes(12)));
  put("2021-01-01T00:00:00Z", minutes(12));  // somebody changed something else
  EXPECT_FALSE(is_alive(minutes(13)));
  put("2021-01-01T00:01:00Z", minutes(13));
  EXPECT_TRUE(is_alive(minutes(13)));
  put("2019-01-01T00:00:00Z", minutes(13));  // the word that it is lost (recorded: node-lost)
  EXPECT_TRUE(nodes.find("n1")->is_silent(Steady(minutes(13))));
  put("2030-01-01T00:00:00Z", minutes(14));
  EXPECT_TRUE(is_alive(minutes(15)));
}

TEST(NodeControllerTest, ANodeThatIsGoneLosesItsVmis) {
  TestWorld world;
  world.put(kinds::vmi, vmi("a", "Running"));
  const TestPass made = sync(node_controller(), world, key);
  EXPECT_THAT(effects(made), ElementsAre(failed_patch("a", "Running")));
  EXPECT_EQ(made.pass.again, std::nullopt);
  EXPECT_TRUE(node_controller().looks_at_missing);
}

TEST(NodeControllerTest, ALivingNodeIsLeftAloneAndLookedAtWhenItWouldBeSilent) {
  for (const auto& [heartbeat, seconds] : {std::pair("2026-01-02T03:04:00Z", 60), std::pair("2026-01-02T02:59:30Z", 26),
                                           std::pair("", 60), std::pair("never", 60)}) {
    TestWorld world;
    world.put(kinds::node, node(heartbeat)).put(kinds::vmi, vmi("a", "Running"));
    const TestPass made = sync(node_controller(), world, key);
    EXPECT_THAT(effects(made), IsEmpty()) << heartbeat;
    EXPECT_EQ(made.pass.again, std::chrono::seconds(seconds)) << heartbeat;
  }
}

TEST(NodeControllerTest, VmisOnNodesThatAreNotThereAreNoticed) {
  TestWorld world;
  const auto keys = [&](std::string_view before, std::string_view after) {
    auto old = json::Document::parse(before), fresh = json::Document::parse(after);
    const Change change{
        .happened = Happened::changed, .before = &old->root().get_object(), .after = &fresh->root().get_object()};
    return node_controller().triggers[0].keys(change, world).size();
  };
  const std::string none = R"({"status":{}})", here = R"({"status":{"nodeName":"n1"}})";
  EXPECT_EQ(keys(none, here), 1U);
  EXPECT_EQ(keys(here, here), 0U);
  EXPECT_EQ(keys(here, none), 0U);
  world.put(kinds::node, node(""));
  EXPECT_EQ(keys(none, here), 0U);
}

// --- frequencies (NODE-07) -------------------------------------------------------------------------------------------

TEST(NodeControllerTest, NodesSayWhichFrequenciesTheyOffer) {
  TestWorld world;
  world.put(kinds::node, node("2026-01-02T03:04:00Z",
                              R"(,"cpu-timer.node.kubevirt.io/tsc-frequency":"3000000000",
                                  "cpu-timer.node.kubevirt.io/tsc-scalable":"true",
                                  "scheduling.node.kubevirt.io/tsc-frequency-1":"true")"));
  world.put(kinds::vmi, R"({"metadata":{"name":"x","namespace":"ns"},"status":{"phase":"Running",
      "topologyHints":{"tscFrequency":2000000000},"activePods":{"p":"n2"}}})");
  EXPECT_THAT(
      effects(sync(node_controller(), world, key)),
      ElementsAre(
          R"(nodes n1 [{"op":"remove","path":"/metadata/labels/scheduling.node.kubevirt.io~1tsc-frequency-1"},)"
          R"({"op":"add","path":"/metadata/labels/scheduling.node.kubevirt.io~1tsc-frequency-2000000000","value":"true"},)"
          R"({"op":"add","path":"/metadata/labels/scheduling.node.kubevirt.io~1tsc-frequency-3000000000","value":"true"}])"));
}

TEST(TscTest, AFixedNodeOffersWhatIsCloseAScalableOneWhatIsLowerToo) {
  const std::int64_t own = 2'000'000'000, tolerance = 500'000;
  const std::set<std::int64_t> asked{1, own - tolerance - 1, own - tolerance, own + tolerance, own + tolerance + 1};
  EXPECT_THAT(offered_frequencies({.frequency = own, .scalable = false}, asked),
              ElementsAre(own - tolerance, own, own + tolerance));
  EXPECT_THAT(offered_frequencies({.frequency = own, .scalable = true}, asked),
              ElementsAre(1, own - tolerance - 1, own - tolerance, own, own + tolerance));
  EXPECT_THAT(offered_frequencies({}, asked), IsEmpty());
}

}  // namespace
}  // namespace vg::controllers
