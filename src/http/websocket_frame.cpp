#include "http/websocket_frame.h"

#include <algorithm>
#include <cstring>

namespace vg::http::ws {

namespace {

constexpr bool is_control(Opcode opcode) { return (static_cast<unsigned>(opcode) & 8U) != 0; }

constexpr bool is_known(unsigned opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

std::uint64_t big_endian(const char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The size of a whole head, from its second byte.
std::size_t head_size_of(unsigned char second) {
  const unsigned length = second & 0x7fU;
  return 2U + (length == 126 ? 2U : length == 127 ? 8U : 0U) + ((second & 0x80U) != 0 ? 4U : 0U);
}

}  // namespace

bool may_be_sent(std::uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

void apply_mask(std::span<char> bytes, MaskKey key, std::uint64_t position) {
  std::array<unsigned char, 8> turned;
  for (std::size_t i = 0; i < turned.size(); ++i) turned[i] = key[(position + i) % 4];
  std::uint64_t word = 0;
  std::memcpy(&word, turned.data(), sizeof word);
  char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= sizeof word; at += sizeof word, left -= sizeof word) {
    std::uint64_t chunk = 0;
    std::memcpy(&chunk, at, sizeof chunk);
    chunk ^= word;
    std::memcpy(at, &chunk, sizeof chunk);
  }
  for (std::size_t i = 0; i < left; ++i) at[i] = static_cast<char>(static_cast<unsigned char>(at[i]) ^ turned[i]);
}

bool Utf8Check::feed(std::span<const char> bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at != end) {
    if (missing_ == 0) {
      // Most text is ASCII: eight bytes a step.
      while (end - at >= 8) {
        std::uint64_t chunk = 0;
        std::memcpy(&chunk, at, sizeof chunk);
        if ((chunk & 0x8080808080808080U) != 0) break;
        at += 8;
      }
      if (at == end) break;
    }
    const auto byte = static_cast<unsigned char>(*at++);
    if (missing_ > 0) {
      if (byte < low_ || byte > high_) return false;
      low_ = 0x80;
      high_ = 0xbf;
      --missing_;
    } else if (byte >= 0x80) {
      if (byte < 0xc2 || byte > 0xf4) return false;
      missing_ = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      low_ = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
      high_ = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
    }
  }
  return true;
}

Event Parser::violation(std::uint16_t code, std::string_view what) {
  over_ = true;
  return {.kind = Event::Kind::violation, .code = code, .payload = {}, .explanation = what};
}

Event Parser::next(std::span<char>& input) {
  for (;;) {
    if (over_) return {};
    if (!in_payload_) {
      const Event event = take_head(input);
      if (event.kind != Event::Kind::need_more || !in_payload_) return event;
    }
    // An empty control frame or an empty last piece is an event although no byte of payload comes.
    if (input.empty() && remaining_ > 0) return {};
    const Event event = is_control(opcode_) ? take_control(input) : take_data(input);
    if (event.kind != Event::Kind::need_more) return event;
  }
}

// What the first two bytes of a head say against the protocol, in the order of RFC 6455 5.2. Empty: nothing.
std::string_view Parser::check_first_bytes() const {
  const auto first = static_cast<unsigned char>(head_[0]);
  const auto second = static_cast<unsigned char>(head_[1]);
  if ((first & 0x70U) != 0) return "reserved bits are set, but no extension was agreed on";
  if (!is_known(first & 0x0fU)) return "unknown opcode";
  const auto opcode = static_cast<Opcode>(first & 0x0fU);
  const bool masked = (second & 0x80U) != 0;
  if (masked != (role_ == Role::server)) {
    return role_ == Role::server ? "frames from a client must be masked" : "frames from a server must not be masked";
  }
  if (is_control(opcode)) {
    if ((first & 0x80U) == 0) return "control frames must not be fragmented";
    if ((second & 0x7fU) > max_control_payload) return "control frames carry at most 125 bytes";
  } else if (opcode == Opcode::continuation && !in_message_) {
    return "a continuation without a message";
  } else if (opcode != Opcode::continuation && in_message_) {
    return "a new message before the end of the last one";
  }
  return {};
}

Event Parser::take_head(std::span<char>& input) {
  // Two bytes tell how long the head is; then the rest. All checks wait for the two bytes, so that the verdict never
  // depends on how the bytes were split.
  for (;;) {
    const std::size_t want = head_size_ < 2 ? 2 : head_size_of(static_cast<unsigned char>(head_[1]));
    if (head_size_ == want) break;
    if (input.empty()) return {};
    const std::size_t count = std::min(want - head_size_, input.size());
    std::memcpy(head_.data() + head_size_, input.data(), count);
    input = input.subspan(count);
    head_size_ = static_cast<std::uint8_t>(head_size_ + count);
    if (head_size_ == 2) {
      if (const std::string_view what = check_first_bytes(); !what.empty()) {
        return violation(close_code::protocol_error, what);
      }
    }
  }
  const auto first = static_cast<unsigned char>(head_[0]);
  const auto second = static_cast<unsigned char>(head_[1]);
  opcode_ = static_cast<Opcode>(first & 0x0fU);
  fin_ = (first & 0x80U) != 0;
  remaining_ = second & 0x7fU;
  const char* after = head_.data() + 2;
  if (remaining_ == 126) {
    remaining_ = big_endian(after, 2);
    after += 2;
    if (remaining_ < 126) return violation(close_code::protocol_error, "a length in more bytes than it needs");
  } else if (remaining_ == 127) {
    remaining_ = big_endian(after, 8);
    after += 8;
    if (remaining_ < 65536) return violation(close_code::protocol_error, "a length in more bytes than it needs");
    if (remaining_ >> 63 != 0) return violation(close_code::protocol_error, "a length with its highest bit set");
  }
  if ((second & 0x80U) != 0) std::memcpy(key_.data(), after, key_.size());
  head_size_ = 0;
  position_ = 0;
  control_size_ = 0;
  if (!is_control(opcode_)) {
    if (opcode_ != Opcode::continuation) {
      in_message_ = true;
      text_ = opcode_ == Opcode::text;
      message_size_ = 0;
      utf8_.reset();
    }
    // Refused at the announcement: nothing of what is too big has to be read.
    if (message_limit_ != 0 && remaining_ > message_limit_ - message_size_) {
      return violation(close_code::too_big, "the message is too big");
    }
    if (message_limit_ != 0) message_size_ += remaining_;
  }
  in_payload_ = true;
  return {};
}

Event Parser::take_data(std::span<char>& input) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
  const std::span<char> piece = input.first(count);
  input = input.subspan(count);
  if (role_ == Role::server) apply_mask(piece, key_, position_);
  position_ += count;
  remaining_ -= count;
  const bool frame_ends = remaining_ == 0;
  const bool message_ends = frame_ends && fin_;
  if (text_ && (!utf8_.feed(piece) || (message_ends && !utf8_.complete()))) {
    return violation(close_code::invalid_payload, "text that is not UTF-8");
  }
  if (frame_ends) in_payload_ = false;
  if (message_ends) in_message_ = false;
  if (piece.empty() && !message_ends) return {};
  return {.kind = Event::Kind::data, .text = text_, .last = message_ends, .payload = piece, .explanation = {}};
}

Event Parser::take_control(std::span<char>& input) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
  if (count > 0) std::memcpy(control_.data() + control_size_, input.data(), count);
  input = input.subspan(count);
  control_size_ = static_cast<std::uint8_t>(control_size_ + count);
  remaining_ -= count;
  if (remaining_ > 0) return {};
  in_payload_ = false;
  return finish_control();
}

Event Parser::finish_control() {
  const std::span<char> payload(control_.data(), control_size_);
  if (role_ == Role::server) apply_mask(payload, key_);
  if (opcode_ == Opcode::ping) return {.kind = Event::Kind::ping, .payload = payload, .explanation = {}};
  if (opcode_ == Opcode::pong) return {.kind = Event::Kind::pong, .payload = payload, .explanation = {}};
  if (payload.size() == 1) return violation(close_code::protocol_error, "a close frame with half a code");
  std::uint16_t code = close_code::none_given;
  std::string_view reason;
  if (!payload.empty()) {
    code = static_cast<std::uint16_t>(big_endian(payload.data(), 2));
    reason = {payload.data() + 2, payload.size() - 2};
    if (!may_be_sent(code)) return violation(close_code::protocol_error, "a close code that must not be sent");
    Utf8Check check;
    if (!check.feed(reason) || !check.complete()) {
      return violation(close_code::invalid_payload, "a close reason that is not UTF-8");
    }
  }
  over_ = true;
  return {.kind = Event::Kind::close, .code = code, .payload = {}, .explanation = reason};
}

void FrameWalk::pass(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size()));
    remaining_ -= skipped;
    bytes = bytes.subspan(skipped);
    if (!bytes.empty()) take_head(bytes);
  }
}

void FrameWalk::take_head(std::span<const char>& bytes) {
  const std::size_t want = head_size_ < 2 ? 2 : head_size_of(static_cast<unsigned char>(head_[1]));
  const std::size_t count = std::min(want - head_size_, bytes.size());
  std::memcpy(head_.data() + head_size_, bytes.data(), count);
  bytes = bytes.subspan(count);
  head_size_ = static_cast<std::uint8_t>(head_size_ + count);
  if (head_size_ < 2 || head_size_ < head_size_of(static_cast<unsigned char>(head_[1]))) return;
  if ((static_cast<unsigned char>(head_[0]) & 0x0fU) == static_cast<unsigned>(Opcode::close)) close_passed_ = true;
  remaining_ = static_cast<unsigned char>(head_[1]) & 0x7fU;
  if (remaining_ == 126)
    remaining_ = big_endian(head_.data() + 2, 2);
  else if (remaining_ == 127)
    remaining_ = big_endian(head_.data() + 2, 8);
  head_size_ = 0;
}

Head::Head(Opcode opcode, bool fin, std::uint64_t payload_size, const MaskKey* key) {
  const unsigned mask_bit = key != nullptr ? 0x80U : 0U;
  bytes_[0] = static_cast<char>((fin ? 0x80U : 0U) | static_cast<unsigned>(opcode));
  size_ = 2;
  std::size_t length_bytes = 0;
  if (payload_size < 126) {
    bytes_[1] = static_cast<char>(mask_bit | static_cast<unsigned>(payload_size));
  } else {
    length_bytes = payload_size < 65536 ? 2 : 8;
    bytes_[1] = static_cast<char>(mask_bit | (length_bytes == 2 ? 126U : 127U));
  }
  for (std::size_t i = length_bytes; i-- > 0;) bytes_[size_++] = static_cast<char>(payload_size >> (8 * i) & 0xffU);
  if (key != nullptr) {
    std::memcpy(bytes_.data() + size_, key->data(), key->size());
    size_ = static_cast<std::uint8_t>(size_ + key->size());
  }
}

std::span<char> frame_in_place(std::span<char> payload, Opcode opcode, bool fin, const MaskKey* key) {
  const Head head(opcode, fin, payload.size(), key);
  if (key != nullptr) apply_mask(payload, *key);
  char* const start = payload.data() - head.size();
  std::memcpy(start, head.bytes().data(), head.size());
  return {start, head.size() + payload.size()};
}

ControlFrame::ControlFrame(Opcode opcode, std::span<const char> payload, const MaskKey* key) {
  payload = payload.first(std::min(payload.size(), max_control_payload));
  char* const place = bytes_.data() + max_head;
  if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
  const std::span<char> frame = frame_in_place({place, payload.size()}, opcode, true, key);
  start_ = static_cast<std::uint8_t>(frame.data() - bytes_.data());
  size_ = static_cast<std::uint8_t>(frame.size());
}

ControlFrame ControlFrame::close(std::uint16_t code, std::string_view reason, const MaskKey* key) {
  if (!may_be_sent(code)) return {Opcode::close, {}, key};
  std::array<char, max_control_payload> payload;
  payload[0] = static_cast<char>(code >> 8);
  payload[1] = static_cast<char>(code & 0xff);
  std::size_t size = std::min(reason.size(), max_control_payload - 2);
  if (size < reason.size()) {
    while (size > 0 && (static_cast<unsigned char>(reason[size]) & 0xc0U) == 0x80U) --size;
  }
  Utf8Check check;
  if (!check.feed(reason.substr(0, size)) || !check.complete()) size = 0;
  if (size > 0) std::memcpy(payload.data() + 2, reason.data(), size);
  return {Opcode::close, std::span<const char>(payload).first(size + 2), key};
}

}  // namespace vg::http::ws
