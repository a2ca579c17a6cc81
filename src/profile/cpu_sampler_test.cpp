#include "profile/cpu_sampler.h"

#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <thread>

#include "profile/mappings.h"
#include "profile/process_profiles.h"

// Each in a section of its own, whose ends the linker tells. The second does something after its call, so that it stays
// a caller.
extern "C" {
__attribute__((noinline, section("vg_test_burns"))) double virtgate_test_burns(double from) {
  for (int i = 0; i < 100000; ++i) from = from * 1.0000001 + 0.5;
  return from;
}
__attribute__((noinline, section("vg_test_calls"))) double virtgate_test_calls(double from) {
  return virtgate_test_burns(from) + 1;
}
extern const char __start_vg_test_burns[], __stop_vg_test_burns[], __start_vg_test_calls[], __stop_vg_test_calls[];
}

namespace vg::profile {
namespace {

std::chrono::nanoseconds cpu_time_of_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// Burns CPU time and not only time, so that it is seen on a busy machine as well.
void burn(std::chrono::milliseconds time) {
  static volatile double value = 1;  // volatile: somebody might look at the result
  for (const auto end = cpu_time_of_thread() + time; cpu_time_of_thread() < end;) value = virtgate_test_calls(value);
}

std::uint64_t total(const CpuSamples& samples) {
  std::uint64_t count = samples.lost;
  for (const auto& stack : samples.stacks) count += stack.count;
  return count;
}

struct Code {
  const char *start, *stop;
  bool holds(const Place& place) const {
    return place.address >= reinterpret_cast<std::uintptr_t>(start) &&
           place.address < reinterpret_cast<std::uintptr_t>(stop);
  }
};

// How many samples have both, the first one called by the second.
std::int64_t seen(const Profile& profile, Code inner, Code outer) {
  std::int64_t count = 0;
  for (const Sample& sample : profile.samples) {
    bool within = false;
    for (const std::uint32_t place : sample.stack) {
      within |= inner.holds(profile.places[place]);
      if (within && outer.holds(profile.places[place])) {
        count += sample.values[0];
        break;
      }
    }
  }
  return count;
}

TEST(CpuSampler, SeesWhereTimeIsSpent) {
  CpuSampler sampler;
  ASSERT_TRUE(sampler.start());
  EXPECT_TRUE(sampler.running());
  burn(std::chrono::milliseconds(400));
  const CpuSamples samples = sampler.stop();
  EXPECT_FALSE(sampler.running());
  // One in 10 ms: 40 of them, but a machine that is busy with other things may be late.
  EXPECT_GE(total(samples), 20U);
  // ThreadSanitizer keeps signals back until the program calls something it knows, so stacks tell nothing there.
  if (const char* sanitized = std::getenv("VIRTGATE_SANITIZED"); sanitized && std::string_view(sanitized) == "thread")
    return;
  const Profile profile = cpu_profile(samples, own_mappings());
  EXPECT_GE(seen(profile, {__start_vg_test_burns, __stop_vg_test_burns}, {__start_vg_test_calls, __stop_vg_test_calls}),
            static_cast<std::int64_t>(total(samples) / 2));
}

TEST(CpuSampler, SeesOtherThreadsAndOnlyWhatRuns) {
  std::atomic<bool> go{false}, ready{false};
  std::jthread other([&] {
    ready = true;
    ready.notify_one();
    go.wait(false);
    burn(std::chrono::milliseconds(200));
  });
  ready.wait(false);
  CpuSampler sampler;
  ASSERT_TRUE(sampler.start());
  go = true;
  go.notify_one();
  other.join();
  const CpuSamples samples = sampler.stop();
  EXPECT_GE(total(samples), 10U);
}

TEST(CpuSampler, StartsAnewAndEndsWithoutHarm) {
  CpuSampler sampler;
  EXPECT_EQ(total(sampler.stop()), 0U);
  ASSERT_TRUE(sampler.start());
  burn(std::chrono::milliseconds(50));
  ASSERT_TRUE(sampler.start());  // what was seen before is gone
  EXPECT_LT(total(sampler.stop()), 3U);
  // A signal that comes late finds nobody who wants it.
  EXPECT_EQ(::raise(SIGPROF), 0);
  {
    CpuSampler forgotten;
    ASSERT_TRUE(forgotten.start());
    CpuSampler second;
    EXPECT_FALSE(second.start());
  }
  EXPECT_TRUE(sampler.start());
}

// The walk must end, whatever the registers hold.
TEST(CpuSampler, SurvivesFramePointersThatAreNone) {
#if defined(__x86_64__)
  CpuSampler sampler;
  ASSERT_TRUE(sampler.start());
  for (const std::uintptr_t value : {std::uintptr_t{0}, std::uintptr_t{1}, std::uintptr_t{0x4141414141414141},
                                     ~std::uintptr_t{0}, std::uintptr_t{4096}}) {
    // A loop with a ruined frame pointer while signals come: about 20 ms each.
    asm volatile(
        "push %%rbp\n"
        "mov %[value], %%rbp\n"
        "mov $60000000, %%ecx\n"
        "1: dec %%ecx\n"
        "jnz 1b\n"
        "pop %%rbp\n"
        :
        : [value] "r"(value)
        : "ecx", "memory", "cc");
  }
  EXPECT_GT(total(sampler.stop()), 0U);
#else
  GTEST_SKIP() << "written for another machine";
#endif
}

}  // namespace
}  // namespace vg::profile
