// The one thread that writes.
//
// It takes all transactions that wait, checks each against the newest state (batch.h), hands all of them to the log,
// and waits for one sync: that is what makes many small writes cheap. Only then the batch becomes readable, at once and
// in order, watches are woken, and the writers get their answers. When the log fails, every transaction of the batch
// fails and memory stays as it was; if it failed in the sync, nobody can say what a crash would bring back, and the
// writers are told so, and those who read, until it is settled (unsettled_keys.h). Should the disk not answer at all,
// others notice (stall_watch.h). Between batches, and more of
// it when nobody writes, the thread looks after the window of changes and the log, a little at a time.
//
// It holds no lock of its own, and never two of the others': the queue's while it takes transactions, the index's
// while a batch becomes readable, the hub's while watches are woken, none while it writes or answers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "ports/commit_guard.h"
#include "store/durable_log.h"
#include "store/packer.h"
#include "store/prepared_write.h"
#include "store/stall_watch.h"
#include "store/unsettled_keys.h"
#include "store/versioned_index.h"
#include "store/write_queue.h"

namespace vg::store {

class StoreWriter {
 public:
  // All of them outlive it. From here on `log` and `packers` are this thread's, and `index` is changed by it alone.
  struct Parts {
    WriteQueue& queue;
    VersionedIndex& index;
    DurableLog& log;
    Packers& packers;
    CommitGuard* guard;  // may be null
  };
  StoreWriter(const Parts& parts, const WriteBounds& bounds, const StallWatch::Patience& patience);
  // Completes what waits in the queue.
  ~StoreWriter();
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  // Any thread.
  const UnsettledKeys& unsettled() const { return unsettled_; }
  std::uint64_t transactions() const { return transactions_.load(std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  std::uint64_t failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  void run();
  void run_batch(std::vector<PreparedTransaction>& transactions);
  // `quiet`: nobody writes.
  void look_after(bool quiet);
  std::size_t weight_bytes(const PreparedTransaction& transaction) const;

  const Parts parts_;
  const WriteBounds bounds_;
  std::atomic<std::uint64_t> transactions_ = 0, refused_ = 0, failed_ = 0;
  std::chrono::steady_clock::time_point looked_after_;
  UnsettledKeys unsettled_;
  StallWatch stall_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace vg::store
