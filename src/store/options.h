// What a store is opened with, and what it tells about itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/limits.h"
#include "base/store_limits.h"
#include "ports/commit_guard.h"
#include "ports/object_store.h"
#include "store/high_water_mark.h"
#include "store/value_cipher.h"

namespace vg::store {

// The bounds are those of base/store_limits.h, where their reasons stand; tests set smaller ones.
struct Options {
  std::string path;
  const char* vfs = nullptr;                            // SQLite's file layer; tests put one that fails underneath
  std::shared_ptr<const ValueCipher> cipher = nullptr;  // for Secrets in the file; in memory they are as others
  std::string boot = this_boot();                       // see store/high_water_mark.h

  std::size_t queue_transactions_max = store_limits::queue_transactions_max;
  std::size_t queue_bytes_max = store_limits::queue_bytes_max;
  std::size_t batch_transactions_max = store_limits::batch_transactions_max;
  std::size_t batch_bytes_max = store_limits::batch_bytes_max;
  std::size_t object_bytes_max = limits::stored_object_bytes_max;
  std::size_t key_bytes_max = store_limits::key_bytes_max;

  std::size_t log_changes_max = store_limits::window_changes_max;
  std::size_t log_bytes_max = store_limits::window_bytes_max;
  std::chrono::steady_clock::duration log_age_max = store_limits::window_age_max;
  std::chrono::steady_clock::duration log_age_least = store_limits::window_age_least;
  std::size_t log_bytes_least = store_limits::window_bytes_least;
  std::size_t recent_bytes_max = store_limits::recent_bytes_max;

  std::size_t reserve_bytes = store_limits::reserve_bytes;
  std::size_t reserve_share = store_limits::reserve_share;
  std::size_t wal_bytes_max = store_limits::wal_bytes_max;
  std::chrono::steady_clock::duration stall_ready_max = store_limits::stall_ready_max;
  std::chrono::steady_clock::duration stall_answer_max = store_limits::stall_answer_max;
  std::chrono::steady_clock::duration probe_interval = store_limits::probe_interval;
  // Completes or refuses transactions (see ports/commit_guard.h). Outlives the store.
  CommitGuard* guard = nullptr;
  // Called on a thread of the store's when health changes. Must not block, or call the store.
  std::function<void(const StoreHealth&)> health_changed;
};

struct Stats {
  std::uint64_t commits = 0;       // durable batches, each one sync
  std::uint64_t transactions = 0;  // committed
  std::uint64_t refused = 0;       // conflicts and the like
  std::uint64_t overloaded = 0;    // refused because too much waited
  std::uint64_t failed = 0;        // because of the disk
  std::uint64_t checkpoints = 0;
  std::size_t waiting = 0;
  std::size_t watches = 0;
  std::size_t wal_bytes = 0;
  std::uint64_t rows = 0;  // in the file: present objects, and what is kept of their history
};

}  // namespace vg::store
