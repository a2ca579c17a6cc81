#include "simulated/console.h"

#include <gmock/gmock.h>

#include "base/background.h"
#include "base/clock.h"
#include "base/controller_limits.h"
#include "http/websocket_frame.h"
#include "simulated/testing.h"

namespace vg::simulated {
namespace {

namespace ws = http::ws;
using testing::EndsWith;
using testing::HasSubstr;

class ConsoleTest : public testing::Test {
 protected:
  // What can be read now.
  std::string read() {
    std::string got(200'000, '\0');
    IoResult result{.bytes = 0, .error = IoError::timed_out};
    const Background reading([](Stream& from, std::string& into, IoResult& to) -> Task<void> {
      to = co_await from.read_some(into);
    }(*stream_, got, result));
    while (core_.step()) {
    }
    last_ = result.error;
    got.resize(result.bytes);
    return got;
  }
  // True when it was taken.
  bool write(std::string_view payload, ws::Opcode opcode = ws::Opcode::binary) {
    const ws::MaskKey key{1, 2, 3, 4};
    std::string masked(payload);
    ws::apply_mask(masked, key);
    const ws::Head head(opcode, true, payload.size(), &key);
    std::string frame(head.bytes().data(), head.bytes().size());
    return send(frame + masked);
  }
  bool send(const std::string& bytes) {
    bool taken = false;
    const Background writing([](Stream& to, const std::string& what, bool& done) -> Task<void> {
      done = static_cast<bool>(co_await to.write_all(what));
    }(*stream_, bytes, taken));
    while (core_.step()) {
    }
    return taken;
  }

  ManualClock clock_;
  ManualCore core_{clock_};
  std::unique_ptr<Stream> stream_ = open_console(core_, "hello");
  IoError last_ = IoError::none;
};

TEST_F(ConsoleTest, GreetsAndEchoes) {
  EXPECT_THAT(read(), EndsWith("hello"));
  EXPECT_TRUE(write("abc"));
  EXPECT_THAT(read(), EndsWith("abc"));
  EXPECT_TRUE(write("ping", ws::Opcode::ping));
  EXPECT_THAT(read(), HasSubstr("ping"));
}

TEST_F(ConsoleTest, EndsWhenItIsToldTo) {
  read();
  EXPECT_TRUE(write(std::string("\x03\xe8", 2), ws::Opcode::close));
  EXPECT_FALSE(read().empty());  // its own close frame
  EXPECT_EQ(read(), "");
  EXPECT_EQ(last_, IoError::end);
  EXPECT_FALSE(write("more"));
}

TEST_F(ConsoleTest, WhatIsNoWebSocketEndsIt) {
  read();
  send(std::string(20, '\xff'));
  read();
  read();
  EXPECT_EQ(last_, IoError::end);
}

// Whoever does not read cannot make it keep more and more.
TEST_F(ConsoleTest, KeepsOnlySoMuch) {
  const std::string piece(limits::simulated_console_bytes_max, 'x');
  EXPECT_TRUE(write(piece));
  EXPECT_FALSE(write(piece));  // waits, and is thrown away here
  EXPECT_LE(read().size(), 2 * piece.size());
}

TEST_F(ConsoleTest, IsClosed) {
  read();
  stream_->close();
  EXPECT_EQ(read(), "");
  EXPECT_EQ(last_, IoError::closed);
}

}  // namespace
}  // namespace vg::simulated
