#include "auth/identify.h"

#include <gmock/gmock.h>

namespace vg::auth {
namespace {

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

}  // namespace
}  // namespace vg::auth
