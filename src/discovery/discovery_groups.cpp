#include "discovery/discovery_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "actions/action.h"
#include "api/schema.h"
#include "auth/digest.h"
#include "base/base64.h"
#include "catalog/catalog.h"
#include "catalog/parts.h"

namespace vg::resources {
namespace {

using Names = std::span<const std::string_view>;

// The order in which Kubernetes lists its own groups.
constexpr std::array<std::string_view, 21> leading_groups{"",
                                                          "apiregistration.k8s.io",
                                                          "apps",
                                                          "events.k8s.io",
                                                          "authentication.k8s.io",
                                                          "authorization.k8s.io",
                                                          "autoscaling",
                                                          "batch",
                                                          "certificates.k8s.io",
                                                          "networking.k8s.io",
                                                          "policy",
                                                          "rbac.authorization.k8s.io",
                                                          "storage.k8s.io",
                                                          "admissionregistration.k8s.io",
                                                          "apiextensions.k8s.io",
                                                          "scheduling.k8s.io",
                                                          "coordination.k8s.io",
                                                          "node.k8s.io",
                                                          "discovery.k8s.io",
                                                          "flowcontrol.apiserver.k8s.io",
                                                          "resource.k8s.io"};

// In the orders in which Kubernetes writes them for its own kinds and for those of CRDs.
constexpr std::array<std::string_view, 8> builtin_verbs{"create", "delete", "deletecollection", "get",
                                                        "list",   "patch",  "update",           "watch"};
constexpr std::array<std::string_view, 8> custom_verbs{"delete", "deletecollection", "get",    "list",
                                                       "patch",  "create",           "update", "watch"};
// Nobody deletes all namespaces at once.
constexpr std::array<std::string_view, 7> namespace_verbs{"create", "delete", "get",  "list",
                                                          "patch",  "update", "watch"};
constexpr std::array<std::string_view, 3> part_verbs{"get", "patch", "update"};
constexpr std::array<std::string_view, 1> create_verbs{"create"};

constexpr std::array<std::string_view, 3> read_verbs{"get", "list", "watch"};
constexpr std::array<std::string_view, 1> get_verbs{"get"};

// Tokens for uploads (spec storage UPL-10), which src/uploads gives out: asked for, and never an object.
constexpr std::string_view upload_group = "upload.cdi.kubevirt.io", upload_version = "v1beta1";
constexpr std::array<std::string_view, 2> upload_short_names{"utr", "utrs"};

std::vector<ApiResource> upload_entries() {
  return {{.name = "uploadtokenrequests",
           .singular = "uploadtokenrequest",
           .kind = "UploadTokenRequest",
           .namespaced = true,
           .verbs = create_verbs,
           .short_names = upload_short_names,
           .categories = {}}};
}

// A kind that is never stored is either a question with a path of its own, or the body of one of the parts above.
bool is_question(const api::Kind& kind) {
  return (kind.group == "authentication.k8s.io" || kind.group == "authorization.k8s.io") && kind.kind != "TokenRequest";
}

bool is_listed(const api::Kind& kind) {
  return kind.list_type || is_question(kind) || (kind.group.empty() && kind.kind == "Binding");
}

// "v2" before "v1" before "v1beta2" before "v1beta1" before "v1alpha1" before everything else: smaller is preferred.
std::tuple<int, std::int64_t, std::int64_t, std::string_view> version_rank(std::string_view version) {
  const auto number = [](std::string_view& text) -> std::int64_t {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0) return -1;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
  };
  std::string_view rest = version;
  if (!rest.starts_with('v')) return {3, 0, 0, version};
  rest.remove_prefix(1);
  const std::int64_t major = number(rest);
  if (major < 0) return {3, 0, 0, version};
  if (rest.empty()) return {0, -major, 0, version};
  const int stage = rest.starts_with("beta") ? 1 : rest.starts_with("alpha") ? 2 : 3;
  if (stage == 3) return {3, 0, 0, version};
  rest.remove_prefix(stage == 1 ? 4 : 5);
  const std::int64_t minor = number(rest);
  if (minor < 0 || !rest.empty()) return {3, 0, 0, version};
  return {stage, -major, -minor, version};
}

// The journal of requests (src/journal): read only, and not stored as objects.
constexpr std::string_view trace_group = "trace.virtgate.io", trace_version = "v1";
constexpr std::array<std::string_view, 1> trace_short_names{"vgr"};

std::vector<ApiResource> trace_entries() {
  return {{.name = "requests",
           .singular = "request",
           .kind = "Request",
           .namespaced = true,
           .verbs = read_verbs,
           .short_names = trace_short_names,
           .categories = {}}};
}

std::vector<ApiGroup> make_groups() {
  std::vector<ApiGroup> groups;
  for (const api::Kind& kind : api::kinds()) {
    if (!is_listed(kind)) continue;
    auto group = std::ranges::find(groups, kind.group, &ApiGroup::name);
    if (group == groups.end())
      group = groups.insert(groups.end(), ApiGroup{.name = kind.group.empty() ? "" : kind.group, .versions = {}});
    for (const api::KindVersion& version : kind.versions)
      if (version.served && std::ranges::find(group->versions, version.name) == group->versions.end())
        group->versions.push_back(version.name);
  }
  std::erase_if(groups, [](const ApiGroup& group) { return group.versions.empty(); });
  groups.push_back({.name = actions::group, .versions = {actions::versions.begin(), actions::versions.end()}});
  groups.push_back({.name = trace_group, .versions = {trace_version}});
  groups.push_back({.name = upload_group, .versions = {upload_version}});
  for (ApiGroup& group : groups) std::ranges::sort(group.versions, {}, version_rank);
  std::ranges::sort(groups, {}, [](const ApiGroup& group) {
    return std::pair(std::ranges::find(leading_groups, group.name) - leading_groups.begin(), group.name);
  });
  return groups;
}

std::string key_of(const api::Kind& kind) {
  return kind.group.empty() ? std::string(kind.plural) : api_version(kind.group, kind.plural);
}

Names verbs_of(const api::Kind& kind) {
  if (!kind.list_type) return create_verbs;
  if (kind.custom) return custom_verbs;
  if (!read_only_reason(key_of(kind)).empty()) return read_verbs;
  return kind.group.empty() && kind.plural == "namespaces" ? Names(namespace_verbs) : Names(builtin_verbs);
}

std::string storage_version_hash(const api::Kind& kind, std::string_view version) {
  const Resource* resource = find_resource(kind.group, version, kind.plural);
  if (!resource || !resource->stored) return {};
  const GroupVersion stored = split_api_version(resource->storage_api_version);
  const auto digest = auth::sha256(fmt::format("{}/{}/{}", stored.group, stored.version, kind.kind));
  constexpr std::size_t shown_bytes = 8;
  return base64_encode({reinterpret_cast<const char*>(digest.data()), shown_bytes});
}

void add_parts(std::vector<ApiResource>& out, const api::Kind& kind) {
  const auto add = [&](std::string_view part, std::string_view part_kind, std::string_view group,
                       std::string_view version, Names verbs) {
    out.push_back({.name = std::string(kind.plural) + "/" + std::string(part),
                   .singular = "",
                   .kind = part_kind,
                   .kind_group = group,
                   .kind_version = version,
                   .namespaced = kind.namespaced,
                   .verbs = verbs,
                   .short_names = {},
                   .categories = {}});
  };
  const std::string key = key_of(kind);
  if (kind.status_subresource)
    add("status", kind.kind, "", "", read_only_reason(key).empty() ? Names(part_verbs) : Names(get_verbs));
  if (kind.scale) add("scale", "Scale", "autoscaling", "v1", part_verbs);
  for (const Part& part : parts())
    if (part.key == key) add(part.name, part.kind, part.kind_group, part.kind_version, part.verbs);
}

// The subresource API answers requests, it has no objects; upstream names neither kinds nor verbs there, and leaves out
// some that it serves. Clients know the list in this form, so it is kept as it is.
std::vector<ApiResource> subresource_entries() {
  std::vector<const actions::Action*> listed;
  for (const actions::Action& action : actions::actions())
    if (action.listed > 0) listed.push_back(&action);
  std::ranges::sort(listed, {}, &actions::Action::listed);
  std::vector<ApiResource> out;
  out.reserve(listed.size());
  for (const actions::Action* action : listed) {
    ApiResource entry;
    if (!action->resource.empty()) entry.name.append(action->resource).push_back('/');
    entry.name.append(action->name);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

std::span<const ApiGroup> api_groups() {
  static const std::vector<ApiGroup> groups = make_groups();
  return groups;
}

const ApiGroup* find_api_group(std::string_view name) {
  const auto groups = api_groups();
  const auto found = std::ranges::find(groups, name, &ApiGroup::name);
  return found == groups.end() ? nullptr : &*found;
}

std::vector<ApiResource> api_resources(std::string_view group, std::string_view version) {
  if (group == actions::group && std::ranges::find(actions::versions, version) != actions::versions.end())
    return subresource_entries();
  if (group == trace_group && version == trace_version) return trace_entries();
  if (group == upload_group && version == upload_version) return upload_entries();
  std::vector<ApiResource> out;
  for (const api::Kind& kind : api::kinds()) {
    const api::KindVersion* found = kind.group == group && is_listed(kind) ? kind.version(version) : nullptr;
    if (!found || !found->served) continue;
    out.push_back({.name = std::string(kind.plural),
                   .singular = kind.singular,
                   .kind = kind.kind,
                   .kind_group = "",
                   .kind_version = "",
                   .namespaced = kind.namespaced,
                   .verbs = verbs_of(kind),
                   .short_names = kind.short_names,
                   .categories = kind.categories,
                   .storage_version_hash = storage_version_hash(kind, version)});
    add_parts(out, kind);
  }
  return out;
}

}  // namespace vg::resources
