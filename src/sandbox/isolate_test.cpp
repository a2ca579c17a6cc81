#include "sandbox/isolate.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

namespace vg::sandbox {
namespace {

namespace fs = std::filesystem;
using Access = PathRule::Access;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

struct IsolateTest : ::testing::Test {
  fs::path root;
  std::vector<PathRule> rules;
  void SetUp() override {
    std::string name = "/var/tmp/virtgate-isolate-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
    fs::create_directory(root / "own");
    std::ofstream(root / "own/file") << "own";
    std::ofstream(root / "other") << "other";
    rules = {{(root / "own").native(), Access::data},
             {"/usr", Access::program},
             {"/proc", Access::read},
             {"/tmp", Access::data},
             {"/no-such-place", Access::read}};
    if (const std::string why = why_not_isolated(rules); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override { fs::remove_all(root); }

  // What body returns inside; 120: it could not be had.
  int inside(const std::function<int()>& body) const {
    const pid_t child = ::fork();
    if (child == 0) std::_Exit(isolate(rules) ? body() : 120);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
};

TEST_F(IsolateTest, OnlyWhatRulesNameIsThere) {
  EXPECT_EQ(inside([&] { return ::access((root / "own/file").c_str(), R_OK) == 0 ? 0 : errno; }), 0);
  EXPECT_EQ(inside([&] { return ::access((root / "other").c_str(), F_OK) == 0 ? 0 : errno; }), ENOENT);
  EXPECT_EQ(inside([&] { return ::access("/etc/passwd", F_OK) == 0 ? 0 : errno; }), ENOENT);
  EXPECT_EQ(inside([&] {
              std::ofstream(root / "own/new") << "kept";
              return 0;
            }),
            0);
  EXPECT_TRUE(fs::exists(root / "own/new")) << "it is the folder itself and no copy";
}

TEST_F(IsolateTest, SocketsOfOthersCannotBeConnectedTo) {
  const int own = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
            other = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un near = address_of(root / "own/s"), far = address_of(root / "s");
  for (const auto& [socket, address] : {std::pair(own, near), {other, far}}) {
    ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(socket, 1), 0);
  }
  const auto connect = [](const sockaddr_un& address) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  };
  EXPECT_EQ(inside([&] { return connect(near); }), 0);
  EXPECT_EQ(inside([&] { return connect(far); }), ENOENT);
  ::close(own);
  ::close(other);
}

TEST_F(IsolateTest, AFolderInThePlaceOfTheOneAroundIt) {
  for (const char* path : {"all/mine", "all/theirs"}) {
    fs::create_directories(root / path);
    std::ofstream(root / path / "file") << path;
  }
  rules.push_back({(root / "all").native(), Access::data, (root / "all/mine").native()});
  const auto is_there = [&](const char* path) {
    return inside([&] { return ::access((root / path).c_str(), F_OK) == 0 ? 0 : errno; });
  };
  EXPECT_EQ(is_there("all/file"), 0);
  EXPECT_EQ(is_there("all/mine"), ENOENT);
  EXPECT_EQ(is_there("all/theirs"), ENOENT);
  EXPECT_EQ(inside([&] { return ::unlink((root / "all/file").c_str()); }), 0);
  EXPECT_FALSE(fs::exists(root / "all/mine/file")) << "it is the folder itself";
}

TEST_F(IsolateTest, WhatIsReadKeepsItsModes) {
  fs::create_directories(root / "shared/of-guests/loaded");
  std::ofstream(root / "shared/file") << "shared";
  rules.push_back({(root / "shared").native(), Access::read});
  rules.push_back({(root / "shared/of-guests").native(), Access::data});
  rules.push_back({(root / "shared/of-guests/loaded").native(), Access::program});
  const auto change = [&](const char* path) {
    return inside([&] { return ::chmod((root / path).c_str(), 0700) == 0 ? 0 : errno; });
  };
  EXPECT_EQ(change("shared"), EROFS);
  EXPECT_EQ(change("shared/file"), EROFS);
  EXPECT_EQ(change("shared/of-guests"), 0) << "a writable folder within";
  EXPECT_EQ(change("shared/of-guests/loaded"), EROFS) << "and what is only read within that";
  EXPECT_EQ(change("own"), 0);
  EXPECT_EQ(inside([&] { return ::access((root / "shared/file").c_str(), R_OK) == 0 ? 0 : errno; }), 0);
}

TEST_F(IsolateTest, TheTemporaryFolderIsAnEmptyOne) {
  EXPECT_EQ(inside([] {
              std::error_code error;
              return fs::is_empty("/tmp", error) && !error ? 0 : 1;
            }),
            0);
  EXPECT_EQ(inside([] { return ::open("/tmp/new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 ? 0 : errno; }), 0);
}

TEST_F(IsolateTest, NobodyIsMoreInItThanOutside) {
  EXPECT_EQ(inside([] { return ::geteuid() == static_cast<uid_t>(0) ? 0 : 1; }), ::geteuid() == 0 ? 0 : 1);
  EXPECT_EQ(inside([] { return ::chroot("/usr") == 0 ? 0 : errno; }), EPERM) << "no capability is left";
  EXPECT_NE(inside([] { return ::unshare(CLONE_NEWUSER) == 0 ? 0 : errno; }), 0) << "nor comes from another one";
}

}  // namespace
}  // namespace vg::sandbox
