#include "http/websocket_frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vg::http::ws {
namespace {

using Kind = Event::Kind;

constexpr MaskKey key{0x37, 0xfa, 0x21, 0x3d};

// A frame as a peer of `to` sends it, with any first byte.
std::string raw_frame(Role to, unsigned first_byte, std::string payload) {
  const MaskKey* mask = to == Role::server ? &key : nullptr;
  const Head head(Opcode::binary, true, payload.size(), mask);
  std::string frame(head.bytes().begin(), head.bytes().end());
  frame[0] = static_cast<char>(first_byte);
  if (mask != nullptr) apply_mask(payload, key);
  return frame + payload;
}

std::string frame_to(Role to, Opcode opcode, bool fin, std::string payload) {
  return raw_frame(to, (fin ? 0x80U : 0U) | static_cast<unsigned>(opcode), std::move(payload));
}

// What came out of a run, with the pieces of a message put together.
struct Seen {
  Kind kind;
  bool text = false;
  std::uint16_t code = 0;
  std::string bytes;
  bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << "{kind " << static_cast<int>(seen.kind) << " text " << seen.text << " code " << seen.code << " size "
             << seen.bytes.size() << "}";
}

std::vector<Seen> run(Parser& parser, std::string bytes, std::size_t step) {
  std::vector<Seen> seen;
  std::string message;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    std::span<char> input(bytes.data() + at, std::min(step, bytes.size() - at));
    for (;;) {
      const Event event = parser.next(input);
      if (event.kind == Kind::need_more) break;
      if (event.kind == Kind::data) {
        message.append(event.payload.data(), event.payload.size());
        if (event.last) seen.push_back({Kind::data, event.text, 0, std::move(message)});
        if (event.last) message.clear();
      } else if (event.kind == Kind::close) {
        seen.push_back({Kind::close, false, event.code, std::string(event.explanation)});
      } else if (event.kind == Kind::violation) {
        EXPECT_FALSE(event.explanation.empty());
        seen.push_back({Kind::violation, false, event.code, {}});
      } else {
        seen.push_back({event.kind, false, 0, std::string(event.payload.begin(), event.payload.end())});
      }
    }
  }
  return seen;
}

// The events, after checking that they do not depend on how the bytes are split.
std::vector<Seen> events(Role role, const std::string& bytes, std::uint64_t limit = 0) {
  Parser whole(role, limit);
  std::vector<Seen> seen = run(whole, bytes, bytes.size() + 1);
  for (const std::size_t step : {1U, 2U, 3U, 7U, 125U, 4096U}) {
    Parser split(role, limit);
    EXPECT_EQ(run(split, bytes, step), seen) << "in steps of " << step;
  }
  return seen;
}

class EitherRole : public testing::TestWithParam<Role> {};
INSTANTIATE_TEST_SUITE_P(Roles, EitherRole, testing::Values(Role::server, Role::client),
                         [](const auto& role) { return role.param == Role::server ? "server" : "client"; });

TEST_P(EitherRole, MessagesOfEveryLengthForm) {
  for (const std::size_t size : {0U, 1U, 125U, 126U, 127U, 65535U, 65536U, 70001U}) {
    std::string payload(size, 'x');
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>('a' + i % 23);
    EXPECT_EQ(events(GetParam(), frame_to(GetParam(), Opcode::binary, true, payload)),
              (std::vector<Seen>{{Kind::data, false, 0, payload}}))
        << size;
    EXPECT_EQ(events(GetParam(), frame_to(GetParam(), Opcode::text, true, payload)),
              (std::vector<Seen>{{Kind::data, true, 0, payload}}))
        << size;
  }
}

TEST_P(EitherRole, FragmentsWithControlFramesBetween) {
  const Role role = GetParam();
  const std::string bytes =
      frame_to(role, Opcode::text, false, "gr\xc3") + frame_to(role, Opcode::ping, true, "are you there") +
      frame_to(role, Opcode::continuation, false, "") + frame_to(role, Opcode::continuation, false, "\xbc") +
      frame_to(role, Opcode::pong, true, "") + frame_to(role, Opcode::continuation, true, "n") +
      frame_to(role, Opcode::binary, true, "\xff") +
      frame_to(role, Opcode::close, true,
               "\x03\xe8"
               "bye");
  EXPECT_EQ(events(role, bytes), (std::vector<Seen>{{Kind::ping, false, 0, "are you there"},
                                                    {Kind::pong, false, 0, ""},
                                                    {Kind::data, true, 0, "gr\xc3\xbcn"},
                                                    {Kind::data, false, 0, "\xff"},
                                                    {Kind::close, false, 1000, "bye"}}));
}

TEST_P(EitherRole, ControlFramesOfEveryAllowedLength) {
  for (const std::size_t size : {0U, 1U, 124U, 125U}) {
    const std::string payload(size, 'p');
    EXPECT_EQ(events(GetParam(), frame_to(GetParam(), Opcode::ping, true, payload)),
              (std::vector<Seen>{{Kind::ping, false, 0, payload}}));
    EXPECT_EQ(events(GetParam(), frame_to(GetParam(), Opcode::pong, true, payload)),
              (std::vector<Seen>{{Kind::pong, false, 0, payload}}));
  }
}

TEST_P(EitherRole, NothingIsTakenAfterClose) {
  const Role role = GetParam();
  EXPECT_EQ(events(role, frame_to(role, Opcode::close, true, "") + frame_to(role, Opcode::ping, true, "late")),
            (std::vector<Seen>{{Kind::close, false, close_code::none_given, ""}}));
}

TEST_P(EitherRole, Violations) {
  const Role role = GetParam();
  const auto frame = [&](Opcode opcode, bool fin, std::string payload) {
    return frame_to(role, opcode, fin, std::move(payload));
  };
  const std::string mask = role == Role::server ? std::string(4, 'k') : "";
  const char masked = role == Role::server ? '\x80' : '\0';
  const auto length = [&](char form, const std::string& bytes) {
    return std::string("\x82") + static_cast<char>(masked | form) + bytes + mask + std::string(200, 'x');
  };
  const struct {
    const char* what;
    std::string bytes;
    std::uint16_t code;
  } rows[] = {
      {"reserved bit 1", raw_frame(role, 0xc2, "x"), 1002},
      {"reserved bit 2", raw_frame(role, 0xa2, "x"), 1002},
      {"reserved bit 3", raw_frame(role, 0x92, "x"), 1002},
      {"reserved bit on a control frame", raw_frame(role, 0xc9, "x"), 1002},
      {"opcode 3", raw_frame(role, 0x83, "x"), 1002},
      {"opcode 7", raw_frame(role, 0x87, "x"), 1002},
      {"opcode 11", raw_frame(role, 0x8b, "x"), 1002},
      {"opcode 15", raw_frame(role, 0x8f, "x"), 1002},
      {"wrong mask", frame_to(role == Role::server ? Role::client : Role::server, Opcode::binary, true, "x"), 1002},
      {"fragmented ping", frame(Opcode::ping, false, "x"), 1002},
      {"fragmented close", frame(Opcode::close, false, ""), 1002},
      {"long ping", frame(Opcode::ping, true, std::string(126, 'p')), 1002},
      {"long pong", frame(Opcode::pong, true, std::string(65536, 'p')), 1002},
      {"long close", frame(Opcode::close, true, "\x03\xe8" + std::string(124, 'c')), 1002},
      {"continuation first", frame(Opcode::continuation, true, "x"), 1002},
      {"continuation after a whole message", frame(Opcode::text, true, "x") + frame(Opcode::continuation, true, "x"),
       1002},
      {"text inside a message", frame(Opcode::text, false, "x") + frame(Opcode::text, true, "x"), 1002},
      {"binary inside a message", frame(Opcode::text, false, "x") + frame(Opcode::binary, true, "x"), 1002},
      {"16-bit length for 125", length('\x7e', std::string("\0\x7d", 2)), 1002},
      {"64-bit length for 65535", length('\x7f', std::string("\0\0\0\0\0\0\xff\xff", 8)), 1002},
      {"64-bit length with the highest bit", length('\x7f', std::string("\x80\0\0\0\0\0\0\0", 8)), 1002},
      {"half a close code", frame(Opcode::close, true, "\x03"), 1002},
      {"close reason is not UTF-8", frame(Opcode::close, true, "\x03\xe8\xff"), 1007},
      {"close reason is cut", frame(Opcode::close, true, "\x03\xe8\xc3"), 1007},
      {"text is not UTF-8", frame(Opcode::text, true, "ab\xfe"), 1007},
      {"text ends inside a character", frame(Opcode::text, true, "ab\xe2\x82"), 1007},
      {"continuation breaks a character", frame(Opcode::text, false, "\xe2") + frame(Opcode::continuation, false, "x"),
       1007},
      {"message over the limit", frame(Opcode::binary, true, std::string(1001, 'x')), 1009},
      {"fragments over the limit",
       frame(Opcode::binary, false, std::string(999, 'x')) + frame(Opcode::continuation, true, "xx"), 1009},
      {"announced beyond memory", length('\x7f', std::string("\x7f\xff\xff\xff\xff\xff\xff\xff", 8)), 1009},
  };
  for (const auto& row : rows) {
    const std::vector<Seen> seen = events(role, row.bytes, 1000);
    ASSERT_FALSE(seen.empty()) << row.what;
    EXPECT_EQ(seen.back(), (Seen{Kind::violation, false, row.code, {}})) << row.what;
  }
}

TEST_P(EitherRole, TheLimitItselfIsAllowed) {
  const Role role = GetParam();
  const std::string two = frame_to(role, Opcode::binary, false, std::string(600, 'x')) +
                          frame_to(role, Opcode::continuation, true, std::string(400, 'x'));
  EXPECT_EQ(events(role, two + two, 1000).size(), 2U) << "the count starts anew with each message";
}

TEST_P(EitherRole, CloseCodes) {
  for (unsigned code = 0; code < 5100; ++code) {
    const bool allowed =
        (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
    const std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
    Parser parser(GetParam());
    const auto seen = run(parser, frame_to(GetParam(), Opcode::close, true, payload), 100);
    ASSERT_EQ(seen.size(), 1U);
    const auto wanted = allowed ? Seen{Kind::close, false, static_cast<std::uint16_t>(code), ""}
                                : Seen{Kind::violation, false, 1002, ""};
    EXPECT_EQ(seen[0], wanted) << code;
  }
}

TEST_P(EitherRole, IdleOnlyBetweenMessages) {
  Parser parser(GetParam());
  EXPECT_TRUE(parser.idle());
  const auto feed = [&](std::string bytes) { run(parser, std::move(bytes), 1000); };
  const std::string first = frame_to(GetParam(), Opcode::binary, false, "ab");
  feed(first.substr(0, 1));
  EXPECT_FALSE(parser.idle());
  feed(first.substr(1));
  EXPECT_FALSE(parser.idle());
  feed(frame_to(GetParam(), Opcode::continuation, true, ""));
  EXPECT_TRUE(parser.idle());
  feed(frame_to(GetParam(), Opcode::ping, true, "x"));
  EXPECT_TRUE(parser.idle());
}

TEST(WebSocketFrame, DataIsUnmaskedWhereItLies) {
  std::string bytes = frame_to(Role::server, Opcode::binary, true, "hello");
  std::span<char> input(bytes);
  Parser parser(Role::server);
  const Event event = parser.next(input);
  EXPECT_EQ(event.payload.data(), bytes.data() + 6);
  EXPECT_EQ(std::string(event.payload.begin(), event.payload.end()), "hello");
}

// The examples of RFC 6455 5.7.
TEST(WebSocketFrame, ExamplesOfTheStandard) {
  EXPECT_EQ(events(Role::client, "\x81\x05Hello"), (std::vector<Seen>{{Kind::data, true, 0, "Hello"}}));
  EXPECT_EQ(events(Role::server, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"),
            (std::vector<Seen>{{Kind::data, true, 0, "Hello"}}));
  EXPECT_EQ(events(Role::client, "\x01\x03Hel\x80\x02lo"), (std::vector<Seen>{{Kind::data, true, 0, "Hello"}}));
  EXPECT_EQ(events(Role::client, "\x89\x05Hello"), (std::vector<Seen>{{Kind::ping, false, 0, "Hello"}}));
  EXPECT_EQ(events(Role::server, "\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"),
            (std::vector<Seen>{{Kind::pong, false, 0, "Hello"}}));
}

TEST(WebSocketFrame, MaskingMayStartAnywhere) {
  std::string whole(100, '\0');
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<char>(i * 7);
  std::string expected = whole;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = static_cast<char>(static_cast<unsigned char>(expected[i]) ^ key[i % 4]);
  }
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    std::string bytes = whole;
    apply_mask(std::span(bytes).first(cut), key);
    apply_mask(std::span(bytes).subspan(cut), key, cut);
    EXPECT_EQ(bytes, expected) << cut;
  }
}

TEST(WebSocketFrame, HeadsTakeTheShortestForm) {
  const struct {
    std::uint64_t size;
    std::size_t head;
  } rows[] = {{0, 2}, {125, 2}, {126, 4}, {65535, 4}, {65536, 10}, {std::uint64_t{1} << 40, 10}};
  for (const auto& row : rows) {
    EXPECT_EQ(Head(Opcode::binary, true, row.size, nullptr).size(), row.head);
    EXPECT_EQ(Head(Opcode::binary, true, row.size, &key).size(), row.head + 4);
  }
}

TEST(WebSocketFrame, FramesAreMadeInPlace) {
  for (const MaskKey* mask : {static_cast<const MaskKey*>(nullptr), &key}) {
    std::string buffer = std::string(max_head, '#') + "payload";
    const auto frame = frame_in_place(std::span(buffer).subspan(max_head), Opcode::text, true, mask);
    EXPECT_EQ(frame.data() + frame.size(), buffer.data() + buffer.size());
    EXPECT_EQ(events(mask != nullptr ? Role::server : Role::client, std::string(frame.begin(), frame.end())),
              (std::vector<Seen>{{Kind::data, true, 0, "payload"}}));
  }
}

std::string text_of(std::span<const char> bytes) { return {bytes.begin(), bytes.end()}; }

TEST(WebSocketFrame, ControlFramesStayWithinTheProtocol) {
  const std::string too_long(200, 'p');
  EXPECT_EQ(events(Role::client, text_of(ControlFrame(Opcode::ping, too_long, nullptr).bytes())),
            (std::vector<Seen>{{Kind::ping, false, 0, std::string(125, 'p')}}));
  const struct {
    std::uint16_t code;
    std::string reason;
    Seen seen;
  } rows[] = {
      {1000, "", {Kind::close, false, 1000, ""}},
      {1001, "going", {Kind::close, false, 1001, "going"}},
      {4999, std::string(300, 'r'), {Kind::close, false, 4999, std::string(123, 'r')}},
      {1011, std::string(122, 'r') + "\xc3\xbc", {Kind::close, false, 1011, std::string(122, 'r')}},
      {1011, "\xff\xfe", {Kind::close, false, 1011, ""}},
      {close_code::none_given, "dropped", {Kind::close, false, 1005, ""}},
      {close_code::abnormal, "dropped", {Kind::close, false, 1005, ""}},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(events(Role::client, text_of(ControlFrame::close(row.code, row.reason, nullptr).bytes())),
              std::vector<Seen>{row.seen});
    EXPECT_EQ(events(Role::server, text_of(ControlFrame::close(row.code, row.reason, &key).bytes())),
              std::vector<Seen>{row.seen});
  }
}

TEST(WebSocketFrame, Utf8) {
  const struct {
    std::string_view text;
    bool valid;
  } rows[] = {
      {"", true},
      {"plain text that is longer than eight bytes", true},
      {"\xc2\x80 \xdf\xbf", true},
      {"\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf", true},
      {"\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf", true},
      {"12345678\xc3\xbc"
       "12345678",
       true},
      {"\x80", false},
      {"\xc0\xaf", false},          // overlong
      {"\xc1\xbf", false},          // overlong
      {"\xe0\x9f\xbf", false},      // overlong
      {"\xf0\x8f\xbf\xbf", false},  // overlong
      {"\xed\xa0\x80", false},      // surrogate
      {"\xed\xbf\xbf", false},      // surrogate
      {"\xf4\x90\x80\x80", false},  // above U+10FFFF
      {"\xf5\x80\x80\x80", false},
      {"\xc3", false},
      {"\xe2\x82", false},
      {"\xf0\x9f\x98", false},
      {"\xc3(", false},
      {"\xe2\x28\xa1", false},
      {"12345678\xff", false},
  };
  for (const auto& row : rows) {
    for (std::size_t cut = 0; cut <= row.text.size(); ++cut) {
      Utf8Check check;
      const bool valid = check.feed(row.text.substr(0, cut)) && check.feed(row.text.substr(cut)) && check.complete();
      EXPECT_EQ(valid, row.valid) << row.text << " cut at " << cut;
    }
  }
}

}  // namespace
}  // namespace vg::http::ws
