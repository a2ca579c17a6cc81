#include "http/loop_watchdog.h"

#include <gmock/gmock.h>

#include <future>
#include <semaphore>

#include "base/log.h"
#include "http/core.h"

namespace vg::http {
namespace {

using namespace std::chrono_literals;

TEST(CurrentRequest, NamesTheLastOne) {
  CurrentRequest current;
  EXPECT_FALSE(current.seen());
  current.set("1a-2", "/livez");
  current.set("1a-3", "/apis/" + std::string(500, 'x'));
  const auto seen = current.seen();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->id, "1a-3");
  EXPECT_EQ(seen->path, "/apis/" + std::string(90, 'x'));
  current.set("", "");
  EXPECT_EQ(current.seen()->path, "");
}

TEST(CurrentRequest, IsNeverSeenHalf) {
  CurrentRequest current;
  std::atomic<bool> ending = false;
  std::jthread writer([&] {
    const std::string one(60, 'a'), other(90, 'b');
    while (!ending) {
      current.set("a", one);
      current.set("b", other);
    }
  });
  for (int seen_whole = 0; seen_whole < 1000;) {
    const auto seen = current.seen();
    if (!seen) continue;
    ++seen_whole;
    ASSERT_TRUE(seen->path == std::string(60, 'a') || seen->path == std::string(90, 'b')) << seen->path;
    ASSERT_EQ(seen->id[0], seen->path[0]);
  }
  ending = true;
}

class Watchdog : public ::testing::Test {
 protected:
  // Waits until something holds; the test's own deadline is gtest's.
  static void await(const std::function<bool()>& holds) {
    while (!holds()) std::this_thread::sleep_for(1ms);
  }
  std::uint64_t stalls(unsigned core) {
    return registry
        .counters("virtgate_loop_stalls_total", "Times that an event loop was stalled for a quarter of a second.",
                  {"core"})
        .with({std::to_string(core)})
        ->value();
  }
  metrics::Registry registry;
  CurrentRequest current, other;
};

TEST_F(Watchdog, TellsOfALoopThatStands) {
  CoreThreads cores(2);
  LoopWatchdog watchdog({{cores[0], current}, {cores[1], other}}, registry,
                        {.interval = 5ms, .stall = 20ms, .hopeless = 60ms});
  current.set("1a-3", "/slow");
  std::binary_semaphore go_on(0);
  cores[0].post([&] { go_on.acquire(); });
  await([&] { return stalls(0) == 1; });
  await([&] { return watchdog.problem().has_value(); });
  EXPECT_THAT(*watchdog.problem(), ::testing::HasSubstr("has been stalled"));
  EXPECT_EQ(stalls(0), 1u) << "a stall counts once";
  EXPECT_EQ(stalls(1), 0u);
  go_on.release();
  await([&] { return !watchdog.problem(); });
}

TEST_F(Watchdog, EndsWhileALoopStands) {
  std::binary_semaphore go_on(0);  // outlives the loop that waits for it
  CoreThreads cores(1);
  {
    LoopWatchdog watchdog({{cores[0], current}}, registry, {.interval = 5ms, .stall = 20ms});
    cores[0].post([&] { go_on.acquire(); });
    await([&] { return stalls(0) == 1; });
  }
  go_on.release();
}

}  // namespace
}  // namespace vg::http
