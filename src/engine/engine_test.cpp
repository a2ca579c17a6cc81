#include "engine/engine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/common/conditions.h"
#include "controllers/vmi/vmi.h"
#include "engine/testing.h"
#include "json/access.h"
#include "ports/disk_agent_testing.h"

namespace vg::engine {
namespace {

using testing::HasSubstr;

TEST_F(EngineTest, EffectsHappenInTheirOrderAndEventsAreTold) {
  toy_.sync = [](const Turn& turn) {
    Pass pass;
    if (turn.key.name != "a" || state_of(turn) == "done") return pass;
    pass.add({.verb = Verb::create,
              .resource = config_maps,
              .ns = "ns",
              .name = "b",
              .identity = controllers::Identity::own(),
              .document = config_map("b")});
    pass.add(state(turn, "done")).if_done = {
        .type = controllers::EventType::normal, .reason = "Done", .message = "it is"};
    return pass;
  };
  start({&toy_row, 1});
  create("a");
  ASSERT_TRUE(await([&] { return text_at(config_maps, "a", {"data", "state"}) == "done"; }));
  EXPECT_LT(store_->get(config_maps, "ns", "b")->revision(), store_->get(config_maps, "ns", "a")->revision());
  ASSERT_TRUE(await([&] { return store_->count("events") == 1; }));
  ASSERT_TRUE(await_rest());
  EXPECT_EQ(toy_.calls_of("b"), 1U);
}

TEST_F(EngineTest, AfterAFailureNothingFurtherHappensAndItIsTriedAgain) {
  toy_.sync = [failed = false](const Turn& turn) mutable {
    Pass pass;
    if (state_of(turn) == "done") return pass;
    if (!std::exchange(failed, true))
      pass.add({.verb = Verb::create,
                .resource = config_maps,
                .ns = "ns",
                .name = "NO",
                .identity = controllers::Identity::own(),
                .document = config_map("NO")});
    pass.add(state(turn, "done"));
    return pass;
  };
  start({&toy_row, 1});
  create("a");
  ASSERT_TRUE(await([&] { return text_at(config_maps, "a", {"data", "state"}) == "done"; }));
  ASSERT_TRUE(await_rest());
  EXPECT_GE(toy_.calls_of("a"), 2U);
  EXPECT_THAT(metrics_.expose(), HasSubstr(R"(virtgate_controller_passes_total{controller="toy",result="error"} 1)"));
}

TEST_F(EngineTest, WhoLosesARaceLooksAgain) {
  toy_.sync = [](const Turn& turn) {
    Pass pass;
    if (state_of(turn) == "done") return pass;
    Effect& effect = pass.add(state(turn, "done"));
    if (turn.world.list(config_maps, "ns").size() == 1) {  // as if it had been read before somebody else wrote
      effect.document.get_object()["metadata"].get_object()["resourceVersion"] = "1";
      pass.effects.insert(pass.effects.begin(), {.verb = Verb::create,
                                                 .resource = config_maps,
                                                 .ns = "ns",
                                                 .name = "b",
                                                 .identity = controllers::Identity::own(),
                                                 .document = config_map("b")});
    }
    return pass;
  };
  start({&toy_row, 1});
  create("a");
  ASSERT_TRUE(await([&] { return text_at(config_maps, "a", {"data", "state"}) == "done"; }));
  EXPECT_THAT(metrics_.expose(),
              HasSubstr(R"(virtgate_controller_passes_total{controller="toy",result="conflict"} 1)"));
}

TEST_F(EngineTest, ASoftFailureIsShownByFinish) {
  toy_.sync = [](const Turn& turn) {
    Pass pass;
    pass.complete = true;
    if (!state_of(turn).empty()) return pass;
    pass.add({.verb = Verb::create,
              .resource = config_maps,
              .ns = "ns",
              .name = "b",
              .identity = controllers::Identity::own(),
              .document = config_map("b"),
              .already_done_is_fine = true});
    pass.add({.verb = Verb::create,
              .resource = config_maps,
              .ns = "ns",
              .name = "NO",
              .identity = controllers::Identity::own(),
              .document = config_map("NO"),
              .soft_reason = "Refused"});
    pass.add(state(turn, "not reached"));
    return pass;
  };
  toy_.finish = [](const Turn& turn, const Carried& carried) {
    Pass pass;
    pass.add(state(turn, fmt::format("{} after {}", carried.error->reason, carried.done)));
    return pass;
  };
  start({&toy_row, 1});
  create("a");
  ASSERT_TRUE(await([&] { return text_at(config_maps, "a", {"data", "state"}) == "Refused after 1"; }));
}

TEST_F(EngineTest, FinishIsLeftOutWhereThePassIsComplete) {
  std::atomic<int> finished = 0;
  toy_.sync = [](const Turn& turn) {
    Pass pass;
    pass.complete = turn.key.name == "complete";
    return pass;
  };
  toy_.finish = [&](const Turn& turn, const Carried&) {
    EXPECT_EQ(turn.key.name, "other");
    ++finished;
    return Pass();
  };
  start({&toy_row, 1});
  create("complete");
  create("other");
  ASSERT_TRUE(toy_.await_calls("complete", 1) && toy_.await_calls("other", 1) && await_rest());
  EXPECT_EQ(finished, 1);
}

TEST_F(EngineTest, WhatFailsWaitsLongerEachTime) {
  toy_.sync = [](const Turn&) {
    Pass pass;
    pass.try_again = true;
    return pass;
  };
  start({&toy_row, 1});
  create("a");
  ASSERT_TRUE(toy_.await_calls("a", 5));
  const auto calls = toy_.calls();
  milliseconds least(5);
  for (std::size_t i = 1; i < 5; ++i, least *= 2) EXPECT_GE(calls[i].at - calls[i - 1].at, least) << i;
}

TEST_F(EngineTest, WhoIsAlwaysBusyDoesNotKeepOthersWaiting) {
  toy_.sync = [](const Turn& turn) {
    Pass pass;
    if (turn.key.name == "busy") pass.look_again(milliseconds(0));
    return pass;
  };
  start({&toy_row, 1});
  create("busy");
  ASSERT_TRUE(toy_.await_calls("busy", 100));
  create("quiet");
  EXPECT_TRUE(toy_.await_calls("quiet", 1));
  EXPECT_EQ(engine_->problem(), std::nullopt);
}

TEST_F(EngineTest, AStartLooksAtEverythingThatIsStored) {
  create("a");
  create("b");
  start({&toy_row, 1});
  ASSERT_TRUE(toy_.await_calls("a", 1) && toy_.await_calls("b", 1) && await_rest());
  stop();
  commits_->wait_for_all();
  store_ = nullptr;
  open_store();
  start({&toy_row, 1});
  EXPECT_TRUE(toy_.await_calls("a", 2) && toy_.await_calls("b", 2));
}

// --- nodes and placements --------------------------------------------------------------------------------------------

constexpr std::string_view vmi_text =
    R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{{"name":"{}","namespace":"ns"}},
        "spec":{{"domain":{{"memory":{{"guest":"1Gi"}},"devices":{{}}}}}}}})";

std::string node_text(std::string_view name, std::string_view memory, const Clock& clock) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","labels":{{"kubevirt.io/schedulable":"true","kubernetes.io/arch":"amd64",
          "machine-type.node.kubevirt.io/q35":"true"}},"annotations":{{"kubevirt.io/heartbeat":"{}"}}}},
          "status":{{"allocatable":{{"cpu":"8","memory":"{}","devices.kubevirt.io/kvm":"9","devices.kubevirt.io/tun":"9","devices.kubevirt.io/vhost-net":"9"}}}}}})",
      name, controllers::time_text(clock.wall_now()), memory);
}

TEST_F(EngineTest, RoomIsGivenOnceAndWhoWaitsGetsWhatBecomesFree) {
  static const Controller rows[] = {controllers::vmi_controller()};
  start(rows);
  create_object("nodes", node_text("n1", "2Gi", clock_));
  for (const char* name : {"a", "b", "c"}) create_object(controllers::kinds::vmi, fmt::format(vmi_text, name));
  const auto phases = [&] {
    std::map<std::string, int> counts;
    for (const char* name : {"a", "b", "c"}) ++counts[text_at(controllers::kinds::vmi, name, {"status", "phase"})];
    return counts;
  };
  ASSERT_TRUE(await([&] { return phases() == std::map<std::string, int>{{"Scheduled", 1}, {"Scheduling", 2}}; }));
  ASSERT_TRUE(await_rest());
  create_object("nodes", node_text("n2", "2Gi", clock_));
  ASSERT_TRUE(await([&] { return phases() == std::map<std::string, int>{{"Scheduled", 2}, {"Scheduling", 1}}; }));

  // After a restart the rooms that are taken are known.
  stop();
  start(rows);
  ASSERT_TRUE(await_rest());
  EXPECT_EQ(phases()["Scheduling"], 1);
  for (const char* name : {"a", "b", "c"}) {
    if (text_at(controllers::kinds::vmi, name, {"status", "phase"}) != "Scheduled") continue;
    json::LeasedArena arena;
    json::Value ended = resources::load_object(*store_->get(controllers::kinds::vmi, "ns", name), arena.storage());
    ended.get_object()["status"].get_object()["phase"] = "Succeeded";
    ASSERT_FALSE(write({.verb = Verb::update,
                        .resource = controllers::kinds::vmi,
                        .ns = "ns",
                        .name = name,
                        .identity = controllers::Identity::own(),
                        .document = ended})
                     .hard);
    break;
  }
  EXPECT_TRUE(await([&] { return phases() == std::map<std::string, int>{{"Scheduled", 2}, {"Succeeded", 1}}; }));
}

TEST_F(EngineTest, WhoAskedForADiskJobIsLookedAtAgainWhenItChanges) {
  create("a");
  FakeDisks disks;  // on the core alone
  toy_.sync = [](const Turn& turn) {
    Pass pass;
    const auto job = turn.world.disks().job("fill");
    if (!job)
      pass.jobs.push_back(
          {.identity = controllers::Identity::own(),
           .job = {.id = "fill", .claim = {.ns = "ns", .name = "c"}, .work = CreateClaim{.capacity = 5}}});
    if (job && job->state == DiskJobState::succeeded && state_of(turn) != "filled") pass.add(state(turn, "filled"));
    return pass;
  };
  start({&toy_row, 1}, &disks);
  ASSERT_TRUE(toy_.await_calls("a", 2));  // when it was asked for, and when it began
  on_core([&] { disks.finish("fill"); });
  EXPECT_TRUE(await([this] { return text_at(config_maps, "a", {"data", "state"}) == "filled"; }));
  stop();
  stop();  // before the disks go
}

TEST_F(EngineTest, AJobIsNotAskedForWhenTheEffectsBeforeItFailed) {
  create("a");
  FakeDisks disks;
  toy_.sync = [](const Turn&) {
    Pass pass;
    pass.jobs.push_back(
        {.identity = controllers::Identity::own(), .job = {.id = "fill", .claim = {}, .work = CreateClaim{}}});
    pass.add({.verb = Verb::remove,
              .resource = config_maps,
              .ns = "ns",
              .name = "nobody",
              .identity = controllers::Identity::own()});
    return pass;
  };
  start({&toy_row, 1}, &disks);
  ASSERT_TRUE(toy_.await_calls("a", 3));
  stop();
  EXPECT_TRUE(disks.asked.empty());
  stop();  // before the disks go
}

// A node whose handler remembers what it was asked, and answers as it is told.
class FakeNodes final : public NodeLink {
 public:
  std::vector<std::string> asked = {};
  int status = 200;

  Task<Result<NodeAddress>> find(Core&, std::string_view node) override {
    asked.emplace_back(node);
    co_return NodeAddress{.host = "h", .port = 1};
  }
  Task<Result<NodeAnswer>> call(Core&, const NodeAddress&, NodeRequest request) override {
    asked.push_back(fmt::format("{} {} {}", request.method, request.target, request.body));
    co_return NodeAnswer{.status = status, .phrase = {}, .body = "the agent is busy"};
  }
  Task<Result<NodeStream>> open(Core&, const NodeAddress&, std::string_view) override {
    co_return fail(Status::internal_error("nobody asks for it"));
  }
};

TEST_F(EngineTest, CallsOfNodesAreEffects) {
  create_object(controllers::kinds::vmi, R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{
      "name":"a","namespace":"ns"},"spec":{"domain":{"devices":{},"memory":{"guest":"64Mi"}}}})");
  Effect call{.verb = Verb::call,
              .resource = controllers::kinds::vmi,
              .ns = "ns",
              .name = "a",
              .identity = controllers::Identity::own(),
              .document = object(R"({"unfreezeTimeout":"5m0s"})"),
              .path = "freeze",
              .soft_reason = "freeze",
              .finish_decides = true};
  Pass pass;
  pass.add(call);
  pass.add({.verb = Verb::create,
            .resource = config_maps,
            .ns = "ns",
            .name = "after",
            .identity = controllers::Identity::own(),
            .document = config_map("after")});
  EventRecorder events;
  FakeNodes nodes;
  Carrier carrier({.backend = *backend_, .core = core(), .events = events, .nodes = &nodes});
  const auto carried = [&] { return http::test::run_on(core(), carrier.carry_out(pass, {}, {.component = "test"})); };
  const Done nowhere = carried();
  ASSERT_TRUE(nowhere.carried.error);
  EXPECT_THAT(nowhere.carried.error->message, HasSubstr("on no node"));
  EXPECT_TRUE(nowhere.left_to_finish);
  EXPECT_EQ(text_at(config_maps, "after", {"metadata", "name"}), "(gone)") << "what is behind it does not happen";

  const Done placed = write({.verb = Verb::patch_status,
                             .resource = controllers::kinds::vmi,
                             .ns = "ns",
                             .name = "a",
                             .identity = controllers::Identity::own(),
                             .document = object(R"([{"op":"add","path":"/status","value":{"nodeName":"node1"}}])")});
  ASSERT_FALSE(placed.hard) << placed.hard->message;
  nodes.status = 500;
  EXPECT_THAT(carried().carried.error->message, HasSubstr("the agent is busy"));
  pass.effects[0].may_fail = true;
  EXPECT_FALSE(carried().carried.error);
  EXPECT_EQ(text_at(config_maps, "after", {"metadata", "name"}), "after");
  EXPECT_EQ(nodes.asked[0], "node1");
  EXPECT_EQ(nodes.asked[1], R"(PUT /v1/namespaces/ns/virtualmachineinstances/a/freeze {"unfreezeTimeout":"5m0s"})");
}

struct CloneRow {
  std::string_view id, source;
  std::string_view account;  // that the controller acts for; empty: it acts for nobody
  std::string_view refused;
  std::string_view event;
};

// VMC-87: what a VM's DataVolume clones is a matter of the VM's service account, not of the controller that writes it.
TEST_F(EngineTest, TheServiceAccountOfAVmMustBeAllowedToClone) {
  backend_->fills_data_volumes = true;
  constexpr std::string_view controller = "system:serviceaccount:kubevirt:kubevirt-controller";
  constexpr std::string_view account = "system:serviceaccount:ns:robot";
  constexpr std::string_view elsewhere = R"({"pvc":{"name":"p","namespace":"other"}})";
  const CloneRow rows[] = {
      {"VMC-87", elsewhere, "robot", account, "UnauthorizedDataVolumeCreate"},
      {"VMC-87 allowed", elsewhere, "robot", controller, "SuccessfulDataVolumeCreate"},
      {"VMC-87 its own namespace", R"({"pvc":{"name":"p","namespace":"ns"}})", "robot", account,
       "SuccessfulDataVolumeCreate"},
      {"VMC-88", R"({"blank":{},"pvc":{"name":"p","namespace":"ns"}})", "robot", "", "FailedDataVolumeCreate"},
      {"DV-25", elsewhere, "", "", "UnauthorizedDataVolumeCreate"},  // all may, but nobody asks
  };
  const auto event = [](std::string_view reason) {
    return controllers::Event{.reason = std::string(reason), .message = "m"};
  };
  int number = 0;
  for (const CloneRow& row : rows) {
    SCOPED_TRACE(row.id);
    const std::string name = fmt::format("dv-{}", ++number);
    authorizer_.refused = row.refused;
    const json::Value machine({{"serviceAccountName", row.account}});
    Pass pass;
    pass.add(
        {.verb = Verb::create,
         .resource = controllers::kinds::data_volume,
         .ns = "ns",
         .name = name,
         .identity = row.account.empty() ? controllers::Identity::own()
                                         : controllers::Identity::machine("ns", &machine.get_object()),
         .document = object(fmt::format(
             R"({{"apiVersion":"cdi.kubevirt.io/v1beta1","kind":"DataVolume","metadata":{{"name":"{}","namespace":"ns"}},"spec":{{"source":{},"storage":{{"resources":{{"requests":{{"storage":"8Mi"}}}}}}}}}})",
             name, row.source)),
         .soft_reason = "FailedCreate",
         .if_done = event("SuccessfulDataVolumeCreate"),
         .if_failed = event("FailedDataVolumeCreate"),
         .if_not_allowed = event("UnauthorizedDataVolumeCreate")});
    EventRecorder events;
    Carrier carrier({.backend = *backend_, .core = core(), .events = events});
    const controllers::EventObject involved{
        .api_version = "v1", .kind = "ConfigMap", .ns = "ns", .name = name, .uid = {}, .resource_version = {}};
    const Done done = http::test::run_on(core(), carrier.carry_out(pass, involved, {.component = "test"}));
    const bool made = row.event == "SuccessfulDataVolumeCreate";
    EXPECT_EQ(done.carried.error ? done.carried.error->reason : "", made ? "" : "FailedCreate");
    EXPECT_EQ(text_at(controllers::kinds::data_volume, name, {"metadata", "name"}), made ? name : "(gone)");
    std::string told;
    const auto stored = store_->list({.resource = "events", .ns = "ns"});
    ASSERT_TRUE(stored);
    for (const ObjectPtr& one : stored->objects)
      if (one->name().starts_with(name + ".")) told = text_at("events", one->name(), {"reason"});
    EXPECT_EQ(told, row.event);
  }
}

}  // namespace
}  // namespace vg::engine
