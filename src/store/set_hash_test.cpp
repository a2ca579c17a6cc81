#include "store/set_hash.h"

#include <gtest/gtest.h>

#include <set>

namespace vg::store {
namespace {

TEST(SetHash, does_not_depend_on_order_and_forgets_what_goes) {
  SetHash one, other;
  for (std::uint64_t i = 0; i < 100; ++i) one.add(SetHash::element(i, i * i));
  for (std::uint64_t i = 100; i-- > 0;) other.add(SetHash::element(i, i * i));
  EXPECT_EQ(one, other);
  other.add(SetHash::element(1000, 1));
  EXPECT_NE(one, other);
  other.remove(SetHash::element(1000, 1));
  EXPECT_EQ(one, other);
  for (std::uint64_t i = 0; i < 100; ++i) one.remove(SetHash::element(i, i * i));
  EXPECT_EQ(one, SetHash());
}

TEST(SetHash, tells_contents_that_changed_places) {
  SetHash one, other;
  one.add(SetHash::element(1, 10));
  one.add(SetHash::element(2, 20));
  other.add(SetHash::element(1, 20));
  other.add(SetHash::element(2, 10));
  EXPECT_NE(one, other);
}

TEST(SetHash, elements_differ_in_both_halves) {
  std::set<std::uint64_t> low, high;
  for (std::uint64_t key = 0; key < 100; ++key) {
    for (std::uint64_t content = 0; content < 100; ++content) {
      low.insert(SetHash::element(key, content).low);
      high.insert(SetHash::element(key, content).high);
    }
  }
  EXPECT_EQ(low.size(), 10'000u);
  EXPECT_EQ(high.size(), 10'000u);
}

}  // namespace
}  // namespace vg::store
