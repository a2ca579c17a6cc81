#include "auth/seal.h"

#include <gtest/gtest.h>

namespace vg::auth {
namespace {

TEST(Seal, OpensWithItsKeyAlone) {
  const Digest key = derive_key("a", "test"), other = derive_key("b", "test");
  for (const std::string& plain : {std::string(), std::string("secret"), std::string(9000, 'x')}) {
    const std::string sealed = seal(key, plain);
    EXPECT_EQ(unseal(key, sealed), plain);
    EXPECT_FALSE(unseal(other, sealed));
    if (!plain.empty()) EXPECT_FALSE(sealed.contains(plain));
    EXPECT_NE(seal(key, plain), sealed);  // nobody sees that two are the same
  }
}

TEST(Seal, ChangesAreNoticed) {
  const Digest key = derive_key("a", "test");
  const std::string sealed = seal(key, "secret");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] ^= 1;
    EXPECT_FALSE(unseal(key, changed)) << i;
    EXPECT_FALSE(unseal(key, sealed.substr(0, i))) << i;
  }
}

}  // namespace
}  // namespace vg::auth
