#include "base/random.h"

#include <gtest/gtest.h>

#include <set>

#include "base/base64.h"

namespace vg {
namespace {

TEST(Random, FormatsUuids) {
  std::array<std::uint8_t, 16> bytes;
  bytes.fill(0xFF);
  EXPECT_EQ(format_uuid_v4(bytes), "ffffffff-ffff-4fff-bfff-ffffffffffff");
  bytes.fill(0);
  EXPECT_EQ(format_uuid_v4(bytes), "00000000-0000-4000-8000-000000000000");
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 0x11);
  EXPECT_EQ(format_uuid_v4(bytes), "00112233-4455-4677-8899-aabbccddeeff");
}

TEST(Random, DoesNotRepeatItself) {
  std::set<std::string> seen;
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 100; ++i) {
    seen.insert(uuid_v4());
    seen.insert(random_token());
    numbers.insert(random_u64());
  }
  EXPECT_EQ(seen.size(), 200u);
  EXPECT_EQ(numbers.size(), 100u);
}

TEST(Random, TokensHaveTheirLength) {
  EXPECT_EQ(random_token().size(), 43u);
  EXPECT_EQ(base64_decode(random_token(16), Base64::url_raw)->size(), 16u);
}

}  // namespace
}  // namespace vg
