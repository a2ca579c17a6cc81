#include "helpers/kept_process.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>  // NOLINT: kill and SIGSTOP are POSIX's
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "helpers/channel.h"

namespace vg::helpers {
namespace {

using std::chrono::seconds;

TEST(Heartbeat, IsSeenByOthersAndCannotBeCut) {
  auto page = Heartbeat::make();
  ASSERT_TRUE(page);
  EXPECT_NE(::ftruncate(page->descriptor(), 0), 0) << "whoever reads it would be killed";
  auto other = Heartbeat::open(Descriptor(::dup(page->descriptor())));
  ASSERT_TRUE(other);
  const std::int64_t before = other->last();
  page->beat();
  EXPECT_GT(other->last(), before);
  EXPECT_LT(other->silent_for(), seconds(20));
  EXPECT_FALSE(Heartbeat::open(Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC))));
}

// A keeper in a process of its own, as there is one for the disk worker; its children say who they are.
class KeeperTest : public ::testing::Test {
 protected:
  void start(const std::function<void(Heartbeat&)>& body) {
    auto server = Channel::make_pair();
    auto words = Channel::make_pair();
    ASSERT_TRUE(server && words);
    keeper_ = ::fork();
    ASSERT_GE(keeper_, 0);
    if (keeper_ == 0) {
      server->first.close();
      words->first.close();
      KeptProcess kept(
          *Heartbeat::make(),
          [&](Heartbeat& own) {
            (void)words->second.send("", std::to_string(::getpid()));
            body(own);
            return 0;
          },
          silent_looks);
      keep_running(server->second.descriptor(), {&kept, 1}, nullptr);
      ::_exit(0);
    }
    server_ = std::move(server->first);
    words_ = std::move(words->first);
  }
  void TearDown() override {
    server_.close();
    if (keeper_ > 0) EXPECT_EQ(::waitpid(keeper_, nullptr, 0), keeper_);
  }
  // The next child; -1: none came.
  pid_t next_child() {
    const auto deadline = std::chrono::steady_clock::now() + seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      words_.wait_to_receive(seconds(1));
      const auto received = words_.receive();
      if (!received) return -1;
      if (*received) return std::stoi((*received)->body);
    }
    return -1;
  }
  static bool is_gone(pid_t process) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(30);
    while (::kill(process, 0) == 0 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return ::kill(process, 0) != 0;
  }

  static constexpr int silent_looks = 4;
  pid_t keeper_ = -1;
  Channel server_, words_;
};

void beat_for_ever(Heartbeat& own) {
  while (true) {
    own.beat();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

TEST_F(KeeperTest, WhatEndsIsStartedAgain) {
  start([](Heartbeat&) {});
  const pid_t first = next_child(), second = next_child();
  EXPECT_GT(first, 0);
  EXPECT_GT(second, 0);
  EXPECT_NE(first, second);
}

TEST_F(KeeperTest, WhatHangsIsKilledAndReplaced) {
  start(beat_for_ever);
  const pid_t first = next_child();
  ASSERT_GT(first, 0);
  ASSERT_EQ(::kill(first, SIGSTOP), 0);
  const pid_t second = next_child();
  ASSERT_GT(second, 0);
  EXPECT_TRUE(is_gone(first));
  EXPECT_EQ(::kill(second, 0), 0);
}

// Those below it, too, and at once: they do not go on beside the next one.
TEST_F(KeeperTest, WhatLeadsAGroupIsKilledWithIt) {
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  start([&](Heartbeat& own) {
    ::setpgid(0, 0);
    if (::fork() == 0) {
      const pid_t self = ::getpid();
      (void)!::write(told[1], &self, sizeof self);
      ::pause();
    }
    beat_for_ever(own);
  });
  const pid_t first = next_child();
  pid_t below = 0;
  ASSERT_EQ(::read(told[0], &below, sizeof below), static_cast<ssize_t>(sizeof below));
  ASSERT_EQ(::kill(first, SIGSTOP), 0);
  ASSERT_GT(next_child(), 0);
  // Whoever takes it in may leave its exit code where it is.
  std::string state = "Z";
  std::ifstream status(fmt::format("/proc/{}/stat", below));
  for (std::string word; status >> word && word != ")" && !word.ends_with(')');) {
  }
  status >> state;
  EXPECT_TRUE(state == "Z" || state == "X") << state;
  for (const int end : told) ::close(end);
}

// One who was stopped himself finds everybody silent; that is no reason.
TEST_F(KeeperTest, AfterAPauseOfItsOwnNobodyIsKilled) {
  start(beat_for_ever);
  const pid_t child = next_child();
  ASSERT_GT(child, 0);
  for (const int signal : {SIGSTOP, SIGCONT}) {
    ASSERT_EQ(::kill(keeper_, signal), 0);
    ASSERT_EQ(::kill(child, signal), 0);
    if (signal == SIGSTOP) std::this_thread::sleep_for(silent_looks * limits::helper_beat_interval * 2);
  }
  words_.wait_to_receive(silent_looks * limits::helper_beat_interval);
  EXPECT_FALSE(words_.receive()->has_value()) << "another one was started";
  EXPECT_EQ(::kill(child, 0), 0);
}

TEST_F(KeeperTest, WithoutTheServerAllOfThemEnd) {
  start(beat_for_ever);
  const pid_t child = next_child();
  ASSERT_GT(child, 0);
  server_.close();
  EXPECT_TRUE(is_gone(child));
}

}  // namespace
}  // namespace vg::helpers
