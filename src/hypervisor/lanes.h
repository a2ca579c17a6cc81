// Threads that wait for libvirt, so that cores do not. A lane is one kind of waiting: what takes minutes never keeps
// what takes milliseconds from being done. Within a lane, work for one domain is done in the order in which it came.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/core.h"
#include "base/status.h"

namespace vg::hypervisor {

enum class Lane : std::uint8_t {
  control,    // changes a domain
  questions,  // to a guest, or about what it shows
  jobs,       // migration, dump of memory
  urgent,     // about jobs, while they run
  watching,   // reads what became of a domain
  endings,    // asks a guest to end, by its agent
  kills,      // ends a domain, whatever else waits for it
};

class Lanes {
 public:
  // Threads keep what they need alive by themselves: one that is in a call for long does not hold up the end.
  Lanes() : state_(std::make_shared<State>()) {}
  ~Lanes() { stop(); }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // `deliver` is called after the work, by the same thread, unless stop() was called meanwhile: what it uses must live
  // until then. False when too much waits, for this domain or in all, or after stop().
  using Work = std::move_only_function<void()>;
  bool submit(Lane lane, std::string domain, Work work, Work deliver);
  // Drops what waits, and waits for what is done, for a while. Nothing is delivered from then on. Jobs are not waited
  // for: they go on in the hypervisor, and the next process of the node, which waits for the end of this one, finds
  // them. A second time does nothing.
  void stop();

  static constexpr std::size_t count = 7;

 private:
  struct Job {
    Work work, deliver;
  };
  struct Queue {
    std::map<std::string, std::deque<Job>> waiting;  // by domain; none is empty
    std::deque<std::string> ready;                   // domains of which nothing is done now
    std::set<std::string, std::less<>> busy;
    std::size_t threads = 0, idle = 0;
  };
  struct State {
    std::mutex mutex;
    std::array<std::condition_variable, count> work_came;
    std::condition_variable thread_ended;
    std::array<Queue, count> queues;
    std::size_t waiting = 0;
    bool stopping = false;

    std::size_t threads_but_of_jobs() const;
  };
  static void run(const std::shared_ptr<State>& state, std::size_t lane);

  std::shared_ptr<State> state_;
};

// co_await Call<T>(...): fn runs in a lane, and the coroutine goes on on the core with what it returned. fn owns what
// it uses, because the coroutine may be thrown away meanwhile.
template <class T>
class Call {
 public:
  Call(Lanes& lanes, Core& core, Lane lane, std::string domain, std::move_only_function<Result<T>()> fn)
      : lanes_(lanes),
        lane_(lane),
        domain_(std::move(domain)),
        shared_(std::make_shared<Shared>(core, std::move(fn))) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() { shared_->waiting = nullptr; }  // on the core, or after its loop has stopped

  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> coroutine) {
    const auto shared = shared_;  // this may be gone as soon as it is submitted
    shared->waiting = coroutine;
    const bool taken = lanes_.submit(
        lane_, domain_, [shared] { shared->value.emplace(shared->fn()); },
        [shared] {
          shared->core.post([shared] {
            if (shared->waiting) std::exchange(shared->waiting, nullptr).resume();
          });
        });
    if (!taken) shared->waiting = nullptr;
    return taken;
  }
  Result<T> await_resume() {
    if (!shared_->value) return fail(Status::too_many_requests("the hypervisor has too much to do", 1));
    return std::move(*shared_->value);
  }

 private:
  struct Shared {
    Shared(Core& on, std::move_only_function<Result<T>()> work) : core(on), fn(std::move(work)) {}
    Core& core;
    std::move_only_function<Result<T>()> fn;
    std::optional<Result<T>> value;
    std::coroutine_handle<> waiting;  // only touched on the core
  };
  Lanes& lanes_;
  const Lane lane_;
  const std::string domain_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace vg::hypervisor
