#include "kube/access_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "actions/action.h"

namespace vg::kube {
namespace {

AccessQuestion refused(std::string problem) {
  return {.need = AccessNeed::refused, .problem = std::move(problem), .attributes = {}};
}

struct Verb {
  std::string_view method, with_name, without_name;
};
constexpr std::array<Verb, 6> verbs{{{"POST", "create", "create"},
                                     {"GET", "get", "list"},
                                     {"HEAD", "get", "list"},
                                     {"PUT", "update", "update"},
                                     {"PATCH", "patch", "patch"},
                                     {"DELETE", "delete", "deletecollection"}}};

// The segment at the front, which is taken off.
std::string_view take_segment(std::string_view& rest) {
  const auto slash = rest.find('/');
  const std::string_view segment = rest.substr(0, slash);
  rest = slash == rest.npos ? std::string_view() : rest.substr(slash + 1);
  return segment;
}

bool is_ambiguous(std::string_view path, std::string_view sent_path) {
  if (path.contains("//") || sent_path.contains("%2F") || sent_path.contains("%2f")) return true;
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::string_view segment = take_segment(rest);
    if (segment == "." || segment == "..") return true;
  }
  return false;
}

// The resource, name and what is below it, as roles know them. Nothing for other shapes.
std::optional<AccessAttributes> read_attributes(std::string_view path) {
  if (!path.starts_with(actions::group_path)) return std::nullopt;
  std::string_view rest = path.substr(actions::group_path.size());
  AccessAttributes attributes;
  attributes.group = actions::group;
  attributes.version = take_segment(rest);
  if (take_segment(rest) != "namespaces") return std::nullopt;
  attributes.ns = take_segment(rest);
  attributes.resource = take_segment(rest);
  if (actions::is_group_action(attributes.resource, true))
    return rest.empty() && !path.ends_with('/') ? std::optional(attributes) : std::nullopt;
  if (!actions::has_actions(attributes.resource)) return std::nullopt;
  const auto slash = rest.find('/');
  if (slash == rest.npos) return std::nullopt;
  attributes.name = rest.substr(0, slash);
  attributes.subresource = actions::permitted_part(rest.substr(slash + 1));
  return attributes;
}

constexpr std::array<std::string_view, 8> open_roots{
    "/", "/apis", "/healthz", "/openapi/v2", "/openapi/v3", "/start-profiler", "/stop-profiler", "/dump-profiler"};

// Behind the version of the group: its document, and the actions that are about no object.
bool is_open_in_version(std::string_view rest) {
  return rest.empty() || (rest.starts_with('/') && actions::is_group_action(rest.substr(1), false));
}

}  // namespace

bool is_open_path(std::string_view path) {
  if (std::ranges::find(open_roots, path) != open_roots.end()) return true;
  constexpr std::string_view openapi = "/openapi/v3";
  const bool document = path.starts_with("/openapi/v3/");
  if (document) path.remove_prefix(openapi.size());
  if (!path.starts_with(actions::group_path)) return false;
  path.remove_prefix(actions::group_path.size());
  for (const std::string_view version : actions::versions) {
    if (!path.starts_with(version)) continue;
    const std::string_view rest = path.substr(version.size());
    if (document ? rest.empty() : is_open_in_version(rest)) return true;
  }
  return false;
}

AccessQuestion access_question(std::string_view method, std::string_view path, std::string_view sent_path) {
  if (is_open_path(path)) return {.need = AccessNeed::none, .problem = {}, .attributes = {}};
  if (is_ambiguous(path, sent_path))
    return refused("the path has an empty or relative part, or an encoded slash; remove it");
  auto attributes = read_attributes(path);
  if (!attributes) return refused(fmt::format("{} is not served", path));
  const auto verb = std::ranges::find(verbs, method, &Verb::method);
  if (verb == verbs.end()) return refused(fmt::format("{} is not a method of this API", method));
  attributes->verb = attributes->name.empty() ? verb->without_name : verb->with_name;
  return {.need = AccessNeed::allowed, .problem = {}, .attributes = *attributes};
}

}  // namespace vg::kube
