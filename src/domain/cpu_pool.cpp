#include "domain/cpu_pool.h"

#include <algorithm>
#include <set>

namespace vg::domain {

CpuPool::CpuPool(const HostTopology& host, std::span<const std::uint32_t> cpu_set, std::uint32_t threads)
    : threads_(threads) {
  const std::set<std::uint32_t> given(cpu_set.begin(), cpu_set.end());
  std::set<std::uint32_t> seen;
  for (const HostCell& host_cell : host) {
    Cell& cell = cells_.emplace_back();
    for (const HostCpu& cpu : host_cell.cpus) {
      if (seen.contains(cpu.id)) continue;
      Core core;
      const auto siblings = cpu.siblings.empty() ? std::span(&cpu.id, 1) : std::span(cpu.siblings);
      for (const std::uint32_t id : siblings) {
        seen.insert(id);
        if (given.contains(id)) core.push_back(id);
      }
      if (core.size() >= threads_)
        cell.whole.push_back(std::move(core));
      else
        cell.fragments.insert(cell.fragments.end(), core.begin(), core.end());
    }
  }
}

// What remains of a core stays whole while a guest core still fits.
void CpuPool::settle_first_core(Cell& cell) const {
  Core& rest = cell.whole.front();
  if (rest.size() >= threads_) return;
  cell.fragments.insert(cell.fragments.end(), rest.begin(), rest.end());
  cell.whole.pop_front();
}

std::uint32_t CpuPool::take_of_first_core(Cell& cell) {
  const std::uint32_t cpu = cell.whole.front().front();
  cell.whole.front().pop_front();
  return cpu;
}

std::optional<std::vector<std::uint32_t>> CpuPool::take_cores(std::uint64_t cores, bool may_cross) {
  std::vector<std::uint32_t> taken;
  // DOM-PIN-03
  for (Cell& cell : cells_)
    for (; cores > 0 && !cell.whole.empty(); --cores) {
      for (std::uint32_t thread = 0; thread < threads_; ++thread) taken.push_back(take_of_first_core(cell));
      settle_first_core(cell);
    }
  const auto take_fragments = [&](Cell& cell, std::uint64_t count) {
    taken.insert(taken.end(), cell.fragments.begin(), cell.fragments.begin() + static_cast<std::ptrdiff_t>(count));
    cell.fragments.erase(cell.fragments.begin(), cell.fragments.begin() + static_cast<std::ptrdiff_t>(count));
  };
  // DOM-PIN-04
  for (Cell& cell : cells_)
    for (; cores > 0 && cell.fragments.size() >= threads_; --cores) take_fragments(cell, threads_);
  if (cores > 0 && !may_cross) return std::nullopt;
  // DOM-PIN-05
  std::uint64_t missing = cores * threads_;
  for (Cell& cell : cells_) {
    const std::uint64_t count = std::min<std::uint64_t>(missing, cell.fragments.size());
    take_fragments(cell, count);
    missing -= count;
  }
  if (missing > 0) return std::nullopt;
  return taken;
}

std::optional<std::uint32_t> CpuPool::take_thread() {
  for (Cell& cell : cells_) {
    if (!cell.fragments.empty()) {
      const std::uint32_t cpu = cell.fragments.front();
      cell.fragments.pop_front();
      return cpu;
    }
    if (cell.whole.empty()) continue;
    const std::uint32_t cpu = take_of_first_core(cell);
    settle_first_core(cell);
    return cpu;
  }
  return std::nullopt;
}

}  // namespace vg::domain
