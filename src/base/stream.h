// A connected stream of bytes that lives on one core: TLS or plain, accepted or dialled.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "base/task.h"

namespace vg {

enum class IoError {
  none,
  end,        // the peer closed in an orderly way
  reset,      // the connection broke
  timed_out,  // a deadline passed
  tls,        // the TLS layer refused what it got
  closed,     // we closed it
};
std::string_view to_string(IoError error);

struct IoResult {
  std::size_t bytes = 0;
  IoError error = IoError::none;
  explicit operator bool() const { return error == IoError::none; }
};

class Core;

class Stream {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~Stream() = default;

  // At least one byte, or an error. IoError::end is the peer's orderly close.
  virtual Task<IoResult> read_some(std::span<char> into) = 0;
  // All bytes or an error; suspends while the peer does not read (back-pressure).
  virtual Task<IoResult> write_all(std::span<const char> bytes) = 0;
  // Every read and write that is still waiting at this time ends with IoError::timed_out. max() = never.
  // Coarse: checked about four times a second.
  virtual void set_deadline(Clock::time_point when) = 0;
  // Tells the peer that we write no more (TLS close_notify and TCP FIN). Reading may go on.
  virtual Task<void> shutdown_write() = 0;
  // Ends the connection now; pending operations complete with IoError::closed. May be called from this core only.
  virtual void close() = 0;
  virtual Core& core() = 0;
  // Of a connection that a server has handed over: calls fn once, on this core, when that server begins to stop (now,
  // if it does already). Other streams never call it.
  virtual void on_drain(std::move_only_function<void()> fn) { (void)fn; }
};

}  // namespace vg
