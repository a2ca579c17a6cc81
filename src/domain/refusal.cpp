#include "domain/refusal.h"

#include <fmt/format.h>

#include <utility>

#include "base/phrases.h"

namespace vg::domain {
namespace {

Failed failed(std::string message, StatusCause cause) {
  Status status{.code = 422, .reason = "Invalid", .message = std::move(message), .details = {}};
  status.details.group = "kubevirt.io";
  status.details.kind = "VirtualMachineInstance";
  status.details.causes.push_back(std::move(cause));
  return fail(std::move(status));
}

}  // namespace

Failed refuse(std::string_view rule, std::string_view field, std::string why) {
  constexpr std::string_view reason = "FieldValueInvalid";
  std::string message = phrases::cause_message(reason, why);
  return failed(fmt::format("{}: {}", field, message),
                {.reason = std::string(reason), .message = message, .field = std::string(field), .rule = rule});
}

Failed refuse(std::string_view rule, std::string why) {
  return failed(why, {.reason = "", .message = why, .field = "", .rule = rule});
}

}  // namespace vg::domain
