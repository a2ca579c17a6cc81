#include "profile/process_profiler.h"

#include "profile/mappings.h"
#include "profile/process_profiles.h"

namespace vg::profile {
namespace {

constexpr std::string_view why_no_allocs =
    "allocations are not sampled in this program; use heap.pprof for memory in use, or perf and heaptrack on the node";
constexpr std::string_view why_no_waits =
    "blocking is not sampled in this program: threads do not wait for each other while requests are served";

std::chrono::nanoseconds since_1970(Clock::Wall time) { return time.time_since_epoch(); }

}  // namespace

Result<void> ProcessProfiler::start() {
  const std::scoped_lock lock(mutex_);
  ended_.reset();
  began_wall_ = clock_.wall_now();
  began_ = clock_.steady_now();
  return sampler_.start();
}

void ProcessProfiler::stop() {
  const std::scoped_lock lock(mutex_);
  if (!sampler_.running()) return;
  Profile profile = cpu_profile(sampler_.stop(), own_mappings());
  profile.time = since_1970(began_wall_);
  profile.duration = clock_.steady_now() - began_;
  ended_ = write_pprof(profile);
}

std::vector<std::pair<std::string, std::string>> ProcessProfiler::dump() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&](std::string name, Profile profile) {
    profile.time = since_1970(clock_.wall_now());
    all.emplace_back(std::move(name), write_pprof(profile));
  };
  const std::vector<Thread> running = threads();
  add("allocs.pprof", unknown_profile({"alloc_space", "bytes"}, why_no_allocs));
  add("block.pprof", unknown_profile({"delay", "nanoseconds"}, why_no_waits));
  if (ended_) all.emplace_back("cpu.pprof", *ended_);
  add("goroutine.pprof", activity_profile(running));
  add("heap.pprof", heap_profile(heap_figures()));
  add("mutex.pprof", unknown_profile({"delay", "nanoseconds"}, why_no_waits));
  add("threadcreate.pprof", thread_profile(running));
  return all;
}

}  // namespace vg::profile
