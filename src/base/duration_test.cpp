#include "base/duration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/time_rfc3339.h"

namespace vg {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();

// Whatever two objects say, their times and durations can be reckoned with.
TEST(Duration, WhatObjectsSayIsBounded) {
  constexpr std::int64_t most = limits::stated_duration_max.count();
  for (const std::int64_t stated : {int64_min, int64_min + 1, -most - 1, -most, std::int64_t{-1}, std::int64_t{0},
                                    std::int64_t{1}, most, most + 1, std::int64_t{9'223'372'037}, int64_max}) {
    const std::int64_t bounded_to = std::clamp(stated, -most, most);
    EXPECT_EQ(bounded_seconds(stated).count(), bounded_to);
    EXPECT_EQ(bounded(std::chrono::nanoseconds(stated)).count(), std::clamp(stated, -most * second, most * second));
    for (const std::int64_t time : {int64_min, std::int64_t{-62'135'596'800}, std::int64_t{-1}, std::int64_t{0},
                                    std::int64_t{1'767'323'045}, std::int64_t{253'402'300'799}, int64_max}) {
      const auto on_clock = Timestamp{.seconds = time}.on_clock();
      const std::int64_t since = std::clamp<std::int64_t>(time, 0, limits::stated_time_max.count());
      EXPECT_EQ(on_clock.time_since_epoch(), std::chrono::seconds(since));
      const auto end = on_clock + bounded_seconds(stated);  // does not wrap around
      EXPECT_EQ(std::chrono::floor<std::chrono::seconds>(end).time_since_epoch().count(), since + bounded_to);
    }
  }
}

TEST(Duration, ParsesAndPrintsAsGo) {
  const struct {
    const char* text;
    std::int64_t nanoseconds;
    const char* printed;
  } cases[] = {
      {"0", 0, "0s"},
      {"+0", 0, "0s"},
      {"-0", 0, "0s"},
      {"0s", 0, "0s"},
      {"0.0h", 0, "0s"},
      {"5s", 5 * second, "5s"},
      {"30s", 30 * second, "30s"},
      {"60s", 60 * second, "1m0s"},
      {"1478s", 1478 * second, "24m38s"},
      {"-5s", -5 * second, "-5s"},
      {"+5s", 5 * second, "5s"},
      {"-5m", -300 * second, "-5m0s"},
      {"5.0s", 5 * second, "5s"},
      {"5.6s", 5'600'000'000, "5.6s"},
      {"5.s", 5 * second, "5s"},
      {".5s", second / 2, "500ms"},
      {"1.004s", 1'004'000'000, "1.004s"},
      {"1.0040s", 1'004'000'000, "1.004s"},
      {"100.00100s", 100'001'000'000, "1m40.001s"},
      {"10ns", 10, "10ns"},
      {"11us", 11'000, "11\xC2\xB5s"},
      {"12\xC2\xB5s", 12'000, "12\xC2\xB5s"},
      {"12\xCE\xBCs", 12'000, "12\xC2\xB5s"},
      {"1.5us", 1'500, "1.5\xC2\xB5s"},
      {"100ms", 100'000'000, "100ms"},
      {"13ms", 13'000'000, "13ms"},
      {"1.1ms", 1'100'000, "1.1ms"},
      {"14s", 14 * second, "14s"},
      {"15m", 900 * second, "15m0s"},
      {"1h", 3600 * second, "1h0m0s"},
      {"1h30m", 5400 * second, "1h30m0s"},
      {"1.5h", 5400 * second, "1h30m0s"},
      {"3h30m", 12600 * second, "3h30m0s"},
      {"10.5s4m", 250'500'000'000, "4m10.5s"},
      {"-2m3.4s", -123'400'000'000, "-2m3.4s"},
      {"1h2m3s4ms5us6ns", 3'723'004'005'006, "1h2m3.004005006s"},
      {"39h9m14.425s", 140'954'425'000'000, "39h9m14.425s"},
      {"52763797000ns", 52'763'797'000, "52.763797s"},
      {"0.3333333333333333333h", 1200 * second, "20m0s"},
      {"0.9007199254740993s", 900'719'925, "900.719925ms"},
      {"9223372036854775807ns", int64_max, "2562047h47m16.854775807s"},
      {"9223372036854775.807us", int64_max, "2562047h47m16.854775807s"},
      {"9223372036s854ms775us807ns", int64_max, "2562047h47m16.854775807s"},
      {"-9223372036854775808ns", int64_min, "-2562047h47m16.854775808s"},
      {"0.100000000000000000000h", 360 * second, "6m0s"},
      {"0.830103483285477580700h", 2'988'372'539'827, "49m48.372539827s"},
  };
  for (const auto& c : cases) {
    const auto duration = parse_duration(c.text);
    ASSERT_TRUE(duration) << c.text << ": " << duration.error();
    EXPECT_EQ(duration->count(), c.nanoseconds) << c.text;
    EXPECT_EQ(print_duration(*duration), c.printed) << c.text;
    EXPECT_EQ(parse_duration(c.printed)->count(), c.nanoseconds) << c.printed;
  }
}

TEST(Duration, RefusesTheRest) {
  const char* cases[] = {"",
                         "3",
                         "-",
                         "+",
                         "s",
                         ".",
                         "-.",
                         ".s",
                         "+.s",
                         "1d",
                         "1h30",
                         "1 h",
                         " 1h",
                         "1h ",
                         "1.2.3s",
                         "--1s",
                         "1h-5m",
                         "1H",
                         "1e3s",
                         "00",
                         "1s.",
                         "\x85\x85",
                         "\xFF",
                         "hello",
                         "9223372036854775808ns",
                         "9223372036854775.808us",
                         "9223372036854ms775us808ns",
                         "-9223372036854775809ns",
                         "3000000h",
                         "99999999999999999999s",
                         "2562047h47m16.854775808s"};
  for (const char* text : cases) EXPECT_FALSE(parse_duration(text)) << text;
  EXPECT_FALSE(parse_duration(std::string(200, '0') + "s"));
}

}  // namespace
}  // namespace vg
