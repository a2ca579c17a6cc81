// The server's side of the disk worker, with a test in place of the worker.
#include "disks/agent.h"

#include <gmock/gmock.h>

#include <future>
#include <thread>

#include "base/helper_limits.h"
#include "disks/messages.h"

namespace vg::disks {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

DiskJob import(std::string id, std::size_t authorities = 0) {
  return {.id = std::move(id),
          .claim = {.ns = "ns", .name = "c"},
          .claim_uid = "u",
          .work = ImportHttp{.target = {}, .url = "http://h/x", .authorities = std::string(authorities, 'x')}};
}

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    auto ends = helpers::Channel::make_pair();
    worker_ = std::move(ends->second);
    beat_.emplace(*helpers::Heartbeat::make());
    WorkerLink link{.channel = std::move(ends->first),
                    .heartbeat = *helpers::Heartbeat::open(Descriptor(::dup(beat_->descriptor())))};
    agent_ = std::make_unique<WorkerAgent>(std::move(link), clock_);
    agent_->start_listening();
  }
  void say(const Message& message) {
    ASSERT_EQ(worker_.send(subject_of(message), write_message(message)), helpers::Sent::yes);
  }
  template <class T>
  T expect() {
    for (int i = 0; i < 600; ++i) {
      auto received = worker_.receive();
      if (received && *received) {
        auto message = read_message((*received)->body);
        if (message && std::holds_alternative<T>(*message)) return std::get<T>(std::move(*message));
        ADD_FAILURE() << "another message: " << (*received)->body.substr(0, 200);
        return {};
      }
      worker_.wait_to_receive(std::chrono::milliseconds(100));
    }
    ADD_FAILURE() << "no message";
    return {};
  }
  void announce() {
    say(Hello{});
    expect<Welcome>();
    say(Ready{});
    ASSERT_TRUE(until([&] { return agent_->ready(); }));
  }
  template <class Condition>
  bool until(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(30);
    while (!condition() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
  }
  bool has_failed(const char* id) {
    return until([&] { return agent_->job(id) && agent_->job(id)->state == DiskJobState::failed; });
  }

  SystemClock clock_;
  helpers::Channel worker_;
  std::optional<helpers::Heartbeat> beat_;
  std::unique_ptr<WorkerAgent> agent_;
};

// A bundle of certificates is larger than a packet.
TEST_F(AgentTest, AJobArrivesWholeHoweverLargeItsCertificatesAre) {
  announce();
  agent_->start(import("small"));
  EXPECT_EQ(expect<Start>().job.id, "small");
  say(JobEnded{.id = "small"});
  ASSERT_TRUE(until([&] { return agent_->job("small")->state == DiskJobState::succeeded; }));
  agent_->start(import("large", 1 << 20));
  EXPECT_EQ(std::get<ImportHttp>(expect<Start>().job.work).authorities.size(), 1U << 20);
}

TEST_F(AgentTest, AJobThatCannotBeSentFailsAndLeavesItsSlot) {
  announce();
  for (int i = 0; i < 5; ++i) {
    const std::string id = "huge" + std::to_string(i);
    agent_->start(import(id, limits::helper_message_bytes_max + 1));
    ASSERT_EQ(agent_->job(id)->state, DiskJobState::failed);
    EXPECT_THAT(agent_->job(id)->message, HasSubstr("too large"));
  }
  agent_->start(import("ordinary"));
  EXPECT_EQ(expect<Start>().job.id, "ordinary");
}

TEST_F(AgentTest, AnUnreadableMessageEndsItsJob) {
  announce();
  agent_->start(import("a"));
  expect<Start>();
  ASSERT_EQ(worker_.send("a", "no JSON"), helpers::Sent::yes);
  EXPECT_TRUE(has_failed("a"));
  EXPECT_EQ(expect<Cancel>().id, "a");
  ASSERT_EQ(worker_.send("", "nor this"), helpers::Sent::yes);
  agent_->start(import("b"));
  EXPECT_EQ(expect<Start>().job.id, "b") << "the link goes on";
}

// It neither reads nor says anything: whoever asks for a job, and whoever asks how it is, has an answer at once.
TEST_F(AgentTest, AWorkerThatHangsKeepsNobodyWaiting) {
  announce();
  auto asked = std::async(std::launch::async, [&] {
    for (int i = 0; i < 2000; ++i) {
      DiskJob job = import("job" + std::to_string(i), 100'000);
      job.claim = {.ns = "ns" + std::to_string(i), .name = "c"};
      agent_->start(std::move(job));
      agent_->cancel("job" + std::to_string(i));
    }
  });
  EXPECT_EQ(asked.wait_for(seconds(60)), std::future_status::ready);
  EXPECT_TRUE(until([&] { return agent_->problem().has_value(); }));
  EXPECT_THAT(agent_->problem().value_or(""), HasSubstr("does not answer"));
  beat_->beat();
  EXPECT_FALSE(agent_->problem()) << "it answers again";
}

// What was sent to the one before is over: the new one is not to carry it out.
TEST_F(AgentTest, ANewWorkerBeginsAnew) {
  announce();
  agent_->start(import("a"));
  say(Hello{});
  EXPECT_TRUE(has_failed("a"));
  expect<Start>();  // the old one
  expect<Welcome>();
  agent_->start(import("a"));
  EXPECT_EQ(agent_->job("a")->state, DiskJobState::waiting);
  say(Ready{});
  EXPECT_EQ(expect<Start>().job.id, "a");
  say(JobEnded{.id = "a"});
  EXPECT_TRUE(until([&] { return agent_->job("a")->state == DiskJobState::succeeded; }));
}

TEST_F(AgentTest, WhoWaitsIsToldForWhat) {
  announce();
  for (const char* id : {"a", "b", "c"}) {
    DiskJob job = import(id);
    job.claim.name = id;
    agent_->start(std::move(job));
  }
  (void)agent_->take_changes();
  DiskJob job = import("d");
  job.claim.name = "d";
  agent_->start(std::move(job));
  EXPECT_THAT(agent_->job("d")->waits_for, HasSubstr("downloads"));
  const auto changes = agent_->take_changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].job, "d");
}

TEST_F(AgentTest, WithoutAWorkerJobsFail) {
  announce();
  agent_->start(import("a"));
  worker_.close();
  EXPECT_TRUE(has_failed("a"));
  EXPECT_THAT(agent_->problem().value_or(""), HasSubstr("is gone"));
}

}  // namespace
}  // namespace vg::disks
