// How often each stack was seen. It is filled by signal handlers, so adding takes no lock, no memory and no call.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/limits.h"

namespace vg::profile {

class StackTable {
 public:
  static constexpr std::size_t depth_max = limits::profile_stack_depth_max;
  static constexpr std::size_t slots = limits::profile_stacks_max;

  struct Stack {
    std::vector<std::uintptr_t> addresses;  // the innermost first
    std::uint64_t count = 0;
  };

  // Safe in a signal handler, and from several threads. A stack that finds no room is counted as lost.
  void add(std::span<const std::uintptr_t> addresses, std::uint64_t times = 1) noexcept {
    const std::span<const std::uintptr_t> stack = addresses.first(std::min(addresses.size(), depth_max));
    const std::uint64_t id = identify(stack);
    for (std::size_t probe = 0; probe < probes_max; ++probe) {
      Slot& slot = slots_[(id + probe) % slots];
      std::uint64_t owner = 0;
      if (slot.id.compare_exchange_strong(owner, id, std::memory_order_relaxed)) slot.take(stack);
      if (owner != 0 && owner != id) continue;
      slot.count.fetch_add(times, std::memory_order_relaxed);
      return;
    }
    lost_.fetch_add(times, std::memory_order_relaxed);
  }

  // Once nobody adds any more.
  std::vector<Stack> stacks() const {
    std::vector<Stack> all;
    for (const Slot& slot : slots_)
      if (slot.id.load(std::memory_order_relaxed) != 0)
        all.push_back({.addresses = {slot.addresses.begin(), slot.addresses.begin() + slot.depth},
                       .count = slot.count.load(std::memory_order_relaxed)});
    return all;
  }
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t probes_max = limits::profile_probes_max;

  struct Slot {
    std::atomic<std::uint64_t> id{0};  // 0: free
    std::atomic<std::uint64_t> count{0};
    std::uint32_t depth = 0;
    std::array<std::uintptr_t, depth_max> addresses{};

    void take(std::span<const std::uintptr_t> stack) noexcept {
      for (const std::uintptr_t address : stack) addresses[depth++] = address;
    }
  };

  // 64 bits tell a few thousand stacks apart, so nothing else is compared. Never 0.
  static std::uint64_t identify(std::span<const std::uintptr_t> stack) noexcept {
    std::uint64_t id = 0xcbf29ce484222325ULL;
    for (const std::uintptr_t address : stack) {
      id = (id ^ address) * 0x9e3779b97f4a7c15ULL;
      id ^= id >> 29;
    }
    return id | 1;
  }

  std::array<Slot, slots> slots_{};
  std::atomic<std::uint64_t> lost_{0};
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace vg::profile
