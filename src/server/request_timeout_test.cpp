#include "server/request_timeout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vg::server {
namespace {

TEST(RequestTimeout, IsADuration) {
  for (const char* query : {"", "timeout=", "timeout", "timeout=0s", "timeout=0", "timeout=30s", "timeout=1h30m",
                            "timeout=-5s", "timeoutSeconds=x", "a=timeout", "timeout=1s&timeout=x", "%74imeout=2s"})
    EXPECT_FALSE(find_timeout_problem(query)) << query;
  for (const char* query : {"timeout=invalid", "timeout=30", "timeout=1x", "a=b&timeout=x", "%74imeout=x",
                            "timeout=x&timeout=1s", "timeout=99999999999h"}) {
    const auto problem = find_timeout_problem(query);
    ASSERT_TRUE(problem) << query;
    EXPECT_EQ(problem->code, 400) << query;
    EXPECT_THAT(problem->message, ::testing::HasSubstr("invalid timeout specified in the request URL")) << query;
  }
}

}  // namespace
}  // namespace vg::server
