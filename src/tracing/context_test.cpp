#include "tracing/context.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/tracing_limits.h"

namespace vg::tracing {
namespace {

constexpr std::string_view good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, ComesBackAsItWas) {
  const auto context = parse_traceparent(good);
  ASSERT_TRUE(context);
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(print_traceparent(*context), good);
}

TEST(TraceContext, IsReadStrictly) {
  struct Row {
    std::string text;
    bool taken;
  };
  const std::string known(good);
  const std::vector<Row> rows = {
      {known, true},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", true},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03", true},  // a flag of level 2
      {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true},
      {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes", true},
      {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what-comes", false},
      {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
      {known + "-", false},
      {known + "-00", false},
      {known + " ", false},
      {" " + known, false},
      {known.substr(0, 54), false},
      {"", false},
      {"00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
      {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", false},
      {"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false},
      {"00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01", false},
      {"00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01", false},
      {"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
      {"0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
      {std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0\0", 55), false},
  };
  for (const Row& row : rows) EXPECT_EQ(parse_traceparent(row.text).has_value(), row.taken) << row.text;
}

TEST(TraceState, IsReadStrictly) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a=1", "a=1"},
      {" a=1 , ,\tb@c=x y ,", "a=1,b@c=x y"},
      {"a=1,a=2", ""},
      {"A=1", ""},
      {"a", ""},
      {"a=", ""},
      {"=a", ""},
      {"a=b=c", ""},
      {"a=\xc3\xa4", ""},
      {"a@b@c=1", ""},
      {"a@=1", ""},
      {std::string(257, 'a') + "=1", ""},
      {"a=" + std::string(257, '1'), ""},
      {"", ""},
  };
  for (const auto& [text, state] : rows) EXPECT_EQ(parse_tracestate(text), state) << text;
  std::string many;
  for (std::size_t i = 0; i <= limits::tracestate_members_max; ++i) many += "k" + std::to_string(i) + "=1,";
  EXPECT_EQ(parse_tracestate(many), "");
  const std::string long_one =
      "a=" + std::string(250, '1') + ",b=" + std::string(250, '2') + ",c=" + std::string(250, '3');
  EXPECT_EQ(parse_tracestate(long_one), long_one.substr(0, 505));
}

TEST(TraceState, OwnMemberComesFirstAndReplacesWhatWasSent) {
  const std::chrono::sys_seconds begin(std::chrono::seconds(0x6553f100));
  EXPECT_EQ(with_begin("", begin), "vg=6553f100");
  EXPECT_EQ(with_begin("a=1,vg=ffffffff,b=2", begin), "vg=6553f100,a=1,b=2");
  EXPECT_EQ(begin_of("vg=6553f100,a=1"), begin);
  for (const char* wrong :
       {"", "a=1", "vg=", "vg=x", "vg=-1", "vg=6553f100 ", "vg=ffffffffffffffff", "a=1,vg=6553f100"})
    EXPECT_EQ(begin_of(wrong), std::nullopt) << wrong;
}

TEST(StoredContext, CountsForAWhile) {
  const std::chrono::sys_seconds begin(std::chrono::seconds(0x6553f100));
  EXPECT_TRUE(stored_context(good, "vg=6553f100", begin + std::chrono::minutes(1)));
  EXPECT_FALSE(stored_context(good, "vg=6553f100", begin + limits::trace_follow_max + std::chrono::seconds(1)));
  EXPECT_FALSE(stored_context(good, "vg=6553f100", begin - std::chrono::hours(1)));
  EXPECT_FALSE(stored_context(good, "", begin));
  EXPECT_FALSE(stored_context("00-x", "vg=6553f100", begin));
}

}  // namespace
}  // namespace vg::tracing
