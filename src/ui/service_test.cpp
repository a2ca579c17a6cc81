#include "ui/service.h"

#include <gmock/gmock.h>

#include <string>

#include "base/metrics.h"
#include "json/access.h"
#include "json/document.h"
#include "server/testing/fake_exchange.h"
#include "ui/answers.h"
#include "ui/assets.h"

namespace vg::ui {
namespace {

using server::testing::FakeExchange;
using ::testing::HasSubstr;

class Page : public ::testing::Test {
 protected:
  Page() {
    identifier_.let_sessions_in(sessions_);
    service_.add_question("GET", "hello/",
                          [](server::Call& call, const User& user, std::string_view rest) -> Task<void> {
                            respond_json(call, 200, json::Object{{"user", user.name}, {"rest", rest}});
                            co_return;
                          });
    service_.add_routes(router_);
  }

  static FakeExchange own(std::string method, std::string target, std::string body = {}) {
    FakeExchange exchange(std::move(method), std::move(target), std::move(body));
    exchange.header("Host", "v:6443").header("X-Virtgate-UI", "1");
    return exchange;
  }
  std::string sign_in() {
    FakeExchange exchange = own("POST", "/ui/session", R"({"token":"s3cret"})");
    exchange.run(router_);
    EXPECT_EQ(exchange.status(), 201) << exchange.body();
    const std::string_view cookie = exchange.response_header("Set-Cookie");
    return std::string(cookie.substr(0, cookie.find(';')));
  }
  int status(FakeExchange&& exchange) { return exchange.run(router_).status(); }

  SystemClock clock_;
  metrics::Registry metrics_;
  auth::Identifier identifier_{"s3cret", "alice", {"people"}};
  server::Router router_{{.identifier = identifier_,
                          .clock = clock_,
                          .metrics = metrics_,
                          .fairness = server::TurnKeeper::everybody_at_once()}};
  Result<User> user_of(std::string_view token) const {
    auto identity = identifier_.identify_token(token);
    if (!identity) return fail(identity.error());
    return identity->user;
  }
  Sessions sessions_{{.age_max = std::chrono::hours(12),
                      .recheck_interval = std::chrono::seconds(5),
                      .check = [this](std::string_view token) { return user_of(token); }},
                     clock_};
  UiService service_{{.sessions = sessions_,
                      .identify = [this](server::Call& call) -> Task<Result<User>> {
                        auto user = identifier_.authenticate(call.request());
                        if (user && !user->in_group(auth::authenticated_group))
                          co_return fail(Status::unauthorized("nobody"));
                        co_return user;
                      },
                      .check_token = [this](Core&, std::string_view token, std::string_view) -> Task<Result<User>> {
                        co_return user_of(token);
                      },
                      .mode = "standalone",
                      .clock = clock_}};
};

TEST_F(Page, FilesAreForEverybody) {
  FakeExchange exchange("GET", "/ui/");
  exchange.header("Accept-Encoding", "br, gzip;q=0.5").run(router_);
  EXPECT_EQ(exchange.status(), 200);
  EXPECT_EQ(exchange.response().content_type, "text/html; charset=utf-8");
  EXPECT_EQ(exchange.response_header("Content-Encoding"), "gzip");
  EXPECT_EQ(exchange.body(), find_asset("index.html")->packed);
  EXPECT_EQ(exchange.response_header("Content-Security-Policy"), content_security_policy);
  EXPECT_EQ(exchange.response_header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(exchange.response_header("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(exchange.response_header("Cross-Origin-Opener-Policy"), "same-origin");
  EXPECT_EQ(exchange.response_header("Cross-Origin-Resource-Policy"), "same-origin");
  FakeExchange again("GET", "/ui/");
  again.header("Accept-Encoding", "gzip")
      .header("If-None-Match", "\"x\", W/" + std::string(exchange.response_header("ETag")))
      .run(router_);
  EXPECT_EQ(again.status(), 304);
  EXPECT_EQ(again.body(), "");
}

TEST_F(Page, FilesComeUnpackedToWhoDoesNotTakeGzip) {
  for (const char* accept : {"", "br", "gzip;q=0", "identity"}) {
    FakeExchange exchange("GET", "/ui/index.html");
    exchange.header("Accept-Encoding", accept).run(router_);
    EXPECT_EQ(exchange.status(), 200);
    EXPECT_EQ(exchange.response_header("Content-Encoding"), "") << accept;
    EXPECT_THAT(exchange.body(), HasSubstr("</html>")) << accept;
    EXPECT_EQ(exchange.body().size(), find_asset("index.html")->bytes);
  }
}

TEST_F(Page, EveryFileCanBeUnpacked) {
  EXPECT_FALSE(assets().empty());
  for (const Asset& asset : assets()) {
    EXPECT_EQ(find_asset(asset.path), &asset);
    const auto plain = unpack(asset);
    ASSERT_TRUE(plain) << asset.path;
    EXPECT_EQ(plain->size(), asset.bytes);
  }
}

TEST_F(Page, OtherPathsAreNotFound) {
  for (const char* path :
       {"/ui/x", "/ui/../pki/admin.token", "/ui//index.html", "/ui/vendor.lock.json", "/ui/%2e%2e/x"})
    EXPECT_EQ(status(FakeExchange("GET", path)), 404) << path;
  EXPECT_EQ(status(FakeExchange("POST", "/ui/index.html")), 405);
  FakeExchange moved("GET", "/ui");
  moved.run(router_);
  EXPECT_EQ(moved.status(), 308);
  EXPECT_EQ(moved.response_header("Location"), "/ui/");
}

TEST_F(Page, SignsInShowsAndSignsOut) {
  const std::string cookie = sign_in();
  EXPECT_TRUE(cookie.starts_with("__Host-virtgate-session="));
  FakeExchange shown = own("GET", "/ui/session");
  shown.header("Cookie", cookie).run(router_);
  EXPECT_EQ(shown.status(), 200);
  EXPECT_EQ(shown.response_header("Cache-Control"), "no-store");
  const auto document = json::Document::parse(shown.body());
  EXPECT_EQ(json::get_string(document->root(), "user"), "alice");
  EXPECT_EQ(json::get_string(document->root(), "mode"), "standalone");
  EXPECT_TRUE(json::get_string(document->root(), "expires"));
  FakeExchange out = own("DELETE", "/ui/session");
  out.header("Cookie", cookie).run(router_);
  EXPECT_EQ(out.status(), 204);
  EXPECT_THAT(std::string(out.response_header("Set-Cookie")), HasSubstr("Max-Age=0"));
  FakeExchange after = own("GET", "/ui/session");
  EXPECT_EQ(after.header("Cookie", cookie).run(router_).status(), 401);
}

TEST_F(Page, TheCookieIsForTlsAndThisServerAlone) {
  FakeExchange exchange = own("POST", "/ui/session", R"({"token":"s3cret"})");
  exchange.run(router_);
  EXPECT_THAT(std::string(exchange.response_header("Set-Cookie")),
              ::testing::MatchesRegex("__Host-virtgate-session=[A-Za-z0-9_-]+; Path=/; Secure; HttpOnly; "
                                      "SameSite=Strict"));
}

TEST_F(Page, SigningInNeedsThePage) {
  const std::string body = R"({"token":"s3cret"})";
  EXPECT_EQ(status(FakeExchange("POST", "/ui/session", body)), 403);
  FakeExchange foreign = own("POST", "/ui/session", body);
  EXPECT_EQ(foreign.header("Origin", "https://evil.example").run(router_).status(), 403);
  FakeExchange site = own("POST", "/ui/session", body);
  EXPECT_EQ(site.header("Sec-Fetch-Site", "cross-site").run(router_).status(), 403);
  EXPECT_EQ(sessions_.size(), 0U);
}

TEST_F(Page, BadCredentialsAreRefusedWithoutRepeatingThem) {
  struct Row {
    const char* body;
    int status;
  };
  for (const Row& row : {Row{R"({"token":"wrong-secret"})", 401}, Row{R"({"code":"wrong-secret"})", 401},
                         Row{R"({"token":"s3cret","code":"wrong-secret"})", 400}, Row{R"({"wrong-secret":1})", 400},
                         Row{R"({"token":7,"x":"wrong-secret"})", 400}, Row{"wrong-secret", 400}, Row{"", 400}}) {
    FakeExchange exchange = own("POST", "/ui/session", row.body);
    exchange.run(router_);
    EXPECT_EQ(exchange.status(), row.status) << row.body;
    EXPECT_THAT(exchange.body(), ::testing::Not(HasSubstr("wrong-secret")));
    EXPECT_EQ(exchange.response_header("WWW-Authenticate"), "");
  }
  const std::string large = R"({"token":")" + std::string(9000, 'x') + R"("})";
  EXPECT_EQ(status(own("POST", "/ui/session", large)), 401);
}

TEST_F(Page, SigningInAgainMakesANewIdAndEndsTheOldOne) {
  const std::string before = sign_in();
  FakeExchange exchange = own("POST", "/ui/session", R"({"token":"s3cret"})");
  exchange.header("Cookie", before).run(router_);
  EXPECT_EQ(exchange.status(), 201);
  EXPECT_FALSE(exchange.response_header("Set-Cookie").starts_with(before));
  EXPECT_EQ(sessions_.size(), 1U);
  EXPECT_EQ(own("GET", "/ui/session").header("Cookie", before).run(router_).status(), 401);
}

TEST_F(Page, CodesAreForTokensAndCertificates) {
  FakeExchange by_token("POST", "/ui/codes");
  by_token.header("Authorization", "Bearer s3cret").run(router_);
  ASSERT_EQ(by_token.status(), 201) << by_token.body();
  const auto document = json::Document::parse(by_token.body());
  const std::string code(json::get_string_or(document->root(), "code"));
  EXPECT_EQ(status(own("POST", "/ui/session", R"({"code":")" + code + R"("})")), 201);
  EXPECT_EQ(status(own("POST", "/ui/session", R"({"code":")" + code + R"("})")), 401);
  EXPECT_EQ(status(FakeExchange("POST", "/ui/codes")), 401);
  EXPECT_EQ(own("POST", "/ui/codes").header("Cookie", sign_in()).run(router_).status(), 403);
  EXPECT_EQ(FakeExchange("POST", "/ui/codes")
                .header("Authorization", "Bearer s3cret")
                .header("Impersonate-User", "bob")
                .run(router_)
                .status(),
            403);
  EXPECT_EQ(FakeExchange("POST", "/ui/codes")
                .header("Authorization", "Bearer s3cret")
                .header("Host", "v:6443")
                .header("Origin", "https://evil.example")
                .run(router_)
                .status(),
            403);
  EXPECT_EQ(FakeExchange("POST", "/ui/codes").certificate("bob", {}).run(router_).status(), 403);  // it has ended
}

TEST_F(Page, QuestionsAreForThoseWhoSignedIn) {
  EXPECT_EQ(status(own("GET", "/ui/api/hello/x/y")), 401);
  EXPECT_EQ(status(own("GET", "/ui/api/none")), 401);
  const std::string cookie = sign_in();
  FakeExchange exchange = own("GET", "/ui/api/hello/x/y");
  exchange.header("Cookie", cookie).run(router_);
  EXPECT_EQ(exchange.body(), R"({"user":"alice","rest":"x/y"})");
  EXPECT_EQ(FakeExchange("GET", "/ui/api/hello/x").header("Cookie", cookie).run(router_).status(), 401);
  EXPECT_EQ(own("GET", "/ui/api/none").header("Cookie", cookie).run(router_).status(), 404);
  EXPECT_EQ(own("POST", "/ui/api/hello/x").header("Cookie", cookie).run(router_).status(), 405);
}

TEST_F(Page, SaysHowToSignInAndWhereTheApiIs) {
  FakeExchange ways("GET", "/ui/sign-in");
  ways.run(router_);
  EXPECT_EQ(ways.body(), R"({"mode":"standalone","ways":["token","link"]})");
  EXPECT_EQ(ways.response_header("Content-Security-Policy"), content_security_policy);
  FakeExchange shown = own("GET", "/ui/session");
  shown.header("Cookie", sign_in()).run(router_);
  EXPECT_THAT(shown.body(), HasSubstr(R"("api":"","questions":["hello"])"));
}

TEST_F(Page, ATokenThatIsNoHeaderIsNoToken) {
  for (const char* token : {"a b", "a\\r\\nX-Remote-User: root", "a\\u0000", "\\u00e4"}) {
    FakeExchange exchange = own("POST", "/ui/session", std::string(R"({"token":")") + token + R"("})");
    EXPECT_EQ(exchange.run(router_).status(), 401) << token;
  }
}

TEST_F(Page, WhatARequestHoldsEndsWithItsSession) {
  bool cancelled = false, told = false, of_token = false;
  router_.add(server::Access::anyone, "GET", "/hold", server::RouteClass::page, [&](server::Call& call) -> Task<void> {
    const auto held = call.hold(server::Hold::watch);
    EXPECT_TRUE(held);
    call.on_cancel([&] { told = true; });
    EXPECT_FALSE(call.cancelled());
    if (const auto id = auth::shown_session(call.request())) sessions_.close(*id);
    dynamic_cast<server::testing::FakeCore&>(call.core()).run_posted();
    (call.request().headers.find("authorization") ? of_token : cancelled) = call.cancelled();
    call.respond({.status = 200});
    co_return;
  });
  own("GET", "/hold").header("Authorization", "Bearer s3cret").run(router_);
  EXPECT_FALSE(of_token || told);
  own("GET", "/hold").header("Cookie", sign_in()).run(router_);
  EXPECT_TRUE(cancelled && told);
}

}  // namespace
}  // namespace vg::ui
