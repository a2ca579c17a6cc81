#include "local_guests.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>  // NOLINT: kill and SIGKILL are POSIX's
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

namespace vg::cmd {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A process that holds its file as QEMU does, until the end of this object.
class Holder {
 public:
  explicit Holder(const std::string& file) {
    std::array<int, 2> ready{};
    if (::pipe(ready.data()) != 0) return;
    process_ = ::fork();
    if (process_ == 0) {
      const int opened = ::open(file.c_str(), O_RDWR | O_CREAT, 0600);
      struct flock lock{};
      lock.l_type = F_WRLCK;
      const bool held = ::fcntl(opened, F_SETLK, &lock) == 0;
      (void)!::write(ready[1], held ? "y" : "n", 1);
      ::pause();
      ::_exit(0);
    }
    char answer = 0;
    held_ = ::read(ready[0], &answer, 1) == 1 && answer == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Holder() { end(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  void end() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  bool held() const { return held_; }
  pid_t process() const { return process_; }

 private:
  pid_t process_ = -1;
  bool held_ = false;
};

struct LocalGuestsTest : testing::Test {
  void SetUp() override {
    std::string name = "/tmp/vg-guests-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    state_ = name;
    for (const char* node : {"node01", "node02"}) {
      fs::create_directories(fs::path(state_) / "nodes" / node);
      fs::create_directories(status(node));
    }
  }
  std::string status(std::string_view node) const { return fmt::format("{}/run/{}/libvirt/qemu/run", state_, node); }
  void TearDown() override { fs::remove_all(state_); }
  LocalGuests guests() const { return {state_, false}; }
  std::string state_;
};

TEST_F(LocalGuestsTest, AGuestRunsAsLongAsItsProcess) {
  Holder qemu(status("node02") + "/ns_a.pid");
  ASSERT_TRUE(qemu.held());
  const auto why = guests().may_run("node02", "ns", "a");
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr(fmt::to_string(qemu.process())));
  EXPECT_THAT(guests().nodes_in_use(), ElementsAre("node02"));
  EXPECT_FALSE(guests().may_run("node02", "ns", "b"));
  EXPECT_FALSE(guests().may_run("node01", "ns", "a"));
  qemu.end();
  EXPECT_FALSE(guests().may_run("node02", "ns", "a")) << "the file alone says nothing: it outlives a power failure";
  EXPECT_THAT(guests().nodes_in_use(), IsEmpty());
}

// Also of nodes beyond --nodes, whose VMIs could else never be given up: the sandbox would hide their files.
TEST_F(LocalGuestsTest, TheFilesOfEveryNodeThatWasMadeHereAreLookedAt) {
  EXPECT_THAT(guests().folders(), ElementsAre(state_ + "/run/node01", state_ + "/run/node02"));
}

TEST_F(LocalGuestsTest, WhatCannotBeKnownMayRun) {
  EXPECT_TRUE(LocalGuests(state_, true).may_run("node01", "ns", "a")) << "of another libvirt";
  fs::create_symlink("/etc/passwd", status("node01") + "/ns_a.pid");
  EXPECT_TRUE(guests().may_run("node01", "ns", "a"));
}

TEST_F(LocalGuestsTest, NodesOfOthersAreNotJudged) {
  Holder qemu(status("node02") + "/ns_a.pid");
  fs::remove_all(fs::path(state_) / "nodes" / "node02");
  for (const char* node : {"node02", "worker-1", "../nodes/node01", ""})
    EXPECT_FALSE(guests().may_run(node, "ns", "a"));
  EXPECT_FALSE(LocalGuests(state_, true).may_run("worker-1", "ns", "a"));
}

}  // namespace
}  // namespace vg::cmd
