#include "profile/process_profiles.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace vg::profile {
namespace {

constexpr ValueType samples_count{"samples", "count"}, cpu_time{"cpu", "nanoseconds"};
constexpr ValueType used_bytes{"inuse_space", "bytes"}, thread_count{"threads", "count"};

std::int64_t nanoseconds(std::chrono::nanoseconds time) { return time.count(); }

// Finds or makes the places of addresses.
class Places {
 public:
  explicit Places(Profile& profile) : profile_(profile) {}

  // Up to what cannot have called anything: libraries use the register of frame pointers for other things as well.
  std::vector<std::uint32_t> of(const StackTable::Stack& stack) {
    std::vector<std::uint32_t> found;
    for (const std::uintptr_t address : stack.addresses) {
      const std::uint32_t place = of(address);
      if (!found.empty() && profile_.places[place].mapping == 0) break;
      found.push_back(place);
    }
    return found;
  }

 private:
  std::uint32_t of(std::uintptr_t address) {
    const auto [known, made] = places_.try_emplace(address, static_cast<std::uint32_t>(profile_.places.size()));
    if (made) profile_.places.push_back(look_up(address));
    return known->second;
  }

  Place look_up(std::uintptr_t address) const {
    const auto& mappings = profile_.mappings;
    const auto found = std::ranges::find_if(
        mappings, [&](const Mapping& mapping) { return address >= mapping.start && address < mapping.limit; });
    if (found == mappings.end()) return {.address = address};
    return {.address = address, .mapping = static_cast<std::uint32_t>(found - mappings.begin()) + 1};
  }

  Profile& profile_;
  std::map<std::uintptr_t, std::uint32_t> places_;
};

std::string_view state_name(char state) {
  switch (state) {
    case 'R':
      return "runs";
    case 'S':
      return "waits";
    case 'D':
      return "waiting for a disk";
    default:
      return "stopped";
  }
}

}  // namespace

Profile cpu_profile(const CpuSamples& samples, std::vector<Mapping> mappings) {
  constexpr std::int64_t period = std::chrono::nanoseconds(sampling_period).count();
  Profile made{.types = {samples_count, cpu_time}, .mappings = std::move(mappings), .period_type = cpu_time};
  made.period = period;
  const auto add = [&made](std::vector<std::uint32_t> stack, std::uint64_t count) {
    const auto times = static_cast<std::int64_t>(count);
    made.samples.push_back({.stack = std::move(stack), .values = {times, times * period}});
  };
  Places places(made);
  for (const StackTable::Stack& stack : samples.stacks) add(places.of(stack), stack.count);
  if (samples.lost > 0) add({made.add_place("(stacks that did not fit)")}, samples.lost);
  return made;
}

HeapFigures heap_figures() {
  const auto info = ::mallinfo2();
  return {.in_use = static_cast<std::int64_t>(info.uordblks),
          .kept = static_cast<std::int64_t>(info.fordblks),
          .mapped = static_cast<std::int64_t>(info.hblkhd)};
}

Profile heap_profile(const HeapFigures& figures) {
  Profile made{.types = {used_bytes}};
  made.comments.emplace_back("what malloc reports: allocations are not sampled, so their callers are not known");
  const std::uint32_t arenas = made.add_place("malloc: arenas"), blocks = made.add_place("malloc: mapped blocks");
  made.samples.push_back({.stack = {made.add_place("in use"), arenas}, .values = {figures.in_use}});
  made.samples.push_back({.stack = {made.add_place("free, cached"), arenas}, .values = {figures.kept}});
  made.samples.push_back({.stack = {blocks}, .values = {figures.mapped}});
  return made;
}

Profile activity_profile(std::span<const Thread> threads) {
  Profile made{.types = {thread_count}};
  made.comments.emplace_back("threads: queued requests hold none and are not shown here");
  for (const Thread& thread : threads) {
    const std::uint32_t name = made.add_place(thread.name);
    made.samples.push_back({.stack = {made.add_place(std::string(state_name(thread.state))), name}, .values = {1}});
  }
  return made;
}

Profile thread_profile(std::span<const Thread> threads) {
  Profile made{.types = {cpu_time, thread_count}};
  for (const Thread& thread : threads)
    made.samples.push_back({.stack = {made.add_place(thread.name)}, .values = {nanoseconds(thread.cpu), 1}});
  return made;
}

Profile unknown_profile(ValueType type, std::string_view why) {
  return {.types = {type}, .comments = {std::string(why)}};
}

}  // namespace vg::profile
