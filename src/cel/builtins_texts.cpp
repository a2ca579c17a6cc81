#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "base/json_text.h"
#include "cel/builtins.h"
#include "cel/patterns.h"

namespace vg::cel {
namespace {

using std::string_view;
using Arguments = std::span<const Value>;

// --- positions are counted in characters -----------------------------------------------------------------------------

// The byte where character `at` begins; npos behind the end.
std::size_t byte_at(string_view text, std::int64_t at) {
  std::size_t byte = 0;
  for (; at > 0 && byte < text.size(); --at) do
      ++byte;
    while (byte < text.size() && (text[byte] & 0xc0) == 0x80);
  return at > 0 ? string_view::npos : byte;
}

Value out_of_range(Runtime& runtime, std::int64_t at) {
  return runtime.memory.error(fmt::format("index out of range: {}", at));
}

Value char_at(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string, Tag::integer})) return runtime.no_overload();
  const string_view text = arguments[0].text;
  runtime.meter.take_text(text.size());
  const std::size_t from = arguments[1].integer < 0 ? string_view::npos : byte_at(text, arguments[1].integer);
  if (from == string_view::npos) return out_of_range(runtime, arguments[1].integer);
  const std::size_t to = std::min(byte_at(text.substr(from), 1), text.size() - from);
  return Value::of_text(text.substr(from, to));
}

Value substring(Runtime& runtime, Arguments arguments) {
  const bool to_end = are(arguments, {Tag::string, Tag::integer});
  if (!to_end && !are(arguments, {Tag::string, Tag::integer, Tag::integer})) return runtime.no_overload();
  const string_view text = arguments[0].text;
  runtime.meter.take_text(text.size());
  const std::int64_t start = arguments[1].integer;
  const std::size_t from = start < 0 ? string_view::npos : byte_at(text, start);
  if (from == string_view::npos) return out_of_range(runtime, start);
  if (to_end) return Value::of_text(text.substr(from));
  const std::int64_t end = arguments[2].integer;
  if (end < start) return runtime.memory.error(fmt::format("invalid substring range: start {}, end {}", start, end));
  const std::size_t to = byte_at(text, end);
  if (to == string_view::npos) return out_of_range(runtime, end);
  return Value::of_text(text.substr(from, to - from));
}

Value in_list(Runtime& runtime, Arguments arguments, bool last) {
  const Value& list = arguments[0];
  std::int64_t found = -1;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (equal(list.at(i), arguments[1], runtime.meter)) {
      found = static_cast<std::int64_t>(i);
      if (!last) break;
    }
  return Value::of(found);
}

Value index_of(Runtime& runtime, Arguments arguments) {
  if (arguments.size() == 2 && arguments[0].is(Tag::list)) return in_list(runtime, arguments, false);
  const bool from_start = are(arguments, {Tag::string, Tag::string});
  if (!from_start && !are(arguments, {Tag::string, Tag::string, Tag::integer})) return runtime.no_overload();
  const string_view text = arguments[0].text, wanted = arguments[1].text;
  runtime.meter.take_text(text.size() + wanted.size());
  const std::int64_t offset = from_start ? 0 : arguments[2].integer;
  const std::size_t from = offset < 0 ? string_view::npos : byte_at(text, offset);
  if (wanted.empty()) return Value::of(offset);
  if (offset < 0) return out_of_range(runtime, offset);
  if (from == string_view::npos) return Value::of(std::int64_t{-1});
  const std::size_t at = text.find(wanted, from);
  return Value::of(at == text.npos ? std::int64_t{-1} : static_cast<std::int64_t>(utf8_length(text.substr(0, at))));
}

Value last_index_of(Runtime& runtime, Arguments arguments) {
  if (arguments.size() == 2 && arguments[0].is(Tag::list)) return in_list(runtime, arguments, true);
  const bool from_end = are(arguments, {Tag::string, Tag::string});
  if (!from_end && !are(arguments, {Tag::string, Tag::string, Tag::integer})) return runtime.no_overload();
  const string_view text = arguments[0].text, wanted = arguments[1].text;
  runtime.meter.take_text(text.size() + wanted.size());
  const auto length = static_cast<std::int64_t>(utf8_length(text));
  const std::int64_t offset = from_end ? length : arguments[2].integer;
  if (wanted.empty()) return Value::of(offset);
  if (offset < 0) return out_of_range(runtime, offset);
  if (offset > length) return Value::of(std::int64_t{-1});
  const std::size_t at = text.rfind(wanted, byte_at(text, offset));
  return Value::of(at == text.npos ? std::int64_t{-1} : static_cast<std::int64_t>(utf8_length(text.substr(0, at))));
}

// --- whole texts -----------------------------------------------------------------------------------------------------

template <class Test>
Value tested(Runtime& runtime, Arguments arguments, Test test) {
  if (!are(arguments, {Tag::string, Tag::string})) return runtime.no_overload();
  runtime.meter.take_text(arguments[0].text.size());
  return Value::of(test(arguments[0].text, arguments[1].text));
}
Value contains(Runtime& runtime, Arguments arguments) {
  return tested(runtime, arguments, [](string_view text, string_view part) { return text.contains(part); });
}
Value starts_with(Runtime& runtime, Arguments arguments) {
  return tested(runtime, arguments, [](string_view text, string_view part) { return text.starts_with(part); });
}
Value ends_with(Runtime& runtime, Arguments arguments) {
  return tested(runtime, arguments, [](string_view text, string_view part) { return text.ends_with(part); });
}

template <class Change>
Value changed(Runtime& runtime, Arguments arguments, Change change) {
  if (!are(arguments, {Tag::string})) return runtime.no_overload();
  runtime.meter.take_text(arguments[0].text.size());
  std::string text(arguments[0].text);
  std::ranges::transform(text, text.begin(), change);
  return runtime.memory.text(text);
}
Value lower(Runtime& runtime, Arguments arguments) {
  return changed(runtime, arguments, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
}
Value upper(Runtime& runtime, Arguments arguments) {
  return changed(runtime, arguments, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
}

Value trim(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string})) return runtime.no_overload();
  static constexpr string_view blanks[] = {
      " ",        "\t",           "\n",           "\v",           "\f",           "\r",           "\xc2\x85",
      "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
  string_view text = arguments[0].text;
  runtime.meter.take_text(text.size());
  for (bool again = true; again;) {
    again = false;
    for (const string_view blank : blanks) {
      if (text.starts_with(blank)) text.remove_prefix(blank.size()), again = true;
      if (text.ends_with(blank)) text.remove_suffix(blank.size()), again = true;
    }
  }
  return Value::of_text(text);
}

Value replace(Runtime& runtime, Arguments arguments) {
  const bool all = are(arguments, {Tag::string, Tag::string, Tag::string});
  if (!all && !are(arguments, {Tag::string, Tag::string, Tag::string, Tag::integer})) return runtime.no_overload();
  const string_view text = arguments[0].text, from = arguments[1].text, to = arguments[2].text;
  std::int64_t left = all || arguments[3].integer < 0 ? INT64_MAX : arguments[3].integer;
  runtime.meter.take_text(text.size());
  std::string out;
  std::size_t at = 0;
  while (left-- > 0 && at <= text.size()) {
    // An empty text is found before every character, and at the end.
    const std::size_t found = from.empty() ? at : text.find(from, at);
    if (found == text.npos) break;
    out += text.substr(at, found - at);
    out += to;
    runtime.meter.take_text(to.size());
    at = found + from.size();
    if (!from.empty()) continue;
    if (at == text.size()) return runtime.memory.text(out);
    const std::size_t next = std::min(byte_at(text.substr(at), 1), text.size() - at);
    out += text.substr(at, next);
    at += next;
  }
  out += text.substr(std::min(at, text.size()));
  return runtime.memory.text(out);
}

Value split(Runtime& runtime, Arguments arguments) {
  const bool all = are(arguments, {Tag::string, Tag::string});
  if (!all && !are(arguments, {Tag::string, Tag::string, Tag::integer})) return runtime.no_overload();
  string_view rest = arguments[0].text;
  const string_view by = arguments[1].text;
  const std::int64_t parts_max = all || arguments[2].integer < 0 ? INT64_MAX : arguments[2].integer;
  runtime.meter.take_text(rest.size());
  std::vector<Value> parts;
  if (parts_max == 0 || (rest.empty() && by.empty())) return runtime.memory.list(parts);
  while (static_cast<std::int64_t>(parts.size()) + 1 < parts_max) {
    const std::size_t at = by.empty() ? std::min(byte_at(rest, 1), rest.size()) : rest.find(by);
    if (at == rest.npos || (by.empty() && at == rest.size())) break;
    runtime.meter.take(1);
    parts.push_back(Value::of_text(rest.substr(0, at)));
    rest.remove_prefix(at + by.size());
  }
  parts.push_back(Value::of_text(rest));
  return runtime.memory.list(parts);
}

Value join(Runtime& runtime, Arguments arguments) {
  const bool plain = are(arguments, {Tag::list});
  if (!plain && !are(arguments, {Tag::list, Tag::string})) return runtime.no_overload();
  const Value& list = arguments[0];
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value part = list.at(i);
    if (!part.is(Tag::string)) return runtime.no_overload();
    if (!plain && i > 0) out += arguments[1].text;
    runtime.meter.take(1 + part.text.size() / 10 + (plain ? 0 : arguments[1].text.size() / 10));
    out += part.text;
  }
  return runtime.memory.text(out);
}

Value quote(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string})) return runtime.no_overload();
  runtime.meter.take_text(arguments[0].text.size());
  std::string out = "\"";
  for (const char c : arguments[0].text) {
    constexpr string_view escaped = "\a\b\f\n\r\t\v\\\"", letters = "abfnrtv\\\"";
    const std::size_t at = escaped.find(c);
    if (at == escaped.npos)
      out += c;
    else
      (out += '\\') += letters[at];
  }
  return runtime.memory.text(out + "\"");
}

Value format(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string, Tag::list})) return runtime.no_overload();
  return format_text(runtime, arguments[0].text, arguments[1]);
}

// --- patterns --------------------------------------------------------------------------------------------------------

// The cost of a match grows with the text and with the pattern.
std::shared_ptr<const re2::RE2> pattern_of(Runtime& runtime, Arguments arguments) {
  const std::size_t text = arguments[0].text.size(), pattern = arguments[1].text.size();
  runtime.meter.take((1 + text / 10) * (1 + pattern / 4));
  if (runtime.pattern) return {std::shared_ptr<void>(), runtime.pattern};
  // Compiling one is far more work than a character of text is.
  runtime.meter.take(100 + 10 * pattern);
  return compile_pattern(arguments[1].text);
}

Value no_pattern() { return Value::of_text("the pattern is not a valid regular expression", Tag::error); }
re2::StringPiece piece(string_view text) { return {text.data(), text.size()}; }

Value matches(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string, Tag::string})) return runtime.no_overload();
  const auto pattern = pattern_of(runtime, arguments);
  return pattern ? Value::of(re2::RE2::PartialMatch(piece(arguments[0].text), *pattern)) : no_pattern();
}

Value find(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string, Tag::string})) return runtime.no_overload();
  const auto pattern = pattern_of(runtime, arguments);
  if (!pattern) return no_pattern();
  const string_view text = arguments[0].text;
  re2::StringPiece found;
  if (!pattern->Match(piece(text), 0, text.size(), re2::RE2::UNANCHORED, &found, 1)) return Value::of_text("");
  return Value::of_text(string_view(found.data(), found.size()));
}

Value find_all(Runtime& runtime, Arguments arguments) {
  const bool all = are(arguments, {Tag::string, Tag::string});
  if (!all && !are(arguments, {Tag::string, Tag::string, Tag::integer})) return runtime.no_overload();
  const auto pattern = pattern_of(runtime, arguments);
  if (!pattern) return no_pattern();
  const string_view text = arguments[0].text;
  const std::int64_t count_max = all || arguments[2].integer < 0 ? INT64_MAX : arguments[2].integer;
  std::vector<Value> parts;
  std::size_t at = 0;
  for (std::size_t last = string_view::npos;
       at <= text.size() && static_cast<std::int64_t>(parts.size()) < count_max;) {
    re2::StringPiece found;
    if (!pattern->Match(piece(text), at, text.size(), re2::RE2::UNANCHORED, &found, 1)) break;
    runtime.meter.take(1 + (text.size() - at) / 100);
    const auto from = static_cast<std::size_t>(found.data() - text.data());
    // Nothing right behind a match is no match of its own.
    if (!found.empty() || from != last) parts.push_back(Value::of_text(text.substr(from, found.size())));
    last = from + found.size();
    at = found.empty() ? from + std::max<std::size_t>(1, std::min(byte_at(text.substr(from), 1), text.size())) : last;
  }
  return runtime.memory.list(parts);
}

constexpr Builtin texts_rows[] = {
    {"charAt", char_at},     {"substring", substring},
    {"indexOf", index_of},   {"lastIndexOf", last_index_of},
    {"contains", contains},  {"startsWith", starts_with},
    {"endsWith", ends_with}, {"lowerAscii", lower},
    {"upperAscii", upper},   {"trim", trim},
    {"replace", replace},    {"split", split},
    {"join", join},          {"strings.quote", quote},
    {"format", format},      {"matches", matches},
    {"find", find},          {"findAll", find_all},
};

}  // namespace

std::span<const Builtin> text_builtins() { return texts_rows; }

}  // namespace vg::cel
