// Transactions that wait for the disk, in the order in which they came, and no more of them than the disk is good for.
//
// `mutex_` guards the queue, and nothing else is locked while it is held. Completions are called without it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "store/prepared_write.h"

namespace vg::store {

class WriteQueue {
 public:
  struct Bounds {
    std::size_t transactions_max;
    std::size_t bytes_max;
    std::size_t batch_transactions_max;
    std::size_t batch_bytes_max;
  };
  explicit WriteQueue(const Bounds& bounds) : bounds_(bounds) {}
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  // Any thread. What cannot wait is answered here and now.
  void put(PreparedTransaction transaction);
  // The writer's: waits for transactions, but no longer than `patience`, and takes as many as one sync may carry.
  // `weigh` says what one of them adds to a batch. False: the queue was stopped and is empty.
  using Weigh = std::function<std::size_t(const PreparedTransaction&)>;
  bool take(std::vector<PreparedTransaction>& batch, std::chrono::steady_clock::duration patience, const Weigh& weigh);
  // Any thread: what has waited since before `then`, for whoever answers it.
  std::vector<PreparedTransaction> take_older(std::chrono::steady_clock::time_point then);
  // From here on nothing comes in; what waits is still taken.
  void stop();

  std::size_t waiting() const;
  std::uint64_t overloaded() const { return overloaded_.load(std::memory_order_relaxed); }

 private:
  const Bounds bounds_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<PreparedTransaction> queue_;
  std::size_t bytes_ = 0;
  bool stopping_ = false;
  std::atomic<std::uint64_t> overloaded_ = 0;
};

}  // namespace vg::store
