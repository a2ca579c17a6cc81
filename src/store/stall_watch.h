// Watches the one thread that writes: a disk that hangs must not let everybody wait, and nobody know.
//
// After some seconds the store says that it does not accept writes. After a minute those who wait are answered: who is
// in the batch that the disk has, that the outcome is unknown (504), and what they wrote is unsettled from then on; who
// is still in the queue, that nothing was changed (503). When the disk answers after all, the batch becomes readable
// like any other.
//
// `mutex_` guards what the writer is at; while it is held the batch stays where it is. Answers are given without it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "store/batch.h"
#include "store/durable_log.h"
#include "store/unsettled_keys.h"
#include "store/write_queue.h"

namespace vg::store {

class StallWatch {
 public:
  using Duration = std::chrono::steady_clock::duration;
  struct Patience {
    Duration ready;   // so long the store seems to work
    Duration answer;  // so long somebody waits for an answer
  };
  // All of them outlive it.
  StallWatch(WriteQueue& queue, DurableLog& log, UnsettledKeys& unsettled, const Patience& patience);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // The writer's thread: what it does from here on may wait for the disk; it waits for nothing but writes.
  void working();
  void resting();
  // The disk has it. Until it is taken back its answers may be given here: their `done` is empty then.
  void lend(Batch& batch);
  void take_back();

 private:
  void run();
  void look(std::unique_lock<std::mutex>& lock);
  void give_up(std::unique_lock<std::mutex>& lock);

  WriteQueue& queue_;
  DurableLog& log_;
  UnsettledKeys& unsettled_;
  const Patience patience_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::steady_clock::time_point since_;
  bool working_ = false;
  bool reported_ = false;
  Batch* lent_ = nullptr;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace vg::store
