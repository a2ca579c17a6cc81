#include "base/time_rfc3339.h"

#include <gtest/gtest.h>

namespace vg {
namespace {

TEST(TimeRfc3339, ParsesWhatGoParses) {
  const struct {
    const char* text;
    std::int64_t seconds;
    std::int32_t nanoseconds;
  } cases[] = {
      {"1970-01-01T00:00:00Z", 0, 0},
      {"2026-01-02T03:04:05Z", 1767323045, 0},
      {"2026-01-02T03:04:05+00:00", 1767323045, 0},
      {"2026-01-02T03:04:05-00:00", 1767323045, 0},
      {"2026-01-02T04:34:05+01:30", 1767323045, 0},
      {"2026-01-01T22:04:05-05:00", 1767323045, 0},
      {"2026-01-03T04:04:05+24:60", 1767323045, 0},
      {"2026-01-02T3:04:05Z", 1767323045, 0},
      {"2026-01-02T03:04:05.5Z", 1767323045, 500000000},
      {"2026-01-02T03:04:05,25Z", 1767323045, 250000000},
      {"2026-01-02T03:04:05.000000001Z", 1767323045, 1},
      {"2026-01-02T03:04:05.9999999999999Z", 1767323045, 999999999},
      {"2024-02-29T00:00:00Z", 1709164800, 0},
      {"1969-12-31T23:59:59.25Z", -1, 250000000},
      {"0000-01-01T00:00:00Z", -62167219200, 0},
      {"9999-12-31T23:59:59Z", 253402300799, 0},
  };
  for (const auto& c : cases) {
    const auto time = parse_rfc3339(c.text);
    ASSERT_TRUE(time) << c.text << ": " << time.error();
    EXPECT_EQ(time->seconds, c.seconds) << c.text;
    EXPECT_EQ(time->nanoseconds, c.nanoseconds) << c.text;
  }
}

TEST(TimeRfc3339, RefusesTheRest) {
  const char* cases[] = {
      "",
      "2026",
      "2026-01-02",
      "2026-01-02T03:04:05",
      "2026-01-02 03:04:05Z",
      "2026-01-02t03:04:05Z",
      "2026-01-02T03:04:05z",
      "2026-01-02T03:04:05.Z",
      "2026-01-02T03:04:05Z ",
      " 2026-01-02T03:04:05Z",
      "2026-1-02T03:04:05Z",
      "2026-01-2T03:04:05Z",
      "2026-01-02T03:4:05Z",
      "2026-01-02T03:04:5Z",
      "2026-01-02T003:04:05Z",
      "026-01-02T03:04:05Z",
      "12026-01-02T03:04:05Z",
      "2026-13-02T03:04:05Z",
      "2026-00-02T03:04:05Z",
      "2026-02-29T03:04:05Z",
      "2026-04-31T03:04:05Z",
      "2026-01-00T03:04:05Z",
      "2026-01-02T24:00:00Z",
      "2026-01-02T03:60:00Z",
      "2026-01-02T03:04:60Z",
      "2026-01-02T03:04:05+0100",
      "2026-01-02T03:04:05+1:00",
      "2026-01-02T03:04:05+25:00",
      "2026-01-02T03:04:05+01:61",
      "2026-01-02T03:04:05+01:00x",
      "-026-01-02T03:04:05Z",
  };
  for (const char* text : cases) EXPECT_FALSE(parse_rfc3339(text)) << text;
  EXPECT_FALSE(parse_rfc3339("2026-01-02T03:04:05." + std::string(200, '1') + "Z"));
}

TEST(TimeRfc3339, PrintsUtc) {
  const auto time = parse_rfc3339("2026-01-02T04:04:05.0000069+01:00").value();
  EXPECT_EQ(print_rfc3339(time), "2026-01-02T03:04:05Z");
  EXPECT_EQ(print_rfc3339_micro(time), "2026-01-02T03:04:05.000006Z");
  EXPECT_EQ(print_rfc3339({-1, 0}), "1969-12-31T23:59:59Z");
  EXPECT_EQ(print_rfc3339({253402300799, 0}), "9999-12-31T23:59:59Z");
  EXPECT_EQ(print_rfc3339({-62167219200, 0}), "0000-01-01T00:00:00Z");
}

TEST(TimeRfc3339, TakesTheSystemClock) {
  using std::chrono::system_clock;
  const auto at = [](std::int64_t ns) {
    return Timestamp::from(
        system_clock::time_point(std::chrono::duration_cast<system_clock::duration>(std::chrono::nanoseconds(ns))));
  };
  EXPECT_EQ(at(1'500'000'000), (Timestamp{1, 500'000'000}));
  EXPECT_EQ(at(-1), (Timestamp{-1, 999'999'999}));
  EXPECT_LT(at(-1), at(0));
}

}  // namespace
}  // namespace vg
