#include "handler/server/disk_copies.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "disks/folder.h"
#include "disks/live_copy.h"
#include "http/core.h"
#include "hypervisor/testing.h"

namespace vg::handler {
namespace {

using disks::LiveCopy;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

TEST(DiskCopies, WhatIsAskedForIsReadWithCare) {
  const auto good = read_wishes(R"({"copies":[{"claim":"c","record":"ns.vmsnapshot-1"}]})");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->front().record, "ns.vmsnapshot-1");
  for (const char* body :
       {"", "{}", R"({"copies":[]})", R"({"copies":[{}]})", R"({"copies":[{"claim":"../x","record":"r"}]})",
        R"({"copies":[{"claim":"c","record":"../../etc"}]})", R"({"copies":[{"claim":"c","record":""}]})",
        R"({"copies":[{"claim":".records","record":"r"}]})", R"([1])"})
    EXPECT_FALSE(read_wishes(body)) << body;
}

class DiskCopiesTest : public ::testing::Test {
 protected:
  DiskCopiesTest() : cores_(1) {
    std::string name = "/tmp/vg-copies-XXXXXX";
    if (!::mkdtemp(name.data())) std::abort();
    folder_ = name;
    for (const char* claim : {"a", "b"}) {
      fs::create_directories(fmt::format("{}/disks/ns/{}", folder_, claim));
      std::ofstream(fmt::format("{}/disks/ns/{}/disk.img", folder_, claim)) << "data";
    }
    fs::create_symlink(folder_ + "/disks/ns/a/disk.img", folder_ + "/link");
    hypervisor_.put({.name = "ns_vm",
                     .uuid = "u",
                     .state = hypervisor::State::running,
                     .reason = "Unknown",
                     .xml = std::make_shared<const std::string>(
                         fmt::format("<domain type='qemu'><name>ns_vm</name><devices><disk type='file' device='disk'>"
                                     "<source file='{}/link'/><target dev='vda' bus='virtio'/>"
                                     "<alias name='ua-root'/></disk></devices></domain>",
                                     folder_)),
                     .agent_connected = false});
  }
  ~DiskCopiesTest() override {
    // Tasks may be thrown away only once their core has stopped; until then the one that is left must end by itself.
    hypervisor_.fail_next("job", Status::internal_error("the guest is gone"));
    while (tasks_.size() > 0) std::this_thread::yield();
    fs::remove_all(folder_);
  }

  Result<void> begin() {
    std::promise<Result<void>> done;
    cores_[0].post([&] {
      spawn([](DiskCopiesTest& test, std::promise<Result<void>>& over) -> Task<void> {
        over.set_value(co_await test.copies_->begin(
            test.cores_[0], {.ns = "ns", .name = "vm", .what = "copydisks", .query = {}},
            R"({"copies":[{"claim":"a","record":"ns.one"},{"claim":"b","record":"ns.two"}]})"));
      }(*this, done));
    });
    return done.get_future().get();
  }
  std::optional<LiveCopy> note(const std::string& record) const {
    auto folder = disks::DiskFolder::open(folder_ + "/disks");
    const auto open = folder->record(record);
    return open ? disks::read_live(open->get()) : std::nullopt;
  }
  // A copy is looked at some times a second.
  LiveCopy::State await_end(const std::string& record) const {
    while (note(record) && note(record)->state == LiveCopy::State::copying) std::this_thread::yield();
    return note(record) ? note(record)->state : LiveCopy::State::unused;
  }

  std::string folder_;
  hypervisor::FakeHypervisor hypervisor_;
  http::TaskSet tasks_;
  std::optional<DiskCopies> copies_;
  http::CoreThreads cores_;

  void SetUp() override { copies_.emplace(hypervisor_, folder_ + "/disks", tasks_); }
};

TEST_F(DiskCopiesTest, AllDisksOfTheGuestAtOnce) {
  ASSERT_TRUE(begin());
  EXPECT_THAT(hypervisor_.calls(), Contains("begin_copy ns_vm vda"));
  EXPECT_EQ(await_end("ns.one"), LiveCopy::State::done);
  EXPECT_GT(note("ns.one")->at_ms, 0);
  EXPECT_EQ(note("ns.two")->state, LiveCopy::State::unused) << "the guest does not have it";
}

TEST_F(DiskCopiesTest, WhatCannotBeginIsTold) {
  hypervisor_.fail_next("begin_copy", Status::internal_error("no"));
  const auto begun = begin();
  ASSERT_FALSE(begun);
  EXPECT_EQ(note("ns.one")->state, LiveCopy::State::failed);
}

TEST_F(DiskCopiesTest, HowItEndedIsTold) {
  hypervisor_.fail_next("copy_result", Status::internal_error("the guest is gone"));
  ASSERT_TRUE(begin());
  EXPECT_EQ(await_end("ns.one"), LiveCopy::State::failed);
  EXPECT_THAT(note("ns.one")->message, HasSubstr("gone"));
}

// After a restart of the server, or of the node itself.
TEST_F(DiskCopiesTest, ACopyThatIsBeingMadeIsTheOneThatIsWanted) {
  hypervisor_.progress = {.active = true, .total = 4, .processed = 1};
  EXPECT_FALSE(begin()) << "another job runs";
  EXPECT_THAT(hypervisor_.calls(), Not(Contains(HasSubstr("begin_copy"))));
  auto folder = disks::DiskFolder::open(folder_ + "/disks");
  ASSERT_TRUE(disks::write_live(folder->make_record("ns.one")->get(), {.at_ms = 77}));
  EXPECT_TRUE(begin());
  EXPECT_THAT(hypervisor_.calls(), Not(Contains(HasSubstr("begin_copy"))));
  while (note("ns.one")->progress != 2500) std::this_thread::yield();
  EXPECT_EQ(note("ns.one")->at_ms, 77) << "of the same point in time";
  // Nobody wants it any more: it is ended.
  ASSERT_TRUE(folder->remove_record("ns.one"));
  const auto aborted = [&] {
    const auto calls = hypervisor_.calls();
    return std::ranges::find(calls, "abort_job ns_vm") != calls.end();
  };
  while (!aborted()) std::this_thread::yield();
}

}  // namespace
}  // namespace vg::handler
