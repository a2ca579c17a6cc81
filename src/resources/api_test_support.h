// What the tests of the resource API share: the whole chain from a request to the store, without a network.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "auth/identify.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "housekeeping/first_start.h"
#include "http/core.h"
#include "http/exchange.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "resources/api.h"
#include "resources/tables/table_call.h"
#include "server/router.h"
#include "store/testing.h"

namespace vg::resources::testing {

using Header = std::pair<std::string, std::string>;

// A request on a real core. The test waits for the answer, or looks at a stream while it goes on.
class TestExchange final : public http::Exchange {
 public:
  TestExchange(Core& core, std::string method, std::string target, std::string body, std::vector<Header> headers)
      : core_(core), method_(std::move(method)), target_(std::move(target)), body_(std::move(body)) {
    request_.method = method_;
    const std::string_view all = target_;
    request_.target = all;
    request_.path = all.substr(0, all.find('?'));
    if (request_.path.size() < all.size()) request_.query = all.substr(request_.path.size() + 1);
    for (auto& header : headers) {
      const auto& kept = headers_.emplace_back(std::move(header));
      request_.headers.add(kept.first, kept.second);
    }
    request_.peer = &peer_;
    request_.id = "test-1";
  }

  const http::Request& request() const override { return request_; }
  Core& core() override { return core_; }
  Task<Result<std::string_view>> read_body(std::size_t limit) override {
    if (body_.size() > limit) co_return fail(Status::too_large("the body is too large"));
    co_return std::string_view(body_);
  }
  void respond(http::Response response) override {
    response_ = std::move(response);
    prepared_ = response_.prepared;  // it ends with the request
    response_.prepared = prepared_;
  }
  Task<bool> begin_stream(http::Response head) override {
    respond(std::move(head));
    co_return true;
  }
  Task<bool> write(std::string_view chunk) override {
    {
      const std::lock_guard lock(mutex_);
      streamed_ += chunk;
      ++writes_;
    }
    changed_.notify_all();
    co_return !cancelled_;
  }
  Task<Result<std::unique_ptr<Stream>>> upgrade(http::Response) override {
    co_return fail(Status::bad_request("no connection to hand over"));
  }
  bool cancelled() const override { return cancelled_; }
  void on_cancel(std::move_only_function<void()> fn) override { on_cancel_ = std::move(fn); }

  // From the test's thread.
  void cancel() {
    core_.post([this] {
      cancelled_ = true;
      if (on_cancel_) on_cancel_();
    });
  }
  // Waits until the stream holds so many lines.
  std::vector<std::string> lines(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return split().size() >= count; });
    return split();
  }
  // Waits until the stream holds so many bytes.
  std::string bytes(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return streamed_.size() >= count; });
    return streamed_;
  }
  std::size_t writes() const {
    const std::lock_guard lock(mutex_);
    return writes_;
  }
  http::Response& response() { return response_; }

 private:
  std::vector<std::string> split() const {
    std::vector<std::string> out;
    std::size_t begin = 0;
    for (auto end = streamed_.find('\n'); end != std::string::npos; end = streamed_.find('\n', begin)) {
      out.push_back(streamed_.substr(begin, end - begin));
      begin = end + 1;
    }
    return out;
  }

  Core& core_;
  std::string method_, target_, body_;
  std::deque<Header> headers_;
  http::Peer peer_;
  http::Request request_;
  http::Response response_;
  std::string prepared_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string streamed_;
  std::size_t writes_ = 0;
  bool cancelled_ = false;
  std::move_only_function<void()> on_cancel_;
};

struct Reply {
  int status = 0;
  std::string text;
  std::string content_type;
  std::vector<Header> headers;
  json::Document body;

  std::string at(std::initializer_list<std::string_view> path) const {
    const json::Value* value = json::find_path(body.root(), path);
    if (!value) return "(absent)";
    if (const auto text_value = json::as_string(value)) return std::string(*text_value);
    return json::to_text(*value);
  }
  std::string reason() const { return at({"reason"}); }
  std::vector<std::string> item_names() const {
    std::vector<std::string> names;
    if (const auto* items = json::get_array(body.root(), "items"))
      for (const auto& item : *items)
        names.emplace_back(json::as_string(json::find_path(item, {"metadata", "name"})).value_or("?"));
    return names;
  }
  // "reason field" of every cause.
  std::set<std::string> causes() const {
    std::set<std::string> out;
    const json::Value* list = json::find_path(body.root(), {"details", "causes"});
    if (const auto* causes = json::as_array(list))
      for (const auto& cause : *causes)
        out.insert(std::string(json::get_string_or(cause, "reason")) + " " +
                   std::string(json::get_string_or(cause, "field")));
    return out;
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> out;
    for (const auto& [name, value] : headers)
      if (name == "Warning") out.push_back(value);
    return out;
  }
};

// Allows everything but what the test forbids by "verb resource".
class TestAuthorizer final : public Authorizer {
 public:
  std::set<std::string> forbidden;
  bool away = false;  // it cannot say
  Task<Result<AccessDecision>> authorize(Core&, const User&, const AccessAttributes& attributes) override {
    if (away) co_return fail(Status::unavailable("the test says nothing"));
    const bool no = forbidden.contains(std::string(attributes.verb) + " " + std::string(attributes.resource));
    co_return AccessDecision{.allowed = !no, .reason = no ? "the test says so" : ""};
  }
};

// Everybody holds everything.
class TestRules final : public auth::RuleResolver {
 public:
  std::vector<auth::PolicyRule> rules_for(const User&, std::string_view) const override { return {everything()}; }
  Result<std::vector<auth::PolicyRule>> rules_of_role(std::string_view, std::string_view,
                                                      std::string_view) const override {
    return std::vector{everything()};
  }

 private:
  static auth::PolicyRule everything() { return {.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}}; }
};

// There are no quotas, and nothing is recorded.
class NoQuotas final : public Quotas {
 public:
  std::optional<Status> find_problem(const ObjectKey&, const json::Object*, const json::Object&) const override {
    return std::nullopt;
  }
  Task<void> counted(Core&, ObjectKey) override { co_return; }
};
class NoAudit final : public Audit {
 public:
  void write(AuditKind, const AuditEntry&) override {}
  Result<void> takes_changes() const override { return {}; }
};
class NoTokens final : public auth::TokenIssuer {
 public:
  Result<auth::IssuedToken> issue(const auth::TokenOrder&) const override {
    return fail(Status::internal_error("this test has no tokens"));
  }
};

class ApiTest : public ::testing::Test {
 protected:
  static constexpr const char* vms = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines";
  static constexpr const char* config_maps = "/api/v1/namespaces/default/configmaps";

  explicit ApiTest(store::Options options = {}) {
    options.path = folder_.file("store.db");
    store_ = store::must_open(std::move(options));
    const auto started = first_start(*store_, {.ca_bundle = "CA", .architecture = "amd64"}, clock_);
    EXPECT_TRUE(started);
    commits_ = std::make_unique<Commits>(*store_);
    cores_ = std::make_unique<http::CoreThreads>(2);
    reviews_.emplace(auth::ReviewParts{.authorizer = authorizer_,
                                       .rules = rules_,
                                       .identifier = identifier_,
                                       .issuer = tokens_,
                                       .store = *store_,
                                       .clock = clock_});
    api_ = std::make_unique<ResourceApi>(parts(admission::offline_environment()));
    api_->add_routes(router_);
  }
  ~ApiTest() override {
    commits_->wait_for_all();  // answers are posted to the cores
    cores_.reset();
  }

  ApiParts parts(const admission::Environment& environment) {
    return {.store = *store_,
            .commits = *commits_,
            .authorizer = authorizer_,
            .identifier = identifier_,
            .clock = clock_,
            .rules = rules_,
            .table = make_table,
            .admission = environment,
            .reviews = *reviews_,
            .audit = audit_,
            .journal = journal_,
            .quotas = quotas_};
  }

  std::future<void> start(TestExchange& exchange) {
    auto done = std::make_shared<std::promise<void>>();
    auto future = done->get_future();
    exchange.core().post([this, &exchange, done] {
      spawn([](server::Router& router, TestExchange& served, std::shared_ptr<std::promise<void>> end) -> Task<void> {
        co_await router.handle(served);
        end->set_value();
      }(router_, exchange, done));
    });
    return future;
  }

  std::unique_ptr<TestExchange> exchange(std::string method, std::string target, std::string body = {},
                                         std::vector<Header> headers = {}, std::size_t core = 0) {
    headers.emplace_back("Authorization", "Bearer secret");
    return std::make_unique<TestExchange>((*cores_)[core], std::move(method), std::move(target), std::move(body),
                                          std::move(headers));
  }

  static Reply reply_of(TestExchange& served) {
    Reply reply;
    reply.status = served.response().status;
    reply.text = served.response().body + served.bytes(0);
    reply.content_type = served.response().content_type;
    reply.headers = served.response().headers;
    if (auto parsed = json::Document::parse(reply.text)) reply.body = std::move(*parsed);
    return reply;
  }

  Reply call(std::string method, std::string target, std::string body = {}, std::vector<Header> headers = {}) {
    auto served = exchange(std::move(method), std::move(target), std::move(body), std::move(headers));
    start(*served).get();
    return reply_of(*served);
  }
  Reply get(std::string target, std::vector<Header> headers = {}) {
    return call("GET", std::move(target), {}, std::move(headers));
  }
  Reply post(std::string target, std::string body) { return call("POST", std::move(target), std::move(body)); }
  Reply merge(std::string target, std::string body) {
    return call("PATCH", std::move(target), std::move(body), {{"Content-Type", "application/merge-patch+json"}});
  }

  static std::string vm(std::string_view name, std::string_view metadata = "") {
    return fmt::format(R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{{"name":"{}"{}}},)"
                       R"("spec":{{"runStrategy":"Halted","template":{{"spec":{{"domain":{{"devices":{{}}}}}}}}}}}})",
                       name, metadata);
  }
  static std::string config_map(std::string_view name, std::string_view metadata = "", std::string_view data = "") {
    return fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"{}}},"data":{{{}}}}})", name,
                       metadata, data);
  }

  store::TemporaryFolder folder_;
  SystemClock clock_;
  metrics::Registry metrics_;
  TestRules rules_;
  TestAuthorizer authorizer_;
  NoTokens tokens_;
  NoAudit audit_;
  journal::NoJournal journal_;
  NoQuotas quotas_;
  std::optional<auth::ReviewParts> reviews_;
  auth::Identifier identifier_{"secret", "admin", {"system:masters"}};
  std::unique_ptr<store::EmbeddedStore> store_;
  server::Router router_{{.identifier = identifier_,
                          .clock = clock_,
                          .metrics = metrics_,
                          .fairness = server::TurnKeeper::everybody_at_once()}};
  std::unique_ptr<Commits> commits_;
  std::unique_ptr<ResourceApi> api_;
  std::unique_ptr<http::CoreThreads> cores_;
};

}  // namespace vg::resources::testing
