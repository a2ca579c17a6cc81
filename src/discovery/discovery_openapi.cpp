#include "discovery/discovery_openapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "actions/action.h"
#include "actions/openapi.h"
#include "api/openapi.h"
#include "api/schema.h"
#include "catalog/accept.h"
#include "catalog/catalog.h"
#include "catalog/request_info.h"
#include "discovery/discovery_document.h"
#include "discovery/discovery_groups.h"
#include "discovery/discovery_protobuf.h"
#include "json/arena.h"
#include "json/write.h"

namespace vg::resources {
namespace {

constexpr std::string_view title = "virtgate";
constexpr std::string_view release = "v" VIRTGATE_VERSION;
constexpr std::string_view v2_path = "/openapi/v2";
constexpr std::string_view v3_path = "/openapi/v3";
// Clients ask with the older name, in which '@' is no legal character of a media type; the answer has the newer one.
constexpr std::string_view v2_protobuf_asked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
constexpr std::string_view v2_protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

// A first guess at what the values of one document take; the arena grows from there.
constexpr std::size_t arena_bytes = 1024 * 1024;

// The tags of what has been built, by path and type. Their number is that of the documents.
class Tags {
 public:
  std::string find(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    const auto found = tags_.find(key);
    return found == tags_.end() ? std::string() : found->second;
  }
  void put(const std::string& key, const std::string& etag) {
    const std::scoped_lock lock(mutex_);
    tags_[key] = etag;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> tags_;
};

// Shared by all cores: what is in it follows from the program alone.
Tags& known_tags() {
  static Tags tags;
  return tags;
}

bool is_actions(std::string_view group, std::string_view version) {
  return group == actions::group && std::ranges::find(actions::versions, version) != actions::versions.end();
}

bool has_document(std::string_view group, std::string_view version) {
  if (is_actions(group, version)) return true;
  return std::ranges::any_of(api::kinds(), [&](const api::Kind& kind) {
    const api::KindVersion* found = kind.group == group && kind.list_type ? kind.version(version) : nullptr;
    return found && found->served;
  });
}

std::string text_of(const json::Object& document) {
  std::string out;
  json::write(document, out);
  return out;
}

std::string build_v3(std::string_view group, std::string_view version) {
  json::Arena arena(arena_bytes);
  if (is_actions(group, version)) return text_of(actions::openapi_v3(version, arena.storage()));
  return text_of(api::openapi_v3_document(group, version, title, release, arena.storage()));
}

std::string build_v2(bool protobuf) {
  json::Arena arena(arena_bytes);
  const json::Object document = api::openapi_v2_document(title, release, arena.storage());
  return protobuf ? openapi_v2_protobuf(document) : text_of(document);
}

// The document of this key, built only when the client does not have it.
Document built_document(const std::string& key, std::string_view content_type, const DiscoveryRequest& request,
                        const std::function<std::string()>& build) {
  Document document{.content_type = std::string(content_type),
                    .etag = known_tags().find(key),
                    .cache_control = std::string(revalidate)};
  if (!document.etag.empty() && matches_tag(request.if_none_match, document.etag)) {
    document.status = 304;
    return document;
  }
  document = finish_document(build(), content_type, request);
  known_tags().put(key, document.etag);
  return document;
}

// "apis/kubevirt.io/v1", "api/v1"
std::string path_of(std::string_view group, std::string_view version) {
  return group.empty() ? fmt::format("api/{}", version) : fmt::format("apis/{}/{}", group, version);
}

std::string tag_of_v3(std::string_view group, std::string_view version) {
  const std::string key = path_of(group, version);
  std::string etag = known_tags().find(key);
  if (etag.empty()) {
    etag = fmt::format("\"{}\"", content_hash(build_v3(group, version)));
    known_tags().put(key, etag);
  }
  return etag;
}

std::string_view unquoted(std::string_view etag) { return etag.substr(1, etag.size() - 2); }

std::string v3_index() {
  std::string out = R"({"paths":{)";
  bool first = true;
  for (const ApiGroup& group : api_groups()) {
    for (const std::string_view version : group.versions) {
      if (!has_document(group.name, version)) continue;
      const std::string path = path_of(group.name, version);
      if (!first) out.push_back(',');
      first = false;
      fmt::format_to(std::back_inserter(out), R"("{0}":{{"serverRelativeURL":"{1}/{0}?hash={2}"}})", path, v3_path,
                     unquoted(tag_of_v3(group.name, version)));
    }
  }
  return out.append("}}");
}

bool accepts_json(const DiscoveryRequest& request) {
  return std::ranges::any_of(read_accept(request.accept),
                             [](const AcceptClause& clause) { return accepts(clause, json_type); });
}

Document v2_document(const DiscoveryRequest& request) {
  for (const AcceptClause& clause : read_accept(request.accept)) {
    if (accepts(clause, json_type)) return built_document("v2", json_type, request, [] { return build_v2(false); });
    if (clause.type == v2_protobuf_asked || clause.type == v2_protobuf)
      return built_document("v2 protobuf", v2_protobuf, request, [] { return build_v2(true); });
  }
  return not_acceptable(fmt::format("{} and {}", json_type, v2_protobuf));
}

// A URL with the hash of the present content may be kept for ever; one with another hash has moved.
Document v3_document(std::string_view group, std::string_view version, const DiscoveryRequest& request) {
  const auto asked_hash = query_value(request.query, "hash");
  if (asked_hash) {
    const std::string etag = tag_of_v3(group, version);
    if (*asked_hash != unquoted(etag))
      return {.status = 301,
              .location = fmt::format("{}/{}?hash={}", v3_path, path_of(group, version), unquoted(etag))};
  }
  Document document =
      built_document(path_of(group, version), json_type, request, [&] { return build_v3(group, version); });
  if (asked_hash) document.cache_control = "public, immutable, max-age=31536000";
  return document;
}

// The group and version behind /openapi/v3/, when it has a document.
std::optional<GroupVersion> document_name(std::string_view rest) {
  GroupVersion name;
  if (rest.starts_with("apis/"))
    name = split_api_version(rest.substr(5));
  else if (rest.starts_with("api/"))
    name = {.group = {}, .version = rest.substr(4)};
  else
    return std::nullopt;
  if (rest.starts_with("apis/") == name.group.empty()) return std::nullopt;
  return has_document(name.group, name.version) ? std::optional(name) : std::nullopt;
}

}  // namespace

std::optional<Document> openapi_document(const DiscoveryRequest& request) {
  if (request.path == v2_path) return v2_document(request);
  if (!request.path.starts_with(v3_path)) return std::nullopt;
  std::string_view rest = request.path.substr(v3_path.size());
  if (rest.empty()) return finish_document(v3_index(), json_type, request);  // there is but one form
  if (!rest.starts_with('/')) return std::nullopt;
  const auto name = document_name(rest.substr(1));
  if (!name) return std::nullopt;
  if (!accepts_json(request)) return not_acceptable(json_type);
  return v3_document(name->group, name->version, request);
}

}  // namespace vg::resources
