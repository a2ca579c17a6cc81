#include "http/websocket_leg.h"

#include <utility>

#include "base/core.h"
#include "http/websocket_mask.h"

namespace vg::http {
namespace {

// As upstream's pings of port-forwards have it.
constexpr std::string_view ping_payload = "keep alive";

// The key of a frame, when our side has to mask it.
class Mask {
 public:
  explicit Mask(ws::Role role) {
    if (role == ws::Role::client) key_ = ws::random_mask();
  }
  const ws::MaskKey* key() const { return key_ ? &*key_ : nullptr; }

 private:
  std::optional<ws::MaskKey> key_;
};

}  // namespace

WebSocketLeg::WebSocketLeg(std::unique_ptr<Stream> stream, LegOptions options)
    : stream_(std::move(stream)), options_(options) {
  if (options_.ping_interval.count() > 0) keep_alive_ = start(keep_alive());
}

Task<IoResult> WebSocketLeg::write_all(std::span<const char> bytes) {
  if (!interjection_.done()) co_await interjection_;
  if (closed_) co_return IoResult{.error = IoError::closed};
  if (close_said_) co_return IoResult{.bytes = bytes.size()};
  writing_ = moved_ = true;
  walk_.pass(bytes);
  const IoResult result = co_await stream_->write_all(bytes);
  writing_ = false;
  if (result) interject();
  co_return result;
}

void WebSocketLeg::close() {
  closed_ = true;
  stream_->close();
}

void WebSocketLeg::say_close(std::uint16_t code, std::string_view reason) {
  close_due_ = ws::ControlFrame::close(code, reason, Mask(options_.role).key());
  interject();
}

bool WebSocketLeg::may_interject() const {
  return !closed_ && !close_said_ && !writing_ && interjection_.done() && walk_.between_frames() &&
         !walk_.close_passed();
}

void WebSocketLeg::interject() {
  if ((!close_due_ && !ping_due_) || !may_interject()) return;
  if (close_due_) {
    close_said_ = true;
    interjection_ = start(send(*close_due_));
    return;
  }
  ping_due_ = false;
  interjection_ = start(send(ws::ControlFrame(ws::Opcode::ping, ping_payload, Mask(options_.role).key())));
}

// What goes wrong here also goes wrong for whoever reads or writes next.
Task<void> WebSocketLeg::send(ws::ControlFrame frame) { co_await stream_->write_all(frame.bytes()); }

Task<void> WebSocketLeg::keep_alive() {
  for (;;) {
    co_await stream_->core().sleep(options_.ping_interval);
    if (closed_) co_return;
    if (std::exchange(moved_, false)) continue;
    ping_due_ = true;
    interject();
  }
}

}  // namespace vg::http
