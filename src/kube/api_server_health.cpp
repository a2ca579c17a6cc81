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

Task<Result<std::shared_ptr<const std::string>>> ApiServerHealth::ask(http::Core& core) {
  Question question{.target = "/version", .about = {"none", "none"}, .timeout = version_deadline};
  auto text = version_text(co_await client_.ask(core, std::move(question)));
  if (!text) co_return fail(std::move(text.error()));
  answered_at_.store(clock_.steady_now(), std::memory_order_relaxed);
  auto version = std::make_shared<const std::string>(std::move(*text));
  const std::scoped_lock lock(mutex_);
  version_ = version;
  co_return version;
}

Task<void> ApiServerHealth::keep_asking(http::Core& core, std::function<void()> returned) {
  bool lost = false;
  for (;;) {
    const bool answered = (co_await ask(core)).has_value();
    if (!answered) forget();
    if (answered && lost) returned();
    lost = !answered;
    co_await core.sleep(answered ? times_.good : times_.bad);
  }
}

std::optional<std::string> ApiServerHealth::problem() const {
  if (clock_.steady_now() - answered_at_.load(std::memory_order_relaxed) < times_.lost_after) return std::nullopt;
  return "the API server does not answer";
}

Task<http::Response> ApiServerHealth::answer(http::Core& core) {
  std::shared_ptr<const std::string> version;
  {
    const std::scoped_lock lock(mutex_);
    version = version_;
  }
  std::string failure;
  if (!version) {
    auto asked = co_await ask(core);
    if (asked)
      version = std::move(*asked);
    else
      failure = std::move(asked.error().message);
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
