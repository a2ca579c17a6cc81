// The worker itself, with a test in place of the server.
#include "disks/worker.h"

#include <arpa/inet.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>  // NOLINT: kill and SIGKILL are POSIX's
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "disks/messages.h"

namespace vg::disks {
namespace {

constexpr uid_t nobody_else = 64999;  // whose processes are those of this test alone

pid_t start_as_another(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const bool became = ::setgroups(0, nullptr) == 0 && ::setgid(nobody_else) == 0 && ::setuid(nobody_else) == 0;
  ::_exit(became ? body() : 1);
}

pid_t only_child_of(pid_t parent) {
  pid_t child = 0;
  std::ifstream(fmt::format("/proc/{0}/task/{0}/children", parent)) >> child;
  return child;
}

class WorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can have processes of another user";
    std::string name = "/tmp/vg-worker-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_EQ(::chown(name.c_str(), nobody_else, nobody_else), 0);
    auto ends = helpers::Channel::make_pair();
    auto beat = helpers::Heartbeat::make();
    ASSERT_TRUE(ends && beat);
    supervisor_ = start_as_another([&] {
      ends->first.close();
      return supervise_worker(::dup(ends->second.descriptor()), ::dup(beat->descriptor()), folder_);
    });
    server_ = std::move(ends->first);
    bystander_ = start_as_another([] { return ::pause(); });
  }
  void TearDown() override {
    server_.close();
    if (bystander_ > 0) ::kill(bystander_, SIGKILL);
    for (const pid_t one : {bystander_, supervisor_})
      if (one > 0) ::waitpid(one, nullptr, 0);
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  void say(const Message& message) {
    ASSERT_EQ(server_.send(subject_of(message), write_message(message)), helpers::Sent::yes);
  }
  // The next one of its kind; others are passed over.
  template <class T>
  std::optional<T> hear() {
    for (int i = 0; i < 300; ++i) {
      auto received = server_.receive();
      if (!received) return std::nullopt;
      if (!*received) {
        server_.wait_to_receive(std::chrono::milliseconds(100));
        continue;
      }
      auto message = read_message((*received)->body);
      if (message && std::holds_alternative<T>(*message)) return std::get<T>(std::move(*message));
    }
    return std::nullopt;
  }
  // How a new claim is made; empty: it is.
  std::string make_claim(const std::string& name) {
    say(Start{.job = {.id = "make-" + name,
                      .claim = {.ns = "ns", .name = name},
                      .claim_uid = "u-" + name,
                      .work = CreateClaim{.capacity = 1 << 20}}});
    const auto ended = hear<JobEnded>();
    if (!ended) return "nothing was said";
    return ended->failure ? ended->failure->message : ended->id == "make-" + name ? "" : ended->id;
  }

  std::string folder_;
  helpers::Channel server_;
  pid_t supervisor_ = -1, bystander_ = -1;
};

TEST_F(WorkerTest, AJobThatCannotBeCleanedUpAfterHarmsNobody) {
  ASSERT_TRUE(hear<Hello>());
  say(Welcome{});
  ASSERT_TRUE(hear<Ready>());
  ASSERT_EQ(make_claim("a"), "");
  const Descriptor silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(silent.get(), 4), 0);
  ASSERT_EQ(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  say(Start{.job = {.id = "import",
                    .claim = {.ns = "ns", .name = "a"},
                    .claim_uid = "u-a",
                    .work = ImportHttp{.target = {.size = 1 << 20},
                                       .url = fmt::format("http://127.0.0.1:{}/x", ntohs(address.sin_port))}}});
  const Descriptor asked(::accept4(silent.get(), nullptr, nullptr, SOCK_CLOEXEC));  // it is on its way
  // Its user says so: root may lack the right to change limits of others.
  const pid_t limiting = start_as_another([worker = only_child_of(supervisor_)] {
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    return worker > 0 && ::prlimit(worker, RLIMIT_NPROC, &none, nullptr) == 0 ? 0 : 1;
  });
  int limited = -1;
  ASSERT_EQ(::waitpid(limiting, &limited, 0), limiting);
  ASSERT_EQ(limited, 0);
  say(Cancel{.id = "import"});
  const auto ended = hear<JobEnded>();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->failure);
  EXPECT_EQ(make_claim("b"), "") << "the worker goes on";
  EXPECT_EQ(::waitpid(bystander_, nullptr, WNOHANG), 0) << "whoever else there is does, too";
}

}  // namespace
}  // namespace vg::disks
