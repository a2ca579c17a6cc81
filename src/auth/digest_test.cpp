#include "auth/digest.h"

#include <gtest/gtest.h>

#include <string>

namespace vg::auth {
namespace {

std::string hex(const Digest& digest) {
  std::string out;
  for (const unsigned char byte : digest) {
    out.push_back("0123456789abcdef"[byte >> 4]);
    out.push_back("0123456789abcdef"[byte & 15]);
  }
  return out;
}

TEST(Digest, HmacIsThatOfTheStandard) {  // RFC 4231, case 2
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Digest, DerivedKeysAreThoseOfTheStandard) {  // RFC 5869, case 3: its first 32 bytes
  EXPECT_EQ(hex(derive_key(std::string(22, '\x0b'), "")),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
  EXPECT_NE(derive_key("secret", "one purpose"), derive_key("secret", "another"));
}

TEST(Digest, EqualTextsAreEqual) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abcd"));
}

}  // namespace
}  // namespace vg::auth
