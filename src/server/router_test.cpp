#include "server/router.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "base/log.h"
#include "json/access.h"
#include "json/document.h"
#include "server/testing/fake_exchange.h"

namespace vg::server {
namespace {

using ::testing::ElementsAre;
using testing::FakeExchange;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

RouteHandler say(std::string text) {
  return answer_with([text = std::move(text)](const Call& call) {
    return http::Response{.status = 200,
                          .content_type = "text/plain",

                          .body = text + " " + std::string(call.identity().user) + " " + std::string(call.rest())};
  });
}

struct RouterTest : ::testing::Test {
  auth::Identifier identifier{"secret", "kubernetes-admin", {"system:masters"}};
  ManualClock clock;
  metrics::Registry metrics;
  Router router{
      {.identifier = identifier, .clock = clock, .metrics = metrics, .fairness = TurnKeeper::everybody_at_once()}};

  RouterTest() {
    router.add(Access::anyone, "GET", "/open", RouteClass::health, say("open"));
    router.add(Access::authenticated, "GET", "/known", RouteClass::resource, say("known"));
    router.add(Access::administrators, "GET", "/admin", RouteClass::resource, say("admin"));
    router.add(Access::administrators, "PUT", "/admin", RouteClass::resource, say("admin put"));
    router.add(Access::anyone, Router::any_method, "/any", RouteClass::webhook, say("any"));
    router.add_prefix(Access::anyone, "GET", "/tree/", RouteClass::discovery, say("tree"));
    router.add_prefix(Access::anyone, "GET", "/tree/deep/", RouteClass::discovery, say("deep"));
    router.add(Access::anyone, "GET", "/tree/exact", RouteClass::discovery, say("exact"));
  }
  FakeExchange& ask(FakeExchange& exchange) { return exchange.run(router); }
  FakeExchange ask_as(std::string_view who, std::string method, std::string target) {
    FakeExchange exchange(std::move(method), std::move(target));
    if (who == "admin") exchange.certificate("root", {"system:masters"});
    if (who == "jane") exchange.certificate("jane", {"dev"});
    if (who == "liar") exchange.header("Authorization", "Bearer wrong");
    if (who == "token") exchange.header("Authorization", "Bearer secret");
    return std::move(exchange.run(router));
  }
};

std::string reason(const FakeExchange& exchange) {
  auto document = json::Document::parse(exchange.body());
  EXPECT_TRUE(document) << exchange.body();
  EXPECT_EQ(exchange.response().content_type, "application/json");
  EXPECT_EQ(json::get_string_or(document->root(), "kind"), "Status");
  EXPECT_EQ(json::get_int(document->root(), "code"), exchange.status());
  return std::string(json::get_string_or(document->root(), "reason"));
}

TEST_F(RouterTest, AsksNobodyOnOpenRoutes) {
  for (std::string_view who : {"nobody", "liar", "jane", "admin"})
    EXPECT_EQ(ask_as(who, "GET", "/open?x=1").body(), "open system:anonymous ") << who;
}

TEST_F(RouterTest, WantsToKnowWhoAsks) {
  auto nobody = ask_as("nobody", "GET", "/known");
  EXPECT_EQ(nobody.status(), 401);
  EXPECT_EQ(reason(nobody), "Unauthorized");
  EXPECT_THAT(nobody.response_header("WWW-Authenticate"), HasSubstr("Bearer"));
  EXPECT_EQ(ask_as("liar", "GET", "/known").status(), 401);
  EXPECT_EQ(ask_as("jane", "GET", "/known").body(), "known jane ");
  EXPECT_EQ(ask_as("token", "GET", "/known").body(), "known kubernetes-admin ");
}

TEST_F(RouterTest, KeepsAdministratorsRoutesForThem) {
  EXPECT_EQ(ask_as("nobody", "GET", "/admin").status(), 401);
  auto jane = ask_as("jane", "GET", "/admin");
  EXPECT_EQ(jane.status(), 403);
  EXPECT_EQ(reason(jane), "Forbidden");
  EXPECT_THAT(jane.body(), HasSubstr("jane"));
  EXPECT_EQ(ask_as("admin", "PUT", "/admin").body(), "admin put root ");
}

TEST_F(RouterTest, AnAdministratorWhoActsAsSomebodyElseIsNone) {
  const auto as = [&](std::vector<std::pair<std::string, std::string>> headers) {
    FakeExchange exchange("GET", "/admin");
    exchange.certificate("root", {"system:masters"});
    for (auto& [name, value] : headers) exchange.header(std::move(name), std::move(value));
    return std::move(exchange.run(router));
  };
  EXPECT_EQ(as({{"Impersonate-User", "jane"}}).status(), 403);
  EXPECT_EQ(as({{"Impersonate-User", "system:anonymous"}}).status(), 401);
  EXPECT_EQ(as({{"Impersonate-Group", "system:masters"}}).status(), 400);
  EXPECT_EQ(as({{"Impersonate-User", "jane"}, {"Impersonate-Group", "system:masters"}}).body(), "admin jane ");
}

TEST_F(RouterTest, TellsOnlyThoseWhoMayAskThatAPathDoesNotExist) {
  EXPECT_EQ(ask_as("nobody", "GET", "/nowhere").status(), 401);
  EXPECT_EQ(ask_as("jane", "GET", "/nowhere").status(), 403);
  auto admin = ask_as("admin", "GET", "/nowhere");
  EXPECT_EQ(admin.status(), 404);
  EXPECT_EQ(reason(admin), "NotFound");
  for (std::string path : {"/open/", "/opens", "//open", "/", "/../open", "*", "/tree"})
    EXPECT_EQ(ask_as("admin", "GET", path).status(), 404) << path;
}

TEST_F(RouterTest, NamesTheMethodsThatAPathTakes) {
  auto open = ask_as("nobody", "POST", "/open");
  EXPECT_EQ(open.status(), 405);
  EXPECT_EQ(open.response_header("Allow"), "GET");
  EXPECT_EQ(reason(open), "MethodNotAllowed");
  EXPECT_EQ(ask_as("nobody", "DELETE", "/admin").status(), 401);
  EXPECT_EQ(ask_as("jane", "DELETE", "/admin").status(), 403);
  auto admin = ask_as("admin", "DELETE", "/admin");
  EXPECT_EQ(admin.status(), 405);
  EXPECT_EQ(admin.response_header("Allow"), "GET, PUT");
  EXPECT_EQ(ask_as("nobody", "BREW", "/any").status(), 200);
  EXPECT_EQ(ask_as("nobody", "get", "/open").status(), 405);  // methods have a case
}

TEST_F(RouterTest, TheLongestPrefixWinsAndAWholePathBeforeIt) {
  EXPECT_EQ(ask_as("nobody", "GET", "/tree/a/b").body(), "tree system:anonymous a/b");
  EXPECT_EQ(ask_as("nobody", "GET", "/tree/deep/a").body(), "deep system:anonymous a");
  EXPECT_EQ(ask_as("nobody", "GET", "/tree/exact").body(), "exact system:anonymous ");
  EXPECT_EQ(ask_as("nobody", "GET", "/tree/").body(), "tree system:anonymous ");
}

TEST_F(RouterTest, AnEncodedPathIsTheSamePath) {
  EXPECT_EQ(ask_as("nobody", "GET", "/%6fpen").status(), 200);
  EXPECT_EQ(ask_as("nobody", "GET", "/%61dmin").status(), 401);
  EXPECT_EQ(ask_as("admin", "GET", "/%61dmin").status(), 200);
  auto broken = ask_as("nobody", "GET", "/%6");
  EXPECT_EQ(broken.status(), 400);
  EXPECT_EQ(reason(broken), "BadRequest");
}

TEST_F(RouterTest, AFailingHandlerBecomesA500ThatRevealsNothing) {
  log::Capture captured;
  router.add(Access::anyone, "GET", "/throws", RouteClass::resource,
             [](Call&) -> Task<void> { throw std::runtime_error("the secret cause"); });
  router.add(Access::anyone, "GET", "/throws-later", RouteClass::resource, [](Call& call) -> Task<void> {
    call.respond({.status = 202});
    throw std::runtime_error("too late");
    co_return;
  });
  router.add(Access::anyone, "GET", "/silent", RouteClass::resource, [](Call&) -> Task<void> { co_return; });
  auto thrown = ask_as("nobody", "GET", "/throws");
  EXPECT_EQ(thrown.status(), 500);
  EXPECT_EQ(reason(thrown), "InternalError");
  EXPECT_THAT(thrown.body(), Not(HasSubstr("secret cause")));
  EXPECT_THAT(thrown.body(), HasSubstr("test-1"));
  EXPECT_EQ(ask_as("nobody", "GET", "/silent").status(), 500);
  auto late = ask_as("nobody", "GET", "/throws-later");
  EXPECT_EQ(late.status(), 202);
  EXPECT_EQ(late.answers(), 1);
  EXPECT_THAT(captured.lines(), ::testing::Contains(HasSubstr("the secret cause")));
}

TEST_F(RouterTest, RefusesARouteThatIsThere) {
  EXPECT_THROW(router.add(Access::anyone, "GET", "/open", RouteClass::health, say("x")), std::logic_error);
  EXPECT_THROW(router.add_prefix(Access::anyone, "GET", "/tree/", RouteClass::health, say("x")), std::logic_error);
  EXPECT_THROW(router.add_prefix(Access::anyone, "GET", "/no-slash", RouteClass::health, say("x")), std::logic_error);
}

TEST_F(RouterTest, CountsByClassAndCode) {
  router.add(Access::anyone, "GET", "/odd", RouteClass::version,
             answer_with([](const Call&) { return http::Response{.status = 299}; }));
  ask_as("nobody", "GET", "/open");
  ask_as("nobody", "GET", "/open");
  ask_as("nobody", "GET", "/known");
  ask_as("admin", "GET", "/nowhere");
  ask_as("nobody", "GET", "/odd");
  const std::string text = metrics.expose();
  EXPECT_THAT(text, HasSubstr("virtgate_http_requests_total{class=\"health\",code=\"200\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("virtgate_http_requests_total{class=\"resource\",code=\"401\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("virtgate_http_requests_total{class=\"unknown\",code=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("virtgate_http_requests_total{class=\"version\",code=\"299\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("virtgate_http_request_duration_seconds_count{class=\"health\"} 2\n"));
}

// What a stream was broken off with reaches the connection, which ends without saying that this was all.
TEST_F(RouterTest, LetsABrokenStreamBreakTheConnection) {
  router.add(Access::anyone, "GET", "/stream", RouteClass::resource, [](Call& call) -> Task<void> {
    co_await call.begin_stream({.status = 200});
    co_await call.write("half");
    throw std::runtime_error("the rest is gone");
  });
  router.add(Access::anyone, "GET", "/bad", RouteClass::resource, [](Call&) -> Task<void> {
    throw std::runtime_error("no answer");
    co_return;
  });
  FakeExchange stream("GET", "/stream");
  EXPECT_THROW(stream.run(router), std::runtime_error);
  EXPECT_EQ(stream.streamed(), "half");
  EXPECT_EQ(ask_as("nobody", "GET", "/bad").status(), 500) << "there was time for an answer";
  EXPECT_THAT(metrics.expose(), HasSubstr("virtgate_http_requests_total{class=\"resource\",code=\"200\"} 1\n"))
      << "it is counted all the same";
}

struct RouterLogTest : RouterTest {
  log::Capture captured;
  ~RouterLogTest() override { log::set_verbosity(log::verbosity_default); }
};

TEST_F(RouterLogTest, WritesALineARequestWhenAskedTo) {
  ask_as("admin", "GET", "/admin?watch=1");
  ask_as("nobody", "POST", "/any");
  EXPECT_THAT(captured.lines(), IsEmpty());
  log::set_verbosity(3);
  ask_as("admin", "GET", "/admin?watch=1");
  ask_as("nobody", "POST", "/any");
  ASSERT_EQ(captured.lines().size(), 1u);
  auto document = json::Document::parse(captured.lines()[0]);
  ASSERT_TRUE(document);
  const auto& line = document->root();
  EXPECT_EQ(json::get_string_or(line, "method"), "GET");
  EXPECT_EQ(json::get_string_or(line, "url"), "/admin?watch=1");
  EXPECT_EQ(json::get_string_or(line, "username"), "root");
  EXPECT_EQ(json::get_string_or(line, "remoteAddress"), "192.0.2.1");
  EXPECT_EQ(json::get_string_or(line, "requestId"), "test-1");
  EXPECT_EQ(json::get_int(line, "statusCode"), 200);
  EXPECT_EQ(json::get_int(line, "contentLength"), 11);
  log::set_verbosity(4);
  ask_as("nobody", "POST", "/any");
  EXPECT_EQ(captured.lines().size(), 2u);
}

TEST_F(RouterLogTest, AlwaysWritesServerErrors) {
  router.add(Access::anyone, "GET", "/broken", RouteClass::resource,
             answer_with([](const Call&) { return http::Response{.status = 503}; }));
  ask_as("nobody", "GET", "/broken");
  ASSERT_EQ(captured.lines().size(), 1u);
  EXPECT_THAT(captured.lines()[0], HasSubstr("\"statusCode\":503"));
}

}  // namespace
}  // namespace vg::server
