#include "images/fair_slots.h"

#include <gmock/gmock.h>

namespace vg::images {
namespace {

using testing::ElementsAre;

std::vector<FairSlots::Id> begun(FairSlots& slots) {
  std::vector<FairSlots::Id> all;
  while (const auto id = slots.next()) all.push_back(*id);
  return all;
}

TEST(FairSlots, OneNamespaceAloneHasThemAll) {
  FairSlots slots(2);
  for (const FairSlots::Id id : {1, 2, 3}) slots.wait(id, "a");
  EXPECT_THAT(begun(slots), ElementsAre(1, 2));
  EXPECT_EQ(slots.surplus(), std::nullopt);
  slots.leave(1);
  EXPECT_THAT(begun(slots), ElementsAre(3));
}

TEST(FairSlots, WhoeverHasTheFewestIsNext) {
  FairSlots slots(4);
  for (const FairSlots::Id id : {1, 2, 3, 4, 5}) slots.wait(id, "many");
  slots.wait(6, "few");
  slots.wait(7, "other");
  EXPECT_THAT(begun(slots), ElementsAre(1, 6, 7, 2));
  slots.leave(6);
  slots.wait(8, "few");
  EXPECT_THAT(begun(slots), ElementsAre(8));
  EXPECT_EQ(slots.running_of("many"), 2U);
  EXPECT_TRUE(slots.is_running(8));
  EXPECT_FALSE(slots.is_running(3));
}

TEST(FairSlots, WhoeverHasMoreThanItsShareGivesTheLastOneBack) {
  FairSlots slots(4);
  for (const FairSlots::Id id : {1, 2, 3, 4}) slots.wait(id, "many");
  begun(slots);
  slots.wait(5, "few");
  EXPECT_THAT(begun(slots), ElementsAre());
  EXPECT_EQ(slots.surplus(), 4U);
  EXPECT_EQ(slots.surplus(), std::nullopt);  // one at a time
  slots.leave(4);
  slots.wait(4, "many");  // it begins anew, behind the others
  EXPECT_THAT(begun(slots), ElementsAre(5));
  EXPECT_EQ(slots.surplus(), std::nullopt);  // nobody who waits has less than its share
  slots.wait(6, "few");
  EXPECT_EQ(slots.surplus(), 3U);
}

TEST(FairSlots, NobodyLosesTheOnlyOne) {
  FairSlots slots(2);
  slots.wait(1, "a");
  slots.wait(2, "b");
  slots.wait(3, "c");
  EXPECT_THAT(begun(slots), ElementsAre(1, 2));
  EXPECT_EQ(slots.surplus(), std::nullopt);
}

TEST(FairSlots, WhoeverLeavesWhileWaitingIsNotServed) {
  FairSlots slots(1);
  slots.wait(1, "a");
  slots.wait(2, "b");
  EXPECT_THAT(begun(slots), ElementsAre(1));
  slots.leave(2);
  slots.leave(1);
  EXPECT_THAT(begun(slots), ElementsAre());
}

}  // namespace
}  // namespace vg::images
