#include "discovery/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <vector>

#include "auth/digest.h"
#include "base/joined.h"
#include "base/status.h"
#include "catalog/accept.h"
#include "catalog/catalog.h"
#include "discovery/discovery_document.h"
#include "discovery/discovery_groups.h"
#include "discovery/discovery_openapi.h"
#include "json/write.h"

namespace vg::resources {
namespace {

// --- small JSON: every name below comes from our own tables and needs no escapes
// --------------------------------------

void append_names(std::string& out, std::string_view key, std::span<const std::string_view> names) {
  if (names.empty()) return;
  fmt::format_to(std::back_inserter(out), R"(,"{}":["{}"])", key, joined(names, R"(",")"));
}

std::string version_entry(std::string_view group, std::string_view version) {
  return fmt::format(R"({{"groupVersion":"{}","version":"{}"}})", api_version(group, version), version);
}

// The members of an APIGroup behind its kind.
void append_group(std::string& out, const ApiGroup& group) {
  fmt::format_to(std::back_inserter(out), R"("name":"{}","versions":[)", group.name);
  for (std::size_t i = 0; i < group.versions.size(); ++i) {
    if (i > 0) out.push_back(',');
    out += version_entry(group.name, group.versions[i]);
  }
  fmt::format_to(std::back_inserter(out), R"(],"preferredVersion":{}}})",
                 version_entry(group.name, group.versions.front()));
}

// --- the form that all clients know
// -----------------------------------------------------------------------------------

std::string api_versions(std::string_view host) {
  std::string out = R"({"kind":"APIVersions","versions":[)";
  const ApiGroup* core = find_api_group("");
  for (std::size_t i = 0; core && i < core->versions.size(); ++i)
    fmt::format_to(std::back_inserter(out), R"({}"{}")", i > 0 ? "," : "", core->versions[i]);
  out += R"(],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":)";
  json::write_string(host.empty() ? "localhost" : host, out);
  return out += "}]}";
}

std::string group_list() {
  std::string out = R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)";
  bool first = true;
  for (const ApiGroup& group : api_groups()) {
    if (group.name.empty()) continue;
    if (!first) out.push_back(',');
    first = false;
    out.push_back('{');
    append_group(out, group);
  }
  return out += "]}";
}

std::string one_group(const ApiGroup& group) {
  std::string out = R"({"kind":"APIGroup","apiVersion":"v1",)";
  append_group(out, group);
  return out;
}

void append_resource(std::string& out, const ApiResource& entry) {
  fmt::format_to(std::back_inserter(out), R"({{"name":"{}","singularName":"{}","namespaced":{})", entry.name,
                 entry.singular, entry.namespaced);
  if (!entry.kind_version.empty())
    fmt::format_to(std::back_inserter(out), R"(,"group":"{}","version":"{}")", entry.kind_group, entry.kind_version);
  fmt::format_to(std::back_inserter(out), R"(,"kind":"{}")", entry.kind);
  if (entry.verbs.empty())
    out += R"(,"verbs":null)";
  else
    append_names(out, "verbs", entry.verbs);
  append_names(out, "shortNames", entry.short_names);
  append_names(out, "categories", entry.categories);
  if (!entry.storage_version_hash.empty())
    fmt::format_to(std::back_inserter(out), R"(,"storageVersionHash":"{}")", entry.storage_version_hash);
  out.push_back('}');
}

std::string resource_list(std::string_view group, std::string_view version) {
  std::string out = fmt::format(R"({{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"{}","resources":[)",
                                api_version(group, version));
  bool first = true;
  for (const ApiResource& entry : api_resources(group, version)) {
    if (!first) out.push_back(',');
    first = false;
    append_resource(out, entry);
  }
  return out += "]}";
}

// --- aggregated: all groups and resources in one answer
// -----------------------------------------------------------------

// A kind that has no name must still be an object: some clients read it without looking.
void append_response_kind(std::string& out, const ApiResource* entry, std::string_view group,
                          std::string_view version) {
  const bool known = entry && !entry->kind.empty();
  const bool own = known && entry->kind_version.empty();
  fmt::format_to(std::back_inserter(out), R"("responseKind":{{"group":"{}","version":"{}","kind":"{}"}})",
                 own     ? group
                 : known ? entry->kind_group
                         : std::string_view(""),
                 own     ? version
                 : known ? entry->kind_version
                         : std::string_view(""),
                 known ? entry->kind : std::string_view(""));
}

void append_verbs(std::string& out, const ApiResource* entry) {
  if (entry && !entry->verbs.empty())
    append_names(out, "verbs", entry->verbs);
  else
    out += R"(,"verbs":[])";
}

void append_subresources(std::string& out, std::span<const ApiResource> entries, std::string_view resource,
                         std::string_view group, std::string_view version) {
  bool first = true;
  for (const ApiResource& entry : entries) {
    if (entry.resource() != resource || entry.subresource().empty()) continue;
    out += first ? R"(,"subresources":[)" : ",";
    first = false;
    fmt::format_to(std::back_inserter(out), R"({{"subresource":"{}",)", entry.subresource());
    append_response_kind(out, &entry, group, version);
    append_verbs(out, &entry);
    out.push_back('}');
  }
  if (!first) out.push_back(']');
}

void append_version(std::string& out, std::string_view group, std::string_view version) {
  const std::vector<ApiResource> entries = api_resources(group, version);
  // Resources in their order; one that only has parts below it is named by the first of them.
  std::vector<std::string_view> resources;
  for (const ApiResource& entry : entries)
    if (std::ranges::find(resources, entry.resource()) == resources.end()) resources.push_back(entry.resource());
  fmt::format_to(std::back_inserter(out), R"({{"version":"{}","resources":[)", version);
  bool first = true;
  for (const std::string_view resource : resources) {
    const auto found = std::ranges::find(entries, resource, &ApiResource::name);
    const ApiResource* whole = found == entries.end() ? nullptr : &*found;
    const bool namespaced = !whole || whole->namespaced;
    if (!first) out.push_back(',');
    first = false;
    fmt::format_to(std::back_inserter(out), R"({{"resource":"{}",)", resource);
    append_response_kind(out, whole, group, version);
    fmt::format_to(std::back_inserter(out), R"(,"scope":"{}","singularResource":"{}")",
                   namespaced ? "Namespaced" : "Cluster", whole ? whole->singular : std::string_view(""));
    append_verbs(out, whole);
    if (whole) append_names(out, "shortNames", whole->short_names);
    if (whole) append_names(out, "categories", whole->categories);
    append_subresources(out, entries, resource, group, version);
    out.push_back('}');
  }
  out += R"(],"freshness":"Current"})";
}

std::string aggregated(bool core, std::string_view discovery_version) {
  std::string out =
      fmt::format(R"({{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/{}","metadata":{{}},"items":[)",
                  discovery_version);
  bool first_group = true;
  for (const ApiGroup& group : api_groups()) {
    if (group.name.empty() != core) continue;
    if (!first_group) out.push_back(',');
    first_group = false;
    fmt::format_to(std::back_inserter(out), R"({{"metadata":{}{}{},"versions":[)", core ? "{" : R"({"name":")",
                   group.name, core ? "}" : R"("})");
    for (std::size_t i = 0; i < group.versions.size(); ++i) {
      if (i > 0) out.push_back(',');
      append_version(out, group.name, group.versions[i]);
    }
    out += "]}";
  }
  return out += "]}";
}

// Whether the path is one of Kubernetes' own, and so found by the media type that is asked for.
bool found_by_name(std::string_view path) {
  if (path.starts_with("/api/") || path == "/api") return true;
  if (!path.starts_with("/apis/")) return false;
  const std::string_view rest = path.substr(6);
  const std::string_view group = rest.substr(0, rest.find('/'));
  return std::ranges::any_of(
      resources(), [&](const Resource& resource) { return resource.group() == group && !resource.kind->custom; });
}

Document plain_document(std::string body, const DiscoveryRequest& request) {
  constexpr std::array offered{json_type, yaml_type};
  const std::vector<AcceptClause> clauses = read_accept(request.accept);
  if (!found_by_name(request.path) || names_one_of(clauses, offered)) {
    for (const AcceptClause& clause : clauses) {
      if (clause.converts()) continue;
      if (clause.type == yaml_type) return finish_document(std::move(body), yaml_type, request);
      if (accepts(clause, json_type)) return finish_document(std::move(body), json_type, request);
    }
  }
  return not_acceptable("application/json and application/yaml");
}

// The version of apidiscovery.k8s.io in which everything is wanted at once; empty when it is not.
std::string_view aggregated_version(const DiscoveryRequest& request) {
  constexpr std::array offered{json_type};
  const std::vector<AcceptClause> clauses = read_accept(request.accept);
  if (found_by_name(request.path) && !names_one_of(clauses, offered)) return {};
  for (const AcceptClause& clause : clauses) {
    if (!accepts(clause, json_type) || clause.as != "APIGroupDiscoveryList" || clause.group != "apidiscovery.k8s.io")
      continue;
    if (clause.version == "v2" || clause.version == "v2beta1") return clause.version;
  }
  return {};
}

// /api and /apis. Whoever can read all in one answer gets it so, however little it weighs.
Document root_document(bool core, const DiscoveryRequest& request) {
  const std::string_view version = aggregated_version(request);
  if (version.empty()) return plain_document(core ? api_versions(request.host) : group_list(), request);
  return finish_document(aggregated(core, version),
                         fmt::format("application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList", version),
                         request);
}

// --- paths
// ----------------------------------------------------------------------------------------------------------------

std::string root_paths() {
  std::vector<std::string> paths{"/api",    "/apis",       "/healthz",    "/livez",  "/metrics",
                                 "/readyz", "/openapi/v2", "/openapi/v3", "/version"};
  for (const ApiGroup& group : api_groups()) {
    const std::string at = group.name.empty() ? "/api" : fmt::format("/apis/{}", group.name);
    if (!group.name.empty()) paths.push_back(at);
    for (const std::string_view version : group.versions) paths.push_back(fmt::format("{}/{}", at, version));
  }
  std::ranges::sort(paths);
  return fmt::format(R"({{"paths":["{}"]}})", joined(paths, R"(",")"));
}

bool serves(const ApiGroup* group, std::string_view version) {
  return group && std::ranges::find(group->versions, version) != group->versions.end();
}

// The body of every document that has one form only; nothing when there is none at this path.
std::optional<std::string> plain_body(std::string_view path) {
  if (path.empty()) return root_paths();
  if (path.starts_with("/api/")) {
    const std::string_view version = path.substr(5);
    return serves(find_api_group(""), version) ? std::optional(resource_list("", version)) : std::nullopt;
  }
  if (!path.starts_with("/apis/")) return std::nullopt;
  const std::string_view rest = path.substr(6);
  const auto slash = rest.find('/');
  const ApiGroup* group = rest.empty() ? nullptr : find_api_group(rest.substr(0, slash));
  if (!group || group->name.empty()) return std::nullopt;
  if (slash == std::string_view::npos) return one_group(*group);
  const std::string_view version = rest.substr(slash + 1);
  return serves(group, version) ? std::optional(resource_list(group->name, version)) : std::nullopt;
}

}  // namespace

std::string content_hash(std::string_view body) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char byte : auth::sha256(body)) {
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
  return out;
}

bool matches_tag(std::string_view if_none_match, std::string_view etag) {
  // A tag is a quoted digest: it cannot be part of another one, so lists and weak tags need no parser.
  return if_none_match == "*" || if_none_match.contains(etag);
}

Document finish_document(std::string body, std::string_view content_type, const DiscoveryRequest& request) {
  Document document{.content_type = std::string(content_type),
                    .etag = fmt::format("\"{}\"", content_hash(body)),
                    .cache_control = std::string(revalidate)};
  if (matches_tag(request.if_none_match, document.etag))
    document.status = 304;
  else
    document.body = std::move(body);
  return document;
}

Document not_acceptable(std::string_view what_there_is) {
  return {.status = 406,
          .content_type = std::string(json_type),
          .body = to_json(Status::not_acceptable(
              fmt::format("this document is available as {}; send that in the Accept header", what_there_is)))};
}

std::optional<Document> discovery_document(const DiscoveryRequest& asked) {
  DiscoveryRequest request = asked;
  // Clients ask with and without it.
  if (request.path.ends_with('/')) request.path.remove_suffix(1);
  if (request.path == "/api") return root_document(true, request);
  if (request.path == "/apis") return root_document(false, request);
  if (request.path.starts_with("/openapi/")) return openapi_document(request);
  auto body = plain_body(request.path);
  if (!body || !asked.path.starts_with('/')) return std::nullopt;
  return plain_document(std::move(*body), request);
}

}  // namespace vg::resources
