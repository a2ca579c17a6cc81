#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 2> schemes = {"HTTP", "HTTPS"};

bool is_header_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

void check_exec(FieldCauses& causes, const Place& at, const json::Object& action, std::int64_t /*grace_seconds*/) {
  if (items(action, "command").empty()) causes.required(at.field("command"), "the command to run");
}

void check_http_get(FieldCauses& causes, const Place& at, const json::Object& action, std::int64_t /*grace_seconds*/) {
  if (text(action, "path").empty()) causes.required(at.field("path"), "the path of the request");
  check_port(causes, at.field("port"), json::find(action, "port"));
  check_supported(causes, at.field("scheme"), text(action, "scheme"), schemes);
  for (const json::Value& header : items(action, "httpHeaders"))
    if (!is_header_name(text(header, "name")))
      causes.invalid(at.field("httpHeaders"), "must contain only letters, digits and '-'");
}

void check_number_or_name(FieldCauses& causes, const Place& at, const json::Object& action,
                          std::int64_t /*grace_seconds*/) {
  check_port(causes, at.field("port"), json::find(action, "port"));
}

void check_sleep(FieldCauses& causes, const Place& at, const json::Object& action, std::int64_t grace_seconds) {
  const std::int64_t seconds = json::get_int_or(action, "seconds", 0);
  if (seconds < 0 || seconds > grace_seconds)
    causes.invalid(at, fmt::format("must be from 0 to {} seconds, the termination grace period", grace_seconds));
}

struct Handler {
  std::string_view member;
  void (*check)(FieldCauses&, const Place&, const json::Object&, std::int64_t);
};
constexpr std::array<Handler, 5> handlers = {{{"exec", check_exec},
                                              {"httpGet", check_http_get},
                                              {"tcpSocket", check_number_or_name},
                                              {"grpc", check_number_or_name},
                                              {"sleep", check_sleep}}};

void check_handler(FieldCauses& causes, const Place& at, const json::Object& object, std::int64_t grace_seconds) {
  bool found = false;
  for (const Handler& handler : handlers) {
    if (!has(object, handler.member)) continue;
    if (found)
      causes.forbidden(at.field(handler.member), "mutually exclusive with other actions; exactly one is supported");
    else
      handler.check(causes, at.field(handler.member), members(object, handler.member), grace_seconds);
    found = true;
  }
  if (!found) causes.required(at, "an action, for example exec or httpGet");
}

void check_probe(FieldCauses& causes, const Place& at, const json::Object& probe, std::int64_t grace_seconds) {
  check_handler(causes, at, probe, grace_seconds);
  for (const std::string_view number :
       {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"})
    check_not_negative(causes, at.field(number), json::get_int_or(probe, number, 0));
  if (const auto seconds = json::get_int(probe, "terminationGracePeriodSeconds"); seconds && *seconds <= 0)
    causes.invalid(at.field("terminationGracePeriodSeconds"), "must be greater than 0");
}

// A container that was found broken is restarted: there is nothing left to succeed twice.
void check_one_success(FieldCauses& causes, const Place& at, const json::Object& probe) {
  if (json::get_int_or(probe, "successThreshold", 0) != 1) causes.invalid(at.field("successThreshold"), "must be 1");
}

}  // namespace

void check_probes(FieldCauses& causes, const Place& at, const json::Object& container, std::int64_t grace_seconds) {
  const json::Object& lifecycle = members(container, "lifecycle");
  const Place hooks = at.field("lifecycle");
  for (const std::string_view hook : {"postStart", "preStop"})
    if (has(lifecycle, hook)) check_handler(causes, hooks.field(hook), members(lifecycle, hook), grace_seconds);
  for (const std::string_view name : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    if (!has(container, name)) continue;
    const json::Object& probe = members(container, name);
    const Place place = at.field(name);
    check_probe(causes, place, probe, grace_seconds);
    if (name != "readinessProbe")
      check_one_success(causes, place, probe);
    else if (has(probe, "terminationGracePeriodSeconds"))
      causes.invalid(place.field("terminationGracePeriodSeconds"), "not supported for readiness probes");
  }
}

}  // namespace vg::resources::core_kinds
