#include "local/service_account_tokens.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <map>

#include "base/base64.h"
#include "base/files.h"
#include "local/rbac_test_support.h"

namespace vg::local {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::vector<std::string> ours = {std::string(auth::default_audience)};

struct ServiceAccountTokensTest : ::testing::Test {
  vg::store::TemporaryFolder folder;
  ManualClock clock{std::chrono::sys_days(std::chrono::year(2026) / 1 / 2)};
  std::map<std::string, FoundObject> objects{{"serviceaccounts/a/bot", {.uid = "u1", .deleted = {}}}};
  std::unique_ptr<ServiceAccountTokens> tokens = open("sa.key");

  std::unique_ptr<ServiceAccountTokens> open(const std::string& name) {
    auto opened = ServiceAccountTokens::open(
        folder.file(name),
        [this](std::string_view resource, std::string_view ns, std::string_view object) -> std::optional<FoundObject> {
          const auto found = objects.find(fmt::format("{}/{}/{}", resource, ns, object));
          return found == objects.end() ? std::nullopt : std::optional(found->second);
        },
        clock);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  static auth::TokenOrder order() {
    return {.ns = "a", .name = "bot", .uid = "u1", .audiences = ours, .lifetime = std::chrono::hours(1), .bound = {}};
  }
  std::string refusal(std::string_view token, std::span<const std::string> audiences = ours) {
    const auto result = tokens->verify(token, audiences);
    if (result) return *result ? "taken" : "not ours";
    EXPECT_EQ(result.error().code, 401);
    return result.error().message;
  }
};

TEST_F(ServiceAccountTokensTest, ATokenStandsForItsAccount) {
  const auto issued = tokens->issue(order()).value();
  EXPECT_EQ(issued.expires_seconds, 1767312000 + 3600);
  for (int i = 0; i < 2; ++i) {  // the second time from memory
    const auto identity = tokens->verify(issued.token, ours).value().value();
    EXPECT_EQ(identity.user.name, "system:serviceaccount:a:bot");
    EXPECT_EQ(identity.user.uid, "u1");
    EXPECT_THAT(identity.user.groups, ElementsAre("system:serviceaccounts", "system:serviceaccounts:a"));
    EXPECT_THAT(identity.audiences, ElementsAre(auth::default_audience));
    EXPECT_THAT(identity.user.extra.at("authentication.kubernetes.io/credential-id")[0], HasSubstr("JTI="));
  }
}

TEST_F(ServiceAccountTokensTest, OthersFindTheKey) {
  const auto document = parse(local::ServiceAccountTokens::openid_configuration("https://127.0.0.1:6443"));
  EXPECT_EQ(document.root().at("issuer").as_string(), auth::default_audience);
  EXPECT_EQ(document.root().at("jwks_uri").as_string(), "https://127.0.0.1:6443/openid/v1/jwks");
  EXPECT_EQ(document.root().at("id_token_signing_alg_values_supported").at(0).as_string(), "ES256");
}

TEST_F(ServiceAccountTokensTest, TheClaimsAreKubernetes) {
  const std::string token = tokens->issue(order())->token;
  const std::size_t first = token.find('.'), last = token.rfind('.');
  const auto header = parse(*base64_decode(token.substr(0, first), Base64::url_raw));
  EXPECT_EQ(header.root().at("alg").as_string(), "ES256");
  EXPECT_THAT(tokens->jwks(), HasSubstr(std::string(header.root().at("kid").as_string())));
  const auto claims = parse(*base64_decode(token.substr(first + 1, last - first - 1), Base64::url_raw));
  EXPECT_EQ(claims.root().at("iss").as_string(), auth::default_audience);
  EXPECT_EQ(claims.root().at("sub").as_string(), "system:serviceaccount:a:bot");
  EXPECT_EQ(claims.root().at("exp").as_int64() - claims.root().at("iat").as_int64(), 3600);
  EXPECT_EQ(json::to_text(claims.root().at("kubernetes.io")),
            R"({"namespace":"a","serviceaccount":{"name":"bot","uid":"u1"}})");
  EXPECT_EQ(base64_decode(token.substr(last + 1), Base64::url_raw)->size(), 64u);
}

TEST_F(ServiceAccountTokensTest, TimesCountWithALittleLeeway) {
  const std::string token = tokens->issue(order())->token;
  clock.advance(std::chrono::seconds(3600 + 60));
  EXPECT_EQ(refusal(token), "taken");
  clock.advance(std::chrono::seconds(1));
  EXPECT_THAT(refusal(token), HasSubstr("expired"));
  clock.set_wall(clock.wall_now() - std::chrono::hours(2));
  EXPECT_THAT(refusal(token), HasSubstr("not valid yet"));
}

TEST_F(ServiceAccountTokensTest, NoTokenIsGoodForLongerThanAYear) {
  auto long_lived = order();
  long_lived.lifetime = std::chrono::seconds(std::int64_t{1} << 32);
  const auto issued = tokens->issue(long_lived).value();
  EXPECT_EQ(issued.lifetime, std::chrono::hours(365 * 24));
  EXPECT_EQ(issued.expires_seconds, 1767312000 + 365 * 24 * 3600);
  EXPECT_EQ(refusal(issued.token), "taken");
  EXPECT_EQ(tokens->issue(order())->lifetime, std::chrono::hours(1));
}

TEST_F(ServiceAccountTokensTest, TheAudienceMustBeCommon) {
  auto other = order();
  other.audiences = {"vault", "x"};
  const std::string token = tokens->issue(other)->token;
  EXPECT_THAT(refusal(token), HasSubstr("audience"));
  const std::vector<std::string> wanted = {"y", "vault"};
  EXPECT_THAT(tokens->verify(token, wanted)->value().audiences, ElementsAre("vault"));
}

TEST_F(ServiceAccountTokensTest, DiesWithItsAccount) {
  const std::string token = tokens->issue(order())->token;
  EXPECT_EQ(refusal(token), "taken");
  objects["serviceaccounts/a/bot"].uid = "u2";  // deleted and made again
  EXPECT_THAT(refusal(token), HasSubstr("deleted"));
  objects["serviceaccounts/a/bot"] = {.uid = "u1", .deleted = Timestamp::from(clock.wall_now())};
  EXPECT_EQ(refusal(token), "taken");
  clock.advance(std::chrono::seconds(61));
  EXPECT_THAT(refusal(token), HasSubstr("deleted"));
  objects.clear();
  EXPECT_THAT(refusal(token), HasSubstr("deleted"));
}

TEST_F(ServiceAccountTokensTest, DiesWithWhatItIsBoundTo) {
  auto bound = order();
  bound.bound = auth::BoundObject{.kind = "Pod", .name = "p", .uid = "pu", .node_name = "n", .node_uid = "nu"};
  const std::string token = tokens->issue(bound)->token;
  EXPECT_THAT(refusal(token), HasSubstr("bound"));
  objects["pods/a/p"] = {.uid = "pu", .deleted = {}};
  const auto identity = tokens->verify(token, ours)->value();
  EXPECT_THAT(identity.user.extra.at("authentication.kubernetes.io/pod-name"), ElementsAre("p"));
  EXPECT_THAT(identity.user.extra.at("authentication.kubernetes.io/node-uid"), ElementsAre("nu"));
  objects["pods/a/p"].uid = "other";
  EXPECT_THAT(refusal(token), HasSubstr("bound"));

  bound.bound = auth::BoundObject{.kind = "Secret", .name = "s", .uid = "su", .node_name = {}, .node_uid = {}};
  const std::string second = tokens->issue(bound)->token;
  EXPECT_THAT(refusal(second), HasSubstr("bound"));
  objects["secrets/a/s"] = {.uid = "su", .deleted = {}};
  EXPECT_EQ(refusal(second), "taken");
}

TEST_F(ServiceAccountTokensTest, NothingButOurSignatureIsTaken) {
  const std::string token = tokens->issue(order())->token;
  const std::size_t first = token.find('.'), last = token.rfind('.');
  const std::string header = token.substr(0, first), body = token.substr(first + 1, last - first - 1),
                    signature = token.substr(last + 1);
  const auto encode = [](std::string_view text) { return base64_encode(text, Base64::url_raw); };
  const std::string other_body = encode(
      R"({"iss":"https://kubernetes.default.svc.cluster.local","sub":"system:serviceaccount:kube-system:root"})");
  EXPECT_THAT(refusal(fmt::format("{}.{}.{}", header, other_body, signature)), HasSubstr("not signed"));
  EXPECT_THAT(refusal(fmt::format("{}.{}.", header, body)), HasSubstr("not signed"));
  EXPECT_THAT(refusal(fmt::format("{}.{}.{}", header, body, encode(std::string(64, '\0')))), HasSubstr("not signed"));
  for (const std::string_view alg : {R"({"alg":"none"})", R"({"alg":"HS256"})", R"({})", R"({"alg":"ES256","kid":"x"})",
                                     R"({"alg":"ES256","crit":["b64"]})", "[]", "no json"}) {
    const std::string forged = fmt::format("{}.{}.{}", encode(alg), body, signature);
    EXPECT_NE(refusal(forged), "taken") << alg;
    EXPECT_NE(refusal(fmt::format("{}.{}.", encode(alg), body)), "taken") << alg;
  }
  for (std::size_t i = 0; i < token.size(); i += 7) {
    std::string bent = token;
    bent[i] = bent[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(refusal(bent), "taken") << i;
  }
  const auto stranger = open("other.key");
  EXPECT_THAT(refusal(stranger->issue(order())->token), HasSubstr("not signed"));
}

TEST_F(ServiceAccountTokensTest, OtherTokensAreForOthers) {
  const auto encode = [](std::string_view text) { return base64_encode(text, Base64::url_raw); };
  for (const std::string& token :
       {std::string(), std::string("opaque"), std::string("a.b"), std::string("a.b.c"), std::string(".."),
        fmt::format("{}.{}.x", encode("{}"), encode(R"({"iss":"https://example.com"})")), std::string(100'000, '.')})
    EXPECT_EQ(refusal(token), "not ours");
}

TEST_F(ServiceAccountTokensTest, TheKeyIsKeptAndKeptSecret) {
  const std::string token = tokens->issue(order())->token;
  struct stat info;
  ASSERT_EQ(::stat(folder.file("sa.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  tokens = open("sa.key");
  EXPECT_EQ(refusal(token), "taken");

  ASSERT_EQ(::chmod(folder.file("sa.key").c_str(), 0640), 0);
  const auto lookup = [](auto...) { return std::optional<FoundObject>(); };
  EXPECT_THAT(ServiceAccountTokens::open(folder.file("sa.key"), lookup, clock).error().message, HasSubstr("chmod 600"));
  ASSERT_TRUE(write_file(folder.file("bad.key"), "nonsense", 0600));
  EXPECT_FALSE(ServiceAccountTokens::open(folder.file("bad.key"), lookup, clock));
}

TEST_F(ServiceAccountTokensTest, LooksIntoTheStore) {
  TestStore test;
  test.put("serviceaccounts", R"({"metadata":{"name":"bot","namespace":"a","uid":"u1"}})");
  test.put("pods",
           R"({"metadata":{"name":"p","namespace":"a","uid":"u2","deletionTimestamp":"2026-01-02T03:04:05Z"}})");
  const ObjectLookup lookup = lookup_in(*test.store);
  EXPECT_EQ(lookup("serviceaccounts", "a", "bot")->uid, "u1");
  EXPECT_FALSE(lookup("serviceaccounts", "a", "bot")->deleted);
  EXPECT_EQ(print_rfc3339(*lookup("pods", "a", "p")->deleted), "2026-01-02T03:04:05Z");
  EXPECT_FALSE(lookup("pods", "b", "p"));
}

}  // namespace
}  // namespace vg::local
