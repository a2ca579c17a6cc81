#include "base/off_loop.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "base/budgets.h"
#include "base/cpus.h"

namespace vg {
namespace {

// A third of the share of a loop when both want the same CPU, and a loop that wakes up goes first.
constexpr int worker_nice = 5;
constexpr int retry_after_seconds = 1;

// What the kernel takes; the C library has no name for it.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = SCHED_BATCH;
  std::uint64_t flags = 0;
  std::int32_t nice = worker_nice;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};

// Loops answer everybody, workers one request each: where the CPU is short, loops go first. One call for this thread
// alone, so that the sandbox need not allow those that reach others. Where it fails, workers have the share of a loop.
void yield_to_loops() {
  const SchedulingAttributes attributes;
  (void)::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

// What large requests leave behind lies scattered in the allocator's heaps, of which it returns the ends alone.
// Returning it takes the heaps' locks for some milliseconds: once nothing large has come for a while, and if it is
// much.
constexpr std::chrono::seconds trim_after{1};
constexpr std::size_t trimmed_bytes_min = 32 * 1024 * 1024;
void return_free_memory() {
  if (::mallinfo2().fordblks >= trimmed_bytes_min) ::malloc_trim(0);
}

void block_signals() {
  sigset_t others;
  ::sigfillset(&others);
  ::sigdelset(&others, SIGPROF);  // a profiler's, for the thread that runs
  ::pthread_sigmask(SIG_BLOCK, &others, nullptr);
}

}  // namespace

// The threads, made with the first job and kept until the process ends: a job may outlive the server that it is for.
class OffLoopWorkers {
 public:
  // Jobs of both kinds are done in the order in which they came, but each kind has room of its own. Otherwise the
  // memory that requests have left behind would take the places of those that wait for an answer.
  enum Kind : std::size_t { awaited, left_behind };

  static OffLoopWorkers& shared(OffLoopPool pool = OffLoopPool::compute) {
    static OffLoopWorkers compute(std::clamp(allowed_cpus(), 1u, budgets::off_loop_workers_max));
    static OffLoopWorkers files(budgets::file_workers_max);
    return pool == OffLoopPool::compute ? compute : files;
  }
  explicit OffLoopWorkers(unsigned threads_max) : threads_max_(threads_max) {}
  ~OffLoopWorkers() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    arrived_.notify_all();
  }

  // Does not throw when the system is short of threads or memory: large arenas come here from a destructor.
  bool add(Kind kind, std::move_only_function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_[kind] >= off_loop_jobs_max || stopping_ || !have_worker() || !queue(kind, std::move(job))) {
        ++refused_;
        return false;
      }
    }
    arrived_.notify_one();
    return true;
  }

  OffLoopCounts counts() {
    const std::lock_guard lock(mutex_);
    return {.waiting = jobs_.size(), .finished = finished_, .refused = refused_};
  }

 private:
  // Whether somebody will take one more job. There are as many threads as there is work for at once, so that a server
  // of small requests has none.
  bool have_worker() {
    if (idle_ > jobs_.size() || threads_.size() >= threads_max_) return true;
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): none to be had now; the next job tries again
    }
    return !threads_.empty();
  }

  bool queue(Kind kind, std::move_only_function<void()> job) {
    try {
      jobs_.emplace_back(kind, std::move(job));
      ++waiting_[kind];
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  void run() {
    block_signals();
    yield_to_loops();
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      const auto arrived = [this] { return stopping_ || !jobs_.empty(); };
      while (!arrived_.wait_for(lock, trim_after, arrived)) {
        if (std::exchange(trimmed_, true)) {
          arrived_.wait(lock, arrived);
          break;
        }
        lock.unlock();
        return_free_memory();
        lock.lock();
      }
      --idle_;
      if (jobs_.empty()) return;  // stopping
      auto [kind, job] = std::move(jobs_.front());
      jobs_.pop_front();
      --waiting_[kind];
      lock.unlock();
      job();
      job = nullptr;  // with everything it holds, before the lock is taken
      lock.lock();
      ++finished_;
      trimmed_ = false;
    }
  }

  const unsigned threads_max_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::pair<Kind, std::move_only_function<void()>>> jobs_;
  std::array<std::size_t, 2> waiting_{};  // by kind
  std::size_t idle_ = 0;
  std::uint64_t finished_ = 0, refused_ = 0;
  bool stopping_ = false;
  bool trimmed_ = true;                // since the last job
  std::vector<std::jthread> threads_;  // the last member: joined while the others are still there
};

bool OffLoopJob::submit(const std::shared_ptr<OffLoopJob>& job, std::coroutine_handle<> waiting, OffLoopPool pool) {
  job->waiting_ = waiting;
  return OffLoopWorkers::shared(pool).add(OffLoopWorkers::awaited, [job] { run(job); });
}

void OffLoopJob::run(const std::shared_ptr<OffLoopJob>& job) {
  int expected = queued;
  if (!job->phase_.compare_exchange_strong(expected, running, std::memory_order_acq_rel)) return;
  job->work();
  // Posted while it still counts as running: whoever destroys the core's coroutines waits for it, and so the core is
  // there.
  job->core_.post([job] {
    if (job->waiting_) std::exchange(job->waiting_, nullptr).resume();
  });
  job->phase_.store(done, std::memory_order_release);
  job->phase_.notify_all();
}

void OffLoopJob::leave() {
  waiting_ = nullptr;
  int expected = queued;
  if (phase_.compare_exchange_strong(expected, dropped, std::memory_order_acq_rel)) return;
  while (expected == running) {
    phase_.wait(running, std::memory_order_acquire);
    expected = phase_.load(std::memory_order_acquire);
  }
}

Status off_loop_refusal() {
  return Status::too_many_requests("too many large objects are being processed; try again later", retry_after_seconds);
}

bool run_off_loop(std::move_only_function<void()> fn) {
  return OffLoopWorkers::shared().add(OffLoopWorkers::left_behind, std::move(fn));
}

OffLoopCounts off_loop_counts() { return OffLoopWorkers::shared().counts(); }

}  // namespace vg
