#include "base/time_rfc3339.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/characters.h"
#include "base/limits.h"
#include "base/time_limits.h"

namespace vg {
namespace {

constexpr std::int64_t seconds_per_day = 86400;

// A cursor over the text; every step says whether the text had what it asked for.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  std::optional<int> digits(std::size_t count) {
    if (rest_.size() < count) return std::nullopt;
    int value = 0;
    for (char c : rest_.substr(0, count)) {
      if (!is_digit(c)) return std::nullopt;
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }
  std::optional<int> one_or_two_digits() {
    const bool two = rest_.size() >= 2 && is_digit(rest_[1]);
    return digits(two ? 2 : 1);
  }
  bool literal(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Nanoseconds; 0 without a fraction.
  int fraction() {
    if (rest_.size() < 2 || (rest_[0] != '.' && rest_[0] != ',') || !is_digit(rest_[1])) return 0;
    rest_.remove_prefix(1);
    int value = 0;
    int unit = 100'000'000;
    for (; !rest_.empty() && is_digit(rest_[0]); rest_.remove_prefix(1), unit /= 10) value += unit * (rest_[0] - '0');
    return value;
  }
  // Seconds east of Greenwich.
  std::optional<int> offset() {
    if (literal('Z')) return 0;
    const int sign = rest_.starts_with('-') ? -1 : 1;
    if (!literal('+') && !literal('-')) return std::nullopt;
    const auto hours = digits(2);
    if (!hours || !literal(':')) return std::nullopt;
    const auto minutes = digits(2);
    // Inclusive, because Go lets people write offsets of 24 hours and of 60 minutes.
    if (!minutes || *hours > 24 || *minutes > 60) return std::nullopt;
    return sign * (*hours * 3600 + *minutes * 60);
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

struct Civil {
  std::chrono::year_month_day date;
  int hour, minute, second;
};

Civil civil(std::int64_t seconds) {
  std::int64_t day = seconds / seconds_per_day;
  auto in_day = static_cast<int>(seconds % seconds_per_day);
  if (in_day < 0) {
    in_day += seconds_per_day;
    --day;
  }
  const std::chrono::sys_days days{std::chrono::days(day)};
  return {std::chrono::year_month_day(days), in_day / 3600, in_day / 60 % 60, in_day % 60};
}

}  // namespace

std::chrono::system_clock::time_point Timestamp::on_clock() const {
  const std::int64_t bounded = std::clamp<std::int64_t>(seconds, 0, limits::stated_time_max.count());
  return std::chrono::system_clock::time_point(std::chrono::seconds(bounded));
}

Timestamp Timestamp::from(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(time - seconds);
  return {seconds.time_since_epoch().count(), static_cast<std::int32_t>(rest.count())};
}

Parsed<Timestamp> parse_rfc3339(std::string_view text) {
  const auto malformed = [] {
    return not_parsed("must be a time such as 2026-01-02T03:04:05Z or 2026-01-02T03:04:05+01:00");
  };
  if (text.size() > limits::time_bytes_max) return malformed();
  Scanner in(text);
  const auto year = in.digits(4);
  if (!year || !in.literal('-')) return malformed();
  const auto month = in.digits(2);
  if (!month || !in.literal('-')) return malformed();
  const auto day = in.digits(2);
  if (!day || !in.literal('T')) return malformed();
  const auto hour = in.one_or_two_digits();
  if (!hour || !in.literal(':')) return malformed();
  const auto minute = in.digits(2);
  if (!minute || !in.literal(':')) return malformed();
  const auto second = in.digits(2);
  if (!second) return malformed();
  const int nanoseconds = in.fraction();
  const auto offset = in.offset();
  if (!offset || !in.at_end()) return malformed();

  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return not_parsed("must be a day of the calendar");
  if (*hour > 23 || *minute > 59 || *second > 59) return not_parsed("must be a time of day up to 23:59:59");
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return Timestamp{days * seconds_per_day + *hour * 3600 + *minute * 60 + *second - *offset, nanoseconds};
}

// By hand: every time of every object that is written comes here, and fmt takes ten times as long.
std::string print_rfc3339(Timestamp time) {
  const Civil c = civil(time.seconds);
  const int year = int(c.date.year());
  if (year < 0 || year > 9999)
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", year, unsigned(c.date.month()), unsigned(c.date.day()),
                       c.hour, c.minute, c.second);
  std::string text = "0000-00-00T00:00:00Z";
  const auto put = [&](std::size_t at, unsigned number) {
    text[at] = static_cast<char>('0' + number / 10);
    text[at + 1] = static_cast<char>('0' + number % 10);
  };
  put(0, static_cast<unsigned>(year) / 100);
  put(2, static_cast<unsigned>(year) % 100);
  put(5, unsigned(c.date.month()));
  put(8, unsigned(c.date.day()));
  put(11, static_cast<unsigned>(c.hour));
  put(14, static_cast<unsigned>(c.minute));
  put(17, static_cast<unsigned>(c.second));
  return text;
}

std::string print_rfc3339_micro(Timestamp time) {
  std::string text = print_rfc3339(time);
  text.pop_back();
  fmt::format_to(std::back_inserter(text), ".{:06}Z", time.nanoseconds / 1000);
  return text;
}

}  // namespace vg
