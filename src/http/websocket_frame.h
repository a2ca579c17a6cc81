// The WebSocket wire format (RFC 6455) with no input or output of its own: bytes in, events out, and frame heads.
//
// It is written by hand because the library at hand ties its codec to its own stream type, keeps buffers for every
// idle stream and is slow to compile. A codec that only transforms bytes can be tested by calling it, and fuzzed.
// No extension is ever negotiated, so every reserved bit is refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace vg::http::ws {

// Which side we are. A client masks what it sends and a server refuses what is not masked (RFC 6455 5.1).
enum class Role : std::uint8_t { server, client };

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

namespace close_code {
inline constexpr std::uint16_t normal = 1000;
inline constexpr std::uint16_t going_away = 1001;
inline constexpr std::uint16_t protocol_error = 1002;
inline constexpr std::uint16_t unsupported_data = 1003;
inline constexpr std::uint16_t none_given = 1005;  // never on the wire: a close frame without a code
inline constexpr std::uint16_t abnormal = 1006;    // never on the wire: the connection ended without a close frame
inline constexpr std::uint16_t invalid_payload = 1007;
inline constexpr std::uint16_t policy_violation = 1008;
inline constexpr std::uint16_t too_big = 1009;
inline constexpr std::uint16_t internal_error = 1011;
inline constexpr std::uint16_t service_restart = 1012;
}  // namespace close_code

// Whether this code may stand in a close frame (RFC 6455 7.4 and the registry it founded).
bool may_be_sent(std::uint16_t code);

inline constexpr std::size_t max_control_payload = 125;
inline constexpr std::size_t max_head = 14;  // 2 bytes, 8 of length, 4 of mask

using MaskKey = std::array<unsigned char, 4>;

// XORs bytes with the key, starting at key byte `position % 4`.
void apply_mask(std::span<char> bytes, MaskKey key, std::uint64_t position = 0);

// Checks UTF-8 that arrives in pieces, which may cut a character anywhere.
class Utf8Check {
 public:
  // False as soon as no continuation could make it valid.
  bool feed(std::span<const char> bytes);
  // True between two characters.
  bool complete() const { return missing_ == 0; }
  void reset() { missing_ = 0; }

 private:
  // What the next continuation byte may be. Only the first one after the lead byte is narrower than 80..BF: that is
  // what excludes overlong forms, surrogates and code points above U+10FFFF.
  unsigned char low_ = 0x80;
  unsigned char high_ = 0xbf;
  unsigned char missing_ = 0;
};

struct Event {
  enum class Kind : std::uint8_t {
    need_more,  // all input was taken
    data,       // a piece of a message; `last` with its final piece
    ping,
    pong,
    close,      // code is close_code::none_given if the peer gave none; the parser takes no more input
    violation,  // the peer broke the protocol; code says how to close; the parser takes no more input
  };
  Kind kind = Kind::need_more;
  bool text = false;             // of the message a piece belongs to
  bool last = false;             // the message is complete
  std::uint16_t code = 0;        // close and violation
  std::span<char> payload;       // data: part of the input, unmasked in place. ping, pong: until the next call
  std::string_view explanation;  // close: the peer's reason, until the next call. violation: what is wrong, static text
};

class Parser {
 public:
  // A message of more than message_limit bytes is a violation; 0 means that pieces may go on for ever.
  explicit Parser(Role role, std::uint64_t message_limit = 0) : message_limit_(message_limit), role_(role) {}

  // The next event; `input` is advanced past the bytes that were used. Data is not gathered: a message reaches the
  // caller in as many pieces as it arrives in, and the parser itself never holds more than a control frame.
  Event next(std::span<char>& input);

  // True between two messages: nothing of a message, frame or head is pending.
  bool idle() const { return head_size_ == 0 && !in_payload_ && !in_message_ && !over_; }

 private:
  Event violation(std::uint16_t code, std::string_view what);
  std::string_view check_first_bytes() const;
  Event take_head(std::span<char>& input);
  Event take_data(std::span<char>& input);
  Event take_control(std::span<char>& input);
  Event finish_control();

  std::uint64_t message_limit_;
  std::uint64_t message_size_ = 0;  // as announced by the frames seen so far
  std::uint64_t remaining_ = 0;     // of the present frame's payload
  std::uint64_t position_ = 0;      // in the present frame's payload, for the mask
  Role role_;
  Opcode opcode_ = Opcode::continuation;
  bool fin_ = false;
  bool in_payload_ = false;
  bool in_message_ = false;
  bool text_ = false;
  bool over_ = false;
  std::uint8_t head_size_ = 0;
  std::uint8_t control_size_ = 0;
  MaskKey key_{};
  Utf8Check utf8_;
  std::array<char, max_head> head_{};
  std::array<char, max_control_payload> control_{};
};

// Follows frames that only pass through: knows where they end, and looks at nothing that they carry.
class FrameWalk {
 public:
  void pass(std::span<const char> bytes);
  // Another frame may be put here: nothing of the last one is missing. Control frames may also stand between the
  // fragments of a message (RFC 6455 5.4).
  bool between_frames() const { return head_size_ == 0 && remaining_ == 0; }
  // A close frame began: nothing but its rest may follow.
  bool close_passed() const { return close_passed_; }

 private:
  void take_head(std::span<const char>& bytes);

  std::uint64_t remaining_ = 0;  // of the present frame's payload
  std::uint8_t head_size_ = 0;
  bool close_passed_ = false;
  std::array<char, max_head> head_{};
};

// A frame head, ready to be sent.
class Head {
 public:
  // A key makes a masked frame; the payload must then be masked with the same key.
  Head(Opcode opcode, bool fin, std::uint64_t payload_size, const MaskKey* key);
  std::span<const char> bytes() const { return {bytes_.data(), size_}; }
  std::size_t size() const { return size_; }

 private:
  std::array<char, max_head> bytes_;
  std::uint8_t size_ = 0;
};

// Makes a frame around a payload that has at least max_head writable bytes in front of it, and returns the frame.
// Masks the payload in place when there is a key.
std::span<char> frame_in_place(std::span<char> payload, Opcode opcode, bool fin, const MaskKey* key);

// A whole control frame. A payload that is too long is cut: the caller's text must not break the protocol.
class ControlFrame {
 public:
  ControlFrame(Opcode opcode, std::span<const char> payload, const MaskKey* key);
  // A close frame. A code that may not be sent makes a frame without one; a reason is cut between two characters, and
  // left out if it is not UTF-8.
  static ControlFrame close(std::uint16_t code, std::string_view reason, const MaskKey* key);
  std::span<const char> bytes() const { return {bytes_.data() + start_, size_}; }

 private:
  std::array<char, max_head + max_control_payload> bytes_;
  std::uint8_t start_ = 0;
  std::uint8_t size_ = 0;
};

}  // namespace vg::http::ws
