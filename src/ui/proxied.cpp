#include "ui/proxied.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "auth/headers.h"
#include "base/limits.h"
#include "base/phrases.h"
#include "base/ui_limits.h"
#include "http/websocket_handshake.h"
#include "server/path.h"

namespace vg::ui {
namespace {

using std::string_view;
using Segments = std::span<const string_view>;

constexpr string_view vms = "virtualmachines", vmis = "virtualmachineinstances",
                      actions_group = "subresources.kubevirt.io";

struct ResourceRow {
  string_view group, resource;
};
constexpr ResourceRow resource_rows[] = {
    {"", "events"},
    {"", "namespaces"},
    {"", "nodes"},
    {"", "persistentvolumeclaims"},
    {"", "persistentvolumes"},
    {"cdi.kubevirt.io", "datavolumes"},
    {"instancetype.kubevirt.io", "virtualmachineclusterinstancetypes"},
    {"instancetype.kubevirt.io", "virtualmachineclusterpreferences"},
    {"instancetype.kubevirt.io", "virtualmachineinstancetypes"},
    {"instancetype.kubevirt.io", "virtualmachinepreferences"},
    {"kubevirt.io", vmis},
    {"kubevirt.io", "virtualmachineinstancemigrations"},
    {"kubevirt.io", vms},
    {"snapshot.kubevirt.io", "virtualmachinerestores"},
    {"snapshot.kubevirt.io", "virtualmachinesnapshots"},
    {"storage.k8s.io", "storageclasses"},
    {"trace.virtgate.io", "requests"},
};

struct ActionRow {
  string_view resource, action, method;
  bool stream = false;
};
constexpr ActionRow action_rows[] = {
    {vms, "start", "PUT"},           {vms, "stop", "PUT"},           {vms, "restart", "PUT"},
    {vms, "migrate", "PUT"},         {vmis, "pause", "PUT"},         {vmis, "unpause", "PUT"},
    {vmis, "vnc/screenshot", "GET"}, {vmis, "console", "GET", true}, {vmis, "vnc", "GET", true},
};

Failed not_served() {
  return fail({.code = 404,
               .reason = "NotFound",
               .message = fmt::format("{}; the page does not need this path", phrases::path_not_served),
               .details = {}});
}

Failed wrong_method(string_view method) {
  return fail({.code = 405,
               .reason = "MethodNotAllowed",
               .message = fmt::format("{}: the page does not {} this", phrases::method_not_allowed, method),
               .details = {}});
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == ':';
}

// Names of objects need no escapes, so there are none: a path means here what it means to everybody on the way.
Result<std::vector<string_view>> read_segments(string_view path) {
  std::vector<string_view> segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const string_view segment = path.substr(0, path.find('/'));
    if (segment.empty() || segment == "." || segment == ".." || !std::ranges::all_of(segment, is_name_char))
      return fail(Status::bad_request("the path must have names of objects between single slashes, without escapes"));
    segments.push_back(segment);
    path.remove_prefix(segment.size());
  }
  return segments;
}

Result<void> check_query(string_view query) {
  const bool printable = std::ranges::all_of(query, [](char c) { return c > ' ' && c < '\x7f' && c != '#'; });
  if (query.size() > limits::ui_proxied_query_bytes_max || !printable ||
      static_cast<std::size_t>(std::ranges::count(query, '&')) >= limits::query_parameters_max)
    return fail(Status::bad_request("the query is too long, or has characters that must be escaped"));
  return {};
}

bool asks_for_watch(string_view query) {
  return std::ranges::any_of(server::read_query(query), [](const server::QueryParameter& parameter) {
    return parameter.name == "watch" && parameter.value != "0" && parameter.value != "false";
  });
}

bool has_group(string_view group) {
  return group == actions_group || std::ranges::any_of(resource_rows, [&](const ResourceRow& one) {
           return !group.empty() && one.group == group;
         });
}

// [namespaces, NS,] RESOURCE [, NAME]
Result<Proxied> read_resource(const http::Request& request, string_view group, Segments rest) {
  if (rest.size() > 2 && rest[0] == "namespaces") rest = rest.subspan(2);
  if (rest.empty() || rest.size() > 2) return not_served();
  const auto* row = std::ranges::find_if(
      resource_rows, [&](const ResourceRow& one) { return one.group == group && one.resource == rest[0]; });
  if (row == std::end(resource_rows)) return not_served();
  const bool named = rest.size() == 2;
  const bool known =
      request.method == "GET" || request.method == (named ? "PUT" : "POST") || (named && request.method == "DELETE");
  if (!known) return wrong_method(request.method);
  return Proxied{.passage = request.method == "GET" && asks_for_watch(request.query) ? Passage::watch : Passage::answer,
                 .target = {},
                 .resource = row->resource};
}

// namespaces, NS, RESOURCE, NAME, ACTION...
Result<Proxied> read_action(const http::Request& request, Segments rest) {
  if (rest.size() < 5 || rest[0] != "namespaces") return not_served();
  std::string action(rest[4]);
  for (const string_view more : rest.subspan(5)) action.append("/").append(more);
  const auto* row = std::ranges::find_if(
      action_rows, [&](const ActionRow& one) { return one.resource == rest[2] && one.action == action; });
  if (row == std::end(action_rows)) return not_served();
  if (request.method != row->method) return wrong_method(request.method);
  return Proxied{.passage = row->stream ? Passage::stream : Passage::answer, .target = {}, .resource = row->resource};
}

// version, or openapi of a group
bool is_document(Segments path) {
  if (path.size() == 1) return path[0] == "version";
  if (path.size() < 4 || path[0] != "openapi" || path[1] != "v3") return false;
  return (path.size() == 4 && path[2] == "api") || (path.size() == 5 && path[2] == "apis" && has_group(path[3]));
}

Result<Proxied> read_path(const http::Request& request, Segments path) {
  if (is_document(path)) {
    if (request.method != "GET") return wrong_method(request.method);
    return Proxied{.passage = Passage::answer, .target = {}, .resource = "documents"};
  }
  if (path.size() >= 3 && path[0] == "api" && path[1] == "v1") return read_resource(request, "", path.subspan(2));
  if (path.size() < 4 || path[0] != "apis" || !has_group(path[1])) return not_served();
  return path[1] == actions_group ? read_action(request, path.subspan(3))
                                  : read_resource(request, path[1], path.subspan(3));
}

string_view without_parameters(string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type;
}

bool equal_fold(string_view a, string_view b) { return a.size() == b.size() && auth::starts_with_fold(a, b); }

}  // namespace

Result<Proxied> read_proxied(const http::Request& request) {
  // As it was sent: what routes are found by has been decoded.
  string_view path = request.path;
  if (!path.starts_with(proxied_prefix)) return fail(Status::bad_request("the path must be written without escapes"));
  path.remove_prefix(proxied_prefix.size());
  if (!path.starts_with('/')) return not_served();
  const auto segments = read_segments(path);
  if (!segments) return fail(segments.error());
  if (auto good = check_query(request.query); !good) return fail(std::move(good.error()));
  auto found = read_path(request, *segments);
  if (!found) return found;
  const bool websocket = http::asks_for_websocket(request.headers);
  if (websocket && found->passage != Passage::stream) return fail(Status::bad_request("this is no WebSocket"));
  // A page that was refused a console asks plainly for the reason, which browsers do not show of WebSockets.
  if (!websocket && found->passage == Passage::stream) found->passage = Passage::answer;
  found->target = request.query.empty() ? std::string(path) : fmt::format("{}?{}", path, request.query);
  return found;
}

Result<string_view> proxied_body_type(const http::Headers& headers) {
  static constexpr std::array<string_view, 2> types{"application/json", "application/yaml"};
  const string_view given = without_parameters(headers.find("content-type").value_or("application/json"));
  const auto* found = std::ranges::find_if(types, [&](string_view type) { return equal_fold(type, given); });
  if (found != types.end()) return *found;
  return fail({.code = 415,
               .reason = "UnsupportedMediaType",
               .message = "the body must be application/json or application/yaml",
               .details = {}});
}

string_view told_media_type(string_view given) {
  static constexpr std::array<string_view, 4> types{"application/json", "application/yaml", "text/plain", "image/png"};
  given = without_parameters(given);
  const auto* found = std::ranges::find_if(types, [&](string_view type) { return equal_fold(type, given); });
  return found == types.end() ? string_view("application/octet-stream") : *found;
}

}  // namespace vg::ui
