// Lines of writes that name no version, one line for each object that several write at once. Such a write means the
// object as it is when its turn comes, so nobody who sends one is told of a conflict: it is tried without waiting, and
// whoever finds that somebody else was faster waits in line, by user in turn. While an object has a line, new writes
// without a version join it; those that name a version never wait. An object that nobody else writes costs one atomic
// load.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/core.h"
#include "base/status.h"
#include "objects/fair_queue.h"

namespace vg::resources {

class WriteLines {
 public:
  explicit WriteLines(std::size_t waiting_max) : waiting_max_(waiting_max) {}

  // Held by the write whose turn it is; the next one begins when it is dropped. On any core.
  class Front {
   public:
    Front(WriteLines& lines, std::string key) : lines_(&lines), key_(std::move(key)) {}
    Front(Front&& other) noexcept : lines_(std::exchange(other.lines_, nullptr)), key_(std::move(other.key_)) {}
    Front& operator=(Front&&) = delete;
    ~Front() {
      if (lines_) lines_->call_next(key_);
    }

   private:
    WriteLines* lines_;
    std::string key_;
  };

 private:
  // Shared with the call that resumes it, which may come after it was thrown away.
  struct Waiter : FairQueue::Waiter, std::enable_shared_from_this<Waiter> {
    explicit Waiter(Core& on) : core(on) {}
    Core& core;
  };
  struct Line {
    FairQueue waiting;
    std::size_t length = 0;
  };

 public:
  // co_await, on `core`: waits for the front of the line. 429 when the line is too long.
  class [[nodiscard]] Enter {
   public:
    Enter(WriteLines& lines, Core& core, std::string key, std::string_view who)
        : lines_(lines), core_(core), key_(std::move(key)), who_(who) {}
    Enter(const Enter&) = delete;
    Enter& operator=(const Enter&) = delete;
    ~Enter() {
      if (waiter_) lines_.leave(key_, *waiter_);
    }
    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> coroutine) {
      const std::lock_guard lock(lines_.mutex_);
      const auto [line, is_new] = lines_.lines_.try_emplace(key_);
      if (is_new) {
        lines_.count_.store(lines_.lines_.size(), std::memory_order_release);
        return false;
      }
      is_full_ = line->second.length >= lines_.waiting_max_;
      if (is_full_) return false;
      waiter_ = std::make_shared<Waiter>(core_);
      waiter_->coroutine = coroutine;
      line->second.waiting.push(who_, *waiter_);
      ++line->second.length;
      return true;
    }
    Result<Front> await_resume() {
      if (is_full_)
        return fail(Status::too_many_requests("too many requests: too many writes of this object wait in line", 1));
      return Front(lines_, key_);
    }

   private:
    WriteLines& lines_;
    Core& core_;
    std::string key_;
    std::string_view who_;
    std::shared_ptr<Waiter> waiter_;
    bool is_full_ = false;
  };
  Enter enter(Core& core, std::string key, std::string_view who) { return {*this, core, std::move(key), who}; }

  // Whether anybody waits for anything, which is seldom.
  bool any() const { return count_.load(std::memory_order_acquire) != 0; }
  bool has(std::string_view key) const {
    const std::lock_guard lock(mutex_);
    return lines_.contains(key);
  }

 private:
  void call_next(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto line = lines_.find(key);
    if (line->second.waiting.empty()) {
      lines_.erase(line);
      count_.store(lines_.size(), std::memory_order_release);
      return;
    }
    --line->second.length;
    const auto next = static_cast<Waiter&>(line->second.waiting.pop()).shared_from_this();
    next->core.post([this, next, key] {
      if (next->coroutine)
        std::exchange(next->coroutine, nullptr).resume();
      else
        call_next(key);
    });
  }

  // It was resumed, or is thrown away where it waits. On its core.
  void leave(const std::string& key, Waiter& waiter) {
    const std::lock_guard lock(mutex_);
    waiter.coroutine = nullptr;
    if (!waiter.queued) return;
    const auto line = lines_.find(key);
    line->second.waiting.remove(waiter);
    --line->second.length;
  }

  const std::size_t waiting_max_;
  mutable std::mutex mutex_;
  std::map<std::string, Line, std::less<>> lines_;  // of objects whose front is held
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace vg::resources
