#include "controllers/migration/history.h"

#include <gtest/gtest.h>

#include <deque>

#include "controllers/testing.h"

namespace vg::controllers::migration {
namespace {

constexpr std::int64_t now = 1767323045;  // test_now

struct Past {
  std::string_view phase;
  std::int64_t failed_ago = 0;
  bool deleting = false;
  bool backs_off = true;
};

// Newest first; the first one is "m0".
std::int64_t wait(const std::vector<Past>& past, std::string_view uid = "m0") {
  std::deque<MigrationInfo> all;
  History history;
  for (const Past& one : past) {
    MigrationInfo& info = all.emplace_back();
    info.uid = fmt::format("m{}", all.size() - 1);
    info.phase = one.phase;
    info.failed_at = one.phase == "Failed" ? now - one.failed_ago : 0;
    info.deleting = one.deleting;
    info.backs_off = one.backs_off;
    history.push_back(&info);
  }
  return wait_before_start(history, uid, test_now).count();
}

TEST(MigrationHistory, BackOff) {  // MIG-B01
  const Past fresh{"Pending"};
  EXPECT_EQ(wait({fresh}), 0);
  EXPECT_EQ(wait({fresh, {"Failed", 0}}), 20);
  EXPECT_EQ(wait({fresh, {"Failed", 5}}), 15);
  EXPECT_EQ(wait({fresh, {"Failed", 60}}), 0);
  EXPECT_EQ(wait({fresh, {"Failed", 0}, {"Failed", 30}}), 40);
  EXPECT_EQ(wait({fresh, {"Failed", 0}, {"Failed"}, {"Failed"}, {"Failed"}}), 160) << "12.5";
  EXPECT_EQ(wait({fresh, {"Failed", 0}, {"Failed"}, {"Failed"}, {"Failed"}, {"Failed"}, {"Failed"}}), 320);
  EXPECT_EQ(wait({fresh, {"Succeeded"}, {"Failed", 0}}), 0);
  EXPECT_EQ(wait({fresh, {"Failed", 0}, {"Succeeded"}, {"Failed"}}), 20);
  EXPECT_EQ(wait({fresh, {"Failed", 0}, {"Failed", 0, true}}), 20) << "those that are being deleted do not count";
  EXPECT_EQ(wait({fresh, {"Running"}, {"Failed", 0}}), 0) << "the second newest never failed";
  EXPECT_EQ(wait({{"Pending", 0, false, false}, {"Failed", 0}}), 0) << "a user's own starts at once";
  EXPECT_EQ(wait({fresh, {"Failed", 0, false, false}}), 0) << "a user's own failure does not count";
  EXPECT_EQ(wait({fresh, {"Failed", 0}, {"Failed"}}, "m1"), 0) << "only the newest waits";
}

TEST(MigrationHistory, KeepsFiveThatAreOver) {  // MIG-G01
  std::deque<MigrationInfo> all(9);
  History history;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = fmt::format("m{}", i);
    all[i].phase = i % 2 == 0 ? "Succeeded" : "Failed";
    history.push_back(&all[i]);
  }
  all[0].phase = "Running";
  all[2].deleting = true;
  std::vector<std::string> names;
  for (const MigrationInfo* one : leftovers(history)) names.push_back(one->name);
  EXPECT_EQ(names, (std::vector<std::string>{"m7", "m8"}));
  history.resize(6);
  EXPECT_TRUE(leftovers(history).empty());
  EXPECT_TRUE(leftovers({}).empty());
}

}  // namespace
}  // namespace vg::controllers::migration
