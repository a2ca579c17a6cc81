#include <gmock/gmock.h>

#include "admission/rules/machine/testing.h"

namespace vg::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::told_by;

TEST(LifecycleTest, AnEmptyStartStrategyIsOneThatNobodyKnows) {
  EXPECT_THAT(told_by(start_strategy_family, R"({"startStrategy":""})"), ElementsAre("Invalid spec.startStrategy"));
  EXPECT_THAT(told_by(start_strategy_family, R"({"startStrategy":"x","livenessProbe":{}})"),
              ElementsAre("Invalid spec.startStrategy"));
  EXPECT_THAT(told_by(start_strategy_family, R"({"startStrategy":"Paused","readinessProbe":{}})"), IsEmpty());
  EXPECT_THAT(told_by(start_strategy_family, R"({"livenessProbe":{}})"), IsEmpty());
}

TEST(LifecycleTest, TheClustersEvictionStrategyCountsForMachinesWithoutOne) {
  for (const char* known : {"None", "LiveMigrate", "LiveMigrateIfPossible", "External"})
    EXPECT_THAT(told_by(eviction_strategy_family, "{}", std::string(R"({"evictionStrategy":")") + known + "\"}"),
                IsEmpty())
        << known;
  const char* odd = R"({"evictionStrategy":"odd"})";
  EXPECT_THAT(told_by(eviction_strategy_family, "{}", odd), ElementsAre("Invalid spec.evictionStrategy"));
  EXPECT_THAT(told_by(eviction_strategy_family, R"({"evictionStrategy":"None"})", odd), IsEmpty());
  EXPECT_THAT(told_by(eviction_strategy_family, R"({"evictionStrategy":""})"),
              ElementsAre("Invalid spec.evictionStrategy"));
  EXPECT_THAT(told_by(eviction_strategy_family, "{}"), IsEmpty());
}

TEST(LifecycleTest, WithItsGateAnyRebootPolicyGoesThrough) {
  EXPECT_THAT(told_by(reboot_policy_family, R"({"domain":{"devices":{},"rebootPolicy":"Terminate"}})"), IsEmpty());
}

}  // namespace
}  // namespace vg::admission
