// One side of a WebSocket whose frames pass through unread.
//
// It follows the frames that are written to it, and so can put frames of its own between them: a ping when nothing was
// sent for a while, so that nothing on the way takes the connection for dead, and a close frame that says why it ends.
// The peer's pongs pass through to the other side, which RFC 6455 5.5.3 lets ignore them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/stream.h"
#include "http/splice_started.h"
#include "http/websocket_frame.h"

namespace vg::http {

struct LegOptions {
  // Ours. A client masks what it sends.
  ws::Role role = ws::Role::server;
  // A ping when nothing was written for this long. 0: never.
  std::chrono::milliseconds ping_interval{0};
};

class WebSocketLeg final : public Stream {
 public:
  // The stream is past its handshake.
  WebSocketLeg(std::unique_ptr<Stream> stream, LegOptions options);

  Task<IoResult> read_some(std::span<char> into) override { return stream_->read_some(into); }
  Task<IoResult> write_all(std::span<const char> bytes) override;
  void set_deadline(Clock::time_point when) override { stream_->set_deadline(when); }
  Task<void> shutdown_write() override { return stream_->shutdown_write(); }
  void close() override;
  Core& core() override { return stream_->core(); }
  void on_drain(std::move_only_function<void()> fn) override { stream_->on_drain(std::move(fn)); }

  // Sends a close frame as soon as the present frame is over; at once, if none is under way and the peer reads. What is
  // written later is dropped. Does nothing after a close frame that passed through.
  void say_close(std::uint16_t code, std::string_view reason);

 private:
  bool may_interject() const;
  void interject();
  Task<void> send(ws::ControlFrame frame);
  Task<void> keep_alive();

  std::unique_ptr<Stream> stream_;
  const LegOptions options_;
  ws::FrameWalk walk_;
  bool writing_ = false;
  bool moved_ = false;  // anything was written since the last look
  bool ping_due_ = false;
  bool close_said_ = false;
  bool closed_ = false;
  std::optional<ws::ControlFrame> close_due_;
  Started interjection_;  // a frame of ours on its way
  Started keep_alive_;
};

}  // namespace vg::http
