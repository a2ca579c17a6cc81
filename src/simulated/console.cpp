#include "simulated/console.h"

#include <array>
#include <coroutine>
#include <utility>
#include <vector>

#include "base/background.h"
#include "base/controller_limits.h"
#include "http/websocket_frame.h"

namespace vg::simulated {
namespace {

namespace ws = http::ws;

// One who waits on this core; woken by post, so that nobody is resumed inside of another's call.
class Bell {
 public:
  explicit Bell(Core& core) : core_(core) {}
  void ring() {
    if (!state_->waiting || std::exchange(state_->rung, true)) return;
    core_.post([state = state_] {
      state->rung = false;
      if (state->waiting) std::exchange(state->waiting, nullptr).resume();
    });
  }
  auto wait() {
    struct Awaiter {
      std::shared_ptr<State> state;
      bool suspended = false;
      ~Awaiter() {
        if (suspended) state->waiting = nullptr;  // thrown away where it waited
      }
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> coroutine) {
        suspended = true;
        state->waiting = coroutine;
      }
      void await_resume() { suspended = false; }
    };
    return Awaiter{state_};
  }

 private:
  struct State {
    std::coroutine_handle<> waiting;
    bool rung = false;
  };
  Core& core_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class EchoStream final : public Stream {
 public:
  EchoStream(Core& core, std::string_view greeting) : core_(core), readable_(core), writable_(core) {
    if (!greeting.empty()) say(ws::Opcode::binary, greeting);
  }
  ~EchoStream() override { close(); }

  Task<IoResult> read_some(std::span<char> into) override {
    while (out_.empty()) {
      if (closed_) co_return IoResult{.error = IoError::closed};
      if (over_) co_return IoResult{.error = IoError::end};
      if (late()) co_return IoResult{.error = IoError::timed_out};
      co_await readable_.wait();
    }
    const std::size_t count = std::min(into.size(), out_.size());
    out_.copy(into.data(), count);
    out_.erase(0, count);
    writable_.ring();
    co_return IoResult{.bytes = count};
  }

  Task<IoResult> write_all(std::span<const char> bytes) override {
    while (out_.size() >= limits::simulated_console_bytes_max) {
      if (closed_) co_return IoResult{.error = IoError::closed};
      if (late()) co_return IoResult{.error = IoError::timed_out};
      co_await writable_.wait();
    }
    if (closed_ || over_) co_return IoResult{.error = closed_ ? IoError::closed : IoError::reset};
    take(bytes);
    readable_.ring();
    co_return IoResult{.bytes = bytes.size()};
  }

  void set_deadline(Clock::time_point when) override {
    deadline_ = when;
    if (when == Clock::time_point::max()) return;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now());
    timer_ = Background(wake_after(std::max(left, std::chrono::milliseconds(1))));
  }
  Task<void> shutdown_write() override {
    over_ = true;
    readable_.ring();
    co_return;
  }
  void close() override {
    closed_ = true;
    readable_.ring();
    writable_.ring();
  }
  Core& core() override { return core_; }

 private:
  bool late() const { return Clock::now() >= deadline_; }
  Task<void> wake_after(std::chrono::milliseconds time) {
    co_await core_.sleep(time);
    readable_.ring();
    writable_.ring();
  }

  void say(ws::Opcode opcode, std::span<const char> payload) {
    const ws::Head head(opcode, true, payload.size(), nullptr);
    out_.append(head.bytes().data(), head.bytes().size());
    out_.append(payload.data(), payload.size());
  }

  void take(std::span<const char> bytes) {
    std::vector<char> copy(bytes.begin(), bytes.end());  // is unmasked in place
    std::span<char> input(copy);
    while (!over_) {
      const ws::Event event = parser_.next(input);
      switch (event.kind) {
        case ws::Event::Kind::need_more:
          return;
        case ws::Event::Kind::data:
          if (!event.payload.empty()) say(event.text ? ws::Opcode::text : ws::Opcode::binary, event.payload);
          break;
        case ws::Event::Kind::ping:
          say(ws::Opcode::pong, event.payload);
          break;
        case ws::Event::Kind::pong:
          break;
        case ws::Event::Kind::close:
        case ws::Event::Kind::violation:
          end(event.kind == ws::Event::Kind::close ? ws::close_code::normal : event.code);
          return;
      }
    }
  }

  void end(std::uint16_t code) {
    const ws::ControlFrame frame = ws::ControlFrame::close(code, {}, nullptr);
    out_.append(frame.bytes().data(), frame.bytes().size());
    over_ = true;
  }

  Core& core_;
  Bell readable_, writable_;
  ws::Parser parser_{ws::Role::server};
  std::string out_;
  bool over_ = false, closed_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  Background timer_;
};

}  // namespace

std::unique_ptr<Stream> open_console(Core& core, std::string_view greeting) {
  return std::make_unique<EchoStream>(core, greeting);
}

}  // namespace vg::simulated
