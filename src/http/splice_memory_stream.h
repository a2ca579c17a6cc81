// For tests: connected streams without sockets, so that every step of a conversation can be called and looked at.
#pragma once

#include <algorithm>
#include <array>
#include <coroutine>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "base/core.h"
#include "base/manual_core.h"
#include "base/stream.h"

namespace vg::http::test {

// One end of a connection; the other end is its peer. Bytes between them are bounded by the capacity, as a socket's
// are.
class MemoryStream final : public Stream {
 public:
  // Both ends, at most `capacity` bytes on the way in each direction.
  static std::pair<std::unique_ptr<MemoryStream>, std::unique_ptr<MemoryStream>> connect(Core& core,
                                                                                         std::size_t capacity) {
    auto there = std::make_shared<Pipe>(capacity);
    auto back = std::make_shared<Pipe>(capacity);
    return {std::make_unique<MemoryStream>(core, back, there), std::make_unique<MemoryStream>(core, there, back)};
  }

  struct Waiter {
    std::coroutine_handle<> coroutine;
    IoError error = IoError::none;
  };
  struct Pipe {
    explicit Pipe(std::size_t limit) : capacity(limit) {}
    std::size_t capacity;
    std::string bytes;
    bool ended = false;   // the writer shut down
    bool broken = false;  // either end died
    Waiter* reader = nullptr;
    Waiter* writer = nullptr;
    std::size_t most = 0;
  };

  MemoryStream(Core& core, std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out)
      : core_(core), in_(std::move(in)), out_(std::move(out)) {
    ++alive;
  }
  ~MemoryStream() override {
    close();
    --alive;
  }

  Task<IoResult> read_some(std::span<char> into) override {
    ++reads;
    const auto in = in_;
    for (;;) {
      if (closed_) co_return IoResult{.error = IoError::closed};
      if (in->broken) co_return IoResult{.error = IoError::reset};
      if (!in->bytes.empty()) {
        const std::size_t count = std::min({into.size(), in->bytes.size(), read_at_most});
        in->bytes.copy(into.data(), count);
        in->bytes.erase(0, count);
        wake(in->writer, IoError::none);
        co_return IoResult{.bytes = count};
      }
      if (in->ended) co_return IoResult{.error = IoError::end};
      const IoError error = co_await Wait(in->reader);
      if (error != IoError::none) co_return IoResult{.error = error};
    }
  }

  Task<IoResult> write_all(std::span<const char> bytes) override {
    const auto out = out_;
    std::size_t done = 0;
    for (;;) {
      if (closed_) co_return IoResult{done, IoError::closed};
      if (out->broken || out->ended) co_return IoResult{done, IoError::reset};
      const std::size_t count = std::min(out->capacity - out->bytes.size(), bytes.size() - done);
      if (count > 0) {
        out->bytes.append(bytes.data() + done, count);
        out->most = std::max(out->most, out->bytes.size());
        done += count;
        wake(out->reader, IoError::none);
      }
      if (done == bytes.size()) co_return IoResult{.bytes = done};
      const IoError error = co_await Wait(out->writer);
      if (error != IoError::none) co_return IoResult{done, error};
    }
  }

  void set_deadline(Clock::time_point when) override { deadline = when; }
  Task<void> shutdown_write() override {
    ++shutdowns;
    end_writing();
    co_return;
  }
  void close() override {
    if (std::exchange(closed_, true)) return;
    wake(in_->reader, IoError::closed);
    wake(out_->writer, IoError::closed);
    end_writing();
    in_->broken = true;  // nobody reads what the peer writes from now on
    wake(in_->writer, IoError::none);
  }
  Core& core() override { return core_; }

  // The connection breaks for both ends, at once.
  void kill() {
    for (Pipe* pipe : {in_.get(), out_.get()}) {
      pipe->broken = true;
      wake(pipe->reader, IoError::none);
      wake(pipe->writer, IoError::none);
    }
  }
  // Lets the deadline of this end pass, if it has one.
  void pass_deadline() {
    if (deadline == Clock::time_point::max()) return;
    wake(in_->reader, IoError::timed_out);
    wake(out_->writer, IoError::timed_out);
  }
  // What can be read without waiting.
  std::size_t available() const { return closed_ || in_->broken ? 0 : in_->bytes.size(); }
  bool is_closed() const { return closed_; }
  bool is_reading() const { return in_->reader != nullptr; }
  bool is_writing() const { return out_->writer != nullptr; }
  std::size_t most_in_flight() const { return std::max(in_->most, out_->most); }

  Clock::time_point deadline = Clock::time_point::max();
  std::size_t read_at_most = SIZE_MAX;
  std::size_t reads = 0;
  std::size_t shutdowns = 0;
  static inline int alive = 0;

 private:
  class Wait : public Waiter {
   public:
    explicit Wait(Waiter*& place) : place_(place) {}
    ~Wait() {
      if (place_ == this) place_ = nullptr;
    }
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      if (place_ != nullptr) std::abort();  // two readers or two writers at once: a bug of the user
      coroutine = waiting;
      place_ = this;
    }
    IoError await_resume() const { return error; }

   private:
    Waiter*& place_;
  };

  // Through the loop, as a real stream does it: nothing happens inside close() or write_all() of the other end.
  void wake(Waiter*& place, IoError error) {
    Waiter* const waiter = place;
    if (waiter == nullptr) return;
    if (error != IoError::none) waiter->error = error;
    core_.post([&place, waiter, keep_in = in_, keep_out = out_] {
      if (place != waiter) return;
      place = nullptr;
      waiter->coroutine.resume();
    });
  }
  void end_writing() {
    out_->ended = true;
    wake(out_->reader, IoError::none);
  }

  Core& core_;
  std::shared_ptr<Pipe> in_;
  std::shared_ptr<Pipe> out_;
  bool closed_ = false;
};

}  // namespace vg::http::test
