#include "images/pull_backoff.h"

#include <gmock/gmock.h>

#include "base/image_limits.h"

namespace vg::images {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(PullBackOff, WaitsLongerAfterEachFailure) {
  PullBackOff back_off;
  PullBackOff::Time now{};
  EXPECT_EQ(back_off.wait("a", now), std::nullopt);
  EXPECT_EQ(back_off.last("a"), std::nullopt);
  for (seconds pause = limits::image_pull_pause_min; pause < 4 * limits::image_pull_pause_max; pause *= 2) {
    back_off.failed("a", Status::unavailable("no registry"), now);
    const seconds expected = std::min(pause, limits::image_pull_pause_max);
    const auto waits = back_off.wait("a", now + expected - seconds(1));
    ASSERT_TRUE(waits);
    EXPECT_EQ(waits->reason, "ImagePullBackOff");
    EXPECT_THAT(waits->message, HasSubstr("no registry"));
    now += expected;
    EXPECT_EQ(back_off.wait("a", now), std::nullopt);
    EXPECT_EQ(back_off.last("a")->reason, "ErrImagePull") << "said while it is tried again";
  }
  EXPECT_EQ(back_off.wait("b", now), std::nullopt);
  back_off.forget("a");
  EXPECT_EQ(back_off.last("a"), std::nullopt);
}

TEST(PullBackOff, AnImageThatIsNoGoodIsNoMatterOfThePull) {
  PullBackOff back_off;
  back_off.failed("a", Status::bad_request("not a disk"), {});
  const auto waits = back_off.wait("a", {});
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->reason, "BadRequest");
  EXPECT_EQ(waits->message, "not a disk");
}

}  // namespace
}  // namespace vg::images
