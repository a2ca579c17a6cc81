#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "base/policy_limits.h"
#include "cel/builtins.h"

namespace vg::cel {
namespace {

using std::string_view;

// What one verb asks for.
struct Verb {
  char letter = 's';
  int precision = 6;
};

class Formatter {
 public:
  Formatter(Runtime& runtime, string_view format, const Value& values)
      : runtime_(runtime), rest_(format), values_(values) {}

  Value run() {
    runtime_.meter.take_text(rest_.size());
    while (!rest_.empty() && !problem_) step();
    if (problem_) return runtime_.memory.error(*problem_);
    return runtime_.memory.text(out_);
  }

 private:
  void step() {
    const std::size_t percent = std::min(rest_.find('%'), rest_.size());
    append(rest_.substr(0, percent));
    rest_.remove_prefix(percent);
    if (rest_.empty()) return;
    rest_.remove_prefix(1);
    if (rest_.starts_with('%')) {
      append("%");
      rest_.remove_prefix(1);
      return;
    }
    const auto verb = read_verb();
    if (!verb) return fail("the format ends in an incomplete or unknown verb");
    if (next_ >= values_.size()) return fail(fmt::format("index {} out of range", next_));
    print(*verb, values_.at(next_++));
  }

  std::optional<Verb> read_verb() {
    Verb verb;
    if (rest_.starts_with('.')) {
      rest_.remove_prefix(1);
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), verb.precision);
      if (error != std::errc() || verb.precision < 0 || verb.precision > limits::cel_precision_max) return std::nullopt;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    }
    if (rest_.empty() || string_view("sdfeboxX").find(rest_[0]) == string_view::npos) return std::nullopt;
    verb.letter = rest_[0];
    rest_.remove_prefix(1);
    return verb;
  }

  void print(const Verb& verb, const Value& value) {
    switch (verb.letter) {
      case 's':
        return print_any(value, 0);
      case 'd':
        return print_number(value);
      case 'f':
      case 'e':
        return print_real_number(verb, value);
      case 'b':
        if (value.is(Tag::boolean)) return append(value.boolean ? "1" : "0");
        return print_based(value, 2);
      case 'o':
        return print_based(value, 8);
      default:
        return print_hex(verb, value);
    }
  }

  void print_number(const Value& value) {
    if (value.is(Tag::integer)) return append(fmt::format("{}", value.integer));
    if (value.is(Tag::unsigned_integer)) return append(fmt::format("{}", value.unsigned_integer));
    unfit(value);
  }

  // 1234567.5 as 1,234,567.5.
  static std::string grouped(std::string number) {
    const std::size_t first = number.starts_with('-') ? 1 : 0;
    for (std::size_t at = std::min(number.find('.'), number.size()); at > first + 3; at -= 3)
      number.insert(at - 3, ",");
    return number;
  }

  void print_real_number(const Verb& verb, const Value& value) {
    if (!value.is(Tag::real)) return unfit(value);
    if (!std::isfinite(value.real)) return append(cel::print_real(value.real));
    append(verb.letter == 'f' ? grouped(fmt::format("{:.{}f}", value.real, verb.precision))
                              : with_power(fmt::format("{:e}", value.real)));
  }

  // 1.5e-03 as 1.5×10⁻⁰³, in which the reference implementation writes it.
  static std::string with_power(string_view scientific) {
    static constexpr string_view digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    const std::size_t at = scientific.find('e');
    std::string out = fmt::format("{}×10", scientific.substr(0, at));
    for (const char c : scientific.substr(at + 1)) {
      if (c == '-') out += "⁻";
      if (c >= '0' && c <= '9') out += digits[c - '0'];
    }
    return out;
  }

  void print_based(const Value& value, int base) {
    std::uint64_t size = value.unsigned_integer;
    bool negative = false;
    if (value.is(Tag::integer) && value.integer < 0) {
      negative = true;
      size = 0 - size;
    } else if (!value.is(Tag::integer) && !value.is(Tag::unsigned_integer)) {
      return unfit(value);
    }
    const std::string digits = base == 2   ? fmt::format("{:b}", size)
                               : base == 8 ? fmt::format("{:o}", size)
                                           : fmt::format("{:x}", size);
    append(negative ? "-" + digits : digits);
  }

  void print_hex(const Verb& verb, const Value& value) {
    const std::size_t before = out_.size();
    if (value.is(Tag::string) || value.is(Tag::bytes)) {
      runtime_.meter.take_text(value.text.size());
      for (const char c : value.text) append(fmt::format("{:02x}", static_cast<unsigned char>(c)));
    } else {
      print_based(value, 16);
    }
    if (verb.letter == 'X')
      std::transform(out_.begin() + static_cast<std::ptrdiff_t>(before), out_.end(),
                     out_.begin() + static_cast<std::ptrdiff_t>(before),
                     [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; });
  }

  void print_any(const Value& value, int depth) {
    if (depth > limits::cel_value_levels_max) return fail("the value is nested too deep to be printed");
    switch (value.tag) {
      case Tag::null:
        return append("null");
      case Tag::real:
        return append(depth == 0 || !std::isfinite(value.real) ? cel::print_real(value.real)
                                                               : fmt::format("{:f}", value.real));
      case Tag::string:
        return depth == 0 ? append(value.text) : append_quoted("", value.text);
      case Tag::bytes:
        if (depth > 0) return append_quoted("b", value.text);
        return print_converted(value);
      case Tag::list:
        return print_list(value, depth);
      case Tag::map:
        return print_map(value, depth);
      case Tag::type:
        return append(value.text);
      default:
        return depth == 0 ? print_converted(value) : print_inside(value);
    }
  }

  // As string() has it.
  std::optional<string_view> converted(const Value& value) {
    const Value text = find_builtin("string")->run(runtime_, std::span(&value, 1));
    if (!text.is(Tag::string)) unfit(value);
    return text.is(Tag::string) ? std::optional(text.text) : std::nullopt;
  }
  void print_converted(const Value& value) {
    if (const auto text = converted(value)) append(*text);
  }

  // Inside of lists and maps it shows what kind of value it is.
  void print_inside(const Value& value) {
    const auto text = converted(value);
    if (!text) return;
    if (!value.is(Tag::duration) && !value.is(Tag::timestamp)) return append(*text);
    append(value.is(Tag::duration) ? "duration(" : "timestamp(");
    append_quoted("", *text);
    append(")");
  }

  void append_quoted(string_view prefix, string_view text) {
    std::string quoted = fmt::format("{}\"", prefix);
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    append(quoted + '"');
  }

  void print_list(const Value& list, int depth) {
    append("[");
    for (std::size_t i = 0; i < list.size() && !problem_; ++i) {
      if (i > 0) append(", ");
      print_any(list.at(i), depth + 1);
    }
    append("]");
  }

  // Ordered by what the keys look like.
  void print_map(const Value& map, int depth) {
    std::vector<std::pair<std::string, std::size_t>> order;
    for (std::size_t i = 0; i < map.size() && !problem_; ++i) {
      std::string printed;
      std::swap(printed, out_);
      print_any(map.key_at(i), depth + 1);
      std::swap(printed, out_);
      order.emplace_back(std::move(printed), i);
    }
    std::ranges::sort(order);
    append("{");
    for (std::size_t i = 0; i < order.size() && !problem_; ++i) {
      append(i > 0 ? ", " : "");
      append(order[i].first);
      append(":");
      print_any(map.value_at(order[i].second), depth + 1);
    }
    append("}");
  }

  void append(string_view text) {
    runtime_.meter.take(1 + text.size() / 10);
    out_ += text;
  }
  void fail(std::string why) {
    if (!problem_) problem_ = std::move(why);
  }
  void unfit(const Value& value) {
    fail(fmt::format("error during formatting: a value of type {} does not fit its verb", type_name(value)));
  }

  Runtime& runtime_;
  string_view rest_;
  const Value& values_;
  std::size_t next_ = 0;
  std::string out_;
  std::optional<std::string> problem_;
};

}  // namespace

Value format_text(Runtime& runtime, string_view format, const Value& values) {
  return Formatter(runtime, format, values).run();
}

}  // namespace vg::cel
