#include "disks/program.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sandbox/landlock.h"

namespace vg::disks {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A shell stands for a program that the image it reads has taken over.
class TakenOver : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sandbox::sanitized_build || sandbox::landlock_abi() == 0) GTEST_SKIP() << "no Landlock here";
    std::string name = (fs::temp_directory_path() / "program-XXXXXX").native();
    root_ = ::mkdtemp(name.data());
    fs::create_directory(root_ / "own");
    std::ofstream(root_ / "own/image") << "of its own";
    std::ofstream(root_ / "named") << "named";
    std::ofstream(root_ / "secret") << "secret";
    folder_ = Descriptor(::open((root_ / "own").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }
  Ended shell(const std::string& script, std::vector<std::string> more = {}) const {
    Program program{.command = {"bash", "-c", script}, .folder = folder_.get(), .bytes_max = 1 << 20};
    program.command.insert(program.command.end(), more.begin(), more.end());
    const auto ended = run(program);
    EXPECT_TRUE(ended);
    return ended ? *ended : Ended{.code = -1};
  }

  fs::path root_;
  Descriptor folder_;
};

TEST_F(TakenOver, HasItsFolderAndTheFilesThatItIsToldOf) {
  EXPECT_EQ(shell("cat image && echo more > new && cat new").output, "of its ownmore\n");
  const std::string named = root_ / "named";
  EXPECT_EQ(shell("cat \"$0\"", {named}).output, "named");
  EXPECT_NE(shell("echo x > \"$0\"", {named}).code, 0) << "it is read and not written";
}

TEST_F(TakenOver, HasNoOtherFile) {
  for (const std::string& path :
       {(root_ / "secret").native(), std::string("/etc/passwd"), std::string("/proc/1/stat")}) {
    const Ended ended = shell("exec 3< " + path);
    EXPECT_NE(ended.code, 0) << path;
    EXPECT_THAT(ended.errors, HasSubstr("Permission denied"));
  }
  EXPECT_NE(shell("echo x > ../planted").code, 0);
  EXPECT_FALSE(fs::exists(root_ / "planted"));
}

TEST_F(TakenOver, HasNoNetwork) {
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const Ended ended = shell(fmt::format("exec 3<>/dev/tcp/127.0.0.1/{}", ntohs(address.sin_port)));
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.errors, HasSubstr("socket"));
}

TEST_F(TakenOver, SignalsNobodyOutside) {
  if (sandbox::landlock_abi() < 6) GTEST_SKIP() << "Landlock of this kernel knows no signals";
  EXPECT_NE(shell(fmt::format("kill -0 {}", ::getpid())).code, 0);
}

}  // namespace
}  // namespace vg::disks
