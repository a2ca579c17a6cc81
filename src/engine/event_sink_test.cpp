#include "engine/event_sink.h"

#include <gmock/gmock.h>

#include <semaphore>

#include "base/controller_limits.h"
#include "engine/testing.h"

namespace vg::engine {
namespace {

using controllers::Event;
using controllers::EventObject;
using testing::ElementsAre;

class EventSinkTest : public EngineTest {
 protected:
  static EventObject involved_vm(std::string_view uid) {
    return {.api_version = "v1", .kind = "ConfigMap", .ns = "ns", .name = uid, .uid = uid, .resource_version = "1"};
  }
  bool tell(std::string_view uid, std::string message, bool once = false) {
    return sink_->take(involved_vm(uid), Event{.reason = "Happened", .message = std::move(message), .once = once},
                       {.component = "toy", .host = "node"});
  }
  bool await_events(std::size_t count) {
    return await([&] { return store_->count("events") == count; });
  }
  // Messages of the events of one object, by revision.
  std::vector<std::string> told(std::string_view uid) {
    std::map<Revision, std::string> found;
    json::LeasedArena arena;
    for (const ObjectPtr& object : store_->list({.resource = "events", .ns = "ns"})->objects) {
      const json::Value event = resources::load_object(*object, arena.storage());
      if (json::as_string(json::find_path(event, {"involvedObject", "uid"})) == uid)
        found.emplace(object->revision(), json::get_string_or(event, "message"));
    }
    std::vector<std::string> messages;
    for (auto& [revision, message] : found) messages.push_back(std::move(message));
    return messages;
  }
  std::int64_t count_of(std::string_view message) {
    json::LeasedArena arena;
    for (const ObjectPtr& object : store_->list({.resource = "events", .ns = "ns"})->objects) {
      const json::Value event = resources::load_object(*object, arena.storage());
      if (json::get_string_or(event, "message") == message) return json::get_int_or(event, "count", 0);
    }
    return 0;
  }
  void TearDown() override {
    http::test::run_on(other_core(), [](EventSink& sink) -> Task<void> {
      sink.stop();
      co_return;
    }(*sink_));
  }

  std::shared_ptr<EventSink> sink_ = std::make_shared<EventSink>(*backend_, other_core());
};

TEST_F(EventSinkTest, ThoseOfOneObjectKeepTheirOrder) {
  std::vector<std::string> wanted;
  for (int i = 0; i < 10; ++i) {
    wanted.push_back(fmt::format("{}", i));
    EXPECT_TRUE(tell("a", wanted.back()));
    EXPECT_TRUE(tell("b", wanted.back()));
  }
  ASSERT_TRUE(await_events(20));
  EXPECT_EQ(told("a"), wanted);
  EXPECT_EQ(told("b"), wanted);
}

TEST_F(EventSinkTest, ARepetitionIsCounted) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(tell("a", "the same"));
  EXPECT_TRUE(await([&] { return count_of("the same") == 3; }));
  EXPECT_EQ(store_->count("events"), 1U);
}

TEST_F(EventSinkTest, WhatIsToldOnceIsNotCounted) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(tell("a", "once", true));
  EXPECT_TRUE(tell("a", "behind"));
  ASSERT_TRUE(await([&] { return count_of("behind") == 1; }));
  EXPECT_EQ(count_of("once"), 1);
  EXPECT_THAT(told("a"), ElementsAre("once", "behind"));
}

// The texts of an event are copied: nothing of the pass is needed when it is written.
TEST_F(EventSinkTest, NothingOfThePassIsNeededLater) {
  {
    const std::string name = "short-lived", host = "node-with-a-long-name-that-is-on-the-heap";
    EXPECT_TRUE(sink_->take(involved_vm(name), Event{.reason = "Happened", .message = "m"},
                            {.component = "toy", .host = host}));
  }
  ASSERT_TRUE(await_events(1));
  EXPECT_THAT(told("short-lived"), ElementsAre("m"));
}

TEST_F(EventSinkTest, WhenTooManyWaitItTakesNoMore) {
  std::binary_semaphore stopped(0), go_on(0);
  other_core().post([&] {
    stopped.release();
    go_on.acquire();
  });
  stopped.acquire();
  for (std::size_t i = 0; i < limits::events_waiting_max; ++i) ASSERT_TRUE(tell("a", "x", true)) << i;
  EXPECT_FALSE(tell("a", "one too many"));
  go_on.release();
  ASSERT_TRUE(await([&] { return tell("a", "room again", true); }));
  EXPECT_TRUE(await([&] { return count_of("room again") == 1; }));
}

TEST_F(EventSinkTest, WhatWaitsWhenItStopsIsNotWritten) {
  http::test::run_on(other_core(), [](std::function<void()> there) -> Task<void> {
    there();
    co_return;
  }([this] {
                       EXPECT_TRUE(tell("a", "lost"));
                       sink_->stop();
                     }));
  EXPECT_LE(store_->count("events"), 1U);
}

}  // namespace
}  // namespace vg::engine
