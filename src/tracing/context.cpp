#include "tracing/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <span>

#include "base/tracing_limits.h"

namespace vg::tracing {
namespace {

constexpr std::size_t version_end = 2, trace_at = 3, trace_end = 35, span_at = 36, span_end = 52, flags_at = 53,
                      parent_bytes = 55;
constexpr std::uint8_t sampled_flag = 1;
constexpr std::string_view own_key = "vg=";

std::optional<std::uint8_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);  // capitals are not allowed
  return std::nullopt;
}

bool read_hex(std::string_view text, std::span<std::uint8_t> into) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    const auto high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (!high || !low) return false;
    into[i] = static_cast<std::uint8_t>(*high << 4U | *low);
  }
  return true;
}

void append_hex(std::string& out, std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const std::uint8_t byte : bytes) {
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
}

bool is_key_start(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_key_rest(char c) { return is_key_start(c) || c == '_' || c == '-' || c == '*' || c == '/' || c == '@'; }

bool is_key(std::string_view key) {
  constexpr std::size_t key_bytes = 256;
  return !key.empty() && key.size() <= key_bytes && is_key_start(key.front()) &&
         std::ranges::all_of(key, is_key_rest) && std::ranges::count(key, '@') <= 1 && !key.ends_with('@');
}

bool is_value(std::string_view value) {
  constexpr std::size_t value_bytes = 256;
  return !value.empty() && value.size() <= value_bytes && value.back() != ' ' &&
         std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view take_member(std::string_view& rest) {
  const std::string_view member = rest.substr(0, rest.find(','));
  rest.remove_prefix(std::min(member.size() + 1, rest.size()));
  return member;
}

}  // namespace

std::optional<Context> parse_traceparent(std::string_view text) {
  if (text.size() < parent_bytes) return std::nullopt;
  if (text[version_end] != '-' || text[trace_end] != '-' || text[span_end] != '-') return std::nullopt;
  std::array<std::uint8_t, 1> version{}, flags{};
  Context context;
  if (!read_hex(text.substr(0, version_end), version) || version[0] == 0xff) return std::nullopt;
  if (version[0] == 0 && text.size() != parent_bytes) return std::nullopt;
  if (text.size() > parent_bytes && text[parent_bytes] != '-') return std::nullopt;
  if (!read_hex(text.substr(trace_at), context.trace) || !read_hex(text.substr(span_at), context.span) ||
      !read_hex(text.substr(flags_at, 2), flags))
    return std::nullopt;
  if (context.trace == TraceId{} || context.span == SpanId{}) return std::nullopt;
  context.sampled = (flags[0] & sampled_flag) != 0;
  return context;
}

std::string print_traceparent(const Context& context) {
  std::string text;
  text.reserve(parent_bytes);
  text += "00-";
  append_hex(text, context.trace);
  text += '-';
  append_hex(text, context.span);
  text += context.sampled ? "-01" : "-00";
  return text;
}

std::string parse_tracestate(std::string_view text) {
  std::string state;
  std::set<std::string_view> keys;
  while (!text.empty()) {
    const std::string_view member = trim(take_member(text));
    if (member.empty()) continue;
    const auto at = member.find('=');
    if (at == member.npos || !is_key(member.substr(0, at)) || !is_value(member.substr(at + 1))) return {};
    if (!keys.insert(member.substr(0, at)).second || keys.size() > limits::tracestate_members_max) return {};
    // What is beyond what must be passed on goes from the end, by whole members.
    if (state.size() + member.size() + 1 > limits::tracestate_bytes_max) break;
    if (!state.empty()) state += ',';
    state += member;
  }
  return state;
}

std::string with_begin(std::string_view state, std::chrono::sys_seconds begin) {
  std::string made = fmt::format("{}{:x}", own_key, begin.time_since_epoch().count());
  std::size_t members = 1;
  while (!state.empty() && members < limits::tracestate_members_max) {
    const std::string_view member = take_member(state);
    if (member.empty() || member.starts_with(own_key)) continue;
    if (made.size() + member.size() + 1 > limits::tracestate_bytes_max) break;
    made.append(",").append(member);
    ++members;
  }
  return made;
}

std::optional<std::chrono::sys_seconds> begin_of(std::string_view state) {
  if (!state.starts_with(own_key)) return std::nullopt;
  std::string_view digits = take_member(state);
  digits.remove_prefix(own_key.size());
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds, 16);
  // Any later and the arithmetic of whoever subtracts it would overflow.
  constexpr std::int64_t last_second = std::int64_t{1} << 33;
  if (error != std::errc() || end != digits.data() + digits.size() || seconds < 0 || seconds > last_second)
    return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(seconds));
}

std::optional<Context> stored_context(std::string_view traceparent, std::string_view tracestate,
                                      std::chrono::system_clock::time_point now) {
  auto context = parse_traceparent(traceparent);
  if (!context) return std::nullopt;
  context->state = parse_tracestate(tracestate);
  const auto begin = begin_of(context->state);
  if (!begin || now - *begin > limits::trace_follow_max || *begin - now > limits::trace_follow_max) return std::nullopt;
  return context;
}

}  // namespace vg::tracing
