#include "objects/core_kinds/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/joined.h"
#include "base/limits.h"
#include "base/net.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

// A value can be as long as the request; a message that repeats it should not be.
std::string shown(std::string_view value) {
  static constexpr std::size_t shown_bytes_max = 128;
  if (value.size() <= shown_bytes_max) return fmt::format("\"{}\"", value);
  std::size_t end = shown_bytes_max;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
  return fmt::format("\"{}...\"", value.substr(0, end));
}

void check_expression(FieldCauses& causes, const Place& at, const json::Object& expression) {
  const std::string_view op = text(expression, "operator");
  const json::Array& values = items(expression, "values");
  if (op == "In" || op == "NotIn") {
    if (values.empty()) causes.required(at.field("values"), "operators In and NotIn require at least one value");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty())
      causes.forbidden(at.field("values"), "operators Exists and DoesNotExist do not support values");
  } else {
    causes.invalid(at.field("operator"), "supported operators: In, NotIn, Exists, DoesNotExist");
  }
  const std::string_view key = text(expression, "key");
  causes.defects(at.field("key"), key, qualified_name_defects(key));
  const Place list = at.field("values");
  for (std::size_t i = 0; i < values.size(); ++i)
    causes.defects(list.item(i), as_text(values[i]), label_value_defects(as_text(values[i])));
}

std::size_t decoded_size(std::string_view base64) {
  const std::size_t padding = base64.ends_with("==") ? 2 : base64.ends_with('=') ? 1 : 0;
  return base64.size() / 4 * 3 - std::min(padding, base64.size() / 4 * 3);
}

}  // namespace

void FieldCauses::add(std::string_view reason, const Place& at, std::string message) {
  if (into_.size() >= limits::causes_max) return;
  into_.push_back({.reason = std::string(reason),
                   .message = std::move(message),
                   .field = api::print_place(at, api::PlaceStyle::brackets)});
}

void FieldCauses::required(const Place& at, std::string_view why) { add("FieldValueRequired", at, std::string(why)); }
void FieldCauses::invalid(const Place& at, std::string_view why) { add("FieldValueInvalid", at, std::string(why)); }
void FieldCauses::forbidden(const Place& at, std::string_view why) { add("FieldValueForbidden", at, std::string(why)); }
void FieldCauses::too_long(const Place& at, std::string_view why) { add("FieldValueTooLong", at, std::string(why)); }
void FieldCauses::too_many(const Place& at, std::string_view why) { add("FieldValueTooMany", at, std::string(why)); }

void FieldCauses::duplicate(const Place& at, std::string_view value) { add("FieldValueDuplicate", at, shown(value)); }

void FieldCauses::not_found(const Place& at, std::string_view value, std::string_view why) {
  add("FieldValueNotFound", at, fmt::format("{}: {}", shown(value), why));
}

void FieldCauses::not_supported(const Place& at, std::string_view value, Supported supported) {
  add("FieldValueNotSupported", at, phrases::unsupported(shown(value), joined(supported, ", ")));
}

void FieldCauses::defects(const Place& at, std::string_view value, const Defects& defects) {
  for (const std::string& defect : defects) add("FieldValueInvalid", at, fmt::format("{}: {}", shown(value), defect));
}

void FieldCauses::joined_defects(const Place& at, std::string_view value, const Defects& defects) {
  if (!defects.empty()) add("FieldValueInvalid", at, fmt::format("{}: {}", shown(value), joined(defects, "; ")));
}

void check_choice(FieldCauses& causes, const Place& at, std::string_view value, Supported supported) {
  if (value.empty())
    causes.required(at, fmt::format("supported values: {}", joined(supported, ", ")));
  else
    check_supported(causes, at, value, supported);
}

void check_supported(FieldCauses& causes, const Place& at, std::string_view value, Supported supported) {
  if (std::ranges::find(supported, value) == supported.end()) causes.not_supported(at, value, supported);
}

void check_labels(FieldCauses& causes, const Place& at, const json::Object& labels) {
  for (const auto& label : labels) {
    causes.defects(at, label.key(), qualified_name_defects(label.key()));
    causes.defects(at, as_text(label.value()), label_value_defects(as_text(label.value())));
  }
}

void check_label_selector(FieldCauses& causes, const Place& at, const json::Object& selector) {
  check_labels(causes, at.field("matchLabels"), members(selector, "matchLabels"));
  const json::Array& expressions = items(selector, "matchExpressions");
  const Place list = at.field("matchExpressions");
  for (std::size_t i = 0; i < expressions.size(); ++i) check_expression(causes, list.item(i), members(expressions[i]));
}

bool check_ip(FieldCauses& causes, const Place& at, std::string_view value) {
  if (parse_ip(value, LeadingZeros::ignored)) return true;
  causes.invalid(at, fmt::format("{}: must be an IP address, for example 10.9.8.7 or 2001:db8::ffff", shown(value)));
  return false;
}

void check_cidr(FieldCauses& causes, const Place& at, std::string_view value) {
  if (!parse_cidr(value, LeadingZeros::ignored))
    causes.invalid(at, fmt::format("{}: must be a CIDR, for example 10.9.8.0/24 or 2001:db8::/64", shown(value)));
}

bool are_dual_stack(const std::vector<std::string_view>& addresses) {
  bool v4 = false;
  bool v6 = false;
  for (const std::string_view address : addresses) {
    const auto parsed = parse_ip(address, LeadingZeros::ignored);
    if (!parsed) return false;
    (parsed->is_v4() ? v4 : v6) = true;
  }
  return v4 && v6;
}

void check_port_number(FieldCauses& causes, const Place& at, std::int64_t port) {
  if (port < 1 || port > port_max) causes.invalid(at, fmt::format("{}: must be from 1 to {}", port, port_max));
}

void check_port(FieldCauses& causes, const Place& at, const json::Value* port) {
  if (const auto name = json::as_string(port))
    causes.defects(at, *name, port_name_defects(*name));
  else
    check_port_number(causes, at, json::as_int(port).value_or(0));
}

void check_not_negative(FieldCauses& causes, const Place& at, std::int64_t value) {
  if (value < 0) causes.invalid(at, fmt::format("{}: must be 0 or more", value));
}

Defects data_key_defects(std::string_view key) {
  Defects defects;
  if (key.size() > limits::dns_subdomain_bytes_max)
    defects.push_back(fmt::format("must not be longer than {} bytes", limits::dns_subdomain_bytes_max));
  const bool plain = std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
  if (key.empty() || !plain) defects.emplace_back("must contain only letters, digits, '-', '_' and '.'");
  // Keys become the names of files, where these lead elsewhere.
  if (key == ".")
    defects.emplace_back("must not be '.'");
  else if (key == "..")
    defects.emplace_back("must not be '..'");
  else if (key.starts_with(".."))
    defects.emplace_back("must not begin with '..'");
  return defects;
}

std::size_t decoded_bytes(const json::Object& base64_values) {
  std::size_t bytes = 0;
  for (const auto& member : base64_values) bytes += decoded_size(as_text(member.value()));
  return bytes;
}

}  // namespace vg::resources::core_kinds
