#include "base/short_text.h"

#include <gtest/gtest.h>

#include <string>

namespace vg {
namespace {

// Every length around the word sizes, and a difference at every place.
TEST(ShortTextTest, AgreesWithOrdinaryComparison) {
  for (std::size_t size = 0; size <= 40; ++size) {
    const std::string text(size, 'x');
    EXPECT_TRUE(same_short_text(text, std::string(text)));
    EXPECT_FALSE(same_short_text(text, text + 'x'));
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text;
      other[at] = 'y';
      EXPECT_FALSE(same_short_text(text, other)) << size << " " << at;
    }
  }
}

}  // namespace
}  // namespace vg
