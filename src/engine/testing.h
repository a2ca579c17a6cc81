// A controller that does what the test says, and an engine over a store of its own, on cores of its own.
#pragma once

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
#include "engine/carry_out.h"
#include "engine/elsewhere.h"
#include "engine/engine.h"
#include "engine/event_sink.h"
#include "http/core.h"
#include "http/tls_test_support.h"
#include "json/access.h"
#include "json/arena_pool.h"
#include "objects/draft.h"
#include "store/testing.h"

namespace vg::engine {

using controllers::Carried;
using controllers::Controller;
using controllers::Effect;
using controllers::Pass;
using controllers::Turn;
using controllers::Verb;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

inline constexpr std::string_view config_maps = "configmaps";

// Everybody but one may do everything, and there are no quotas.
class AllowAll final : public Authorizer {
 public:
  std::string refused = {};

 private:
  Task<Result<AccessDecision>> authorize(Core&, const User& user, const AccessAttributes&) override {
    co_return AccessDecision{.allowed = user.name != refused, .reason = {}};
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

inline Toy* toy = nullptr;  // of the test that runs: a controller is a row of plain functions

inline Pass toy_sync(const Turn& turn) { return toy->synced(turn); }
inline Pass toy_finish(const Turn& turn, const Pass&, const Carried& carried) {
  return toy->finish ? toy->finish(turn, carried) : Pass();
}

inline constexpr Controller toy_row{.name = "toy",
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
                             .identity = controllers::Identity::own(),
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

  void start(std::span<const Controller> controllers, DiskAgent* disks = nullptr, Elsewhere* elsewhere = nullptr) {
    engine_ = std::make_unique<Engine>(Engine::Parts{.backend = *backend_,
                                                     .core = core(),
                                                     .config = config_,
                                                     .metrics = metrics_,
                                                     .controllers = controllers,
                                                     .disks = disks,
                                                     .elsewhere = elsewhere});
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
  Core& other_core() { return (*cores_)[1]; }

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
                             .identity = controllers::Identity::own(),
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
                             .identity = controllers::Identity::own(),
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
            .identity = controllers::Identity::own(),
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
  std::unique_ptr<http::CoreThreads> cores_ = std::make_unique<http::CoreThreads>(2U);
  std::unique_ptr<Engine> engine_;
  Background running_;
};

}  // namespace vg::engine
