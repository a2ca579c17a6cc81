#include "catalog/request_info.h"

#include <array>
#include <utility>
#include <vector>

#include "base/limits.h"

namespace vg::resources {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(plus_is_space && c == '+' ? ' ' : c);
    }
  }
  return out;
}

// The segments of a path, without the empty one behind a trailing slash.
std::optional<std::vector<std::string_view>> split(std::string_view path) {
  std::vector<std::string_view> parts;
  if (!path.starts_with('/')) return std::nullopt;
  path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty()) return parts;
  while (true) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return std::nullopt;
    parts.push_back(part);
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

std::string_view verb_of_method(std::string_view method) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> table = {{{"GET", "get"},
                                                                                   {"HEAD", "get"},
                                                                                   {"POST", "create"},
                                                                                   {"PUT", "update"},
                                                                                   {"PATCH", "patch"},
                                                                                   {"DELETE", "delete"}}};
  for (const auto& [name, verb] : table)
    if (name == method) return verb;
  return {};
}

bool is_true(const std::optional<std::string>& value) {
  if (!value) return false;
  // As Kubernetes converts a query parameter into a bool: present without a value counts, "false" and "0" do not.
  return *value != "0" && lower(*value) != "false";
}

// A list that a field selector pins to one name is authorized as that name, so that a role may allow it alone.
std::string pinned_name(std::string_view raw_query) {
  const auto selector = query_value(raw_query, "fieldSelector");
  if (!selector) return {};
  std::string_view rest = *selector;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    std::string_view term = rest.substr(0, comma);
    constexpr std::string_view field = "metadata.name=";
    if (term.starts_with(field)) {
      std::string_view name = term.substr(field.size());
      if (name.starts_with('=')) name.remove_prefix(1);
      return std::string(name);
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return {};
}

using Parts = std::vector<std::string_view>;

// What follows group and version. `watch_prefix`: the deprecated /watch/ stood in front.
void read_resource(RequestInfo& info, const Parts& parts, std::size_t at) {
  if (parts[at] == "namespaces") {
    if (parts.size() > at + 1) {
      info.ns = parts[at + 1];
      // A third segment is a resource in the namespace, unless it is a subresource of the namespace object.
      if (parts.size() > at + 2 && parts[at + 2] != "status" && parts[at + 2] != "finalize") at += 2;
    }
  }
  info.resource_request = true;
  info.resource = parts[at];
  if (parts.size() > at + 1) info.name = parts[at + 1];
  for (std::size_t i = at + 2; i < parts.size(); ++i) {
    if (!info.subresource.empty()) info.subresource += '/';
    info.subresource += parts[i];
  }
}

void choose_verb(RequestInfo& info, bool watch_prefix, std::string_view raw_query) {
  if (!info.name.empty() && !watch_prefix) return;
  if (info.verb == "get") {
    info.verb = watch_prefix || is_true(query_value(raw_query, "watch")) ? "watch" : "list";
    if (info.name.empty()) info.name = pinned_name(raw_query);
  } else if (info.verb == "delete" && info.name.empty()) {
    info.verb = "deletecollection";
  }
  if (!raw_query.empty()) info.label_selector = query_value(raw_query, "labelSelector").value_or(std::string());
}

}  // namespace

std::optional<std::string> query_value(std::string_view raw_query, std::string_view name) {
  std::size_t seen = 0;
  while (!raw_query.empty() && seen++ < limits::query_parameters_max) {
    const auto end = raw_query.find('&');
    const std::string_view parameter = raw_query.substr(0, end);
    raw_query = end == std::string_view::npos ? std::string_view() : raw_query.substr(end + 1);
    const auto equals = parameter.find('=');
    const std::string_view raw_name = parameter.substr(0, equals);
    const bool plain = !raw_name.contains('%') && !raw_name.contains('+');
    if (plain ? raw_name != name : decode(raw_name, true) != std::optional<std::string>(name)) continue;
    if (equals == std::string_view::npos) return std::string();
    if (auto value = decode(parameter.substr(equals + 1), true)) return value;
  }
  return std::nullopt;
}

Result<RequestInfo> request_info(std::string_view method, std::string_view raw_path, std::string_view raw_query) {
  RequestInfo info;
  auto path = decode(raw_path, false);
  if (!path)
    return fail(
        Status::bad_request("the path has a '%' that is not followed by two hexadecimal digits; write %25 for '%'"));
  info.path = std::move(*path);
  info.verb = lower(method);
  const auto parts = split(info.path);
  if (!parts)
    return fail(Status::bad_request("the path must begin with '/' and must not have empty, \".\" or \"..\" segments"));

  // /api/VERSION/... and /apis/GROUP/VERSION/...
  const bool core = !parts->empty() && parts->front() == "api";
  const bool grouped = !parts->empty() && parts->front() == "apis";
  const std::size_t head = core ? 2 : 3;
  if ((!core && !grouped) || parts->size() <= head) return info;
  if (grouped) info.group = (*parts)[1];
  info.version = (*parts)[head - 1];
  const std::string_view verb = verb_of_method(method);
  // Methods are no verbs: LIST or DELETECOLLECTION at the path of one object would be allowed for that object and done
  // to all of them.
  info.verb = verb.empty() ? upper(method) : std::string(verb);
  std::size_t at = head;
  const bool watch_prefix = (*parts)[at] == "watch" && info.verb == "get";
  if (watch_prefix) {
    ++at;
    if (parts->size() <= at) return info;
  }
  read_resource(info, *parts, at);
  choose_verb(info, watch_prefix, raw_query);
  return info;
}

}  // namespace vg::resources
