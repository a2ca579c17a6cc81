// A WebSocket after its handshake: messages over a Stream.
//
// One coroutine may read and one may write, at the same time; both run on the stream's core. Nothing queues: a write
// suspends until the peer takes it, and of unanswered pings only the last one is remembered (RFC 6455 5.5.3).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/stream.h"
#include "base/task.h"
#include "http/websocket_frame.h"

namespace vg::http {

enum class MessageKind : std::uint8_t { text, binary };

struct WebSocketOptions {
  ws::Role role = ws::Role::server;
  // A longer message closes the socket with 1009. 0: any length, for readers that take pieces.
  std::uint64_t message_limit_bytes = limits::websocket_message_bytes_max;
  // A ping when nothing came for this long. 0: never.
  std::chrono::milliseconds ping_interval = limits::websocket_ping_interval;
  // Silence in spite of pings after which the peer counts as gone; rounded up to whole intervals.
  std::chrono::milliseconds pong_deadline = std::chrono::seconds(60);
  // For the whole closing handshake.
  std::chrono::milliseconds close_deadline = limits::websocket_close_deadline;
  std::string_view ping_payload;  // static text
};

class WebSocket {
 public:
  struct Piece {
    MessageKind kind = MessageKind::binary;
    std::span<const char> bytes;  // valid until the next read
    bool last = true;             // of its message
  };

  // Why it ended. Of several causes the first one counts.
  struct End {
    std::uint16_t code = ws::close_code::abnormal;  // from a close frame; 1005 without a code, 1006 without a frame
    std::string reason;
    IoError error = IoError::none;  // with 1006: what happened to the stream
    bool by_peer = false;           // the peer began
    bool clean() const { return code == ws::close_code::normal; }
  };

  // The stream is past its handshake and gives every byte read ahead itself.
  WebSocket(std::unique_ptr<Stream> stream, WebSocketOptions options);
  WebSocket(WebSocket&&) noexcept;
  WebSocket& operator=(WebSocket&&) = delete;
  // Ends the connection, without a closing handshake if there was none.
  ~WebSocket();

  // The next piece of a message, as it arrives; pings are answered on the way. Empty: it ended, see end(). A broken
  // protocol was then already answered with the right close code.
  Task<std::optional<Piece>> read();
  // A whole message into `into`. Empty: it ended.
  Task<std::optional<MessageKind>> read_message(std::string& into);

  // All of a message, or a piece of one with last = false. In frames of at most a buffer, so that pings get through.
  Task<IoError> write(MessageKind kind, std::span<const char> bytes, bool last = true);
  // The same as one frame and without a copy: ws::max_head bytes in front of the payload are writable, and the payload
  // may be overwritten (a client masks it).
  Task<IoError> write_in_place(MessageKind kind, std::span<char> payload, bool last = true);

  // The closing handshake: sends the code, waits for the peer's answer (what it still sends is dropped, unless somebody
  // reads), ends the connection. Returns when it has ended, after close_deadline at the latest.
  Task<void> close(std::uint16_t code, std::string_view reason);
  // Ends the connection now. A pending read or write ends soon.
  void abort();

  bool ended() const;
  const End& end() const;
  Stream& stream();
  Core& core();

  struct Shared;  // outlives this object while an operation is in flight

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace vg::http
