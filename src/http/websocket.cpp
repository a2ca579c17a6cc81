#include "http/websocket.h"

#include <algorithm>
#include <coroutine>
#include <cstdlib>
#include <cstring>

#include "base/core.h"
#include "http/core_list.h"
#include "http/splice_buffer.h"
#include "http/splice_fairness.h"
#include "http/splice_intake.h"
#include "http/splice_started.h"
#include "http/websocket_mask.h"

namespace vg::http {

namespace {

using Kind = ws::Event::Kind;

// Coroutines that wait for one thing. One that is destroyed while it waits leaves by itself.
class Queue {
 public:
  class Waiter : public ListLink<Waiter> {
   public:
    explicit Waiter(Queue& queue) : queue_(queue) {}
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) {
      coroutine_ = coroutine;
      queue_.waiters_.push_back(*this);
    }
    void await_resume() const {}
    void wake() { coroutine_.resume(); }

   private:
    Queue& queue_;
    std::coroutine_handle<> coroutine_;
  };

  Waiter wait() { return Waiter(*this); }
  bool empty() const { return waiters_.empty(); }
  void wake_one() {
    if (Waiter* waiter = waiters_.pop_front()) waiter->wake();
  }
  void wake_all() {
    List<Waiter> due;
    due.take(waiters_);
    while (Waiter* waiter = due.pop_front()) waiter->wake();
  }

 private:
  List<Waiter> waiters_;
};

}  // namespace

struct WebSocket::Shared : std::enable_shared_from_this<Shared> {
  Shared(std::unique_ptr<Stream> stream_, WebSocketOptions options_)
      : stream(std::move(stream_)), options(options_), parser(options_.role, options_.message_limit_bytes) {}

  std::unique_ptr<Stream> stream;
  const WebSocketOptions options;

  // --- reading
  ws::Parser parser;
  std::span<char> input;  // not yet parsed, in `intake`
  Intake intake;
  Fairness fairness;
  bool reading = false;
  bool heard = false;  // anything, since the last tick

  // --- writing
  bool wire_busy = false;  // one frame at a time
  Queue wire_queue;
  bool in_message = false;  // the last frame of data was not the end of its message
  bool close_sent = false;
  bool flushing = false;  // flush_control() runs
  bool ping_due = false;
  bool pong_due = false;
  std::uint8_t pong_size = 0;
  std::array<char, ws::max_control_payload> pong_payload;
  std::chrono::milliseconds silence{0};  // counted by ticks since a ping was due

  // --- the end
  bool ended = false;
  End end;
  Queue end_queue;
  Started keep_alive_task;

  void finish(End why) {
    if (ended) return;
    ended = true;
    end = std::move(why);
    stream->close();
    if (!end_queue.empty()) later([](Shared& self) { self.end_queue.wake_all(); });
  }
  // Whoever waits is woken by the loop and never from inside another operation, whose owner it might let go.
  void later(void (*wake)(Shared&)) {
    stream->core().post([self = shared_from_this(), wake] { wake(*self); });
  }
  void broke(IoError error) { finish({.reason = {}, .error = error, .by_peer = error != IoError::closed}); }

  // The right to write a frame. Given up before its frame is out, the stream cannot be used any more.
  class Turn {
   public:
    explicit Turn(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
    Turn(Turn&& other) noexcept : shared_(std::move(other.shared_)), writing_(other.writing_) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (!shared_) return;
      if (writing_) shared_->broke(IoError::closed);
      shared_->wire_busy = false;
      if (shared_->wire_queue.empty()) return;
      shared_->later([](Shared& self) {
        if (!self.wire_busy) self.wire_queue.wake_one();
      });
    }
    Task<IoError> write(std::span<const char> frame) {
      if (shared_->ended) co_return IoError::closed;
      writing_ = true;
      const IoResult result = co_await shared_->stream->write_all(frame);
      writing_ = false;
      if (!result) shared_->broke(result.error);
      co_return result.error;
    }

   private:
    std::shared_ptr<Shared> shared_;
    bool writing_ = false;
  };

  static Task<Turn> turn(std::shared_ptr<Shared> self) {
    // Behind those who wait already, although the wire may be free until the loop wakes the first of them.
    if (self->wire_busy || !self->wire_queue.empty()) co_await self->wire_queue.wait();
    self->wire_busy = true;
    co_return Turn(std::move(self));
  }

  const ws::MaskKey* mask(ws::MaskKey& key) const {
    if (options.role == ws::Role::server) return nullptr;
    key = ws::random_mask();
    return &key;
  }

  ws::Opcode next_opcode(MessageKind kind, bool last) {
    const bool first = !in_message;
    in_message = !last;
    if (!first) return ws::Opcode::continuation;
    return kind == MessageKind::text ? ws::Opcode::text : ws::Opcode::binary;
  }

  static Task<IoError> write_frame(std::shared_ptr<Shared> self, MessageKind kind, std::span<char> payload, bool last) {
    Turn turn = co_await Shared::turn(self);
    if (self->ended || self->close_sent) co_return IoError::closed;
    ws::MaskKey key;
    const ws::Opcode opcode = self->next_opcode(kind, last);
    co_return co_await turn.write(ws::frame_in_place(payload, opcode, last, self->mask(key)));
  }

  static Task<IoError> write_copy(std::shared_ptr<Shared> self, MessageKind kind, std::span<const char> bytes,
                                  bool last) {
    for (;;) {
      Turn turn = co_await Shared::turn(self);
      if (self->ended || self->close_sent) co_return IoError::closed;
      // Taken after the turn came, so that those who wait hold nothing.
      const SpliceBuffer buffer = SpliceBuffer::take();
      const std::size_t count = std::min(bytes.size(), buffer.space().size());
      if (count > 0) std::memcpy(buffer.space().data(), bytes.data(), count);
      bytes = bytes.subspan(count);
      ws::MaskKey key;
      const bool ends = last && bytes.empty();
      const ws::Opcode opcode = self->next_opcode(kind, ends);
      const auto frame = ws::frame_in_place(buffer.space().first(count), opcode, ends, self->mask(key));
      const IoError error = co_await turn.write(frame);
      if (error != IoError::none || bytes.empty()) co_return error;
    }
  }

  // Pings and pongs go out beside the reader: it must go on reading while the peer does not, or two peers that both
  // wait for the other to read would wait for ever.
  void flush_control() {
    if (flushing || ended || close_sent) return;
    flushing = true;
    spawn(flush_control_task(shared_from_this()));
  }

  static Task<void> flush_control_task(std::shared_ptr<Shared> self) {
    while ((self->ping_due || self->pong_due) && !self->ended && !self->close_sent) {
      Turn turn = co_await Shared::turn(self);
      if (self->ended || self->close_sent) break;
      ws::MaskKey key;
      const bool pong = std::exchange(self->pong_due, false);
      if (!pong) self->ping_due = false;
      const ws::ControlFrame frame =
          pong ? ws::ControlFrame(ws::Opcode::pong, std::span(self->pong_payload).first(self->pong_size),
                                  self->mask(key))
               : ws::ControlFrame(ws::Opcode::ping, self->options.ping_payload, self->mask(key));
      co_await turn.write(frame.bytes());
    }
    self->flushing = false;
  }

  static Task<void> send_close(std::shared_ptr<Shared> self, std::uint16_t code, std::string_view reason) {
    self->stream->set_deadline(Stream::Clock::now() + self->options.close_deadline);
    Turn turn = co_await Shared::turn(self);
    if (self->ended || self->close_sent) co_return;
    ws::MaskKey key;
    const ws::ControlFrame frame = ws::ControlFrame::close(code, reason, self->mask(key));
    self->close_sent = true;
    co_await turn.write(frame.bytes());
  }

  // The peer's close frame, or its violation: answers, says goodbye below, ends. `say` is static text.
  static Task<void> answer_and_finish(std::shared_ptr<Shared> self, End why, std::string_view say) {
    co_await send_close(self, why.code, say);
    if (!self->ended) co_await self->stream->shutdown_write();
    self->finish(std::move(why));
  }

  static Task<void> refill(std::shared_ptr<Shared> self) {
    const std::span<char> into = self->intake.space();
    const IoResult result = co_await self->stream->read_some(into);
    if (!result) {
      self->broke(result.error);
      co_return;
    }
    self->intake.took(result.bytes);
    self->input = into.first(result.bytes);
    self->heard = true;
    if (self->fairness.due(result.bytes)) co_await Fairness::yield(self->stream->core());
  }

  struct ReadingFlag {
    bool& flag;
    explicit ReadingFlag(bool& f) : flag(f) { flag = true; }
    ~ReadingFlag() { flag = false; }
    ReadingFlag(const ReadingFlag&) = delete;
    ReadingFlag& operator=(const ReadingFlag&) = delete;
  };

  static Task<std::optional<Piece>> read(std::shared_ptr<Shared> self) {
    if (self->reading) {
      // close() reads in our place, because nobody did when it began.
      if (!self->close_sent) std::abort();  // two readers at once: a bug of the caller
      if (!self->ended) co_await self->end_queue.wait();
      co_return std::nullopt;
    }
    const ReadingFlag flag(self->reading);
    while (!self->ended) {
      const ws::Event event = self->parser.next(self->input);
      switch (event.kind) {
        case Kind::need_more:
          co_await refill(self);
          break;
        case Kind::data:
          co_return Piece{event.text ? MessageKind::text : MessageKind::binary, event.payload, event.last};
        case Kind::ping:
          self->pong_due = true;
          self->pong_size = static_cast<std::uint8_t>(event.payload.size());
          std::ranges::copy(event.payload, self->pong_payload.begin());
          self->flush_control();
          break;
        case Kind::pong:
          break;
        case Kind::close: {
          // A plain answer repeats the peer's code alone.
          End why{.code = event.code, .reason = std::string(event.explanation), .by_peer = !self->close_sent};
          co_await answer_and_finish(self, std::move(why), {});
          break;
        }
        case Kind::violation: {
          End why{.code = event.code, .reason = std::string(event.explanation)};
          co_await answer_and_finish(self, std::move(why), event.explanation);
          break;
        }
      }
    }
    self->input = {};
    self->intake.release();
    co_return std::nullopt;
  }

  static Task<void> close(std::shared_ptr<Shared> self, std::uint16_t code, std::string reason) {
    const auto until = Stream::Clock::now() + self->options.close_deadline;
    co_await send_close(self, code, reason);
    if (self->ended) co_return;
    if (self->reading) {
      // The peer's answer ends the reader, or the deadline does.
      co_await self->end_queue.wait();
      co_return;
    }
    // A peer that never stops sending must not keep us; its reads never wait, so no deadline ends them.
    while (Stream::Clock::now() < until && co_await read(self)) {
    }
    self->finish({.code = code, .reason = std::move(reason), .error = IoError::timed_out});
  }

  static Task<void> keep_alive(Shared& shared) {
    for (;;) {
      co_await shared.stream->core().sleep(shared.options.ping_interval);
      if (shared.ended) co_return;
      if (std::exchange(shared.heard, false)) {
        shared.silence = {};
        continue;
      }
      // While what came before waits to be taken nobody reads, and the peer's answers cannot be heard.
      if (!shared.reading) shared.silence = {};
      // This task belongs to `shared`: whatever happens below must not destroy it while it runs.
      auto self = shared.shared_from_this();
      if (shared.silence >= shared.options.pong_deadline) {
        shared.broke(IoError::timed_out);
      } else {
        shared.silence += shared.options.ping_interval;
        shared.ping_due = true;
        shared.flush_control();
      }
      Core& core = shared.stream->core();
      if (self.use_count() == 1) core.post([last = std::move(self)] {});
    }
  }
};

WebSocket::WebSocket(std::unique_ptr<Stream> stream, WebSocketOptions options)
    : shared_(std::make_shared<Shared>(std::move(stream), options)) {
  if (options.ping_interval.count() > 0) shared_->keep_alive_task = start(Shared::keep_alive(*shared_));
}

WebSocket::WebSocket(WebSocket&&) noexcept = default;

WebSocket::~WebSocket() {
  if (shared_) abort();
}

Task<std::optional<WebSocket::Piece>> WebSocket::read() { return Shared::read(shared_); }

Task<std::optional<MessageKind>> WebSocket::read_message(std::string& into) {
  into.clear();
  const auto shared = shared_;
  for (;;) {
    const std::optional<Piece> piece = co_await Shared::read(shared);
    if (!piece) co_return std::nullopt;
    into.append(piece->bytes.data(), piece->bytes.size());
    if (piece->last) co_return piece->kind;
  }
}

Task<IoError> WebSocket::write(MessageKind kind, std::span<const char> bytes, bool last) {
  return Shared::write_copy(shared_, kind, bytes, last);
}

Task<IoError> WebSocket::write_in_place(MessageKind kind, std::span<char> payload, bool last) {
  return Shared::write_frame(shared_, kind, payload, last);
}

Task<void> WebSocket::close(std::uint16_t code, std::string_view reason) {
  return Shared::close(shared_, code, std::string(reason));
}

void WebSocket::abort() { shared_->finish({.reason = {}, .error = IoError::closed}); }

bool WebSocket::ended() const { return shared_->ended; }
const WebSocket::End& WebSocket::end() const { return shared_->end; }
Stream& WebSocket::stream() { return *shared_->stream; }
Core& WebSocket::core() { return shared_->stream->core(); }

}  // namespace vg::http
