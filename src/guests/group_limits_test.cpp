#include "guests/group_limits.h"

#include <gtest/gtest.h>

#include "guests/testing.h"

namespace vg::guests {
namespace {

TEST(GroupLimits, AreThoseOfAPod) {
  const auto vmi = testing::Made::read(
      R"({"spec":{"domain":{"resources":{"limits":{"cpu":"1500m","memory":"1Gi"},"requests":{"cpu":"1"}}}},
          "status":{"memory":{"memoryOverhead":"256Mi"}}})");
  EXPECT_EQ(group_limits(vmi.root()),
            (GroupLimits{.cpu_milli = 1500, .memory_bytes = 1280 << 20, .cpu_request_milli = 1000}));
  const auto none = testing::Made::read(R"({"spec":{"domain":{}},"status":{"memory":{"memoryOverhead":"256Mi"}}})");
  EXPECT_EQ(group_limits(none.root()), GroupLimits{});
}

}  // namespace
}  // namespace vg::guests
