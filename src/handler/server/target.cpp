#include "handler/server/target.h"

#include <algorithm>
#include <array>
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
  static constexpr std::array<string_view, 6> words{"1", "t", "T", "TRUE", "true", "True"};
  while (!query.empty()) {
    const string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), parameter.size() + 1));
    const auto equals = parameter.find('=');
    if (equals == string_view::npos || parameter.substr(0, equals) != name) continue;
    return std::ranges::find(words, parameter.substr(equals + 1)) != words.end();
  }
  return false;
}

}  // namespace vg::handler
