#include "base/cron_schedule.h"

#include <gtest/gtest.h>

namespace vg {
namespace {

using namespace std::chrono;

struct Due {
  const char* schedule;
  sys_seconds after, next;
};

constexpr sys_seconds at(year_month_day day, int hour, int minute, int second = 0) {
  return sys_days(day) + hours(hour) + minutes(minute) + seconds(second);
}

TEST(CronSchedule, NextTime) {
  constexpr year_month_day monday = 2026y / November / 16;
  const Due rows[] = {
      {"* * * * *", at(monday, 10, 0), at(monday, 10, 1)},
      {"* * * * *", at(monday, 10, 0, 59), at(monday, 10, 1)},
      {"30 3 * * *", at(monday, 3, 30), at(2026y / November / 17, 3, 30)},
      {"*/15 * * * *", at(monday, 10, 46), at(monday, 11, 0)},
      {"5/20 0 * * *", at(monday, 0, 6), at(monday, 0, 25)},
      {"0 12 1 * *", at(monday, 0, 0), at(2026y / December / 1, 12, 0)},
      {"0 0 * * mon-fri", at(2026y / November / 20, 0, 0), at(2026y / November / 23, 0, 0)},
      {"0 0 * * 7", at(monday, 0, 0), at(2026y / November / 22, 0, 0)},
      // Both are given: either will do.
      {"0 0 13 * fri", at(2026y / November / 13, 0, 0), at(2026y / November / 20, 0, 0)},
      {"0 0 29 feb *", at(monday, 0, 0), at(2028y / February / 29, 0, 0)},
      {"@daily", at(monday, 10, 0), at(2026y / November / 17, 0, 0)},
      {"59 23 31 12 *", at(2026y / December / 31, 23, 59), at(2027y / December / 31, 23, 59)},
  };
  for (const Due& row : rows) {
    const auto schedule = CronSchedule::parse(row.schedule);
    ASSERT_TRUE(schedule) << row.schedule;
    EXPECT_EQ(schedule->next_after(row.after), CronSchedule::Time(row.next)) << row.schedule;
  }
}

TEST(CronSchedule, NeverDue) {
  const auto schedule = CronSchedule::parse("0 0 30 2 *");
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->next_after(CronSchedule::Time()), std::nullopt);
}

TEST(CronSchedule, WhatIsNone) {
  for (const char* text :
       {"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *",
        "*/0 * * * *", "a * * * *", "1--2 * * * *", "1/2/3 * * * *", "@never", "99999999999 * * * *", ", * * * *"})
    EXPECT_FALSE(CronSchedule::parse(text)) << text;
}

}  // namespace
}  // namespace vg
