#include "hypervisor/testing.h"

#include <gmock/gmock.h>

#include "hypervisor/libvirt_test_support.h"

namespace vg::hypervisor {
namespace {

using ::testing::ElementsAre;

TEST(FakeHypervisor, DoesAsLibvirtWould) {
  testing::TestCore core;
  FakeHypervisor fake;
  std::vector<std::string> heard;
  fake.on_event([&](const Event& event) { heard.push_back(event.name); });
  EXPECT_EQ(core.run(fake.start(core, "a", false)).error().code, 404);
  EXPECT_TRUE(core.run(fake.destroy(core, "a")));
  ASSERT_TRUE(core.run(fake.define(core, "<domain><name>a</name></domain>")));
  ASSERT_TRUE(core.run(fake.start(core, "a", true)));
  EXPECT_EQ(fake.find("a")->state, State::paused);
  fake.fail_next("resume", Status::internal_error("no"));
  EXPECT_FALSE(core.run(fake.resume(core, "a")));
  EXPECT_TRUE(core.run(fake.resume(core, "a")));
  EXPECT_EQ(fake.find("a")->state, State::running);
  EXPECT_TRUE(core.run(fake.undefine(core, "a")));
  EXPECT_EQ(fake.find("a"), nullptr);
  EXPECT_THAT(fake.calls(),
              ElementsAre("start a", "destroy a", "define a", "start_paused a", "resume a", "resume a", "undefine a"));
  EXPECT_EQ(heard.size(), 4U);
}

Task<void> note_success(Task<Result<void>> task, std::optional<bool>& succeeded) {
  const auto result = co_await task;
  succeeded = result.has_value();
}

TEST(FakeHypervisor, CallsWaitWhileTheyAreHeld) {
  testing::TestCore core;
  FakeHypervisor fake;
  fake.put({.name = "a", .uuid = {}, .state = State::running});
  std::optional<bool> succeeded;
  fake.hold("migrate");
  spawn(note_success(fake.migrate(core, "a", {}), succeeded));
  EXPECT_FALSE(succeeded);
  ASSERT_TRUE(core.run(fake.abort_job(core, "a")));
  while (!succeeded) core.run_one();
  EXPECT_FALSE(*succeeded);
  EXPECT_NE(fake.find("a"), nullptr);
}

}  // namespace
}  // namespace vg::hypervisor
