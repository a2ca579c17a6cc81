#include "handler/sync/downward_metrics.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "http/core.h"
#include "hypervisor/testing.h"
#include "launch/metrics_disk.h"

namespace vg::handler {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr std::string_view request = "GET /metrics/XML\n\n";

// A node with one guest, whose QEMU listens for the node as a real one does.
class DownwardMetricsTest : public ::testing::Test {
 protected:
  DownwardMetricsTest() {
    std::string name = "/tmp/vg-metrics-XXXXXX";
    if (!::mkdtemp(name.data())) std::abort();
    folder_ = name;
    std::filesystem::create_directory(folder_ + "/u");
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder_ + "/u/downwardmetrics.sock";
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 4), 0);
    EXPECT_TRUE(write_file(disk_path(), launch::metrics_disk(""), 0600));
    hypervisor_.counters = {.vcpus = 3, .memory_balloon_bytes = 1 << 20};
  }
  ~DownwardMetricsTest() override {
    if (cores_) {
      std::promise<void> stopped;  // while its core is there
      (*cores_)[0].post([&] {
        metrics_->stop();
        stopped.set_value();
      });
      stopped.get_future().wait();
    }
    cores_.reset();
    ::close(listener_);
    std::filesystem::remove_all(folder_);
  }
  std::string disk_path() const { return folder_ + "/u/vhostmd0"; }

  void put(const std::string& devices) {
    hypervisor_.put({.name = "ns_a",
                     .uuid = "u",
                     .state = hypervisor::State::running,
                     .reason = "Unknown",
                     .xml = std::make_shared<const std::string>(devices),
                     .agent_connected = false});
  }
  std::string disk_element() const { return fmt::format("<source file='{}' index='1'/>", disk_path()); }
  std::string port_element() const {
    return fmt::format("<source mode='bind' path='{}/u/downwardmetrics.sock'/>", folder_);
  }
  void start() {
    cores_.emplace(1);
    metrics_.emplace(DownwardMetrics::Parts{.core = (*cores_)[0],
                                            .hypervisor = hypervisor_,
                                            .clock = clock_,
                                            .node = "node01",
                                            .guests = folder_,
                                            .sockets = folder_,
                                            .host = [] { return guests::HostMetrics{.packages = 8}; }});
    metrics_->set_hypervisor("QEMU 7.2.22, libvirt 9.0.0");
    (*cores_)[0].post([this] { metrics_->start(); });
  }

  int accept() const { return ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); }
  static void send(int port, std::string_view text) {
    EXPECT_EQ(::send(port, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Up to the empty line that ends an answer; what came by then when the other side has ended.
  static std::string receive(int port) {
    std::string got;
    char c = 0;
    while (!got.ends_with("\n\n") && ::read(port, &c, 1) == 1) got += c;
    return got;
  }

  std::string folder_;
  int listener_ = -1;
  hypervisor::FakeHypervisor hypervisor_;
  SystemClock clock_;
  std::optional<http::CoreThreads> cores_;
  std::optional<DownwardMetrics> metrics_;
};

TEST_F(DownwardMetricsTest, AnswersAGuestThroughItsPort) {  // DOM-CHN-02
  put(port_element());
  start();
  const int port = accept();
  const auto began = std::chrono::steady_clock::now();
  send(port, std::string(request) + std::string(request));
  EXPECT_THAT(receive(port), AllOf(HasSubstr("node01"), HasSubstr("<![CDATA[QEMU 7.2.22]]>"),
                                   HasSubstr("<![CDATA[8]]>"), EndsWith("</metrics>\n\n")));
  EXPECT_THAT(receive(port), HasSubstr("ResourceProcessorLimit"));
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::seconds(1)) << "not more often than once a second";
  ::close(port);
}

TEST_F(DownwardMetricsTest, TellsWhenNothingIsKnownOfTheGuest) {
  hypervisor_.fail_next("stats", Status::internal_error("no"));
  put(port_element());
  start();
  const int port = accept();
  send(port, request);
  EXPECT_EQ(receive(port), std::string(guests::no_metrics) + "\n\n");
  ::close(port);
}

TEST_F(DownwardMetricsTest, RefusesWhatIsNoRequestAndGoesOn) {
  put(port_element());
  start();
  const int port = accept();
  send(port, "PUT /x\n\n");
  EXPECT_EQ(receive(port), "INVALID REQUEST\n\n");
  send(port, std::string(3000, 'x'));
  EXPECT_EQ(receive(port), "INVALID REQUEST\n\n");
  // What a guest floods its port with waits in the socket.
  const std::string flood(1 << 20, 'x');
  const ssize_t taken = ::send(port, flood.data(), flood.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  EXPECT_LT(taken, static_cast<ssize_t>(flood.size()));
  ::close(port);
}

TEST_F(DownwardMetricsTest, WritesTheDisk) {  // RUN-DMX-01
  put(disk_element());
  start();
  std::string disk;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!disk.contains("ResourceMemoryLimit") && std::chrono::steady_clock::now() < deadline) {
    disk = *read_file(disk_path(), 1 << 20);
    std::this_thread::yield();
  }
  EXPECT_THAT(disk, AllOf(HasSubstr("node01"), HasSubstr("</metrics>\n")));
  EXPECT_EQ(disk.size(), 262144U);
}

TEST_F(DownwardMetricsTest, AsksNothingOfGuestsThatDoNotWantMetrics) {
  hypervisor_.put({.name = "ns_other",
                   .uuid = "o",
                   .state = hypervisor::State::running,
                   .reason = "Unknown",
                   .xml = std::make_shared<const std::string>("<source file='/elsewhere/vhostmd0'/>"),
                   .agent_connected = false});
  put(port_element());
  start();
  const int port = accept();  // so it has looked at both
  send(port, request);
  (void)receive(port);
  EXPECT_THAT(hypervisor_.calls(), ::testing::ElementsAre("stats ns_a"));
  ::close(port);
}

TEST(HostMetrics, OfThisMachine) {
  const guests::HostMetrics host = this_host_metrics();
  EXPECT_GT(host.cpu_seconds.value_or(0), 0);
  EXPECT_GT(host.free.value_or(0), 0U);
  EXPECT_GT(host.used.value_or(0), 0U);
}

}  // namespace
}  // namespace vg::handler
