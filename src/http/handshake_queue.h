// The order of TLS handshakes on one core.
//
// A handshake costs up to two milliseconds before anybody has said who they are, and nearly nothing to whoever asks for
// it. So a core does one step of one handshake, then everything else that is ready, and the next step when its loop has
// come round as often as a request needs from its first byte to its answer: whoever is connected already waits for
// about one step, however many handshakes are wanted. Among handshakes sources are equal: the time that steps take is
// charged to their source, and the source that had least goes first (start-time fair queuing). Nothing waits while
// nobody else wants a handshake.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/core.h"
#include "http/core_list.h"

namespace vg::http {

class HandshakeQueue {
 public:
  using Cost = std::chrono::nanoseconds;
  static constexpr int rounds_between_steps = 4;

  explicit HandshakeQueue(Core& core) : core_(core) {}
  HandshakeQueue(const HandshakeQueue&) = delete;
  HandshakeQueue& operator=(const HandshakeQueue&) = delete;

  // co_await queue.wait(source): goes on when a step of a handshake of that source may be done.
  class [[nodiscard]] Waiting : public ListLink<Waiting> {
   public:
    Waiting(HandshakeQueue& queue, std::uint64_t source) : queue_(queue), source_(source) {}
    ~Waiting() {
      if (linked()) --queue_.waiting_;  // thrown away while it waits
    }
    bool await_ready() { return queue_.begin_at_once(); }
    void await_suspend(std::coroutine_handle<> coroutine) {
      coroutine_ = coroutine;
      queue_.add(*this);
    }
    void await_resume() const {}

   private:
    friend class HandshakeQueue;
    HandshakeQueue& queue_;
    std::uint64_t source_;
    std::uint64_t number_ = 0;
    std::coroutine_handle<> coroutine_;
  };
  Waiting wait(std::uint64_t source) { return Waiting(*this, source); }
  // What a step took.
  void charge(std::uint64_t source, Cost cost);

  std::size_t waiting() const { return waiting_; }
  std::size_t sources() const { return sources_.size(); }

 private:
  struct Source {
    List<Waiting> waiting;
    Cost charged{0};  // in the queue's own time, see now_
  };

  bool begin_at_once();
  void add(Waiting& waiting);
  void post_next(int rounds = rounds_between_steps);
  void next();
  void forget_idle_sources();

  Core& core_;
  bool busy_ = false;  // a step was begun, and the loop has not come round since
  std::size_t waiting_ = 0;
  std::uint64_t numbers_ = 0;
  std::size_t contenders_ = 0;  // sources that waited when the last one was chosen
  Cost now_{0};                 // what a source with its fair share was charged by now: where newcomers begin
  std::unordered_map<std::uint64_t, Source> sources_;
};

}  // namespace vg::http
