// Arenas for requests, kept per core between them: everyday requests parse without touching the heap.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/budgets.h"
#include "base/off_loop.h"
#include "json/arena.h"

namespace vg::json {

// An arena for the life of this object. Must be given back on the thread that took it, as a request that stays on its
// core does; it may be held across suspension.
class LeasedArena {
 public:
  LeasedArena() {
    auto& free = free_list();
    if (free.empty()) {
      arena_ = std::make_unique<Arena>();
    } else {
      arena_ = std::move(free.back());
      free.pop_back();
    }
  }
  ~LeasedArena() {
    // Giving a hundred megabytes back to the system takes milliseconds, which a worker has and the loop has not.
    if (large_) {
      run_off_loop([arena = std::move(arena_)] {});
      return;
    }
    auto& free = free_list();
    if (free.size() >= budgets::kept_arenas_max) return;
    arena_->reset();
    free.push_back(std::move(arena_));
  }
  LeasedArena(const LeasedArena&) = delete;
  LeasedArena& operator=(const LeasedArena&) = delete;

  StoragePtr storage() { return arena_->storage(); }
  // Says how much of a client's data comes to stand in it; values take several times as much.
  void expect(std::size_t bytes) { large_ = large_ || bytes >= off_loop_bytes_min; }

 private:
  static std::vector<std::unique_ptr<Arena>>& free_list() {
    thread_local std::vector<std::unique_ptr<Arena>> list;
    return list;
  }
  std::unique_ptr<Arena> arena_;
  bool large_ = false;
};

}  // namespace vg::json
