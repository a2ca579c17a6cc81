// Host CPUs that are dedicated to a guest, given out so that threads of a guest core share a host core where they can
// (DOM-PIN-02 to DOM-PIN-08).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "domain/context.h"

namespace vg::domain {

class CpuPool {
 public:
  // Only CPUs of `cpu_set` are given out; `threads` of them make a guest core.
  CpuPool(const HostTopology& host, std::span<const std::uint32_t> cpu_set, std::uint32_t threads);

  // CPUs for so many guest cores, in the order of vCPUs; nothing when there are not enough. Unless `may_cross` is set,
  // the threads of a guest core come from one cell.
  std::optional<std::vector<std::uint32_t>> take_cores(std::uint64_t cores, bool may_cross);
  // DOM-PIN-08
  std::optional<std::uint32_t> take_thread();

 private:
  using Core = std::deque<std::uint32_t>;
  struct Cell {
    std::deque<Core> whole;
    Core fragments;
  };

  std::uint32_t take_of_first_core(Cell& cell);
  void settle_first_core(Cell& cell) const;

  std::uint32_t threads_;
  std::vector<Cell> cells_;
};

}  // namespace vg::domain
