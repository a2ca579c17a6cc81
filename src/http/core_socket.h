// A non-blocking descriptor on a core: who waits for it, and until when. The system calls themselves are made by the
// layers above (tcp.h, tls.h), which try first and wait here only when they would block.
#pragma once

#include <chrono>
#include <coroutine>
#include <memory>

#include "base/stream.h"
#include "http/core.h"
#include "http/core_list.h"

namespace vg::http {

enum class Direction : unsigned char { read, write };

// Something that waits for a socket. It leaves by itself when it is destroyed, so a coroutine that is thrown away while
// it waits is never resumed.
class Waiter : public ListLink<Waiter> {
 public:
  // Called once, from the event loop: none when the socket is ready (or may be: try and wait again), timed_out, closed.
  virtual void ready(IoError error) = 0;
  // False for a waiter that does not count as an operation of the user and outlives deadlines.
  bool heeds_deadline = true;

 protected:
  ~Waiter() = default;
};

struct SocketState : ListLink<SocketState> {
  int fd = -1;  // -1 once closed: a late user must not reach the descriptor that got the same number
  Stream::Clock::time_point deadline = Stream::Clock::time_point::max();
};

class Socket {
 public:
  Socket() = default;
  // Takes the descriptor over and makes it non-blocking. The core is one of EventLoop::create.
  Socket(Core& core, int fd);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  bool is_open() const { return state_ && state_->fd >= 0; }
  int fd() const { return state_ ? state_->fd : -1; }
  SocketState* state() const { return state_; }
  Core& core() const { return *core_; }
  void close();
  void set_deadline(Stream::Clock::time_point when);
  Stream::Clock::time_point deadline() const { return state_->deadline; }

  // Several may wait for one direction: a TLS read may have to write and the other way round.
  void wait(Direction direction, Waiter& waiter);

  // co_await socket.until(direction): IoError::none, or why it will not become ready.
  class [[nodiscard]] Until final : public Waiter {
   public:
    Until(Socket& socket, Direction direction) : socket_(socket), direction_(direction) {}
    bool await_ready() {
      if (socket_.is_open()) return false;
      error_ = IoError::closed;
      return true;
    }
    void await_suspend(std::coroutine_handle<> coroutine) {
      coroutine_ = coroutine;
      socket_.wait(direction_, *this);
    }
    IoError await_resume() const { return error_; }
    void ready(IoError error) override {
      error_ = error;
      coroutine_.resume();
    }

   private:
    Socket& socket_;
    Direction direction_;
    IoError error_ = IoError::none;
    std::coroutine_handle<> coroutine_;
  };
  Until until(Direction direction) { return Until(*this, direction); }

 private:
  SocketState* state_ = nullptr;
  Core* core_ = nullptr;
};

// The monotonic clock at the kernel's tick (a few milliseconds): fine for deadlines, and cheap on every machine.
Stream::Clock::time_point coarse_now();

}  // namespace vg::http
