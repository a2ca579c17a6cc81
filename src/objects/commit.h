// Waiting for the store from a coroutine: the store answers on its own thread, the coroutine goes on on its core.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/core.h"
#include "base/write_limits.h"
#include "objects/write_lines.h"
#include "ports/object_store.h"

namespace vg::resources {

// The writes on their way to one store. Cores may only be destroyed once none of them can be answered there any more.
class Commits {
 public:
  explicit Commits(ObjectStore& store) : store_(store) {}

  void submit(Transaction transaction, Completion done) {
    in_flight_.fetch_add(1, std::memory_order_relaxed);
    store_.submit(std::move(transaction), [this, done = std::move(done)](Result<CommitOutcome> outcome) mutable {
      done(std::move(outcome));
      if (in_flight_.fetch_sub(1, std::memory_order_acq_rel) == 1) in_flight_.notify_all();
    });
  }
  // Of writes to the same store that name no version.
  WriteLines& lines() { return lines_; }
  // Nobody may submit meanwhile. The store answers everything, so this ends.
  void wait_for_all() const {
    for (auto left = in_flight_.load(); left != 0; left = in_flight_.load()) in_flight_.wait(left);
  }

 private:
  ObjectStore& store_;
  std::atomic<std::size_t> in_flight_ = 0;
  WriteLines lines_{limits::write_line_max};
};

// co_await Commit(commits, core, transactions): submits all of them at once and resumes, on `core`, when the last one
// is answered; the results come in the order of the transactions. The coroutine must run on `core`. It may be destroyed
// while it waits (its connection was cut): the writes happen all the same, and nobody is resumed.
class Commit {
 public:
  Commit(Commits& commits, Core& core, std::vector<Transaction> transactions)
      : commits_(commits), core_(core), transactions_(std::move(transactions)) {}
  Commit(const Commit&) = delete;
  Commit& operator=(const Commit&) = delete;
  ~Commit() {
    if (state_) state_->waiting = nullptr;
  }

  bool await_ready() const { return transactions_.empty(); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    state_ = std::make_shared<State>(transactions_.size());
    state_->waiting = coroutine;
    // Once the last one is submitted this object may be gone, so nothing of it is touched in the loop.
    const auto state = state_;
    auto transactions = std::move(transactions_);
    Commits& commits = commits_;
    Core& core = core_;
    for (std::size_t i = 0; i < transactions.size(); ++i) {
      commits.submit(std::move(transactions[i]), [state, i, &core](Result<CommitOutcome> outcome) {
        state->results[i].emplace(std::move(outcome));
        if (state->left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        core.post([state] {
          if (state->waiting) std::exchange(state->waiting, nullptr).resume();
        });
      });
    }
  }
  std::vector<Result<CommitOutcome>> await_resume() {
    std::vector<Result<CommitOutcome>> results;
    if (!state_) return results;
    results.reserve(state_->results.size());
    for (auto& result : state_->results) results.push_back(std::move(*result));
    return results;
  }

 private:
  struct State {
    explicit State(std::size_t count) : results(count), left(count) {}
    std::vector<std::optional<Result<CommitOutcome>>> results;
    std::atomic<std::size_t> left;
    std::coroutine_handle<> waiting;  // only touched on the core
  };
  Commits& commits_;
  Core& core_;
  std::vector<Transaction> transactions_;
  std::shared_ptr<State> state_;
};

inline Task<Result<CommitOutcome>> commit(Commits& commits, Core& core, Transaction transaction) {
  std::vector<Transaction> one;
  one.push_back(std::move(transaction));
  auto results = co_await Commit(commits, core, std::move(one));
  co_return std::move(results.front());
}

}  // namespace vg::resources
