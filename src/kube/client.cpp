#include "kube/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/media_types.h"
#include "http/proxy.h"
#include "json/parse.h"
#include "json/write.h"
#include "kube/answer.h"
#include "kube/paths.h"
#include "tracing/hand_over.h"

namespace vg::kube {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::string_view dry_run_query = "?dryRun=All";

std::vector<double> latency_bounds() {
  return {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60};
}

std::string shown(const http::Origin& origin) { return http::authority(origin.host, origin.port); }

// The URL with placeholders for what is different in every request: few series, whoever asks for what. The placeholders
// are escaped, as dashboards made for upstream's client expect them.
std::string path_template(const Question& question) {
  std::string_view path = question.target;
  path = path.substr(0, path.find('?'));
  const auto plural = path.rfind(fmt::format("/{}", question.subject.resource));
  std::string url(plural == path.npos ? path : path.substr(0, plural));
  constexpr std::string_view namespaces = "/namespaces/";
  if (const auto at = url.find(namespaces); at != url.npos) url = url.substr(0, at) + "/namespaces/%7Bnamespace%7D";
  if (plural == path.npos) return url;
  const std::string_view rest = path.substr(plural + 1 + question.subject.resource.size());
  url += fmt::format("/{}", question.subject.resource);
  if (rest.empty()) return url;
  const auto slash = rest.find('/', 1);
  return url + "/%7Bname%7D" + std::string(slash == rest.npos ? std::string_view() : rest.substr(slash));
}

std::string url_template(const Credentials& credentials, const Question& question) {
  const http::Origin& origin = credentials.origin();
  return fmt::format("{}://{}{}{}", origin.tls ? "https" : "http", shown(origin), credentials.path_prefix(),
                     path_template(question));
}

milliseconds left(Clock::Steady deadline) {
  const auto time = std::chrono::duration_cast<milliseconds>(deadline - SteadyClock::now());
  return std::max(time, milliseconds(1));
}

tracing::Span look_up_span(const tracing::Context& trace, const Question& question) {
  tracing::Span span = tracing::Span::below(trace, question.subject.verb, tracing::SpanKind::client);
  if (!span.recorded()) return span;
  span.rename(fmt::format("{} {}", question.subject.verb, question.subject.resource));
  span.set("http.request.method", question.method);
  return span;
}

Result<json::Value> document_of(Result<http::Answer> answer, const json::StoragePtr& storage) {
  if (!answer) return fail(std::move(answer.error()));
  auto document = json::parse(answer->body, storage, {.bytes_max = SIZE_MAX});
  if (!document)
    return fail(Status::internal_error("the answer of the API server is not JSON: " + document.error().message));
  return document;
}

}  // namespace

Client::Counted::Counted(metrics::Registry& registry)
    : requests(registry.counters("kubevirt_rest_client_requests_total",
                                 "Requests to the API server, by their outcome and what they were about.",
                                 {"code", "method", "host", "resource", "verb"})),
      latency(registry.histograms("kubevirt_rest_client_request_latency_seconds",
                                  "How long requests to the API server took.", {"verb", "url"}, latency_bounds())),
      waited(registry.histograms("kubevirt_rest_client_rate_limiter_duration_seconds",
                                 "How long requests to the API server were queued.", {"verb", "url"},
                                 metrics::exponential_buckets(0.001, 2, 10))) {}

Client::Client(Parts parts)
    : parts_(std::move(parts)), counted_(parts_.metrics ? std::make_unique<Counted>(*parts_.metrics) : nullptr) {}

Client::~Client() = default;

void Client::doubt_connections() {
  const std::scoped_lock lock(mutex_);
  for (auto& [core, client] : clients_) core->post([kept = client.get()] { kept->drop_idle(); });
}

void Client::close() {
  const std::scoped_lock lock(mutex_);
  clients_.clear();
}

http::Client& Client::client(Core& core) {
  const std::scoped_lock lock(mutex_);
  auto& client = clients_[&core];
  if (!client) {
    http::ClientOptions options;
    options.tls = [this] { return parts_.credentials.tls(); };
    options.user_agent = parts_.user_agent;
    options.proxy = parts_.credentials.proxy();
    options.idle_per_origin_max = 16;  // there is one origin, and every review may have a question for it
    client = std::make_unique<http::Client>(core, std::move(options));
  }
  return *client;
}

Result<http::ClientRequest> Client::request_of(const Question& question, const std::string& target) const {
  http::ClientRequest request{.method = question.method, .target = target};
  auto authorization = question.token.empty() ? parts_.credentials.authorization()
                                              : Result<std::string>(fmt::format("Bearer {}", question.token));
  if (!authorization) return fail(std::move(authorization.error()));
  if (!authorization->empty()) request.headers.emplace_back("Authorization", std::move(*authorization));
  request.headers.emplace_back("Accept", question.accept.empty() ? json_media_type : question.accept);
  for (const auto& [name, value] : parts_.headers) request.headers.emplace_back(name, value);
  if (!question.content_type.empty()) request.headers.emplace_back("Content-Type", question.content_type);
  request.body = question.body;
  request.body_limit_bytes = question.body_limit_bytes;
  if (question.repeatable) request.repeatable = question.repeatable;
  return request;
}

Task<Result<void>> Client::wait_for_turn(Core& core, const Question& question, Clock::Steady deadline) {
  SteadyClock::duration waited{};
  RateLimiter::Place place(parts_.limiter, question.asker);
  for (auto wait = place.left(); wait.count() > 0; wait = place.left()) {
    if (wait >= deadline - SteadyClock::now())
      co_return fail(Status::too_many_requests(
          "the queue of requests to the API server is full; raise the rate limit in apiConfiguration or "
          "webhookConfiguration of the KubeVirt object",
          1));
    const auto began = SteadyClock::now();
    co_await core.sleep(std::chrono::ceil<milliseconds>(wait));
    waited += SteadyClock::now() - began;
  }
  if (counted_)
    counted_->waited.with({question.subject.verb, url_template(parts_.credentials, question)})
        ->observe(std::chrono::duration<double>(waited).count());
  co_return Result<void>();
}

Task<Result<http::Answer>> Client::ask_once(Core& core, const Question& question, Clock::Steady deadline) {
  const tracing::Context trace = tracing::take_over();
  const std::string target = parts_.credentials.path_prefix() + question.target;
  auto request = request_of(question, target);
  if (!request) co_return fail(std::move(request.error()));
  request->timeout = left(deadline);
  if (trace) {
    request->headers.emplace_back("traceparent", tracing::print_traceparent(trace));
    if (!trace.state.empty()) request->headers.emplace_back("tracestate", trace.state);
  }
  const auto began = SteadyClock::now();
  auto answer = co_await client(core).fetch(parts_.credentials.origin(), std::move(*request));
  count(question, answer ? answer->head.status : 0, began);
  co_return answer;
}

void Client::count(const Question& question, int status, Clock::Steady began) const {
  if (!counted_) return;
  const std::string code = status == 0 ? std::string("<error>") : std::to_string(status);
  counted_->requests
      .with(
          {code, question.method, shown(parts_.credentials.origin()), question.subject.resource, question.subject.verb})
      ->add();
  counted_->latency.with({question.subject.verb, url_template(parts_.credentials, question)})
      ->observe(std::chrono::duration<double>(SteadyClock::now() - began).count());
}

Task<Result<http::Answer>> Client::ask(Core& core, Question question) {
  tracing::Span span = look_up_span(tracing::take_over(), question);
  const auto deadline = SteadyClock::now() + question.timeout;
  const bool repeatable = question.repeatable.value_or(question.method == "GET");
  bool doubted = false;
  for (int attempt = 1;; ++attempt) {
    if (auto turn = co_await wait_for_turn(core, question, deadline); !turn) co_return fail(std::move(turn.error()));
    const tracing::HandOver trace(span.context());
    auto answer = co_await ask_once(core, question, deadline);
    // A token may have been replaced since we looked; nothing was done for a request that was not let in.
    if (answer && answer->head.status == 401 && !std::exchange(doubted, true)) {
      parts_.credentials.doubt();
      continue;
    }
    const auto pause = retry_pause(answer, repeatable, attempt);
    if (pause && SteadyClock::now() + *pause < deadline) {
      co_await core.sleep(*pause);
      continue;
    }
    span.set("http.response.status_code", answer ? answer->head.status : 0);
    if (answer && answer->head.status >= 300) co_return fail(refusal_of(*answer));
    co_return answer;
  }
}

Task<Result<http::AnswerStream>> Client::open(Core& core, Question question, milliseconds silence_max) {
  auto stream = co_await pass(core, std::move(question), silence_max);
  if (!stream || stream->head().status < 300) co_return stream;
  if (stream->head().status == 401) parts_.credentials.doubt();
  http::Answer refusal{.head = stream->head(), .body = {}};
  while (refusal.body.size() < limits::kib * 64) {
    const auto piece = co_await stream->read();
    if (!piece || piece->empty()) break;
    refusal.body += *piece;
  }
  co_return fail(refusal_of(refusal));
}

Task<Result<http::AnswerStream>> Client::pass(Core& core, Question question, milliseconds silence_max) {
  const auto deadline = SteadyClock::now() + question.timeout;
  if (auto turn = co_await wait_for_turn(core, question, deadline); !turn) co_return fail(std::move(turn.error()));
  const std::string target = parts_.credentials.path_prefix() + question.target;
  auto request = request_of(question, target);
  if (!request) co_return fail(std::move(request.error()));
  request->timeout = left(deadline);
  request->read_timeout = silence_max;
  const auto began = SteadyClock::now();
  auto stream = co_await client(core).open(parts_.credentials.origin(), std::move(*request));
  count(question, stream ? stream->head().status : 0, began);
  co_return stream;
}

Task<Result<http::Upgraded>> Client::dial(Core& core, Question question, std::vector<std::string> subprotocols) {
  const auto deadline = SteadyClock::now() + question.timeout;
  if (auto turn = co_await wait_for_turn(core, question, deadline); !turn) co_return fail(std::move(turn.error()));
  const std::string target = parts_.credentials.path_prefix() + question.target;
  auto request = request_of(question, target);
  if (!request) co_return fail(std::move(request.error()));
  request->timeout = left(deadline);
  co_return co_await client(core).dial_upgrade(parts_.credentials.origin(), std::move(*request),
                                               std::move(subprotocols));
}

Task<Result<json::Value>> Client::get(Core& core, ObjectName object, json::StoragePtr storage, Asker asker) {
  Question question{.target = object_path(object), .subject = {"GET", object.resource.plural}};
  question.asker = asker.name;
  question.token = asker.token;
  auto document = document_of(co_await ask(core, std::move(question)), storage);
  if (document)
    if (auto good = check_object(*document, object.name); !good) co_return fail(std::move(good.error()));
  co_return document;
}

Task<Result<json::Value>> Client::list(Core& core, ResourceName resource, std::string_view ns, std::string query,
                                       json::StoragePtr storage, std::size_t bytes_max, Asker asker) {
  Question question{.target = collection_path(resource, ns) + query, .subject = {"LIST", resource.plural}};
  question.asker = asker.name;
  question.token = asker.token;
  question.body_limit_bytes = bytes_max;
  auto document = document_of(co_await ask(core, std::move(question)), storage);
  if (document)
    if (auto good = check_list(*document); !good) co_return fail(std::move(good.error()));
  co_return document;
}

Task<Result<json::Value>> Client::create(Core& core, ResourceName resource, std::string_view ns,
                                         std::string_view object, bool dry_run, json::StoragePtr storage) {
  Question question{.method = "POST",
                    .target = collection_path(resource, ns),
                    .subject = {"CREATE", resource.plural},
                    .content_type = json_media_type,
                    .body = object};
  if (dry_run) question.target += dry_run_query;
  co_return document_of(co_await ask(core, std::move(question)), storage);
}

Task<Result<json::Value>> Client::update(Core& core, ObjectName object, std::string_view subresource,
                                         const json::Value& value, bool dry_run, json::StoragePtr storage) {
  const std::string body = json::to_text(value);
  Question question{.method = "PUT",
                    .target = object_path(object, subresource),
                    .subject = {"UPDATE", object.resource.plural},
                    .content_type = json_media_type,
                    .body = body};
  if (dry_run) question.target += dry_run_query;
  co_return document_of(co_await ask(core, std::move(question)), storage);
}

Task<Result<json::Value>> Client::patch(Core& core, ObjectName object, std::string_view subresource,
                                        std::string_view operations, bool dry_run, json::StoragePtr storage) {
  Question question{.method = "PATCH",
                    .target = object_path(object, subresource),
                    .subject = {"PATCH", object.resource.plural},
                    .content_type = "application/json-patch+json",
                    .body = operations};
  if (dry_run) question.target += dry_run_query;
  co_return document_of(co_await ask(core, std::move(question)), storage);
}

Task<Result<void>> Client::remove(Core& core, ObjectName object, bool dry_run) {
  Question question{.method = "DELETE", .target = object_path(object), .subject = {"DELETE", object.resource.plural}};
  if (dry_run) question.target += dry_run_query;
  auto answer = co_await ask(core, std::move(question));
  if (!answer) co_return fail(std::move(answer.error()));
  co_return Result<void>();
}

}  // namespace vg::kube
