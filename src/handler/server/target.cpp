#include "handler/server/target.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/names.h"
#include "base/net.h"

namespace vg::handler {
namespace {

using std::string_view;

// The next segment of a path, which begins with a slash.
string_view take_segment(string_view& path) {
  if (!path.starts_with('/')) return {};
  path.remove_prefix(1);
  const string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

bool is_object_name(string_view name) { return !name.empty() && dns1123_subdomain_defects(name).empty(); }

// The first of that name, raw.
std::optional<string_view> query_value(string_view query, string_view name) {
  while (!query.empty()) {
    const string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), parameter.size() + 1));
    const auto equals = parameter.find('=');
    if (equals != string_view::npos && parameter.substr(0, equals) == name) return parameter.substr(equals + 1);
  }
  return std::nullopt;
}

// As Go's ParseBool.
std::optional<bool> parse_bool(string_view word) {
  static constexpr std::array<string_view, 6> yes{"1", "t", "T", "TRUE", "true", "True"};
  static constexpr std::array<string_view, 6> no{"0", "f", "F", "FALSE", "false", "False"};
  if (std::ranges::find(yes, word) != yes.end()) return true;
  if (std::ranges::find(no, word) != no.end()) return false;
  return std::nullopt;
}

}  // namespace

std::optional<Target> read_target(string_view path, string_view query) {
  if (take_segment(path) != "v1" || take_segment(path) != "namespaces") return std::nullopt;
  const string_view ns = take_segment(path);
  if (take_segment(path) != "virtualmachineinstances") return std::nullopt;
  const string_view name = take_segment(path);
  if (!is_object_name(ns) || !is_object_name(name) || path.size() < 2) return std::nullopt;
  return Target{.ns = std::string(ns),
                .name = std::string(name),
                .what = std::string(path.substr(1)),
                .query = std::string(query)};
}

std::optional<ForwardTarget> read_forward(string_view what) {
  constexpr string_view prefix = "portforward/";
  if (!what.starts_with(prefix)) return std::nullopt;
  what.remove_prefix(prefix.size());
  const string_view number = what.substr(0, what.find('/'));
  const string_view protocol = number.size() == what.size() ? "tcp" : what.substr(number.size() + 1);
  const auto port = parse_port(number);
  if (!port || (protocol != "tcp" && protocol != "udp")) return std::nullopt;
  return ForwardTarget{.port = *port, .protocol = protocol == "udp" ? "udp" : "tcp"};
}

bool is_true_value(string_view query, string_view name) {
  return parse_bool(query_value(query, name).value_or("")).value_or(false);
}

Result<VsockTarget> read_vsock(string_view query) {
  VsockTarget target;
  const string_view port = query_value(query, "port").value_or("");
  const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), target.port);
  if (port.empty() || code != std::errc() || end != port.data() + port.size())
    return fail(Status::bad_request("the parameter port must be a number of 32 bits without a sign"));
  const string_view tls = query_value(query, "tls").value_or("");
  const auto wants_tls = tls.empty() ? std::optional(false) : parse_bool(tls);
  if (!wants_tls) return fail(Status::bad_request("the parameter tls must be true or false"));
  target.tls = *wants_tls;
  return target;
}

}  // namespace vg::handler
