#include "domain/refusal.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_text.h"
#include "base/phrases.h"

namespace vg::domain {
namespace {

// As long as the longest name that is valid anywhere.
constexpr std::size_t quoted_bytes_max = 256;

Failed failed(std::string message, StatusCause cause) {
  Status status{.code = 422, .reason = "Invalid", .message = std::move(message), .details = {}};
  status.details.group = "kubevirt.io";
  status.details.kind = "VirtualMachineInstance";
  status.details.causes.push_back(std::move(cause));
  return fail(std::move(status));
}

Failed refuse_value(std::string_view reason, std::string_view rule, std::string_view field, const std::string& why) {
  const std::string message = phrases::cause_message(reason, why);
  return failed(fmt::format("{}: {}", field, message),
                {.reason = std::string(reason), .message = message, .field = std::string(field), .rule = rule});
}

}  // namespace

std::string in_quotes(std::string_view value) {
  std::string text;
  append_json_string(text, value, quoted_bytes_max);
  return text;
}

Failed refuse(std::string_view rule, std::string_view field, std::string why) {
  return refuse_value("FieldValueInvalid", rule, field, why);
}

Failed require(std::string_view rule, std::string_view field, std::string why) {
  return refuse_value("FieldValueRequired", rule, field, why);
}

Failed refuse(std::string_view rule, std::string why) {
  return failed(why, {.reason = "", .message = why, .field = "", .rule = rule});
}

}  // namespace vg::domain
