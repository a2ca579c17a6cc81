#include "base/release.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vg {
namespace {

TEST(Release, GivesMemoryBack) {
  std::string text(1 << 20, 'x');
  release(text);
  EXPECT_LT(text.capacity(), 100u);
  std::vector<int> numbers(1000);
  release(numbers);
  EXPECT_EQ(numbers.capacity(), 0u);
}

TEST(Release, KeepsWhatIsSmall) {
  std::string text(1000, 'x');
  clear_keeping(text, 2000);
  EXPECT_TRUE(text.empty());
  EXPECT_GE(text.capacity(), 1000u);
  clear_keeping(text, 500);
  EXPECT_LT(text.capacity(), 100u);
}

}  // namespace
}  // namespace vg
