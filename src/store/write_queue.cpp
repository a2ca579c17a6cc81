#include "store/write_queue.h"

#include <utility>

namespace vg::store {

void WriteQueue::put(PreparedTransaction transaction) {
  std::unique_lock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    return transaction.done(fail(Status::unavailable("the server is stopping")));
  }
  if (queue_.size() >= bounds_.transactions_max ||
      (!queue_.empty() && bytes_ + transaction.bytes > bounds_.bytes_max)) {
    lock.unlock();
    overloaded_.fetch_add(1, std::memory_order_relaxed);
    return transaction.done(
        fail(Status::too_many_requests("too many writes are queued for the disk; try again in a second", 1)));
  }
  bytes_ += transaction.bytes;
  transaction.since = std::chrono::steady_clock::now();
  queue_.push_back(std::move(transaction));
  const bool first = queue_.size() == 1;
  lock.unlock();
  if (first) filled_.notify_one();  // the writer only ever waits for an empty queue
}

bool WriteQueue::take(std::vector<PreparedTransaction>& batch, std::chrono::steady_clock::duration patience,
                      const Weigh& weigh) {
  std::unique_lock lock(mutex_);
  filled_.wait_for(lock, patience, [this] { return stopping_ || !queue_.empty(); });
  if (queue_.empty() && stopping_) return false;
  std::size_t weight = 0;
  while (!queue_.empty() && batch.size() < bounds_.batch_transactions_max) {
    weight += weigh(queue_.front());
    if (!batch.empty() && weight > bounds_.batch_bytes_max) break;
    bytes_ -= queue_.front().bytes;
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return true;
}

std::vector<PreparedTransaction> WriteQueue::take_older(std::chrono::steady_clock::time_point then) {
  std::vector<PreparedTransaction> older;
  const std::lock_guard lock(mutex_);
  while (!queue_.empty() && queue_.front().since < then) {
    bytes_ -= queue_.front().bytes;
    older.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return older;
}

void WriteQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  filled_.notify_one();
}

std::size_t WriteQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

}  // namespace vg::store
