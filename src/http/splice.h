// Ties two connections together: what comes from one goes to the other until they end.
//
// Each direction holds at most one buffer, and only while bytes flow; it reads again when the other side has taken what
// was read. Precondition of every splice: both connections live on the core that runs it (a backend is dialled on the
// core of the client's connection). The connections outlive the task; when it returns, both are closed. Closing both
// from outside ends the splice, and so does destroying the suspended task, which then leaves closing to its owner.
//
// The death of one side is noticed by reading or writing it. While bytes from it wait for a side that does not read,
// nobody reads it: only idle_deadline ends that.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/stream.h"
#include "base/task.h"
#include "http/udp.h"
#include "http/websocket.h"

namespace vg::http {

struct SpliceEnd;

struct SpliceOptions {
  // Ends the splice when nothing moved in either direction for this long. 0: never. Coarse, as Stream's deadlines are.
  std::chrono::milliseconds idle_deadline{0};
  // When one side has said its last word the other may go on, but not be silent for longer than this. 0: the first end
  // ends both, as upstream does it.
  std::chrono::milliseconds half_close_deadline = std::chrono::seconds(30);
  // Called once, before both are closed: the last chance to say why. Not called after an orderly end.
  std::function<void(const SpliceEnd&)> before_close = {};
};

struct SpliceEnd {
  enum class Why : std::uint8_t {
    left_ended,   // in an orderly way, before the right side did
    right_ended,  // likewise
    left_broke,   // see error
    right_broke,
    idle,
    closed,  // by us, from outside
  };
  Why why = Why::closed;
  IoError error = IoError::none;
  std::uint64_t left_to_right_bytes = 0;
  std::uint64_t right_to_left_bytes = 0;
};
std::string_view to_string(SpliceEnd::Why why);

// Byte by byte, whatever the bytes mean.
Task<SpliceEnd> splice(Stream& left, Stream& right, SpliceOptions options = {});

struct MessageSpliceOptions {
  std::chrono::milliseconds idle_deadline{0};
  // Each binary message is one write to the right side, as datagrams need it; one that no datagram can carry ends the
  // splice with 1009. Otherwise bytes are passed on as they arrive.
  bool whole_messages = false;
};

// Binary messages on the left, bytes on the right: each read becomes a message. Text messages are dropped, as upstream
// does. Close code 1000 is an orderly end of the left side, every other one counts as broken. When the right side ends,
// the left one gets a close frame: 1000, or 1011 if it broke. There is no half close, since WebSockets have none.
Task<SpliceEnd> splice(WebSocket& left, Stream& right, MessageSpliceOptions options = {});
// The same with datagrams: each is one message of one frame, since clients make a datagram of each frame they read.
Task<SpliceEnd> splice(WebSocket& left, DatagramStream& right, MessageSpliceOptions options = {});

}  // namespace vg::http
