#include "resources/tables/table_cells.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <limits>

#include "json/access.h"
#include "json/write.h"

namespace vg::resources {
namespace {

// Whole seconds between the two, toward zero as Go counts them. Years far away must not overflow.
std::int64_t seconds_between(Timestamp from, Timestamp to) {
  std::int64_t seconds = 0;
  if (__builtin_sub_overflow(to.seconds, from.seconds, &seconds))
    return to.seconds > from.seconds ? std::numeric_limits<std::int64_t>::max()
                                     : std::numeric_limits<std::int64_t>::min();
  if (seconds > 0 && to.nanoseconds < from.nanoseconds) --seconds;
  if (seconds < 0 && to.nanoseconds > from.nanoseconds) ++seconds;
  return seconds;
}

// The second unit is shown only where it says something.
std::string two_units(std::int64_t large, char large_unit, std::int64_t small, char small_unit) {
  return small == 0 ? fmt::format("{}{}", large, large_unit)
                    : fmt::format("{}{}{}{}", large, large_unit, small, small_unit);
}

}  // namespace

std::string human_age(Timestamp then, Timestamp now) {
  constexpr std::int64_t minute = 60, hour = 60 * minute, day = 24 * hour, year = 365 * day;
  const std::int64_t age = seconds_between(then, now);
  if (age < -1) return "<invalid>";
  if (age < 0) return "0s";
  if (age < 2 * minute) return fmt::format("{}s", age);
  if (age < 10 * minute) return two_units(age / minute, 'm', age % minute, 's');
  if (age < 3 * hour) return fmt::format("{}m", age / minute);
  if (age < 8 * hour) return two_units(age / hour, 'h', age % hour / minute, 'm');
  if (age < 2 * day) return fmt::format("{}h", age / hour);
  if (age < 8 * day) return two_units(age / day, 'd', age % day / hour, 'h');
  if (age < 2 * year) return fmt::format("{}d", age / day);
  if (age < 8 * year) return two_units(age / year, 'y', age % year / day, 'd');
  return fmt::format("{}y", age / year);
}

std::string human_age(const json::Value* time, Timestamp now) {
  const auto text = json::as_string(time);
  if (!text || text->empty()) return "<unknown>";
  const auto parsed = parse_rfc3339(*text);
  return parsed ? human_age(*parsed, now) : "<unknown>";
}

void Cells::next() {
  if (!first_) out_.push_back(',');
  first_ = false;
}

void Cells::text(std::string_view value) {
  next();
  json::write_string(value, out_);
}

void Cells::number(std::int64_t value) {
  next();
  fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{}"), value);
}

void Cells::boolean(bool value) {
  next();
  out_.append(value ? "true" : "false");
}

void Cells::none() {
  next();
  out_.append("null");
}

}  // namespace vg::resources
