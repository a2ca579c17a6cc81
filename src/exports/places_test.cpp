#include "exports/places.h"

#include <gtest/gtest.h>

#include <deque>

namespace vg::exports {
namespace {

// So many downloads of as many exports of a namespace as it likes.
int taken_by(Places& places, const std::string& ns, std::deque<Places::Place>& held) {
  int count = 0;
  for (int i = 0; i < 2 * limits::export_downloads_max; ++i)
    if (held.emplace_back(places, ns, ns + std::to_string(i))) ++count;
  return count;
}

TEST(Places, NoNamespaceHasMoreThanItLeavesToOthers) {
  Places places;
  std::deque<Places::Place> first, second, third;
  EXPECT_EQ(taken_by(places, "a", first), limits::export_downloads_max / 2);
  EXPECT_EQ(taken_by(places, "b", second), limits::export_downloads_max / 2);
  EXPECT_EQ(taken_by(places, "c", third), 0) << "there are no more in all";
  first.clear();
  EXPECT_EQ(taken_by(places, "c", third), limits::export_downloads_max / 2) << "places are given back";
}

TEST(Places, AnExportHasAFew) {
  Places places;
  std::deque<Places::Place> held;
  int count = 0;
  for (int i = 0; i < limits::export_downloads_max; ++i)
    if (held.emplace_back(places, "a", "e")) ++count;
  EXPECT_EQ(count, limits::export_downloads_each_max);
  EXPECT_TRUE(Places::Place(places, "a", "other"));
}

}  // namespace
}  // namespace vg::exports
