#include "profile/process_profiler.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "profile/process_profiles.h"

namespace vg::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

std::vector<std::string> names(ProcessProfiler& profiler) {
  std::vector<std::string> all;
  for (const auto& [name, bytes] : profiler.dump()) {
    all.push_back(name);
    EXPECT_THAT(bytes, StartsWith("\x1f\x8b")) << name;
  }
  return all;
}

TEST(ProcessProfiler, HasACpuProfileOnlyAfterItsEnd) {
  const SystemClock clock;
  ProcessProfiler profiler(clock);
  const auto without_cpu =
      ElementsAre("allocs.pprof", "block.pprof", "goroutine.pprof", "heap.pprof", "mutex.pprof", "threadcreate.pprof");
  EXPECT_THAT(names(profiler), without_cpu);
  profiler.stop();  // nothing runs, so nothing ends
  EXPECT_THAT(names(profiler), without_cpu);
  ASSERT_TRUE(profiler.start());
  EXPECT_THAT(names(profiler), without_cpu);
  profiler.stop();
  const auto with_cpu = ElementsAre("allocs.pprof", "block.pprof", "cpu.pprof", "goroutine.pprof", "heap.pprof",
                                    "mutex.pprof", "threadcreate.pprof");
  EXPECT_THAT(names(profiler), with_cpu);
  EXPECT_THAT(names(profiler), with_cpu);
  profiler.stop();  // again: what ended stays
  EXPECT_THAT(names(profiler), with_cpu);
  ASSERT_TRUE(profiler.start());
  EXPECT_THAT(names(profiler), without_cpu);
}

TEST(Threads, AreReadWhateverTheirName) {
  const Thread thread =
      read_thread(7, "7 (a (b) c) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 100 0 0 18446744073709551615 0 0");
  EXPECT_EQ(thread.id, 7);
  EXPECT_EQ(thread.name, "a (b) c");
  EXPECT_EQ(thread.state, 'S');
  EXPECT_EQ(thread.cpu, std::chrono::milliseconds(200 * 1000 / ::sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(read_thread(1, "").name, "");
  EXPECT_EQ(read_thread(1, ")(").name, "");
  EXPECT_EQ(read_thread(1, "1 (x)").state, '?');
  EXPECT_FALSE(threads().empty());
}

TEST(Profiles, AddUp) {
  const Profile heap = heap_profile({.in_use = 5, .kept = 7, .mapped = 11});
  std::int64_t bytes = 0;
  for (const Sample& sample : heap.samples) bytes += sample.values.at(0);
  EXPECT_EQ(bytes, 23);
  // A sanitizer brings a heap of its own, of which malloc's figures say nothing.
  if (const char* sanitized = std::getenv("VIRTGATE_SANITIZED"); !sanitized || !*sanitized)
    EXPECT_GT(heap_figures().in_use, 0);
  const std::vector<Thread> two{{.id = 1, .name = "a", .state = 'R', .cpu = std::chrono::seconds(1)},
                                {.id = 2, .name = "b", .state = 'S', .cpu = std::chrono::seconds(2)}};
  EXPECT_EQ(activity_profile(two).samples.size(), 2U);
  EXPECT_EQ(thread_profile(two).samples.at(1).values, (std::vector<std::int64_t>{2000000000, 1}));
  const Profile lost = cpu_profile({.stacks = {{.addresses = {1}, .count = 2}}, .lost = 3}, {});
  ASSERT_EQ(lost.samples.size(), 2U);
  EXPECT_EQ(lost.samples[1].values, (std::vector<std::int64_t>{3, 30000000}));
}

TEST(Profiles, EndStacksWhereNoProgramIs) {
  const std::vector<Mapping> mappings{{.start = 0x1000, .limit = 0x2000, .offset = 0, .file = "/nonexistent"}};
  const Profile made = cpu_profile(
      {.stacks = {{.addresses = {0x1100, 0x1200, 0x9000, 0x1300}, .count = 1}, {.addresses = {0x9000}, .count = 2}}},
      mappings);
  ASSERT_EQ(made.samples.size(), 2U);
  EXPECT_EQ(made.samples[0].stack.size(), 2U);
  EXPECT_EQ(made.samples[1].stack.size(), 1U);  // where a sample was taken is told, whatever is there
}

}  // namespace
}  // namespace vg::profile
