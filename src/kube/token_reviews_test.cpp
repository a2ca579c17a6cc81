#include "kube/token_reviews.h"

#include <gtest/gtest.h>

#include <string>

#include "json/document.h"
#include "kube/cluster_access.h"

namespace vg::kube {
namespace {

Result<User> read(std::string_view text) {
  const auto document = json::Document::parse(text);
  return read_token_review(document->root());
}

TEST(TokenReviews, SayWhoItIs) {
  const auto user = read(R"({"status":{"authenticated":true,"user":{"username":"system:serviceaccount:a:b","uid":"u",
      "groups":["g","system:authenticated"],"extra":{"k":["v","w"]}}}})");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "system:serviceaccount:a:b");
  EXPECT_EQ(user->uid, "u");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"g", "system:authenticated"}));
  EXPECT_EQ(user->extra.at("k"), (std::vector<std::string>{"v", "w"}));
}

TEST(TokenReviews, WhoIsNotKnownIsNobody) {
  for (const char* text :
       {R"({"status":{"authenticated":false,"error":"s3cret is wrong"}})", R"({"status":{}})",
        R"({"status":{"authenticated":true}})", R"({"status":{"authenticated":true,"user":{"username":""}}})",
        R"({"status":{"authenticated":"true","user":{"username":"a"}}})"}) {
    const auto user = read(text);
    ASSERT_FALSE(user) << text;
    EXPECT_EQ(user.error().code, 401);
    EXPECT_FALSE(user.error().message.contains("s3cret"));
  }
  EXPECT_EQ(read("{}").error().code, 500);
}

// A certificate on the connection would make every request this program's own.
TEST(ClusterAccess, WithoutIdentityNothingSaysWhoAsks) {
  ClusterAccess access;
  access.certificate.file = access.key.text = access.token.file = access.basic = "x";
  access.authorities.text = "ca";
  const ClusterAccess nobody = without_identity(access);
  EXPECT_TRUE(nobody.certificate.empty() && nobody.key.empty() && nobody.token.empty() && nobody.basic.empty());
  EXPECT_EQ(nobody.authorities.text, "ca");
}

}  // namespace
}  // namespace vg::kube
