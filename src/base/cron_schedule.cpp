#include "base/cron_schedule.h"

#include <algorithm>
#include <string>
#include <vector>

namespace vg {
namespace {

using std::string_view;

struct Field {
  int min = 0, max = 0;
  string_view names = {};  // three letters each, from `min` on
};
constexpr std::array fields{Field{0, 59}, Field{0, 23}, Field{1, 31},
                            Field{1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"}, Field{0, 7, "sunmontuewedthufrisat"}};
constexpr std::size_t minutes_at = 0, hours_at = 1, days_at = 2, months_at = 3, weekdays_at = 4;

struct Word {
  string_view word, meaning;
};
constexpr std::array words{Word{"@yearly", "0 0 1 1 *"}, Word{"@annually", "0 0 1 1 *"}, Word{"@monthly", "0 0 1 * *"},
                           Word{"@weekly", "0 0 * * 0"}, Word{"@daily", "0 0 * * *"},    Word{"@midnight", "0 0 * * *"},
                           Word{"@hourly", "0 * * * *"}};

std::vector<string_view> pieces(string_view text, string_view separators) {
  std::vector<string_view> all;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    all.push_back(text.substr(0, end));
    if (end == string_view::npos) return all;
    text.remove_prefix(end + 1);
  }
}

std::optional<int> number(string_view text, const Field& field) {
  if (text.size() == 3) {
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    for (std::size_t i = 0; i + 3 <= field.names.size(); i += 3)
      if (field.names.substr(i, 3) == lower) return field.min + static_cast<int>(i / 3);
  }
  if (text.empty() || text.size() > 3) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// "*", "5", "1-5", "*/10", "5/15", "1-30/2"; nothing for what is none.
std::optional<std::uint64_t> range(string_view text, const Field& field) {
  const auto step = pieces(text, "/");
  if (step.size() > 2) return std::nullopt;
  const auto width = step.size() == 2 ? number(step[1], {}) : std::optional(1);
  if (!width || *width == 0) return std::nullopt;
  int first = field.min, last = field.max;
  if (step[0] != "*" && step[0] != "?") {
    const auto ends = pieces(step[0], "-");
    if (ends.size() > 2) return std::nullopt;
    const auto low = number(ends[0], field), high = ends.size() == 2 ? number(ends[1], field) : low;
    if (!low || !high || *low < field.min || *high > field.max || *low > *high) return std::nullopt;
    first = *low;
    last = step.size() == 2 && ends.size() == 1 ? field.max : *high;
  }
  std::uint64_t bits = 0;
  for (int value = first; value <= last; value += *width) bits |= std::uint64_t{1} << static_cast<unsigned>(value);
  return bits;
}

bool has(std::uint64_t bits, unsigned value) { return (bits >> value & 1U) != 0; }

}  // namespace

std::optional<CronSchedule> CronSchedule::parse(string_view text) {
  const auto* word = std::ranges::find(words, text, &Word::word);
  if (word != words.end()) text = word->meaning;
  std::vector<string_view> parts = pieces(text, " \t");
  std::erase(parts, string_view());
  if (parts.size() != fields.size()) return std::nullopt;
  CronSchedule schedule;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const string_view one : pieces(parts[i], ",")) {
      const auto bits = range(one, fields[i]);
      if (!bits) return std::nullopt;
      schedule.fields_[i] |= *bits;
    }
  if (has(schedule.fields_[weekdays_at], 7)) schedule.fields_[weekdays_at] |= 1;  // Sunday has two numbers
  schedule.any_day_ = parts[days_at].starts_with('*') || parts[days_at].starts_with('?');
  schedule.any_weekday_ = parts[weekdays_at].starts_with('*') || parts[weekdays_at].starts_with('?');
  return schedule;
}

bool CronSchedule::has_day(std::chrono::sys_days day) const {
  const std::chrono::year_month_day date(day);
  if (!has(fields_[months_at], static_cast<unsigned>(date.month()))) return false;
  const bool by_day = has(fields_[days_at], static_cast<unsigned>(date.day()));
  const bool by_weekday = has(fields_[weekdays_at], std::chrono::weekday(day).c_encoding());
  return any_day_ || any_weekday_ ? by_day && by_weekday : by_day || by_weekday;
}

std::optional<CronSchedule::Time> CronSchedule::next_after(Time time) const {
  using namespace std::chrono;
  constexpr int days_ahead = 366 * 8 + 1;  // the 29th of February comes after eight years at the latest
  const auto first = floor<std::chrono::minutes>(time) + std::chrono::minutes(1);
  const auto start = floor<std::chrono::days>(first);
  for (int ahead = 0; ahead <= days_ahead; ++ahead) {
    const sys_days day = start + std::chrono::days(ahead);
    if (!has_day(day)) continue;
    for (unsigned hour = 0; hour < 24; ++hour) {
      if (!has(fields_[hours_at], hour)) continue;
      for (unsigned minute = 0; minute < 60; ++minute) {
        const auto at = day + std::chrono::hours(hour) + std::chrono::minutes(minute);
        if (has(fields_[minutes_at], minute) && at >= first) return Time(at);
      }
    }
  }
  return std::nullopt;
}

}  // namespace vg
