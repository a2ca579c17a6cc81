// What passes write themselves, and where it is written.
#include <gmock/gmock.h>

#include "base/controller_limits.h"
#include "engine/elsewhere.h"
#include "engine/opened.h"
#include "engine/testing.h"

namespace vg::engine {
namespace {

class SettledTest : public EngineTest {};

// Counts up to `last` in data.state, a step a pass.
Pass counted(const Turn& turn, int last, bool settled, const std::function<Effect(std::string)>& state,
             std::string_view now) {
  Pass pass;
  const int number = now.empty() ? 0 : std::stoi(std::string(now));
  if (turn.key.name != "a" || number == last) return pass;
  pass.add(state(std::to_string(number + 1)));
  pass.settled = settled;
  return pass;
}

TEST_F(SettledTest, AnOwnWriteIsLookedAtAtOnceUnlessThePassIsSettled) {
  for (const bool settled : {false, true}) {
    Toy fresh;
    toy = &fresh;
    fresh.sync = [&](const Turn& turn) {
      return counted(turn, 3, settled, [&](const std::string& to) { return state(turn, to); }, state_of(turn));
    };
    const std::string name = "a";
    start({&toy_row, 1});
    const auto began = steady_clock::now();
    create(name);
    ASSERT_TRUE(await([&] { return text_at(config_maps, name, {"data", "state"}) == "3"; }));
    const auto took = steady_clock::now() - began;
    // One look after each write but the last, however late.
    EXPECT_EQ(took >= 2 * limits::controller_settled_look, settled);
    stop();
    toy = &toy_;
    const Done gone = write({.verb = Verb::remove,
                             .resource = config_maps,
                             .ns = "ns",
                             .name = name,
                             .identity = controllers::Identity::own()});
    ASSERT_FALSE(gone.hard);
  }
}

TEST_F(SettledTest, WhatOthersWriteIsLookedAtAtOnce) {
  toy_.sync = [](const Turn& turn) {
    Pass pass;
    if (state_of(turn) == "done" || state_of(turn) == "again") return pass;
    pass.add(state(turn, "done"));
    pass.settled = true;
    return pass;
  };
  start({&toy_row, 1});
  create("a");
  ASSERT_TRUE(await([&] { return text_at(config_maps, "a", {"data", "state"}) == "done"; }));
  ASSERT_TRUE(await_rest());
  const std::size_t before = toy_.calls_of("a");
  const auto began = steady_clock::now();
  json::Value again = config_map("a");
  again.get_object()["data"] = json::Value({{"state", "again"}});
  ASSERT_FALSE(write({.verb = Verb::update,
                      .resource = config_maps,
                      .ns = "ns",
                      .name = "a",
                      .identity = controllers::Identity::own(),
                      .document = again})
                   .hard);
  ASSERT_TRUE(toy_.await_calls("a", before + 1));
  EXPECT_LT(steady_clock::now() - began, limits::controller_settled_look);
}

TEST_F(SettledTest, AnotherCoreTakesAShareOfTheWrites) {
  Elsewhere elsewhere(other_core());
  toy_.sync = [](const Turn& turn) {
    Pass pass;
    if (state_of(turn) == "done") return pass;
    pass.add(state(turn, state_of(turn) == "half" ? "done" : "half"));
    return pass;
  };
  start({&toy_row, 1}, nullptr, &elsewhere);
  for (int i = 0; i < 40; ++i) create(fmt::format("c{}", i));
  for (int i = 0; i < 40; ++i)
    ASSERT_TRUE(await([&] { return text_at(config_maps, fmt::format("c{}", i), {"data", "state"}) == "done"; })) << i;
  ASSERT_TRUE(await_rest());
  stop();
  http::test::run_on(other_core(), [](Elsewhere& done) -> Task<void> {
    done.stop();
    co_return;
  }(elsewhere));
}

TEST_F(SettledTest, FailuresElsewhereComeBackToo) {
  Elsewhere elsewhere(other_core());
  const auto thrown = http::test::run_on(core(), [](Elsewhere& other, Core& home) -> Task<std::string> {
    try {
      co_await other.run(home, []() -> Task<int> {
        throw std::runtime_error("no");
        co_return 1;
      }());
    } catch (const std::runtime_error& error) {
      co_return error.what();
    }
    co_return "nothing";
  }(elsewhere, core()));
  EXPECT_EQ(thrown, "no");
  const bool there = http::test::run_on(core(), [](Elsewhere& other, Core& home) -> Task<bool> {
    const bool ran_there = co_await other.run(home, [](Core& on) -> Task<bool> { co_return on.here(); }(other.core()));
    co_return ran_there&& home.here();
  }(elsewhere, core()));
  EXPECT_TRUE(there);
  http::test::run_on(other_core(), [](Elsewhere& done) -> Task<void> {
    done.stop();
    co_return;
  }(elsewhere));
}

TEST_F(SettledTest, ObjectsStayOpenWithoutTheirOwners) {
  create_object(config_maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"ns"},
      "data":{"state":"new"}})");
  const ObjectPtr stored = store_->get(config_maps, "ns", "a");
  ASSERT_TRUE(stored->json().contains("managedFields"));
  Opened opened;
  const OpenedPtr first = opened.open(*stored);
  EXPECT_EQ(opened.open(*stored), first);
  const json::Value* metadata = json::find(first->root(), "metadata");
  EXPECT_FALSE(json::find(metadata->get_object(), "managedFields"));
  EXPECT_EQ(json::get_string_or(*metadata, "name"), "a");
  EXPECT_EQ(json::get_string_or(*metadata, "resourceVersion"), fmt::to_string(stored->revision()));

  json::Value large = config_map("b");
  large.get_object()["data"] = json::Value({{"x", std::string(limits::opened_object_bytes_max, 'x')}});
  ASSERT_FALSE(write({.verb = Verb::create,
                      .resource = config_maps,
                      .ns = "ns",
                      .name = "b",
                      .identity = controllers::Identity::own(),
                      .document = large})
                   .hard);
  const ObjectPtr other = store_->get(config_maps, "ns", "b");
  EXPECT_NE(opened.open(*other), opened.open(*other));
}

TEST_F(SettledTest, TheLastUsedStayOpen) {
  Opened opened;
  create("first");
  const ObjectPtr stored = store_->get(config_maps, "ns", "first");
  const std::weak_ptr<const json::Document> kept = opened.open(*stored);
  const std::size_t enough = 2 * limits::opened_bytes_max / limits::opened_object_bytes_max;
  for (std::size_t i = 0; i <= enough; ++i) {
    const std::string name = fmt::format("n{}", i);
    json::Value map = config_map(name);
    map.get_object()["data"] = json::Value({{"x", std::string(limits::opened_object_bytes_max / 2, 'x')}});
    ASSERT_FALSE(write({.verb = Verb::create,
                        .resource = config_maps,
                        .ns = "ns",
                        .name = name,
                        .identity = controllers::Identity::own(),
                        .document = map})
                     .hard);
    opened.open(*store_->get(config_maps, "ns", name));
  }
  EXPECT_TRUE(kept.expired());
}

// A create or update of an object whose owners a controller never saw leaves them as they were.
TEST_F(SettledTest, AnUpdateWithoutOwnersKeepsThem) {
  toy_.sync = [](const Turn& turn) {
    Pass pass;
    if (state_of(turn) != "done") pass.add(state(turn, "done"));
    return pass;
  };
  create_object(config_maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"ns"},
      "data":{"others":"own"}})");
  start({&toy_row, 1});
  ASSERT_TRUE(await([&] { return text_at(config_maps, "a", {"data", "state"}) == "done"; }));
  for (const std::string_view owned : {R"("f:state")", R"("f:others")"})
    EXPECT_TRUE(store_->get(config_maps, "ns", "a")->json().contains(owned)) << owned;
}

}  // namespace
}  // namespace vg::engine
