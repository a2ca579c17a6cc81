// Many tasks of one kind on one core, some of them at a time.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/task.h"
#include "http/core.h"

namespace vg::http {

namespace detail {

struct SideBySide {
  std::size_t next = 0, count = 0, running = 0;
  std::coroutine_handle<> waiting = nullptr;
  std::exception_ptr failure = nullptr;  // of the first one that threw
};

// Ready when the last one has ended. Whoever is destroyed while it waits is not woken.
class AllEnded {
 public:
  explicit AllEnded(std::shared_ptr<SideBySide> state) : state_(std::move(state)) {}
  AllEnded(const AllEnded&) = delete;
  AllEnded& operator=(const AllEnded&) = delete;
  ~AllEnded() { state_->waiting = nullptr; }

  bool await_ready() const { return state_->running == 0; }
  void await_suspend(std::coroutine_handle<> coroutine) { state_->waiting = coroutine; }
  void await_resume() const {}

 private:
  std::shared_ptr<SideBySide> state_;
};

inline Task<void> work_off(Core& core, std::shared_ptr<SideBySide> state,
                           const std::function<Task<void>(std::size_t)>& work) {
  while (state->next < state->count) {
    try {
      co_await work(state->next++);
    } catch (...) {
      if (!state->failure) state->failure = std::current_exception();
    }
  }
  if (--state->running > 0) co_return;
  // Not from here: whoever wakes up destroys this task, which cannot be while it runs.
  core.post([state] {
    if (state->waiting) std::exchange(state->waiting, nullptr).resume();
  });
}

}  // namespace detail

// work(0) to work(count - 1), begun in that order, at most `width` of them at once, all on this core. Ends after the
// last one; if one of them threw, that is thrown here then. Destroyed before, it throws them away where they wait.
inline Task<void> side_by_side(Core& core, std::size_t count, std::size_t width,
                               std::function<Task<void>(std::size_t)> work) {
  const auto state = std::make_shared<detail::SideBySide>();
  const std::size_t workers = std::min(count, width);
  state->count = count;
  state->running = workers;
  std::vector<Background> running;
  running.reserve(workers);
  for (std::size_t i = 0; i < workers; ++i) running.emplace_back(detail::work_off(core, state, work));
  detail::AllEnded ended(state);
  co_await ended;
  if (state->failure) std::rethrow_exception(state->failure);
}

}  // namespace vg::http
