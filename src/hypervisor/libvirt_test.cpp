// With a real libvirtd and QEMU, as an ordinary user, emulated. Each test is a process of its own with nodes of its
// own.
#include "hypervisor/libvirt.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <csignal>
#include <regex>

#include "hypervisor/daemon_process.h"
#include "hypervisor/libvirt_test_support.h"

namespace vg::hypervisor {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr, ::testing::MatchesRegex, ::testing::StartsWith;
using testing::small_domain, testing::TestNode;
using Kind = Event::Kind;

[[maybe_unused]] const bool reaped = testing::reap_if_told();
const bool ordinary_user = testing::leave_root();

class LibvirtLive : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(ordinary_user);
    if (const auto missing = testing::missing_programs(); !missing.empty())
      GTEST_SKIP() << missing << " is not installed, so nothing of libvirt is tested";
  }
};

bool can_connect(const char* address, std::uint16_t port) {
  sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {}, .sin_zero = {}};
  ::inet_pton(AF_INET, address, &to.sin_addr);
  const File socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

// The process of a guest, by the pid file that libvirt keeps.
int guest_pid(const TestNode& node, const std::string& name) {
  int pid = 0;
  std::ifstream(node.runtime() + "/libvirt/qemu/run/" + name + ".pid") >> pid;
  return pid;
}

TEST_F(LibvirtLive, AGuestFromItsDefinitionToItsEnd) {
  TestNode node;
  const auto [core, hypervisor, events] = std::tie(node.core, *node.hypervisor, *node.events);
  EXPECT_EQ(core.run(hypervisor.start(core, "ns_a", false)).error().code, 404);
  const auto defined = core.run(hypervisor.define(core, small_domain("ns_a")));
  ASSERT_TRUE(defined) << defined.error().message;
  EXPECT_THAT(*defined, HasSubstr("<address type='pci'"));
  EXPECT_EQ(node.state("ns_a"), State::shutoff);

  ASSERT_TRUE(core.run(hypervisor.start(core, "ns_a", true)));
  EXPECT_EQ(node.state("ns_a"), State::paused);
  ASSERT_TRUE(core.run(hypervisor.resume(core, "ns_a")));
  EXPECT_EQ(node.state("ns_a"), State::running);
  EXPECT_THAT(*node.find("ns_a")->xml, StartsWith("<domain type='qemu' id='"));
  EXPECT_FALSE(node.find("ns_a")->agent_connected);
  ASSERT_TRUE(core.run(hypervisor.resume(core, "ns_a"))) << "it runs already";
  ASSERT_TRUE(core.run(hypervisor.suspend(core, "ns_a")));
  ASSERT_TRUE(core.run(hypervisor.suspend(core, "ns_a"))) << "it is paused already";
  EXPECT_EQ(node.find("ns_a")->reason, "User");
  ASSERT_TRUE(core.run(hypervisor.resume(core, "ns_a")));

  const auto picture = core.run(hypervisor.screenshot(core, "ns_a"));
  ASSERT_TRUE(picture) << picture.error().message;
  // What this QEMU can: a newer one makes the former.
  EXPECT_THAT(picture->mime_type, ::testing::AnyOf("image/png", "image/x-portable-pixmap"));
  EXPECT_THAT(picture->bytes, ::testing::AnyOf(StartsWith("\x89PNG"), StartsWith("P6")));

  const auto silent = core.run(hypervisor.ask_agent(core, "ns_a", R"({"execute":"guest-ping"})", 5s));
  ASSERT_FALSE(silent);
  EXPECT_EQ(error_code(silent.error()), 86);
  EXPECT_THAT(silent.error().message, MatchesRegex("LibvirtError\\(Code=86, Domain=10, Message='.*'\\)"));

  const std::string dump = node.file("dump");
  ASSERT_TRUE(core.run(hypervisor.dump_memory(core, "ns_a", dump)));
  EXPECT_GT(std::filesystem::file_size(dump), 24U << 20);

  events.forget();
  ASSERT_TRUE(core.run(hypervisor.destroy(core, "ns_a")));
  EXPECT_EQ(node.state("ns_a"), State::shutoff);
  EXPECT_EQ(node.find("ns_a")->reason, "Destroyed");
  EXPECT_TRUE(events.await([&] { return events.has(Kind::changed); }));
  EXPECT_TRUE(std::filesystem::exists(node.daemon->log_of("ns_a")));
  ASSERT_TRUE(core.run(hypervisor.undefine(core, "ns_a")));
  EXPECT_EQ(node.find("ns_a"), nullptr);
  EXPECT_FALSE(std::filesystem::exists(node.daemon->log_of("ns_a")));
  EXPECT_TRUE(core.run(hypervisor.destroy(core, "ns_a")));
  EXPECT_TRUE(core.run(hypervisor.undefine(core, "ns_a")));
}

TEST_F(LibvirtLive, DevicesAndPorts) {
  TestNode node;
  const auto [core, hypervisor, events] = std::tie(node.core, *node.hypervisor, *node.events);
  ASSERT_TRUE(core.run(hypervisor.define(core, small_domain("ns_a"))));
  ASSERT_TRUE(core.run(hypervisor.start(core, "ns_a", false)));

  const std::string disk = "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='" +
                           node.make_disk("d", 1 << 20) +
                           "'/><target dev='sda' bus='usb'/><alias name='ua-extra'/></disk>";
  ASSERT_TRUE(core.run(hypervisor.change_device(core, "ns_a", Change::attach, disk)));
  EXPECT_THAT(*node.find("ns_a")->xml, HasSubstr("ua-extra"));
  EXPECT_TRUE(events.await([&] { return events.has(Kind::device_added, "ua-extra"); }));
  ASSERT_TRUE(core.run(hypervisor.resize_disk(core, "ns_a", "sda", 2 << 20)));
  EXPECT_EQ(std::filesystem::file_size(node.file("d")), 2U << 20);
  ASSERT_TRUE(core.run(hypervisor.change_device(core, "ns_a", Change::detach, disk)));
  EXPECT_TRUE(events.await([&] { return events.has(Kind::device_removed, "ua-extra"); }));
  EXPECT_FALSE(node.find("ns_a")->xml->contains("ua-extra"));
  EXPECT_FALSE(core.run(hypervisor.change_device(core, "ns_a", Change::attach, "<nonsense/>")));

  const std::uint16_t port = static_cast<std::uint16_t>(20000 + ::getpid() % 20000);
  const auto forward = [&](const char* alias) {
    return core.run(hypervisor.forward_port(core, "ns_a", alias, "tcp", "127.77.1.2", port, 22));
  };
  ASSERT_FALSE(can_connect("127.77.1.2", port));
  ASSERT_TRUE(forward("ua-default"));
  EXPECT_TRUE(can_connect("127.77.1.2", port));
  EXPECT_FALSE(can_connect("127.0.0.1", port));
  const auto open = core.run(hypervisor.forwarded_ports(core, "ns_a"));
  ASSERT_TRUE(open && open->size() == 1);
  EXPECT_EQ(open->front().port, port);
  EXPECT_EQ(open->front().guest_port, 22);
  EXPECT_FALSE(forward("ua-default")) << "it is forwarded already";
  EXPECT_FALSE(forward("ua-other"));
  EXPECT_EQ(forward("x\nquit").error().code, 400);
  ASSERT_TRUE(core.run(hypervisor.stop_forwarding(core, "ns_a", "ua-default", "tcp", "127.77.1.2", port)));
  EXPECT_FALSE(can_connect("127.77.1.2", port));
  EXPECT_FALSE(core.run(hypervisor.stop_forwarding(core, "ns_a", "ua-default", "tcp", "127.77.1.2", port)));

  events.forget();
  ASSERT_TRUE(core.run(hypervisor.reset(core, "ns_a")));
  EXPECT_TRUE(events.await([&] { return events.has(Kind::rebooted); }));
}

// spec copies STO-03
TEST_F(LibvirtLive, DisksAreCopiedWhileTheGuestRuns) {
  TestNode node;
  const auto [core, hypervisor, events] = std::tie(node.core, *node.hypervisor, *node.events);
  const auto disk = [&](const std::string& name, const std::string& target) {
    return "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='" +
           node.make_disk(name, 3 << 20) + "'/><target dev='" + target + "' bus='virtio'/></disk>";
  };
  ASSERT_TRUE(core.run(hypervisor.define(core, small_domain("ns_a", disk("one", "vda") + disk("two", "vdb")))));
  ASSERT_TRUE(core.run(hypervisor.start(core, "ns_a", false)));
  EXPECT_FALSE(core.run(hypervisor.copy_result(core, "ns_a"))) << "there was none";

  events.forget();
  ASSERT_TRUE(core.run(hypervisor.begin_copy(
      core, "ns_a",
      {{.target = "vda", .file = node.file("it's <one>")}, {.target = "vdb", .file = node.file("copy2")}})));
  EXPECT_TRUE(events.await([&] { return events.has(Kind::job_completed); }));
  const auto ended = core.run(hypervisor.copy_result(core, "ns_a"));
  ASSERT_TRUE(ended) << ended.error().message;
  for (const char* copy : {"it's <one>", "copy2"}) {
    EXPECT_EQ(std::filesystem::file_size(node.file(copy)), 3U << 20);
    std::ifstream in(node.file(copy), std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), std::string(3U << 20, 'x'));
  }
  EXPECT_EQ(node.state("ns_a"), State::running);
  EXPECT_FALSE(core.run(hypervisor.begin_copy(core, "ns_a", {{.target = "vdz", .file = node.file("none")}})));
  EXPECT_FALSE(core.run(hypervisor.begin_copy(core, "ns_a", {{.target = "vda", .file = "/nonexistent/copy"}})));
  EXPECT_FALSE(core.run(hypervisor.copy_result(core, "ns_a"))) << "the result before is not that of this one";
}

TEST_F(LibvirtLive, WhatTheHostGives) {
  TestNode node;
  const auto host = node.core.run(node.hypervisor->host(node.core));
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_THAT(host->machine_types, ::testing::Contains("q35"));
  EXPECT_THAT(host->cpu_models, ::testing::Contains("qemu64"));
  EXPECT_GT(host->known_models.size(), host->cpu_models.size());
  EXPECT_THAT(host->cpu_features, ::testing::Contains("sse2"));
  EXPECT_EQ(host->kvm, host->why_no_kvm.empty());
  EXPECT_FALSE(host->host_model.empty());
  EXPECT_GT(host->memory_bytes, 0U);
  EXPECT_THAT(host->hypervisor_version, MatchesRegex("QEMU [0-9.]+, libvirt [0-9.]+"));
}

TEST_F(LibvirtLive, KilledProcessesTakeNobodyWithThem) {
  TestNode node;
  const auto [core, hypervisor, events] = std::tie(node.core, *node.hypervisor, *node.events);
  for (const char* name : {"ns_a", "ns_b"}) {
    ASSERT_TRUE(core.run(hypervisor.define(core, small_domain(name))));
    ASSERT_TRUE(core.run(hypervisor.start(core, name, false)));
  }
  const int before = guest_pid(node, "ns_a"), daemon = node.daemon->pid();
  ASSERT_GT(before, 1);
  ASSERT_GT(daemon, 1);

  // libvirtd: another one finds the guests.
  ::kill(daemon, SIGKILL);
  ASSERT_TRUE(events.await([&] { return events.has(Kind::connection) && !hypervisor.connected(); }));
  EXPECT_EQ(core.run(hypervisor.suspend(core, "ns_a")).error().code, 503);
  EXPECT_EQ(node.state("ns_a"), State::running) << "as it was last seen";
  ASSERT_TRUE(events.await([&] { return hypervisor.connected(); }));
  EXPECT_NE(node.daemon->pid(), daemon);
  EXPECT_EQ(node.state("ns_a"), State::running);
  EXPECT_EQ(guest_pid(node, "ns_a"), before);
  EXPECT_TRUE(core.run(hypervisor.suspend(core, "ns_a")));

  // QEMU: that guest alone. libvirtd is done with looking for it when it changes something of it.
  EXPECT_TRUE(core.run(hypervisor.suspend(core, "ns_b")));
  events.forget();
  const int victim = guest_pid(node, "ns_b");
  ASSERT_GT(victim, 1);
  ::kill(victim, SIGKILL);
  ASSERT_TRUE(events.await([&] { return events.has(Kind::changed) && node.state("ns_b") == State::shutoff; }));
  EXPECT_EQ(node.find("ns_b")->reason, "Crashed");
  EXPECT_EQ(node.state("ns_a"), State::paused);

  // The node's own process: the next one finds the libvirtd that runs, and two at once are refused.
  const int running = node.daemon->pid();
  EXPECT_FALSE(LibvirtDaemon::run({.folder = node.file("kept"), .runtime = node.runtime()}));
  node.daemon.reset();
  node.run_daemon();
  EXPECT_EQ(node.daemon->pid(), running);
  EXPECT_TRUE(core.run(hypervisor.resume(core, "ns_a")));
}

Task<void> note_end(Task<Result<void>> task, std::optional<Result<void>>& end) { end.emplace(co_await task); }

TEST_F(LibvirtLive, MigratesFromNodeToNode) {
  TestNode here, there;
  const auto [core, hypervisor] = std::tie(here.core, *here.hypervisor);
  const auto disk = [](const std::string& file) {
    return "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='" + file +
           "'/><target dev='vda' bus='virtio'/></disk>";
  };
  // A minute at the speed of the first attempt: on a busy machine an end that comes soon overtakes the abort.
  constexpr std::uintmax_t bytes = 64 << 20;
  const std::string source = here.make_disk("d", bytes), target = there.make_disk("d", 0);
  std::filesystem::resize_file(target, bytes);
  ASSERT_TRUE(core.run(hypervisor.define(core, small_domain("ns_a", disk(source)))));
  ASSERT_TRUE(core.run(hypervisor.start(core, "ns_a", false)));
  auto document = core.run(hypervisor.migratable(core, "ns_a"));
  ASSERT_TRUE(document) << document.error().message;
  MigrationRequest request{.destination_uri = there.daemon->uri(),
                           .migrate_uri = "unix://" + there.file("m"),
                           .disks_uri = "unix://" + there.file("n"),
                           .relay = here.file("t"),
                           .destination_name = "ns_a",
                           .destination_xml = std::regex_replace(*document, std::regex(source), target),
                           .disks = {"vda"},
                           .non_shared_inc = true};
  // Slowly first, and not to the end.
  request.bandwidth_mib = 1;
  std::optional<Result<void>> slow;
  spawn(note_end(hypervisor.migrate(core, "ns_a", request), slow));
  Result<JobProgress> progress;
  while (!slow && (!progress || !progress->active)) progress = core.run(hypervisor.job(core, "ns_a"));
  ASSERT_FALSE(slow) << "it is over already";
  EXPECT_TRUE(core.run(hypervisor.set_max_downtime(core, "ns_a", 500ms)));
  ASSERT_TRUE(core.run(hypervisor.abort_job(core, "ns_a")));
  while (!slow) core.run_one();
  ASSERT_FALSE(*slow);
  EXPECT_EQ(error_code(slow->error()), 78) << slow->error().message;
  EXPECT_EQ(here.state("ns_a"), State::running);
  const auto released = core.run(hypervisor.release_cancelled(core, "ns_a"));
  ASSERT_FALSE(released) << "nothing waits";
  EXPECT_THAT(released.error().message, HasSubstr("not in expected state"));

  request.bandwidth_mib = 0;
  const auto migrated = core.run(hypervisor.migrate(core, "ns_a", request));
  ASSERT_TRUE(migrated) << migrated.error().message;
  EXPECT_EQ(here.state("ns_a"), State::shutoff);
  EXPECT_EQ(here.find("ns_a")->reason, "Migrated");
  ASSERT_TRUE(there.events->await([&] { return there.state("ns_a") == State::running; }));
  EXPECT_THAT(*there.find("ns_a")->xml, HasSubstr(target));
  EXPECT_EQ(std::ifstream(target).get(), 'x');
  EXPECT_FALSE(core.run(hypervisor.abort_job(core, "ns_a")));
}

TEST_F(LibvirtLive, ALibvirtdThatHangsIsReplaced) {
  TestNode node(1);
  const int hanging = node.daemon->pid();
  ASSERT_GT(hanging, 1);
  ::kill(hanging, SIGSTOP);
  ASSERT_TRUE(node.events->await([&] { return !node.hypervisor->connected(); }));
  ASSERT_TRUE(node.events->await([&] { return node.hypervisor->connected(); }));
  EXPECT_NE(node.daemon->pid(), hanging);
}

// Whoever comes next finds one that accepts and never answers, or one that does not even accept.
TEST_F(LibvirtLive, ALibvirtdThatHungBeforeIsReplaced) {
  TestNode node(1);
  const int hanging = node.daemon->pid();
  node.hypervisor->stop();
  ::kill(hanging, SIGSTOP);
  node.daemon.reset();
  node.run_daemon();
  EXPECT_EQ(node.daemon->pid(), hanging) << "it accepts";
  node.connect();
  ASSERT_TRUE(node.events->await([&] { return node.hypervisor->connected(); }));
  EXPECT_NE(node.daemon->pid(), hanging);
}
TEST_F(LibvirtLive, ALibvirtdThatKeepsItsPidFileIsReplaced) {
  TestNode node(1);
  const int hanging = node.daemon->pid();
  node.hypervisor->stop();
  ::kill(hanging, SIGSTOP);
  node.daemon.reset();
  std::filesystem::remove(node.runtime() + "/libvirt/libvirt-sock");
  node.run_daemon();
  EXPECT_NE(node.daemon->pid(), hanging);
  EXPECT_GT(node.daemon->pid(), 0);
}

TEST_F(LibvirtLive, AGuestWhoseStatusIsBrokenIsNotStartedTwice) {
  TestNode node;
  const auto [core, hypervisor, events] = std::tie(node.core, *node.hypervisor, *node.events);
  for (const char* name : {"ns_a", "ns_b"}) {
    ASSERT_TRUE(core.run(hypervisor.define(core, small_domain(name))));
    ASSERT_TRUE(core.run(hypervisor.start(core, name, false)));
  }
  const int broken = guest_pid(node, "ns_a"), whole = guest_pid(node, "ns_b");
  const std::string status = node.runtime() + "/libvirt/qemu/run/ns_a.xml";
  const int daemon = node.daemon->pid();
  events.forget();
  ::kill(daemon, SIGKILL);
  std::filesystem::resize_file(status, std::filesystem::file_size(status) / 2);
  ASSERT_TRUE(events.await([&] { return events.has(Kind::connection) && node.daemon->pid() != daemon; }));
  ASSERT_TRUE(events.await([&] { return hypervisor.connected() && node.state("ns_a") == State::shutoff; }));
  EXPECT_EQ(node.state("ns_b"), State::running);
  EXPECT_EQ(guest_pid(node, "ns_b"), whole);
  EXPECT_FALSE(std::filesystem::exists("/proc/" + std::to_string(broken) + "/exe"));
}

TEST(LibvirtDaemon, RefusesWhatCannotWork) {
  const std::string deep = "/tmp/" + std::string(60, 'x');
  const auto refused = LibvirtDaemon::run({.folder = deep, .runtime = deep});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("longer than 42 characters"));
  EXPECT_FALSE(LibvirtDaemon::run({.folder = "/tmp", .runtime = "/tmp"})) << "everybody can enter it";
}

}  // namespace
}  // namespace vg::hypervisor
