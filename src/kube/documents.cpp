#include "kube/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "actions/action.h"
#include "actions/negotiation.h"
#include "actions/openapi.h"
#include "base/joined.h"
#include "base/media_types.h"
#include "base/phrases.h"
#include "catalog/request_info.h"
#include "discovery/discovery.h"
#include "discovery/discovery_document.h"
#include "json/arena.h"
#include "json/write.h"
#include "upstream_release.h"

namespace vg::kube {
namespace {

constexpr std::string_view openapi_v3 = "/openapi/v3";

// Upstream's "name" lacks an "s" (spec server Q11); kube-apiserver makes its own document of the group.
constexpr std::string_view groups_text =
    R"({"kind":"APIGroupList","groups":[{"kind":"APIGroup","name":"subresource.kubevirt.io","versions":)"
    R"([{"groupVersion":"subresources.kubevirt.io/v1","version":"v1"},)"
    R"({"groupVersion":"subresources.kubevirt.io/v1alpha3","version":"v1alpha3"}],)"
    R"("preferredVersion":{"groupVersion":"subresources.kubevirt.io/v1","version":"v1"},)"
    R"("serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":""}]}]})";
constexpr std::string_view root_text =
    R"({"paths":["/apis","/openapi/v2","/apis/subresources.kubevirt.io","/apis/subresources.kubevirt.io/v1",)"
    R"("/apis/subresources.kubevirt.io","/apis/subresources.kubevirt.io/v1alpha3"]})";

std::string document_text(std::string_view path) {
  auto document = resources::discovery_document(path, json_media_type, "");
  return document && document->status == 200 ? std::move(document->body) : std::string();
}

// The index names each document together with its hash, so that whoever has it need not fetch it again.
std::string openapi_index() {
  std::vector<std::string> entries;
  for (const std::string_view version : actions::versions) {
    const std::string at = fmt::format("apis/{}/{}", actions::group, version);
    const std::string body = document_text(fmt::format("{}/{}", openapi_v3, at));
    entries.push_back(fmt::format(R"("{0}":{{"serverRelativeURL":"{1}/{0}?hash={2}"}})", at, openapi_v3,
                                  resources::content_hash(body)));
  }
  return fmt::format(R"({{"paths":{{{}}}}})", joined(entries, ","));
}

std::string openapi_v2() {
  json::Arena arena;
  std::string text;
  json::write(actions::openapi_v2(upstream::kubevirt_release, arena.storage()), text);
  return text;
}

constexpr std::string_view openapi_v2_path = "/openapi/v2";

bool is_version(std::string_view path) {
  return std::ranges::any_of(actions::versions, [&](std::string_view name) {
    return path == fmt::format("/apis/{}/{}", actions::group, name);
  });
}
bool is_openapi_version(std::string_view path) {
  return path.starts_with(openapi_v3) && is_version(path.substr(openapi_v3.size()));
}

std::string body_of(std::string_view path) {
  if (path == "/") return std::string(root_text);
  if (path == "/apis") return std::string(groups_text);
  // Both are asked for again and again, and cost the making of much larger documents.
  if (path == openapi_v2_path) {
    static const std::string text = openapi_v2();
    return text;
  }
  if (path == openapi_v3) {
    static const std::string text = openapi_index();
    return text;
  }
  return is_version(path) || is_openapi_version(path) ? document_text(path) : std::string();
}

http::Response answer(int code, std::string_view content_type, std::string body = {}) {
  http::Response response{.status = code, .content_type = content_type, .headers = {}, .body = std::move(body)};
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return response;
}

// Routing is refused in plain text (spec subresources 0.3).
std::optional<http::Response> find_refusal(std::string_view path, const http::Request& request) {
  constexpr std::string_view text_type = "text/plain; charset=utf-8";
  if (request.method != "GET") {
    http::Response response = answer(405, text_type, fmt::format("{}: use GET", phrases::method_not_allowed));
    response.headers.emplace_back("Allow", "GET");
    return response;
  }
  if (path == openapi_v2_path && !actions::takes_body(json_media_type, request))
    return answer(415, text_type, fmt::format("the body must be {}", json_media_type));
  if (!actions::wants_json(request))
    return answer(406, text_type, fmt::format("the answer is {0}\n\n{0}", json_media_type));
  return std::nullopt;
}

// A URL with the hash of the present content may be kept for ever; one with another hash has moved.
std::optional<http::Response> mind_hash(std::string_view path, std::string_view query, std::string_view hash,
                                        http::Response& response) {
  const auto asked = resources::query_value(query, "hash");
  if (!asked || asked->empty()) return std::nullopt;
  if (*asked == hash) {
    response.headers.emplace_back("Cache-Control", "public, immutable, max-age=31536000");
    return std::nullopt;
  }
  http::Response moved = answer(301, {});
  moved.headers.emplace_back("Vary", "Accept");
  moved.headers.emplace_back("Location", fmt::format("{}?hash={}", path, hash));
  return moved;
}

}  // namespace

std::optional<http::Response> group_document(std::string_view path, const http::Request& request) {
  std::string body = body_of(path);
  if (body.empty()) return std::nullopt;
  if (auto refusal = find_refusal(path, request)) return refusal;
  http::Response response = answer(200, json_media_type);
  if (path.starts_with("/openapi/")) {
    const std::string hash = resources::content_hash(body), tag = fmt::format("\"{}\"", hash);
    response.headers.emplace_back("Etag", tag);
    if (is_openapi_version(path)) {
      response.headers.emplace_back("Vary", "Accept");
      if (auto moved = mind_hash(path, request.query, hash, response)) return moved;
    }
    if (resources::matches_tag(request.headers.find("if-none-match").value_or(""), tag)) {
      response.status = 304;
      response.content_type = {};
      return response;
    }
  }
  response.body = std::move(body);
  response.body += '\n';
  return response;
}

}  // namespace vg::kube
