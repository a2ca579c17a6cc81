// Quantities, semantic versions and named formats.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/base64.h"
#include "base/names.h"
#include "base/time_rfc3339.h"
#include "cel/builtins.h"
#include "cel/urls.h"

namespace vg::cel {
namespace {

using std::string_view;
using Arguments = std::span<const Value>;

// --- quantities ------------------------------------------------------------------------------------------------------

Value to_quantity(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string})) return runtime.no_overload();
  runtime.meter.take_text(arguments[0].text.size());
  auto quantity = Quantity::parse(arguments[0].text);
  if (!quantity)
    return Value::of_text("quantities must match the regular expression of Kubernetes' quantities", Tag::error);
  return runtime.memory.quantity(std::move(*quantity));
}

Value is_quantity(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string})) return runtime.no_overload();
  runtime.meter.take_text(arguments[0].text.size());
  return Value::of(Quantity::parse(arguments[0].text).has_value());
}

Value as_integer(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::quantity})) return runtime.no_overload();
  const auto number = arguments[0].quantity->as_int64();
  return number ? Value::of(*number) : Value::of_text("cannot convert value to integer", Tag::error);
}
Value is_integer(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::quantity})) return runtime.no_overload();
  return Value::of(arguments[0].quantity->as_int64().has_value());
}

// By way of its digits, since a quantity may be beyond all integers.
Value as_float(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::quantity})) return runtime.no_overload();
  if (const auto number = arguments[0].quantity->as_int64()) return Value::of(static_cast<double>(*number));
  constexpr std::int64_t in_range = INT64_MAX;  // beyond it a value is cut
  for (const int scale : {-9, -6, -3, 0, 3, 6, 9, 12, 15, 18}) {
    const std::int64_t scaled = arguments[0].quantity->scaled_value(scale);
    if (scaled < in_range && scaled > -in_range) return Value::of(static_cast<double>(scaled) * std::pow(10.0, scale));
  }
  return Value::of(static_cast<double>(arguments[0].quantity->value()));
}

Value sign(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::quantity})) return runtime.no_overload();
  return Value::of(std::int64_t{arguments[0].quantity->sign()});
}

std::optional<Quantity> addend(const Value& value) {
  if (value.is(Tag::quantity)) return *value.quantity;
  if (value.is(Tag::integer)) return Quantity::from_int(value.integer, Quantity::Format::decimal_exponent);
  return std::nullopt;
}
Value add_quantity(Runtime& runtime, Arguments arguments) {
  const auto other = arguments.size() == 2 ? addend(arguments[1]) : std::nullopt;
  if (!arguments[0].is(Tag::quantity) || !other) return runtime.no_overload();
  return runtime.memory.quantity(*arguments[0].quantity + *other);
}
Value subtract_quantity(Runtime& runtime, Arguments arguments) {
  const auto other = arguments.size() == 2 ? addend(arguments[1]) : std::nullopt;
  if (!arguments[0].is(Tag::quantity) || !other) return runtime.no_overload();
  return runtime.memory.quantity(*arguments[0].quantity - *other);
}

// --- quantities and versions -----------------------------------------------------------------------------------------

template <class Result>
Value compared(Runtime& runtime, Arguments arguments, Result result) {
  if (!are(arguments, {Tag::quantity, Tag::quantity}) && !are(arguments, {Tag::version, Tag::version}))
    return runtime.no_overload();
  return Value::of(result(compare(arguments[0], arguments[1]).sign));
}
Value compare_to(Runtime& runtime, Arguments arguments) {
  return compared(runtime, arguments, [](int order) { return std::int64_t{order}; });
}
Value is_greater(Runtime& runtime, Arguments arguments) {
  return compared(runtime, arguments, [](int order) { return order > 0; });
}
Value is_less(Runtime& runtime, Arguments arguments) {
  return compared(runtime, arguments, [](int order) { return order < 0; });
}

bool is_number(string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos && (text.size() == 1 || text[0] != '0');
}

// Dotted identifiers of letters, digits and dashes; numbers of a pre-release have no leading zeros.
bool are_identifiers(string_view text, bool numbers_are_plain) {
  for (;;) {
    const string_view part = text.substr(0, text.find('.'));
    const bool digits = part.find_first_not_of("0123456789") == part.npos;
    if (part.empty() || (numbers_are_plain && digits && !is_number(part))) return false;
    if (std::ranges::any_of(part, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '-'; }))
      return false;
    if (part.size() == text.size()) return true;
    text.remove_prefix(part.size() + 1);
  }
}

std::optional<Version> parse_version(string_view text) {
  Version version;
  if (const auto plus = text.find('+'); plus != text.npos) {
    if (!are_identifiers(text.substr(plus + 1), false)) return std::nullopt;
    text = text.substr(0, plus);
  }
  if (const auto dash = text.find('-'); dash != text.npos) {
    version.pre = text.substr(dash + 1);
    if (!are_identifiers(version.pre, true)) return std::nullopt;
    text = text.substr(0, dash);
  }
  for (std::uint64_t* number : {&version.major, &version.minor, &version.patch}) {
    const string_view part = number == &version.patch ? text : text.substr(0, text.find('.'));
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *number);
    if (!is_number(part) || error != std::errc() || end != part.data() + part.size()) return std::nullopt;
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return version;
}

// What people write: a leading v, missing parts, leading zeros.
std::string normalized(string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const auto rest = std::min(text.find_first_of("-+"), text.size());
  string_view numbers = text.substr(0, rest);
  std::string out;
  int parts = 0;
  while (!numbers.empty()) {
    string_view part = numbers.substr(0, numbers.find('.'));
    numbers.remove_prefix(std::min(part.size() + 1, numbers.size()));
    while (part.size() > 1 && part[0] == '0') part.remove_prefix(1);
    out += fmt::format("{}{}", parts++ > 0 ? "." : "", part);
  }
  for (; parts > 0 && parts < 3; ++parts) out += ".0";
  return out + std::string(text.substr(rest));
}

std::optional<Version> read_version(Runtime& runtime, Arguments arguments) {
  runtime.meter.take_text(arguments[0].text.size());
  const bool lenient = arguments.size() == 2 && arguments[1].boolean;
  return parse_version(lenient ? runtime.memory.keep(normalized(arguments[0].text)) : arguments[0].text);
}

Value to_version(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string}) && !are(arguments, {Tag::string, Tag::boolean})) return runtime.no_overload();
  const auto version = read_version(runtime, arguments);
  if (!version) return Value::of_text("the text is not a semantic version", Tag::error);
  Value value(Tag::version);
  value.version = runtime.memory.make(*version);
  return value;
}
Value is_version(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string}) && !are(arguments, {Tag::string, Tag::boolean})) return runtime.no_overload();
  return Value::of(read_version(runtime, arguments).has_value());
}

template <std::uint64_t Version::* part>
Value version_part(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::version})) return runtime.no_overload();
  return Value::of(static_cast<std::int64_t>(arguments[0].version->*part));
}

// --- formats ---------------------------------------------------------------------------------------------------------

// What is meant to stand before something else may end in a dash.
Defects prefix_defects(string_view text, Defects (*of_whole)(string_view)) {
  std::string whole(text);
  if (whole.ends_with('-')) whole.back() = 'a';
  return of_whole(whole);
}

Defects unless(bool good, string_view why) { return good ? Defects{} : Defects{std::string(why)}; }

bool is_uuid(string_view text) {
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '-') continue;
    if (!std::isxdigit(static_cast<unsigned char>(text[i]))) return false;
    ++digits;
  }
  return digits == 32 && (text.size() == 32 || (text.size() == 36 && text[8] == '-' && text[13] == '-' &&
                                                text[18] == '-' && text[23] == '-'));
}

bool is_date(string_view text) {
  return text.size() == 10 && parse_rfc3339(fmt::format("{}T00:00:00Z", text)).has_value();
}

struct Format {
  string_view name;
  Defects (*defects)(string_view text);
};
const Format formats[] = {
    {"dns1123Label", dns1123_label_defects},
    {"dns1123Subdomain", dns1123_subdomain_defects},
    {"dns1035Label", dns1035_label_defects},
    {"dns1123LabelPrefix", [](string_view text) { return prefix_defects(text, dns1123_label_defects); }},
    {"dns1123SubdomainPrefix", [](string_view text) { return prefix_defects(text, dns1123_subdomain_defects); }},
    {"dns1035LabelPrefix", [](string_view text) { return prefix_defects(text, dns1035_label_defects); }},
    {"qualifiedName", qualified_name_defects},
    {"labelValue", label_value_defects},
    {"uri", [](string_view text) { return unless(parse_url(text).has_value(), "must be an absolute URI"); }},
    {"uuid", [](string_view text) { return unless(is_uuid(text), "does not match the UUID format"); }},
    {"byte",
     [](string_view text) { return unless(!text.empty() && base64_decode(text).has_value(), "invalid base64"); }},
    {"date", [](string_view text) { return unless(is_date(text), "invalid date"); }},
    {"datetime", [](string_view text) { return unless(parse_rfc3339(text).has_value(), "invalid datetime"); }},
};

Value named_format(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::string})) return runtime.no_overload();
  const auto* found = std::ranges::find(formats, arguments[0].text, &Format::name);
  return found == std::end(formats) ? Value::optional_of(nullptr)
                                    : runtime.memory.optional(Value::of_text(found->name, Tag::format));
}

template <std::size_t index>
Value constant_format(Runtime&, Arguments) {
  return Value::of_text(formats[index].name, Tag::format);
}

Value validate(Runtime& runtime, Arguments arguments) {
  if (!are(arguments, {Tag::format, Tag::string})) return runtime.no_overload();
  const auto* found = std::ranges::find(formats, arguments[0].text, &Format::name);
  runtime.meter.take_text(10 * arguments[1].text.size());
  std::vector<Value> problems;
  for (const std::string& defect : found->defects(arguments[1].text)) problems.push_back(runtime.memory.text(defect));
  return problems.empty() ? Value::optional_of(nullptr) : runtime.memory.optional(runtime.memory.list(problems));
}

const Builtin kubernetes_rows[] = {
    {"quantity", to_quantity},
    {"isQuantity", is_quantity},
    {"asInteger", as_integer},
    {"isInteger", is_integer},
    {"asApproximateFloat", as_float},
    {"sign", sign},
    {"add", add_quantity},
    {"sub", subtract_quantity},
    {"compareTo", compare_to},
    {"isGreaterThan", is_greater},
    {"isLessThan", is_less},
    {"semver", to_version},
    {"isSemver", is_version},
    {"major", version_part<&Version::major>},
    {"minor", version_part<&Version::minor>},
    {"patch", version_part<&Version::patch>},
    {"format.named", named_format},
    {"validate", validate},
    {"format.dns1123Label", constant_format<0>},
    {"format.dns1123Subdomain", constant_format<1>},
    {"format.dns1035Label", constant_format<2>},
    {"format.dns1123LabelPrefix", constant_format<3>},
    {"format.dns1123SubdomainPrefix", constant_format<4>},
    {"format.dns1035LabelPrefix", constant_format<5>},
    {"format.qualifiedName", constant_format<6>},
    {"format.labelValue", constant_format<7>},
    {"format.uri", constant_format<8>},
    {"format.uuid", constant_format<9>},
    {"format.byte", constant_format<10>},
    {"format.date", constant_format<11>},
    {"format.datetime", constant_format<12>},
};

}  // namespace

std::span<const Builtin> kubernetes_builtins() { return kubernetes_rows; }

}  // namespace vg::cel
