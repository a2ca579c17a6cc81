#include "kube/api_server_health.h"

#include <chrono>
#include <utility>

#include "base/json_text.h"
#include "base/limits.h"
#include "json/arena.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::kube {
namespace {

// The document, in the spelling of our own writer: what is passed on is known to be JSON.
Result<std::string> version_text(const Result<http::Answer>& answer) {
  if (!answer) return fail(answer.error());
  json::Arena arena;
  const auto document = json::parse(answer->body, arena.storage());
  if (!document || !document->is_object())
    return fail(Status::internal_error("the version document of the API server is not a JSON object"));
  return json::to_text(*document);
}

}  // namespace

void ApiServerHealth::forget() {
  const std::scoped_lock lock(mutex_);
  known_.version.reset();
}

// A failure counts until the next question should have been answered: whoever asks meanwhile, and be it a thousand
// times, makes no work.
ApiServerHealth::Known ApiServerHealth::known() {
  const std::scoped_lock lock(mutex_);
  if (clock_.steady_now() - failed_at_ >= times_.bad + limits::kube_version_deadline) known_.failure.reset();
  return known_;
}

Task<ApiServerHealth::Known> ApiServerHealth::ask(Core& core) {
  Question question{.target = "/version", .subject = {"none", "none"}, .timeout = limits::kube_version_deadline};
  auto text = version_text(co_await client_.ask(core, std::move(question)));
  const auto now = clock_.steady_now();
  Known found;
  if (text) {
    found.version = std::make_shared<const std::string>(std::move(*text));
    answered_at_.store(now, std::memory_order_relaxed);
  } else {
    found.failure = std::make_shared<const std::string>(std::move(text.error().message));
  }
  const std::scoped_lock lock(mutex_);
  known_ = found;
  if (found.failure) failed_at_ = now;
  co_return found;
}

Task<void> ApiServerHealth::keep_asking(Core& core, std::function<void()> in_vain, std::function<void()> returned) {
  bool lost = false;
  for (;;) {
    const bool answered = (co_await ask(core)).version != nullptr;
    if (!answered) in_vain();
    if (answered && lost) returned();
    lost = !answered;
    co_await core.sleep(answered ? times_.good : times_.bad);
  }
}

std::optional<std::string> ApiServerHealth::problem() const {
  if (clock_.steady_now() - answered_at_.load(std::memory_order_relaxed) < times_.lost_after) return std::nullopt;
  return "the API server does not answer";
}

Task<http::Response> ApiServerHealth::answer(Core& core) {
  Known found = known();
  if (!found.version && !found.failure) found = co_await ask(core);
  const auto& version = found.version;
  http::Response response{.status = version ? 200 : 500, .content_type = "application/json", .headers = {}, .body = {}};
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (version) {
    response.body = R"({"apiserver":{"connectivity":"ok","version":)" + *version;
  } else {
    response.body = R"({"apiserver":{"connectivity":"failed","error":)";
    append_json_string(response.body, *found.failure);
  }
  response.body += R"(},"config-resource-version":)";
  append_json_string(response.body, config_.current()->resource_version());
  response.body += "}\n";
  co_return response;
}

}  // namespace vg::kube
