// Arbitrary bytes, split in an arbitrary way, through the WebSocket frame parser in both roles. It must say the same
// as for the unsplit bytes, and what it understood must survive being written and read again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "http/websocket_frame.h"

namespace {

using namespace vg::http::ws;
using Kind = Event::Kind;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Seen {
  Kind kind;
  bool text;
  std::uint16_t code;
  std::string bytes;  // of a whole message, a control frame or a reason
  bool operator==(const Seen&) const = default;
};

constexpr std::uint64_t message_limit = 4096;

// `splits` gives the size of each piece, over and over; empty means all at once.
std::vector<Seen> parse(Role role, std::string bytes, const std::string& splits) {
  Parser parser(role, message_limit);
  std::vector<Seen> seen;
  std::string message;
  std::size_t at = 0;
  std::size_t turn = 0;
  while (at < bytes.size()) {
    std::size_t size = bytes.size() - at;
    if (!splits.empty()) {
      size = std::min<std::size_t>(size, 1U + static_cast<unsigned char>(splits[turn++ % splits.size()]));
    }
    std::span<char> input(bytes.data() + at, size);
    at += size;
    for (;;) {
      const std::size_t before = input.size();
      const Event event = parser.next(input);
      require(input.size() <= before);
      if (event.kind == Kind::need_more) break;
      if (event.kind == Kind::data) {
        message.append(event.payload.data(), event.payload.size());
        require(message.size() <= message_limit);
        if (!event.last) continue;
        seen.push_back({event.kind, event.text, 0, std::move(message)});
        message.clear();
        continue;
      }
      std::string text(event.kind == Kind::close ? event.explanation
                                                 : std::string_view(event.payload.data(), event.payload.size()));
      require(text.size() <= max_control_payload);
      seen.push_back({event.kind, false, event.code, std::move(text)});
    }
  }
  return seen;
}

std::string write(const std::vector<Seen>& events, const MaskKey* key) {
  std::string wire;
  for (const Seen& event : events) {
    if (event.kind == Kind::data) {
      std::string buffer = std::string(max_head, '\0') + event.bytes;
      const auto frame =
          frame_in_place(std::span(buffer).subspan(max_head), event.text ? Opcode::text : Opcode::binary, true, key);
      wire.append(frame.data(), frame.size());
    } else if (event.kind == Kind::ping || event.kind == Kind::pong) {
      const ControlFrame frame(event.kind == Kind::ping ? Opcode::ping : Opcode::pong, event.bytes, key);
      wire.append(frame.bytes().data(), frame.bytes().size());
    } else if (event.kind == Kind::close) {
      const ControlFrame frame = ControlFrame::close(event.code, event.bytes, key);
      wire.append(frame.bytes().data(), frame.bytes().size());
    }
  }
  return wire;
}

}  // namespace

// The first byte says how many of the next bytes are split sizes; the rest is what comes over the wire.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::size_t split_count = std::min<std::size_t>(data[0] % 16U, size - 1);
  const std::string splits(reinterpret_cast<const char*>(data) + 1, split_count);
  const std::string bytes(reinterpret_cast<const char*>(data) + 1 + split_count, size - 1 - split_count);
  for (const Role role : {Role::server, Role::client}) {
    std::vector<Seen> seen = parse(role, bytes, {});
    require(parse(role, bytes, splits) == seen);
    require(parse(role, bytes, std::string(1, '\0')) == seen);
    std::erase_if(seen, [](const Seen& event) { return event.kind == Kind::violation; });
    const MaskKey key{data[0], data[size - 1], 0x5a, static_cast<std::uint8_t>(size)};
    require(parse(Role::client, write(seen, nullptr), splits) == seen);
    require(parse(Role::server, write(seen, &key), splits) == seen);
  }
  return 0;
}
