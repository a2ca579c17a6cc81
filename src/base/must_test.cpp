#include "base/must.h"

#include <gtest/gtest.h>

namespace vg {
namespace {

TEST(MustDeathTest, ABrokenPromiseEndsTheProcessAndNamesThePlace) {
  must(true);
  EXPECT_DEATH(must(1 + 1 == 3), "does not hold in .*must_test.cpp:10");
}

}  // namespace
}  // namespace vg
