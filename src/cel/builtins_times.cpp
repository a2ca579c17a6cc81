#include <charconv>
#include <chrono>
#include <optional>

#include "cel/builtins.h"

namespace vg::cel {
namespace {

using std::string_view;
using Arguments = std::span<const Value>;

constexpr std::int64_t seconds_per_day = 86400;

// "UTC", "Z", "+02:00", "-05:30" or "02:00". Names of places need a database that this server does not read.
std::optional<std::int64_t> zone_seconds(string_view zone) {
  if (zone.empty() || zone == "UTC" || zone == "Z") return 0;
  const bool negative = zone.starts_with('-');
  if (negative || zone.starts_with('+')) zone.remove_prefix(1);
  int hours = 0, minutes = 0;
  const char* end = zone.data() + zone.size();
  const auto hour = std::from_chars(zone.data(), end, hours);
  if (hour.ec != std::errc() || hour.ptr == end || *hour.ptr != ':') return std::nullopt;
  const auto minute = std::from_chars(hour.ptr + 1, end, minutes);
  if (minute.ec != std::errc() || minute.ptr != end || hours > 23 || minutes > 59 || minutes < 0) return std::nullopt;
  return (negative ? -1 : 1) * (hours * 3600 + minutes * 60);
}

enum class Part { year, month, day_of_year, day_of_month, date, day_of_week, hours, minutes, seconds, milliseconds };

std::int64_t part_of_date(std::int64_t days, Part part) {
  const std::chrono::sys_days day{std::chrono::days(days)};
  const std::chrono::year_month_day date(day);
  switch (part) {
    case Part::year:
      return static_cast<int>(date.year());
    case Part::month:
      return static_cast<unsigned>(date.month()) - 1;
    case Part::day_of_year:
      return (day - std::chrono::sys_days(date.year() / std::chrono::January / 1)).count();
    case Part::day_of_month:
      return static_cast<unsigned>(date.day()) - 1;
    case Part::date:
      return static_cast<unsigned>(date.day());
    default:
      return std::chrono::weekday(day).c_encoding();
  }
}

std::int64_t part_of_time(std::int64_t seconds, std::int32_t nanoseconds, Part part) {
  std::int64_t days = seconds / seconds_per_day, rest = seconds % seconds_per_day;
  if (rest < 0) {
    rest += seconds_per_day;
    --days;
  }
  switch (part) {
    case Part::hours:
      return rest / 3600;
    case Part::minutes:
      return rest / 60 % 60;
    case Part::seconds:
      return rest % 60;
    case Part::milliseconds:
      return nanoseconds / 1'000'000;
    default:
      return part_of_date(days, part);
  }
}

// Durations are told as a whole; only their milliseconds are what is left of a second.
Value part_of_duration(Runtime& runtime, std::int64_t nanoseconds, Part part) {
  constexpr std::int64_t second = 1'000'000'000;
  switch (part) {
    case Part::hours:
      return Value::of(nanoseconds / second / 3600);
    case Part::minutes:
      return Value::of(nanoseconds / second / 60);
    case Part::seconds:
      return Value::of(nanoseconds / second);
    case Part::milliseconds:
      return Value::of(nanoseconds / 1'000'000);
    default:
      return runtime.no_overload();
  }
}

template <Part part>
Value get(Runtime& runtime, Arguments arguments) {
  const Value& time = arguments[0];
  if (time.is(Tag::duration)) return part_of_duration(runtime, time.integer, part);
  if (!time.is(Tag::timestamp) || (arguments.size() == 2 && !arguments[1].is(Tag::string)))
    return runtime.no_overload();
  const auto zone = zone_seconds(arguments.size() == 2 ? arguments[1].text : string_view());
  if (!zone) return Value::of_text("unknown time zone; use UTC or an offset such as +02:00", Tag::error);
  return Value::of(part_of_time(time.integer + *zone, time.nanoseconds, part));
}

constexpr Builtin times_rows[] = {
    {"getFullYear", get<Part::year>},
    {"getMonth", get<Part::month>},
    {"getDayOfYear", get<Part::day_of_year>},
    {"getDayOfMonth", get<Part::day_of_month>},
    {"getDate", get<Part::date>},
    {"getDayOfWeek", get<Part::day_of_week>},
    {"getHours", get<Part::hours>},
    {"getMinutes", get<Part::minutes>},
    {"getSeconds", get<Part::seconds>},
    {"getMilliseconds", get<Part::milliseconds>},
};

}  // namespace

std::span<const Builtin> time_builtins() { return times_rows; }

}  // namespace vg::cel
