#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

#include "base/limits.h"

namespace vg::log {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const auto a_time = std::chrono::system_clock::time_point(std::chrono::microseconds(1767323045000006));

std::string line(Level level, std::string_view msg, Fields fields) {
  return format_line(level, msg, fields, a_time, std::source_location::current());
}

class Verbosity : public ::testing::Test {
 protected:
  void TearDown() override { set_verbosity(verbosity_default); }
};

TEST(Log, WritesSortedKeys) {
  const auto where = std::source_location::current();
  const std::string name = "vm";
  const Field fields[] = {{"requestId", "r1"}, {"name", name}, {"code", 200}, {"a", true}};
  EXPECT_EQ(format_line(Level::warning, "hello \"you\" <b>", fields, a_time, where),
            R"({"a":true,"code":200,"component":"virtgate","level":"warning","msg":"hello \"you\" <b>","name":"vm",)"
            R"("pos":"log_test.cpp:)" +
                std::to_string(where.line()) + R"(","requestId":"r1","timestamp":"2026-01-02T03:04:05.000006Z"})" +
                "\n");
}

TEST(Log, LeavesOutAnEmptyMessage) {
  EXPECT_THAT(line(Level::info, "", {}), Not(HasSubstr("\"msg\"")));
  EXPECT_THAT(line(Level::info, "", {}), StartsWith(R"({"component":"virtgate","level":"info","pos":")"));
  EXPECT_THAT(line(Level::info, "", {{"z", 1}}), EndsWith(R"("z":1})"
                                                          "\n"));
}

TEST(Log, WritesEveryKindOfValue) {
  const std::string text = line(Level::info, "m",
                                {{"d", 1.5},
                                 {"f", false},
                                 {"inf", INFINITY},
                                 {"i", std::int64_t{-9223372036854775807 - 1}},
                                 {"u", std::uint64_t{18446744073709551615u}},
                                 {"s", std::string_view("x\n\xFF")}});
  EXPECT_THAT(text, HasSubstr(R"("d":1.5,)"));
  EXPECT_THAT(text, HasSubstr(R"("f":false,)"));
  EXPECT_THAT(text, HasSubstr(R"("inf":null,)"));
  EXPECT_THAT(text, HasSubstr(R"("i":-9223372036854775808,)"));
  EXPECT_THAT(text, HasSubstr(R"("u":18446744073709551615})"));
  EXPECT_THAT(text, HasSubstr("\"s\":\"x\\n\xEF\xBF\xBD\","));
}

TEST(Log, NamesAllLevels) {
  EXPECT_THAT(line(Level::info, "", {}), HasSubstr(R"("level":"info")"));
  EXPECT_THAT(line(Level::warning, "", {}), HasSubstr(R"("level":"warning")"));
  EXPECT_THAT(line(Level::error, "", {}), HasSubstr(R"("level":"error")"));
  EXPECT_THAT(line(Level::fatal, "", {}), HasSubstr(R"("level":"fatal")"));
}

TEST(Log, KeepsKeysUnique) {
  const std::string text = line(Level::info, "real", {{"msg", "fake"}, {"level", "fake"}, {"k", "first"}, {"k", 2}});
  EXPECT_THAT(text, HasSubstr(R"("msg":"real")"));
  EXPECT_THAT(text, HasSubstr(R"("k":"first")"));
  EXPECT_THAT(text, Not(HasSubstr("fake")));
  EXPECT_THAT(text, Not(HasSubstr(R"("k":2)")));
}

TEST(Log, BoundsTheLine) {
  const std::string long_text(100000, 'x');
  std::string text = line(Level::info, long_text, {{"body", long_text}, {"n", 1}});
  EXPECT_LE(text.size(), limits::log_line_bytes_max);
  EXPECT_THAT(text, HasSubstr("xxx\xE2\x80\xA6\",\"component\":\"virtgate\""));
  EXPECT_THAT(text, HasSubstr("\"n\":1,"));
  EXPECT_THAT(text, EndsWith("Z\"}\n"));

  // One long text alone needs no share for others.
  text = line(Level::info, std::string(10000, 'y'), {});
  EXPECT_THAT(text, HasSubstr(std::string(10000, 'y')));

  std::vector<std::string> keys;
  std::vector<Field> fields;
  for (int i = 0; i < 100; ++i) keys.push_back(std::to_string(1000 + i) + std::string(500, '\x01'));
  for (const std::string& key : keys) fields.emplace_back(key, std::string_view(long_text));
  text = format_line(Level::info, long_text, fields, a_time, std::source_location::current());
  EXPECT_LE(text.size(), limits::log_line_bytes_max);
  EXPECT_GT(text.size(), limits::log_line_bytes_max / 2);
  EXPECT_THAT(text, EndsWith("\"}\n"));
}

TEST_F(Verbosity, DecidesAboutInfoOnly) {
  Capture capture;
  info("at 2");
  info_v(3, "at 3");
  set_verbosity(3);
  info_v(3, "at 3 again");
  set_verbosity(0);
  info("not now");
  warning("always");
  error("always too", {{"reason", "r"}});
  fatal("last");
  const auto lines = capture.lines();
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], HasSubstr("at 2"));
  EXPECT_THAT(lines[1], HasSubstr("at 3 again"));
  EXPECT_THAT(lines[2], HasSubstr("always"));
  EXPECT_THAT(lines[3], HasSubstr(R"("reason":"r")"));
  EXPECT_THAT(lines[4], HasSubstr(R"("level":"fatal")"));
  EXPECT_THAT(lines[0], HasSubstr("\"pos\":\"log_test.cpp:"));
}

TEST(Log, SaysWhichComponent) {
  set_component("virt-api");
  EXPECT_THAT(line(Level::info, "", {}), HasSubstr(R"("component":"virt-api")"));
  set_component("virtgate");
}

TEST(Log, TakesLinesFromManyThreads) {
  Capture capture;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) info("from a thread", {{"thread", t}, {"i", i}});
    });
  }
  for (auto& thread : threads) thread.join();
  const auto lines = capture.lines();
  EXPECT_EQ(lines.size(), 400u);
  for (const auto& text : lines) EXPECT_THAT(text, EndsWith("}\n"));
}

TEST(Log, WritesToStderrWithoutASink) {
  ::testing::internal::CaptureStderr();
  error("to stderr");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(R"("msg":"to stderr")"));
}

TEST(Log, DeferredLinesKeepNobodyWaiting) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  constexpr int lines = 300;  // more than a pipe takes that nobody reads
  std::string text;
  std::thread reader;
  {
    Deferred deferred;
    for (int i = 0; i < lines; ++i) error(std::string(1000, 'x'));
    reader = std::thread([&] {
      std::array<char, 4096> part;
      for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<std::size_t>(got));
    });
  }
  ::dup2(before, STDERR_FILENO);  // the last that writes to the pipe
  ::close(before);
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(std::ranges::count(text, '\n'), lines);
}

TEST(LogText, IsShortAndCannotBeForged) {
  const auto time = std::chrono::system_clock::from_time_t(0);
  const std::array<Field, 3> fields{{{"address", "127.0.0.1:1"}, {"count", 3}, {"who", "a b\n\033[2Jc"}}};
  const std::string line = format_text(Level::warning, "it \nhappened", fields, time, false);
  EXPECT_THAT(line, ::testing::MatchesRegex("[0-9][0-9]:[0-9][0-9]:[0-9][0-9] WARNING .*"));
  EXPECT_THAT(line, ::testing::HasSubstr(R"("it \nhappened"  address=127.0.0.1:1  count=3  who="a b\n\u001b[2Jc")"));
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_EQ(std::ranges::count(line, '\033'), 0);
  const std::string coloured = format_text(Level::error, "x", {}, time, true);
  EXPECT_THAT(coloured, ::testing::HasSubstr("\033[31mERROR\033[0m x\n"));
  EXPECT_THAT(format_text(Level::info, "serving it", {}, time, true), ::testing::EndsWith(":00 serving it\n"));
  const std::string huge(1 << 20, 'x');
  const std::array<Field, 1> large{{{"huge", huge}}};
  EXPECT_LE(format_text(Level::info, huge, large, time, false).size(), limits::log_line_bytes_max + 8);
}

}  // namespace
}  // namespace vg::log
