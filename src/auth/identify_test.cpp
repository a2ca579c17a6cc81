#include "auth/identify.h"

#include <gmock/gmock.h>

#include "auth/static_tokens.h"

namespace vg::auth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct IdentifyTest : ::testing::Test {
  Identifier identifier{"s3cret-token", "kubernetes-admin", {"system:masters"}};
  http::Peer peer;
  http::Request request;
  IdentifyTest() { request.peer = &peer; }

  void certificate(std::string name, std::vector<std::string> groups, std::string authority) {
    peer.certificate = http::PeerCertificate{
        .common_name = std::move(name), .organizations = std::move(groups), .authority = std::move(authority)};
  }
};

TEST_F(IdentifyTest, WithoutCredentialsNobodyInParticular) {
  auto who = identifier.identify(request).value();
  EXPECT_EQ(who.user, "system:anonymous");
  EXPECT_FALSE(who.authenticated);
  EXPECT_TRUE(who.in_group("system:unauthenticated"));
  EXPECT_FALSE(who.in_group("system:authenticated"));
  EXPECT_FALSE(who.is_administrator());
}

TEST_F(IdentifyTest, TakesTheToken) {
  for (std::string_view value : {"Bearer s3cret-token", "bearer s3cret-token", "BEARER   s3cret-token "}) {
    request.headers.clear();
    request.headers.add("Authorization", value);
    auto who = identifier.identify(request);
    ASSERT_TRUE(who) << value;
    EXPECT_EQ(who->user, "kubernetes-admin");
    EXPECT_TRUE(who->is_administrator());
    EXPECT_TRUE(who->in_group("system:authenticated"));
  }
}

TEST_F(IdentifyTest, RefusesWrongCredentialsWithoutRepeatingThem) {
  for (std::string_view value : {"Bearer s3cret-tokem", "Bearer s3cret-token2", "Bearer s3cret", "Bearer ", "Bearer",
                                 "Basic dXNlcjpwYXNz", "s3cret-token", ""}) {
    request.headers.clear();
    request.headers.add("Authorization", value);
    auto who = identifier.identify(request);
    ASSERT_FALSE(who) << value;
    EXPECT_EQ(who.error().code, 401);
    EXPECT_THAT(who.error().message, Not(HasSubstr("s3cret")));
  }
}

TEST_F(IdentifyTest, TellsOfFailuresWithoutTheProof) {
  std::vector<std::string> told;
  identifier.observe_failures([&](const FailedAuthentication& failed) {
    EXPECT_EQ(&failed.request, &request);
    told.push_back(std::string(failed.credential) + ": " + std::string(failed.reason));
  });
  const auto ask = [&](std::string_view header, std::string_view value) {
    request.headers.clear();
    if (!header.empty()) request.headers.add(header, value);
    static_cast<void>(identifier.identify(request));
  };
  ask("Authorization", "Bearer s3cret-token");
  EXPECT_TRUE(told.empty());
  ask("Authorization", "Bearer s3cret-wrong");
  ask("Authorization", "Basic s3cret-wrong");
  ask("", "");
  certificate("s3cret-name", {}, "another-ca");
  ask("", "");
  ASSERT_EQ(told.size(), 4u);
  EXPECT_THAT(told[0], HasSubstr("bearer token: "));
  EXPECT_THAT(told[1], HasSubstr("another scheme: "));
  EXPECT_THAT(told[2], HasSubstr("none: no credentials"));
  EXPECT_THAT(told[3], HasSubstr("certificate: "));
  for (const std::string& one : told) EXPECT_THAT(one, Not(HasSubstr("s3cret")));
}

TEST_F(IdentifyTest, AnEmptyTokenMatchesNobody) {
  Identifier none("", "kubernetes-admin", {"system:masters"});
  request.headers.add("Authorization", "Bearer ");
  EXPECT_FALSE(none.identify(request));
  request.headers.clear();
  request.headers.add("Authorization", "Bearer x");
  EXPECT_FALSE(none.identify(request));
}

TEST_F(IdentifyTest, TakesACertificateOfTheUsersAuthority) {
  certificate("jane", {"dev", "ops"}, "client-ca");
  auto who = identifier.identify(request).value();
  EXPECT_EQ(who.user, "jane");
  EXPECT_TRUE(who.in_group("ops"));
  EXPECT_FALSE(who.is_administrator());
  certificate("root", {"system:masters"}, "client-ca");
  EXPECT_TRUE(identifier.identify(request)->is_administrator());
}

TEST_F(IdentifyTest, ACertificateOfANodeStandsForItsAccountThere) {
  certificate("system:node:one", {"system:nodes"}, "client-ca");
  EXPECT_EQ(identifier.authenticate(request)->name, "system:node:one");  // unless told
  identifier.let_nodes_be("system:serviceaccount:kubevirt:kubevirt-handler");
  const User node = identifier.authenticate(request).value();
  EXPECT_EQ(node.name, "system:serviceaccount:kubevirt:kubevirt-handler");
  EXPECT_TRUE(node.in_group("system:nodes"));
  EXPECT_THAT(node.extra.at("authentication.kubernetes.io/node-name"), ElementsAre("one"));
  // Neither the name nor the group alone makes one.
  certificate("system:node:one", {}, "client-ca");
  EXPECT_EQ(identifier.authenticate(request)->name, "system:node:one");
  certificate("jane", {"system:nodes"}, "client-ca");
  EXPECT_EQ(identifier.authenticate(request)->name, "jane");
}

// A browser shows its certificate whichever page made it ask.
TEST_F(IdentifyTest, ACertificateCountsOnlyForRequestsOfThisSite) {
  certificate("ann", {"system:masters"}, "client-ca");
  struct Row {
    std::string_view origin, site;  // empty: not sent
    bool counts;
  };
  const Row rows[] = {{"", "", true},
                      {"https://here:6443", "same-origin", true},
                      {"https://here:6443", "", true},
                      {"", "same-origin", true},
                      {"", "none", true},
                      {"https://evil.example", "cross-site", false},
                      {"https://evil.example", "", false},
                      {"https://here:6444", "same-site", false},
                      {"http://here:6443", "", false},
                      {"null", "", false},
                      {"", "cross-site", false},
                      {"", "same-site", false},
                      {"https://here:6443", "cross-site", false}};
  for (const Row& row : rows)
    for (const std::string_view upgrade : {"", "websocket"}) {
      request.headers.clear();
      request.headers.add("Host", "here:6443");
      if (!row.origin.empty()) request.headers.add("Origin", row.origin);
      if (!row.site.empty()) request.headers.add("Sec-Fetch-Site", row.site);
      if (!upgrade.empty()) request.headers.add("Upgrade", upgrade);
      const auto who = identifier.authenticate(request);
      EXPECT_EQ(who.has_value(), row.counts) << row.origin << row.site;
      if (!who) EXPECT_EQ(who.error().code, 403);
    }
  // What only a page that knows it can send counts still, and the certificate does not.
  request.headers.add("Authorization", "Bearer s3cret-token");
  EXPECT_EQ(identifier.identify(request).value().user, "kubernetes-admin");
  certificate("system:node:n1", {"system:nodes"}, "client-ca");
  identifier.let_nodes_be("handler");
  request.headers.clear();
  request.headers.add("Sec-Fetch-Site", "cross-site");
  EXPECT_FALSE(identifier.authenticate(request));
}

TEST_F(IdentifyTest, OtherCertificatesSayNothing) {
  certificate("front-proxy", {"system:masters"}, "requestheader-ca");
  EXPECT_FALSE(identifier.identify(request)->authenticated);
  certificate("", {"system:masters"}, "client-ca");
  EXPECT_FALSE(identifier.identify(request)->authenticated);
}

TEST_F(IdentifyTest, ACertificateCountsMoreThanAToken) {
  certificate("jane", {}, "client-ca");
  request.headers.add("Authorization", "Bearer wrong");
  EXPECT_EQ(identifier.identify(request)->user, "jane");
}

TEST_F(IdentifyTest, TheUserHasAllImpliedGroups) {
  EXPECT_THAT(identifier.authenticate(request)->groups, ElementsAre("system:unauthenticated"));
  certificate("jane", {"dev"}, "client-ca");
  EXPECT_THAT(identifier.authenticate(request)->groups, ElementsAre("dev", "system:authenticated"));
  peer.certificate.reset();
  request.headers.add("Authorization", "Bearer s3cret-token");
  EXPECT_THAT(identifier.authenticate(request)->groups, ElementsAre("system:masters", "system:authenticated"));
}

TEST_F(IdentifyTest, AFrontProxySaysWhoAsks) {
  certificate("aggregator", {"system:masters"}, "front-proxy");
  request.headers.add("x-remote-user", "jane");
  request.headers.add("X-Remote-Uid", "u1");
  request.headers.add("X-Remote-Group", "dev");
  request.headers.add("X-REMOTE-GROUP", "ops,all");
  request.headers.add("X-Remote-Extra-Acme.com%2FProject", "a");
  request.headers.add("x-remote-extra-bad%zz", "b");
  const User jane = identifier.authenticate(request).value();
  EXPECT_EQ(jane.name, "jane");
  EXPECT_EQ(jane.uid, "u1");
  EXPECT_THAT(jane.groups, ElementsAre("dev", "ops,all", "system:authenticated"));
  EXPECT_THAT(jane.extra.at("acme.com/project"), ElementsAre("a"));
  EXPECT_THAT(jane.extra.at("bad%zz"), ElementsAre("b"));
}

TEST_F(IdentifyTest, AFrontProxyMayPassOnNobody) {
  certificate("aggregator", {}, "front-proxy");
  request.headers.add("X-Remote-User", "system:anonymous");
  request.headers.add("X-Remote-Group", "system:unauthenticated");
  EXPECT_THAT(identifier.authenticate(request)->groups, ElementsAre("system:unauthenticated"));
  EXPECT_FALSE(identifier.identify(request)->authenticated);
}

TEST_F(IdentifyTest, NobodyElseMaySpeakForOthers) {
  request.headers.add("X-Remote-User", "root");
  request.headers.add("X-Remote-Group", "system:masters");
  EXPECT_EQ(identifier.authenticate(request)->name, "system:anonymous");
  certificate("jane", {}, "client-ca");
  EXPECT_EQ(identifier.authenticate(request)->name, "jane");
  EXPECT_FALSE(identifier.authenticate(request)->in_group("system:masters"));
  // Nor does a proxy's certificate say anything about the proxy itself.
  request.headers.clear();
  certificate("aggregator", {"system:masters"}, "front-proxy");
  EXPECT_EQ(identifier.authenticate(request)->name, "system:anonymous");
}

struct RefusingVerifier final : TokenVerifier {
  Result<std::optional<TokenIdentity>> verify(std::string_view token, std::span<const std::string>) const override {
    if (token.starts_with("mine-")) return fail(Status::unauthorized("it has expired"));
    return std::nullopt;
  }
};

TEST_F(IdentifyTest, TheFirstVerifierThatKnowsATokenDecides) {
  const Identifier chain({std::make_shared<RefusingVerifier>(),
                          std::make_shared<StaticTokens>(std::vector<StaticToken>{
                              {.token = "mine-too", .user = {.name = "jane", .uid = {}, .groups = {}, .extra = {}}}})});
  EXPECT_EQ(chain.identify_token("mine-too")->user.name, "jane");
  EXPECT_THAT(chain.identify_token("mine-not").error().message, HasSubstr("expired"));
  EXPECT_EQ(chain.identify_token("other").error().code, 401);
}

}  // namespace
}  // namespace vg::auth
