// When something is due: the five fields of cron, in UTC.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace vg {

class CronSchedule {
 public:
  using Time = std::chrono::system_clock::time_point;

  // "*/15 3 * * mon-fri", "@daily"; nothing for what is none.
  static std::optional<CronSchedule> parse(std::string_view text);
  // The first time after this one; nothing when there is none, as for the 30th of February.
  std::optional<Time> next_after(Time time) const;

 private:
  bool has_day(std::chrono::sys_days day) const;

  // A bit for each value: minutes, hours, days of the month, months, days of the week.
  std::array<std::uint64_t, 5> fields_{};
  bool any_day_ = false, any_weekday_ = false;  // the field is "*": the other one alone decides
};

}  // namespace vg
