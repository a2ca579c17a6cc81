// Work that takes long, off the event loop: co_await off_loop(core, bytes, fn) runs fn on one of a few worker threads
// while the core serves everybody else, and goes on on the core with what fn returned.
//
// Only what takes milliseconds is worth it. `bytes` is how much of a client's data fn goes over: below
// off_loop_bytes_min fn runs where it is called, and costs nothing more than the call.
//
// What reads or writes files of users goes to threads of its own (OffLoopPool::files): a file system that hangs keeps
// nobody's request waiting that is about something else.
//
// fn may use everything that its coroutine can reach, since that waits meanwhile: the request's arena and buffers. It
// must not use what belongs to the core's thread (sockets, streams, the pool of arenas).
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/budgets.h"
#include "base/core.h"
#include "base/status.h"

namespace vg {

// A body of this size takes about a millisecond to be read and judged.
inline constexpr std::size_t off_loop_bytes_min = 64 * 1024;
inline constexpr std::size_t off_loop_jobs_max = budgets::off_loop_jobs_max;

enum class OffLoopPool : std::uint8_t { compute, files };

// One piece of work on its way to a worker. Shared by the waiting coroutine and the worker: either may be the last.
class OffLoopJob {
 public:
  explicit OffLoopJob(Core& core) : core_(core) {}
  virtual ~OffLoopJob() = default;
  OffLoopJob(const OffLoopJob&) = delete;
  OffLoopJob& operator=(const OffLoopJob&) = delete;

  // On the core. False when too much waits already, or no thread can be had; nothing happens then.
  static bool submit(const std::shared_ptr<OffLoopJob>& job, std::coroutine_handle<> waiting, OffLoopPool pool);
  // On the core, or after its loop has stopped: the coroutine goes away. Returns when no worker uses what it holds.
  void leave();

 protected:
  virtual void work() = 0;

 private:
  friend class OffLoopWorkers;
  enum Phase : int { queued, running, done, dropped };
  static void run(const std::shared_ptr<OffLoopJob>& job);

  Core& core_;
  std::atomic<int> phase_{queued};
  std::coroutine_handle<> waiting_;  // only touched on the core
};

// What was refused because too much waits: 429, to be tried again in a second.
Status off_loop_refusal();

// Runs something on a worker that nobody waits for. False when too much waits already, or no thread can be had.
bool run_off_loop(std::move_only_function<void()> fn);

struct OffLoopCounts {
  std::size_t waiting = 0;
  std::uint64_t finished = 0, refused = 0;
};
OffLoopCounts off_loop_counts();

// What co_await off_loop() waits for. Destroying it while it waits is safe: it lets go of a job that waits, and waits
// for one that runs.
template <class Fn>
class OffLoop {
  using Value = std::invoke_result_t<Fn&>;
  static_assert(std::is_constructible_v<Value, Failed>, "fn returns a Result: there may be no worker for it");

  struct Job final : OffLoopJob {
    Job(Core& on, Fn& work_fn) : OffLoopJob(on), fn(work_fn) {}
    void work() override {
      try {
        value.emplace(fn());
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    Fn& fn;  // of the awaiting object, which outlives the work
    std::optional<Value> value;
    std::exception_ptr thrown;
  };

 public:
  OffLoop(Core& core, std::size_t bytes, Fn fn, OffLoopPool pool)
      : core_(core),
        here_(pool == OffLoopPool::compute && bytes < off_loop_bytes_min),
        pool_(pool),
        fn_(std::move(fn)) {}
  OffLoop(const OffLoop&) = delete;
  OffLoop& operator=(const OffLoop&) = delete;
  ~OffLoop() {
    if (job_) job_->leave();
  }

  bool await_ready() const { return here_; }
  bool await_suspend(std::coroutine_handle<> coroutine) {
    auto job = std::make_shared<Job>(core_, fn_);
    job_ = job;  // before it is submitted: from then on this may go away
    if (OffLoopJob::submit(job, coroutine, pool_)) return true;
    job_ = nullptr;
    return false;
  }
  Value await_resume() {
    if (here_) return fn_();
    if (!job_) return Value(fail(off_loop_refusal()));
    if (job_->thrown) std::rethrow_exception(job_->thrown);
    return std::move(*job_->value);
  }

 private:
  Core& core_;
  const bool here_;
  const OffLoopPool pool_;
  Fn fn_;
  std::shared_ptr<Job> job_;
};

template <class Fn>
OffLoop<Fn> off_loop(Core& core, std::size_t bytes, Fn fn) {
  return OffLoop<Fn>(core, bytes, std::move(fn), OffLoopPool::compute);
}

// However little it is: how long a file system takes has nothing to do with the size.
template <class Fn>
OffLoop<Fn> on_files(Core& core, Fn fn) {
  return OffLoop<Fn>(core, 0, std::move(fn), OffLoopPool::files);
}

}  // namespace vg
