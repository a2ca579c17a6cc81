#include "kube/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "actions/action.h"
#include "actions/openapi.h"
#include "json/arena.h"
#include "json/write.h"
#include "resources/discovery.h"
#include "resources/discovery_document.h"

namespace vg::kube {
namespace {

constexpr std::string_view json_type = "application/json";
constexpr std::string_view openapi_v3 = "/openapi/v3";
// Whose behaviour we have.
constexpr std::string_view release = "v1.9.0";

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
  auto document = resources::discovery_document(path, json_type, "");
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
  return fmt::format(R"({{"paths":{{{}}}}})", fmt::join(entries, ","));
}

std::string openapi_v2() {
  json::Arena arena;
  std::string text;
  json::write(actions::openapi_v2(release, arena.storage()), text);
  return text;
}

std::string body_of(std::string_view path) {
  if (path == "/") return std::string(root_text);
  if (path == "/apis") return std::string(groups_text);
  // Both are asked for again and again, and cost the making of much larger documents.
  if (path == "/openapi/v2") {
    static const std::string text = openapi_v2();
    return text;
  }
  if (path == openapi_v3) {
    static const std::string text = openapi_index();
    return text;
  }
  const bool version = std::ranges::any_of(actions::versions, [&](std::string_view name) {
    const std::string at = fmt::format("/apis/{}/{}", actions::group, name);
    return path == at || path == std::string(openapi_v3) + at;
  });
  return version ? document_text(path) : std::string();
}

}  // namespace

std::optional<http::Response> group_document(std::string_view path, const http::Request& request) {
  std::string body = body_of(path);
  if (body.empty()) return std::nullopt;
  http::Response response{.status = 200, .content_type = json_type, .headers = {}, .body = {}};
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (request.method != "GET") {
    response.status = 405;
    response.content_type = "text/plain; charset=utf-8";
    response.headers.emplace_back("Allow", "GET");
    response.body = "405: this takes GET";
    return response;
  }
  if (path.starts_with("/openapi/")) {
    const std::string tag = fmt::format("\"{}\"", resources::content_hash(body));
    response.headers.emplace_back("Etag", tag);
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
