#include "engine/engine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "admission/admit.h"
#include "auth/policy_rule.h"
#include "base/background.h"
#include "base/clock.h"
#include "controllers/common/conditions.h"
#include "controllers/vmi/vmi.h"
#include "engine/carry_out.h"
#include "http/core.h"
#include "http/tls_test_support.h"
#include "json/access.h"
#include "objects/draft.h"
#include "ports/disk_agent_testing.h"
#include "store/testing.h"

namespace vg::engine {
namespace {

using controllers::Carried;
using controllers::Controller;
using controllers::Effect;
using controllers::Pass;
using controllers::Turn;
using controllers::Verb;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

constexpr std::string_view config_maps = "configmaps";

// Everybody may do everything, and there are no quotas.
class AllowAll final : public Authorizer {
  Task<Result<AccessDecision>> authorize(Core&, const User&, const AccessAttributes&) override {
    co_return AccessDecision{.allowed = true, .reason = {}};
  }
};
class AllRules final : public auth::RuleResolver {
  std::vector<auth::PolicyRule> rules_for(const User&, std::string_view) const override { return {}; }
  Result<std::vector<auth::PolicyRule>> rules_of_role(std::string_view, std::string_view,
                                                      std::string_view) const override {
    return std::vector<auth::PolicyRule>{};
  }
};
class NoQuotas final : public resources::Quotas {
  std::optional<Status> find_problem(const ObjectKey&, const json::Object*, const json::Object&) const override {
    return std::nullopt;
  }
  Task<void> counted(Core&, ObjectKey) override { co_return; }
};

// A controller of config maps that does what the test says, and remembers when it was asked about whom.
class Toy {
 public:
  struct Call {
    std::string name;
    steady_clock::time_point at;
  };
  std::function<Pass(const Turn&)> sync = [](const Turn&) { return Pass(); };
  std::function<Pass(const Turn&, const Carried&)> finish = nullptr;

  Pass synced(const Turn& turn) {
    Pass pass = sync(turn);
    const std::lock_guard lock(mutex_);
    calls_.push_back({.name = turn.key.name, .at = steady_clock::now()});
    called_.notify_all();
    return pass;
  }
  std::vector<Call> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  std::size_t calls_of(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count(calls_, name, &Call::name));
  }
  bool await_calls(std::string_view name, std::size_t count) {
    std::unique_lock lock(mutex_);
    return called_.wait_for(lock, std::chrono::seconds(20), [&] {
      return static_cast<std::size_t>(std::ranges::count(calls_, name, &Call::name)) >= count;
    });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable called_;
  std::vector<Call> calls_;
};

Toy* toy = nullptr;  // of the test that runs: a controller is a row of plain functions

Pass toy_sync(const Turn& turn) { return toy->synced(turn); }
Pass toy_finish(const Turn& turn, const Pass&, const Carried& carried) {
  return toy->finish ? toy->finish(turn, carried) : Pass();
}

constexpr Controller toy_row{.name = "toy",
                             .resource = config_maps,
                             .component = "toy-controller",
                             .triggers = {},
                             .sync = toy_sync,
                             .finish = toy_finish};

class EngineTest : public testing::Test {
 protected:
  EngineTest() {
    toy = &toy_;
    open_store();
    const auto made = write({.verb = Verb::create,
                             .resource = "namespaces",
                             .ns = {},
                             .name = "ns",
                             .document = object(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ns"}})")});
    EXPECT_FALSE(made.hard) << made.hard->message;
  }
  ~EngineTest() override {
    stop();
    commits_->wait_for_all();
    cores_.reset();
    toy = nullptr;
  }

  void open_store() {
    store::Options options;
    options.path = folder_.file("store.db");
    store_ = store::must_open(std::move(options));
    commits_ = std::make_unique<resources::Commits>(*store_);
    policies_.emplace(*store_);
    backend_.emplace(resources::Backend{.store = *store_,
                                        .commits = *commits_,
                                        .authorizer = authorizer_,
                                        .clock = clock_,
                                        .admission = admission::offline_environment(),
                                        .rules = rules_,
                                        .quotas = quotas_,
                                        .policies = *policies_});
  }

  void start(std::span<const Controller> controllers, DiskAgent* disks = nullptr) {
    engine_ = std::make_unique<Engine>(Engine::Parts{.backend = *backend_,
                                                     .core = core(),
                                                     .config = config_,
                                                     .metrics = metrics_,
                                                     .controllers = controllers,
                                                     .disks = disks});
    on_core([this] { running_ = Background(engine_->run()); });
  }
  void stop() {
    on_core([this] {
      running_ = Background();
      engine_ = nullptr;
    });
  }
  void on_core(std::function<void()> what) {
    http::test::run_on(core(), [](std::function<void()> it) -> Task<void> {
      it();
      co_return;
    }(std::move(what)));
  }
  Core& core() { return (*cores_)[0]; }

  static json::Value object(std::string_view text) {
    auto parsed = json::Document::parse(text);
    if (!parsed) throw std::invalid_argument(parsed.error().message);
    return json::Value(parsed->root(), json::StoragePtr());
  }
  static json::Value config_map(std::string_view name) {
    return object(
        fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","namespace":"ns"}}}})", name));
  }
  // As a controller writes, from outside of the engine.
  Done write(Effect effect) {
    Pass pass;
    pass.add(std::move(effect));
    EventRecorder events;
    Carrier carrier({.backend = *backend_, .core = core(), .events = events});
    return http::test::run_on(core(), carrier.carry_out(pass, {}, {.component = "test"}));
  }
  void create(std::string_view name) {
    const Done made = write({.verb = Verb::create,
                             .resource = config_maps,
                             .ns = "ns",
                             .name = std::string(name),
                             .document = config_map(name)});
    ASSERT_FALSE(made.hard) << made.hard->message;
  }
  void create_object(std::string_view resource, std::string_view text) {
    const json::Value value = object(text);
    const json::Value& metadata = *json::find(value, "metadata");
    const Done made = write({.verb = Verb::create,
                             .resource = resource,
                             .ns = std::string(json::get_string_or(metadata, "namespace")),
                             .name = std::string(json::get_string_or(metadata, "name")),
                             .document = value});
    ASSERT_FALSE(made.hard) << made.hard->message;
  }
  std::string text_at(std::string_view resource, std::string_view name,
                      std::initializer_list<std::string_view> path) const {
    const ObjectPtr stored = store_->get(resource, "ns", name);
    if (!stored) return "(gone)";
    json::LeasedArena arena;
    const json::Value value = resources::load_object(*stored, arena.storage());
    const json::Value* found = json::find_path(value, path);
    return found ? std::string(json::as_string(found).value_or("(no text)")) : "(absent)";
  }
  // Until it holds: the engine tells nobody but the store.
  static bool await(const std::function<bool()>& holds) {
    const auto end = steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (steady_clock::now() > end) return false;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return true;
  }
  bool await_rest() {
    return await([this] { return engine_->at_rest(); });
  }

  // The object of the pass with data.state set.
  static Effect state(const Turn& turn, std::string_view value) {
    const json::Object* found = turn.world.get(config_maps, turn.key.ns, turn.key.name);
    json::Value document(*found, turn.storage);
    json::ensure_object(document.get_object(), "data")["state"] = value;
    return {.verb = Verb::update,
            .resource = config_maps,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .document = std::move(document)};
  }
  static std::string_view state_of(const Turn& turn) {
    const json::Object* found = turn.world.get(config_maps, turn.key.ns, turn.key.name);
    const json::Object* data = found ? json::get_object(*found, "data") : nullptr;
    return data ? json::get_string_or(*data, "state") : std::string_view();
  }

  store::TemporaryFolder folder_;
  SystemClock clock_;
  metrics::Registry metrics_;
  AllowAll authorizer_;
  AllRules rules_;
  NoQuotas quotas_;
  std::optional<resources::AdmissionPolicies> policies_;
  config::FixedConfig config_{config::ClusterConfig::defaults("amd64")};
  Toy toy_;
  std::unique_ptr<store::EmbeddedStore> store_;
  std::unique_ptr<resources::Commits> commits_;
  std::optional<resources::Backend> backend_;
  std::unique_ptr<http::CoreThreads> cores_ = std::make_unique<http::CoreThreads>(1U);
  std::unique_ptr<Engine> engine_;
  Background running_;
};

TEST_F(EngineTest, EffectsHappenInTheirOrderAndEventsAreTold) {
  toy_.sync = [](const Turn& turn) {
    Pass pass;
    if (turn.key.name != "a" || state_of(turn) == "done") return pass;
    pass.add({.verb = Verb::create, .resource = config_maps, .ns = "ns", .name = "b", .document = config_map("b")});
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
      pass.add({.verb = Verb::create, .resource = config_maps, .ns = "ns", .name = "NO", .document = config_map("NO")});
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
      pass.effects.insert(
          pass.effects.begin(),
          {.verb = Verb::create, .resource = config_maps, .ns = "ns", .name = "b", .document = config_map("b")});
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
              .document = config_map("b"),
              .already_done_is_fine = true});
    pass.add({.verb = Verb::create,
              .resource = config_maps,
              .ns = "ns",
              .name = "NO",
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
    ASSERT_FALSE(
        write({.verb = Verb::update, .resource = controllers::kinds::vmi, .ns = "ns", .name = name, .document = ended})
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
      pass.jobs.push_back({.id = "fill", .claim = {.ns = "ns", .name = "c"}, .work = CreateClaim{.capacity = 5}});
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
    pass.jobs.push_back({.id = "fill", .claim = {}, .work = CreateClaim{}});
    pass.add({.verb = Verb::remove, .resource = config_maps, .ns = "ns", .name = "nobody"});
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
              .document = object(R"({"unfreezeTimeout":"5m0s"})"),
              .path = "freeze",
              .soft_reason = "freeze",
              .finish_decides = true};
  Pass pass;
  pass.add(call);
  pass.add(
      {.verb = Verb::create, .resource = config_maps, .ns = "ns", .name = "after", .document = config_map("after")});
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

}  // namespace
}  // namespace vg::engine
