#include "kube/api_server_health.h"

#include <chrono>
#include <utility>

#include "base/json_text.h"
#include "json/arena.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::kube {
namespace {

// Shorter than what probes wait.
constexpr std::chrono::milliseconds version_deadline{3000};

// The document, in the spelling of our own writer: what is passed on is known to be JSON.
Result<std::string> version_text(const Result<http::Answer>& answer) {
  if (!answer) return fail(answer.error());
  json::Arena arena;
  const auto document = json::parse(answer->body, arena.storage());
  if (!document || !document->is_object())
    return fail(Status::internal_error("the API server's version is no JSON object"));
  return json::to_text(*document);
}

}  // namespace

void ApiServerHealth::forget() {
  const std::scoped_lock lock(mutex_);
  version_.reset();
}

Task<http::Response> ApiServerHealth::answer(http::Core& core) {
  std::shared_ptr<const std::string> version;
  {
    const std::scoped_lock lock(mutex_);
    version = version_;
  }
  std::string failure;
  if (!version) {
    Question question{.target = "/version", .about = {"GET", "version"}, .timeout = version_deadline};
    auto text = version_text(co_await client_.ask(core, std::move(question)));
    if (text) {
      version = std::make_shared<const std::string>(std::move(*text));
      const std::scoped_lock lock(mutex_);
      version_ = version;
    } else {
      failure = std::move(text.error().message);
    }
  }
  http::Response response{.status = version ? 200 : 500, .content_type = "application/json", .headers = {}, .body = {}};
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (version) {
    response.body = R"({"apiserver":{"connectivity":"ok","version":)" + *version;
  } else {
    response.body = R"({"apiserver":{"connectivity":"failed","error":)";
    append_json_string(response.body, failure);
  }
  response.body += R"(},"config-resource-version":)";
  append_json_string(response.body, config_.current()->resource_version());
  response.body += "}\n";
  co_return response;
}

}  // namespace vg::kube
