#include "json/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <utility>

#include "base/json_text.h"
#include "json/member_order.h"

namespace vg::json {
namespace {

using boost::json::error;
using boost::json::string_view;
using ErrorCode = boost::json::error_code;

// What both handlers answer alike. Comments never arrive, the parser is told to refuse them.
struct HandlerBase {
  static constexpr std::size_t max_array_size = Array::max_size();
  static constexpr std::size_t max_object_size = Object::max_size();
  static constexpr std::size_t max_string_size = String::max_size();
  static constexpr std::size_t max_key_size = String::max_size();

  bool on_document_begin(ErrorCode&) { return true; }
  bool on_document_end(ErrorCode&) { return true; }
  bool on_number_part(string_view, ErrorCode&) { return true; }
  bool on_comment_part(string_view, ErrorCode&) { return true; }
  bool on_comment(string_view, ErrorCode&) { return true; }
};

// Builds the values. Numbers with a fraction or an exponent are converted here from their text, because Boost's own
// conversion is off by a few units in the last place.
class ValueBuilder : public HandlerBase {
 public:
  ValueBuilder(StoragePtr storage, std::size_t values_max)
      : stack_(StoragePtr(), scratch_.data(), scratch_.size()), values_left_(values_max) {
    stack_.reset(std::move(storage));
  }

  Value release() { return stack_.release(); }
  std::size_t members() const { return members_; }

  bool on_array_begin(ErrorCode&) { return true; }
  bool on_array_end(std::size_t count, ErrorCode& ec) {
    if (!spend(count, ec)) return false;
    return stack_.push_array(count), true;
  }
  bool on_object_begin(ErrorCode&) { return true; }
  bool on_object_end(std::size_t count, ErrorCode& ec) {
    if (!spend(count, ec)) return false;
    members_ += count;
    return stack_.push_object(count), true;
  }
  bool on_string_part(string_view part, std::size_t, ErrorCode&) { return stack_.push_chars(part), true; }
  bool on_string(string_view rest, std::size_t, ErrorCode&) { return stack_.push_string(rest), true; }
  bool on_key_part(string_view part, std::size_t, ErrorCode&) { return stack_.push_chars(part), true; }
  bool on_key(string_view rest, std::size_t, ErrorCode&) { return stack_.push_key(rest), true; }
  bool on_int64(std::int64_t number, string_view, ErrorCode&) { return stack_.push_int64(number), true; }
  bool on_uint64(std::uint64_t number, string_view, ErrorCode&) { return stack_.push_uint64(number), true; }
  bool on_double(double rough, string_view text, ErrorCode& ec) {
    double exact = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), exact).ec != std::errc()) {
      // The text is well formed, so it is out of range at one of two ends. Too small is zero, as for Go.
      if (!(std::abs(rough) < 1)) {
        ec = error::exponent_overflow;
        return false;
      }
      exact = text.front() == '-' ? -0.0 : 0.0;
    }
    return stack_.push_double(exact), true;
  }
  bool on_bool(bool value, ErrorCode&) { return stack_.push_bool(value), true; }
  bool on_null(ErrorCode&) { return stack_.push_null(), true; }

 private:
  bool spend(std::size_t values, ErrorCode& ec) {
    if (values > values_left_) {
      ec = error::array_too_large;
      return false;
    }
    values_left_ -= values;
    return true;
  }

  // Open arrays and objects wait here; enough for some 600 values before the heap is asked.
  std::array<unsigned char, 16 * 1024> scratch_;
  boost::json::value_stack stack_;
  std::size_t members_ = 0;
  std::size_t values_left_;
};

// Reads a text that is known to have duplicate members again, to name them.
class DuplicateFinder : public HandlerBase {
 public:
  explicit DuplicateFinder(std::vector<std::string>& found, std::vector<std::size_t>* places = nullptr)
      : found_(found), places_(places) {}

  bool on_array_begin(ErrorCode&) { return open(true); }
  bool on_array_end(std::size_t, ErrorCode&) { return close(); }
  bool on_object_begin(ErrorCode&) { return open(false); }
  bool on_object_end(std::size_t, ErrorCode&) { return close(); }
  bool on_string_part(string_view, std::size_t, ErrorCode&) { return true; }
  bool on_string(string_view, std::size_t, ErrorCode&) { return value_done(); }
  bool on_key_part(string_view part, std::size_t, ErrorCode&) { return partial_key_.append(part), true; }
  bool on_key(string_view rest, std::size_t, ErrorCode& ec) {
    if (found_.size() >= ParseOptions::duplicates_max) {
      ec = error::object_too_large;  // no more of them are reported, so no more are looked for
      return false;
    }
    std::string key = std::exchange(partial_key_, {}).append(rest);
    auto [place, fresh] = levels_.back().keys.insert(std::move(key));
    levels_.back().key = &*place;
    if (fresh) ++different_members_;
    if (!fresh && levels_.back().reported.insert(&*place).second) record();
    return true;
  }
  bool on_int64(std::int64_t, string_view, ErrorCode&) { return value_done(); }
  bool on_uint64(std::uint64_t, string_view, ErrorCode&) { return value_done(); }
  bool on_double(double, string_view, ErrorCode&) { return value_done(); }
  bool on_bool(bool, ErrorCode&) { return value_done(); }
  bool on_null(ErrorCode&) { return value_done(); }

 private:
  struct Level {
    bool is_array = false;
    std::size_t index = 0;
    const std::string* key = nullptr;
    std::set<std::string> keys = {};  // ordered: no choice of names makes it slow
    std::set<const std::string*> reported = {};
  };

  bool open(bool is_array) { return levels_.push_back({.is_array = is_array}), true; }
  bool close() { return levels_.pop_back(), value_done(); }
  bool value_done() {
    if (!levels_.empty()) ++levels_.back().index;
    return true;
  }
  void record() {
    std::string path;
    for (const Level& level : levels_) {
      if (level.is_array) {
        fmt::format_to(std::back_inserter(path), "[{}]", level.index);
      } else {
        if (!path.empty()) path += '.';
        append_clipped(*level.key, path);
      }
    }
    if (!seen_.insert(path).second) return;
    found_.push_back(std::move(path));
    if (places_) places_->push_back(different_members_);
  }
  // Names may be as long as the document, and stand above many duplicates.
  static void append_clipped(std::string_view name, std::string& out) {
    if (name.size() <= limits::shown_name_bytes_max) {
      out += name;
      return;
    }
    std::size_t end = limits::shown_name_bytes_max;  // not in the middle of a character
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
    out.append(name.substr(0, end)).append("...");
  }

  std::vector<std::string>& found_;
  std::vector<std::size_t>* places_;
  std::size_t different_members_ = 0;
  std::set<std::string> seen_;  // the same, to look in
  std::vector<Level> levels_;
  std::string partial_key_;
};

struct Failure {
  error code;
  std::size_t offset;
};

template <class Handler>
std::optional<Failure> run(boost::json::basic_parser<Handler>& parser, std::string_view text) {
  ErrorCode ec;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), ec);
  if (ec) return Failure{static_cast<error>(ec.value()), used};
  if (used < text.size()) return Failure{error::extra_data, used};
  return std::nullopt;
}

boost::json::parse_options strict(std::size_t depth_max) {
  boost::json::parse_options options;
  options.max_depth = depth_max;
  return options;
}

void find_duplicates(std::string_view text, const ParseOptions& options) {
  boost::json::basic_parser<DuplicateFinder> parser(strict(options.depth_max), *options.duplicate_fields);
  run(parser, text);
}

std::expected<Value, Failure> parse_once(std::string_view text, StoragePtr storage, const ParseOptions& options) {
  boost::json::basic_parser<ValueBuilder> parser(strict(options.depth_max), std::move(storage), options.values_max);
  if (auto failure = run(parser, text)) return std::unexpected(*failure);
  Value root = parser.handler().release();
  if (options.duplicate_fields && count_members(root) != parser.handler().members()) find_duplicates(text, options);
  return root;
}

// The code unit of an escape \uXXXX at the start of `text`, or nothing.
std::optional<unsigned> escaped_unit(std::string_view text) {
  unsigned unit = 0;
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  if (std::from_chars(text.data() + 2, text.data() + 6, unit, 16).ptr != text.data() + 6) return std::nullopt;
  return unit;
}

bool is_high_surrogate(unsigned unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low_surrogate(unsigned unit) { return unit >= 0xDC00 && unit < 0xE000; }

// How many bytes at the start of `text`, which starts with a backslash, form a good escape; 0 for half a pair.
std::size_t good_escape_length(std::string_view text) {
  const auto unit = escaped_unit(text);
  if (!unit) return text.size() > 1 && static_cast<signed char>(text[1]) >= 0 ? 2 : 1;
  if (is_low_surrogate(*unit)) return 0;
  if (!is_high_surrogate(*unit)) return 6;
  const auto second = escaped_unit(text.substr(6));
  return second && is_low_surrogate(*second) ? 12 : 0;
}

// The text with U+FFFD for what is no Unicode, or nothing when it was clean. Boost refuses such strings and Go repairs
// them; doing it here, only after a refusal, keeps the everyday path free of it. One character always replaces one, so
// that columns stay true.
std::optional<std::string> repaired(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 64);
  bool changed = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const bool is_escape = rest.front() == '\\';
    const std::size_t good = is_escape ? good_escape_length(rest) : utf8_sequence_length(rest);
    if (good != 0) {
      out += rest.substr(0, good);
      at += good;
      continue;
    }
    changed = true;
    out += is_escape ? "\\ufffd" : "\xEF\xBF\xBD";
    at += is_escape ? 6 : 1;
  }
  if (!changed) return std::nullopt;
  return out;
}

std::string describe_unexpected(std::string_view text, std::size_t offset) {
  if (text.starts_with("\xEF\xBB\xBF")) return "a byte order mark is not supported";
  if (offset >= text.size()) return "the document ends too early";
  const auto byte = static_cast<unsigned char>(text[offset]);
  if (byte < 0x20) return fmt::format("unexpected control character 0x{:02x}", byte);
  const std::string_view rest = text.substr(offset);
  return fmt::format("unexpected '{}'", rest.substr(0, std::max<std::size_t>(1, utf8_sequence_length(rest))));
}

std::string describe(const Failure& failure, std::string_view text, const ParseOptions& options) {
  switch (failure.code) {
    case error::incomplete:
      return text.find_first_not_of(" \t\r\n") == text.npos ? "the document is empty" : "the document ends too early";
    case error::extra_data:
      return "unexpected data after the end of the document";
    case error::too_deep:
      return fmt::format("nested deeper than {} levels", options.depth_max);
    case error::exponent_overflow:
      return "the number is out of range";
    case error::expected_hex_digit:
      return "a \\u escape requires four hexadecimal digits";
    case error::object_too_large:
    case error::array_too_large:
    case error::key_too_large:
    case error::string_too_large:
      return "too many members, elements or characters in one value";
    default:
      return describe_unexpected(text, failure.offset);
  }
}

Status too_many_values(const ParseOptions& options) {
  return Status::too_large(fmt::format("the JSON document has more than {} members and elements", options.values_max));
}

Status refusal(const Failure& failure, std::string_view text, const ParseOptions& options) {
  const std::string_view before = text.substr(0, failure.offset);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::string_view in_line = before.substr(before.rfind('\n') + 1);  // npos + 1 is the start
  const auto column = 1 + std::ranges::count_if(in_line, [](unsigned char byte) { return (byte & 0xC0) != 0x80; });
  return Status::bad_request(
      fmt::format("not valid JSON at line {}, column {}: {}", line, column, describe(failure, text, options)));
}

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
std::size_t count_members(const Value& value) {
  std::size_t count = 0;
  if (const Object* object = value.if_object()) {
    count = object->size();
    for (const auto& member : *object) count += count_members(member.value());
  } else if (const Array* array = value.if_array()) {
    for (const Value& element : *array) count += count_members(element);
  }
  return count;
}

std::vector<std::size_t> repeated_member_places(std::string_view text) {
  std::vector<std::string> names;
  std::vector<std::size_t> places;
  boost::json::basic_parser<DuplicateFinder> parser(strict(limits::json_depth_max), names, &places);
  run(parser, text);
  return places;
}

Result<Value> parse(std::string_view text, StoragePtr storage, const ParseOptions& options) {
  if (text.size() > options.bytes_max) {
    return fail(Status::too_large(
        fmt::format("the JSON document has {} bytes, at most {} are supported", text.size(), options.bytes_max)));
  }
  auto result = parse_once(text, storage, options);
  if (result) return std::move(*result);
  if (result.error().code == error::array_too_large) return fail(too_many_values(options));
  const auto second_text = repaired(text);
  if (!second_text) return fail(refusal(result.error(), text, options));
  auto second = parse_once(*second_text, std::move(storage), options);
  if (second) return std::move(*second);
  return fail(refusal(second.error(), *second_text, options));
}

}  // namespace vg::json
