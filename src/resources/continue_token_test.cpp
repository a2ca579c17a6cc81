#include "resources/continue_token.h"

#include <gtest/gtest.h>

#include <string>

#include "base/base64.h"

namespace vg::resources {
namespace {

struct Selectors {
  LabelSelector labels;
  FieldSelector fields;
  Selectors(std::string_view label_text, std::string_view field_text)
      : labels(*LabelSelector::parse(label_text)), fields(*FieldSelector::parse(field_text)) {}
  ListScope scope(std::string_view resource, std::string_view ns) const {
    return {.resource = resource, .ns = ns, .labels = labels, .fields = fields};
  }
};

const Selectors none("", "");

TEST(ContinueToken, ComesBackAsItWent) {
  const ContinueTokens tokens("secret");
  const auto text = tokens.write({.revision = 42, .since = 1'700'000'000, .ns = "default", .name = "a"},
                                 none.scope("pods", "default"));
  const auto read = tokens.read(text, none.scope("pods", "default"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->revision, 42u);
  EXPECT_EQ(read->since, 1'700'000'000);
  EXPECT_EQ(read->ns, "default");
  EXPECT_EQ(read->name, "a");
  const auto cluster = tokens.read(tokens.write({.revision = 0, .ns = "", .name = "n"}, none.scope("nodes", "")),
                                   none.scope("nodes", ""));
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->revision, 0u);
  EXPECT_EQ(cluster->ns, "");
}

TEST(ContinueToken, OutlivesTheProcessOnlyWithItsSecret) {
  const ContinueToken token{.revision = 1, .ns = "a", .name = "b"};
  const auto scope = none.scope("pods", "a");
  EXPECT_TRUE(ContinueTokens("secret").read(ContinueTokens("secret").write(token, scope), scope));
  EXPECT_FALSE(ContinueTokens("secret").read(ContinueTokens("another").write(token, scope), scope));
  EXPECT_FALSE(ContinueTokens().read(ContinueTokens().write(token, scope), scope));
}

TEST(ContinueToken, IsGoodForItsListAlone) {
  const ContinueTokens tokens("secret");
  const Selectors chosen("app=x,tier in (a,b)", "metadata.name!=z,metadata.namespace=a");
  const auto text = tokens.write({.revision = 1, .ns = "a", .name = "b"}, chosen.scope("secrets", "a"));
  EXPECT_TRUE(tokens.read(text, chosen.scope("secrets", "a")));
  EXPECT_TRUE(tokens.read(
      text, Selectors("tier in (b,a),app==x", "metadata.namespace==a,metadata.name!=z").scope("secrets", "a")))
      << "the same, said otherwise";
  EXPECT_FALSE(tokens.read(text, chosen.scope("secrets", "b")));
  EXPECT_FALSE(tokens.read(text, chosen.scope("secrets", "")));
  EXPECT_FALSE(tokens.read(text, chosen.scope("configmaps", "a")));
  EXPECT_FALSE(tokens.read(text, chosen.scope("secretsa", "")));
  EXPECT_FALSE(tokens.read(text, none.scope("secrets", "a")));
  EXPECT_FALSE(tokens.read(text, Selectors("app=x", "metadata.name!=z,metadata.namespace=a").scope("secrets", "a")));
  EXPECT_FALSE(tokens.read(
      text, Selectors("app=x,tier in (a,b)", "metadata.name=z,metadata.namespace=a").scope("secrets", "a")));
}

TEST(ContinueToken, EveryBitCounts) {
  const ContinueTokens tokens("secret");
  const auto scope = none.scope("pods", "a");
  const auto bytes = *base64_decode(tokens.write({.revision = 7, .ns = "a", .name = "b"}, scope), Base64::url_raw);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string altered = bytes;
    altered[bit / 8] = static_cast<char>(altered[bit / 8] ^ (1 << bit % 8));
    const auto read = tokens.read(base64_encode(altered, Base64::url_raw), scope);
    ASSERT_FALSE(read) << bit;
    EXPECT_EQ(read.error().code, 400);
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(tokens.read(base64_encode(bytes.substr(0, size), Base64::url_raw), scope)) << size;
  EXPECT_FALSE(tokens.read(base64_encode(bytes + "x", Base64::url_raw), scope));
}

TEST(ContinueToken, WhatIsNoneIsRefused) {
  const ContinueTokens tokens;
  for (const std::string& bad : {std::string(), std::string("garbage"), std::string("MSAwIHp6IHp6"),
                                 base64_encode("1 0 b a", Base64::url_raw), std::string(100'000, 'A')})
    EXPECT_EQ(tokens.read(bad, none.scope("pods", "a")).error().code, 400);
}

}  // namespace
}  // namespace vg::resources
