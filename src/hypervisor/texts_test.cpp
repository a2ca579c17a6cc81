// What is told to libvirt and read from it, without any.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "base/hypervisor_limits.h"
#include "hypervisor/daemon.h"
#include "hypervisor/daemon_leftovers.h"
#include "hypervisor/daemon_settings.h"
#include "hypervisor/domain_stats.h"
#include "hypervisor/host_facts.h"
#include "hypervisor/libvirt_calls.h"
#include "hypervisor/migration.h"
#include "hypervisor/panic_text.h"
#include "hypervisor/unattended.h"

namespace vg::hypervisor {
namespace {

using ::testing::Contains, ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty, ::testing::Not;

TEST(Daemon, StatusesThatAreWhole) {
  EXPECT_TRUE(is_whole_status("<!-- x -->\n<domstatus state='running'>\n</domstatus>\n"));
  for (const char* text :
       {"", "\n", "<domstatus state='running'>", "</domstatus>", "<domstatus state='running'>\n</domst"})
    EXPECT_FALSE(is_whole_status(text)) << text;
}

TEST(Daemon, StatusesThatNameAProcess) {
  EXPECT_TRUE(
      names_process("<!-- pid='0' -->\n<domstatus state='paused' reason='starting up' pid='10'>\n</domstatus>"));
  EXPECT_TRUE(names_process("<domstatus state='running' pid='7'>\n<x pid='0'/></domstatus>"));
  for (const char* text : {"", "<domstatus state='paused' reason='starting up' pid='0'>\n</domstatus>"})
    EXPECT_FALSE(names_process(text)) << text;
}

TEST(Daemon, StatusesThatAreClearedAway) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "statuses";
  const auto put = [&](const char* name, std::string_view text) { std::ofstream(folder / name) << text; };
  const auto left = [&] {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) all.insert(entry.path().filename());
    return all;
  };
  for (const char* one : {"lib/domain-9-early", "lib/domain-8-good", "lib/domain-88-good", "target/domain-7-never"})
    std::filesystem::create_directories(folder / one);
  put("lib/domain-9-early/master-key.aes", "x");
  put("lib/other", "x");
  put("good.xml",
      "<domstatus state='running' pid='7'>\n<monitor path='/c/lib/domain-8-good/monitor.sock' type='unix'/>\n"
      "</domstatus>");
  put("good.pid", "7");
  put("torn.xml", "<domstatus state='running' pid='7'>");
  put("early.xml",
      "<domstatus state='paused' reason='starting up' pid='0'>\n"
      "<monitor path='/c/lib/domain-9-early/monitor.sock' type='unix'/>\n</domstatus>");
  put("early.pid", "999999999");
  put("other.xml.new", "");
  const std::vector<std::string> made = {folder / "lib", folder / "target", folder / "missing"};
  put("full.xml", "");
  clear_forgotten(folder, made);
  EXPECT_THAT(left(), Contains("domain-7-never")) << "whose the empty status is cannot be known";
  clear_unreadable(folder, "/r");
  clear_forgotten(folder, made);
  const auto found = left();
  std::filesystem::remove_all(folder);
  EXPECT_THAT(found, ElementsAre("domain-8-good", "good.pid", "good.xml", "lib", "other", "target"));
}

// Whoever took over a QEMU can write these files.
TEST(Daemon, AProcessOfOthersIsNoGuest) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "forged.pid";
  const std::vector<std::string> waiting{"/bin/sh", "-c", "/bin/sleep 60; :", "guest=ns_a,debug-threads=on",
                                         "file=/run/node01/c/lib/master-key.aes"};
  const File null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto guest = start_apart(waiting, {}, "/dev/null", null.get());
  ASSERT_TRUE(guest) << guest.error().message;
  const auto found = [&](int pid, const char* domain, const char* runtime) {
    std::ofstream(file) << pid;
    const auto process = guest_process(file, domain, runtime);
    return process ? process->pid : 0;
  };
  // The kernel shows the words of a program a moment after it has let it begin.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (found(guest->pid, "ns_a", "/run/node01") == 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(found(guest->pid, "ns_a", "/run/node01"), guest->pid);
  EXPECT_EQ(found(guest->pid, "ns_b", "/run/node01"), 0);
  EXPECT_EQ(found(guest->pid, "ns_a", "/run/node02"), 0) << "a guest of another node";
  EXPECT_EQ(found(::getpid(), "ns_a", "/run/node01"), 0);
  EXPECT_EQ(found(1, "ns_a", "/run/node01"), 0);
  ::kill(-guest->pid, SIGKILL);
  wait_for_end(*guest, std::chrono::seconds(10));
  std::filesystem::remove(file);
}

TEST(Unattended, StepsToTheEndOfAMigration) {
  const std::tuple<const char*, EndStep, EndStep> rows[] = {
      {"setup", EndStep::cancel, EndStep::wait},          {"active", EndStep::cancel, EndStep::wait},
      {"pre-switchover", EndStep::cancel, EndStep::wait}, {"device", EndStep::cancel, EndStep::wait},
      {"cancelling", EndStep::go_on, EndStep::go_on},     {"cancelled", EndStep::none, EndStep::none},
      {"completed", EndStep::none, EndStep::none},        {"failed", EndStep::none, EndStep::none},
      {"postcopy-active", EndStep::none, EndStep::none},  {"", EndStep::none, EndStep::none},
  };
  for (const auto& [state, first, later] : rows) {
    EXPECT_EQ(step_to_end(state, false), first) << state;
    EXPECT_EQ(step_to_end(state, true), later) << state;
  }
}

TEST(Unattended, OnlyGuestsThatAreSentAwayAreAsked) {
  constexpr std::string_view status =
      "<domstatus state='running' pid='7'>\n<monitor path='/r/c/monitor.sock' type='unix'/>\n"
      "<job type='none' async='{}' phase='perform3'>\n</domstatus>";
  EXPECT_EQ(monitor_of_sender(fmt::format(status, "migration out")), "/r/c/monitor.sock");
  EXPECT_EQ(monitor_of_sender(fmt::format(status, "migration in")), "");
  EXPECT_EQ(monitor_of_sender("<domstatus state='running'><monitor path='/m'/></domstatus>"), "");
}

TEST(Unattended, LinesOfAMonitor) {
  std::string state;
  EXPECT_EQ(read_line(R"({"QMP": {"version": {}}})", state), Line::other);
  EXPECT_EQ(read_line(R"({"event": "MIGRATION", "data": {"status": "active"}})", state), Line::other);
  EXPECT_EQ(state, "");
  EXPECT_EQ(read_line(R"({"return": {}})", state), Line::answer);
  EXPECT_EQ(read_line(R"({"return": {"status": "active", "ram": {}}})", state), Line::answer);
  EXPECT_EQ(state, "active");
  EXPECT_FALSE(read_line(R"({"error": {"class": "GenericError", "desc": "no"}})", state));
  EXPECT_FALSE(read_line("{", state));
}

// A QEMU that waits for a word to go on, and takes no other.
TEST(Unattended, AMigrationThatWaitsForAWordIsEnded) {
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "monitor.sock").string();
  ::unlink(path.c_str());
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  std::jthread qemu([listener] {
    const int client = ::accept(listener, nullptr, nullptr);
    const auto say = [client](std::string_view text) { (void)::send(client, text.data(), text.size(), MSG_NOSIGNAL); };
    say("{\"QMP\": {}}\r\n");
    std::string state = "active", heard;
    char one = 0;
    while (::recv(client, &one, 1, 0) == 1) {
      heard.push_back(one);
      if (one != '\n') continue;
      if (heard.contains("migrate_cancel")) state = "cancelling";
      if (heard.contains("migrate-continue") && state == "cancelling") state = "cancelled";
      say(fmt::format("{{\"return\": {{\"status\": \"{}\"}}}}\r\n", state));
      heard.clear();
    }
    ::close(client);
  });
  const auto ended = end_migration(path, std::chrono::steady_clock::now() + std::chrono::seconds(30));
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(*ended, "cancelled");
  ::close(listener);
  ::unlink(path.c_str());
  EXPECT_FALSE(end_migration(path, std::chrono::steady_clock::now() + std::chrono::seconds(1)));
}

// Whoever took over a QEMU can write any path into its status.
TEST(Unattended, NobodyIsAskedOutsideOfTheRuntimeFolder) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "unattended";
  std::filesystem::create_directories(folder / "own");
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = folder / "bus";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const File listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 4), 0);
  for (const std::string& forged : {path, (folder / "own/../bus").native()}) {
    std::ofstream(folder / "a.xml") << fmt::format(
        "<domstatus><job type='none' async='migration out'/><monitor path='{}' type='unix'/></domstatus>", forged);
    end_unattended_migrations(folder, folder / "own");
  }
  EXPECT_LT(::accept(listener.get(), nullptr, nullptr), 0);
  std::filesystem::remove_all(folder);
}

TEST(Daemon, SettingsOfItsOwn) {
  const DaemonPlaces places{.kept = "/k", .runtime = "/r"};
  EXPECT_THAT(daemon_config_text("some-uuid"), HasSubstr("host_uuid = \"some-uuid\"\n"));
  // Every call that may wait for a guest has a worker, and is read from our one connection.
  constexpr auto calls = limits::hypervisor_control_threads + limits::hypervisor_question_threads +
                         limits::hypervisor_job_threads + limits::hypervisor_watch_threads +
                         limits::hypervisor_ending_threads + limits::hypervisor_kill_threads;
  for (const std::string setting : {"\nmax_workers = ", "\nmax_client_requests = "}) {
    const std::string text = daemon_config_text("some-uuid");
    const auto at = text.find(setting);
    ASSERT_NE(at, std::string::npos) << setting;
    EXPECT_GT(std::stoul(text.substr(at + setting.size())), calls) << setting;
  }
  for (const char* line : {"stdio_handler = \"file\"", "security_driver = \"none\"", "seccomp_sandbox = 1"})
    EXPECT_THAT(qemu_config_text(false), HasSubstr(line));
  EXPECT_THAT(qemu_config_text(false), Not(HasSubstr("capability_filters")));
  EXPECT_THAT(qemu_config_text(true), HasSubstr("capability_filters = [ \"cpu-unavailable-features\" ]\n"));
  const auto environment = daemon_environment(places, true, "/k/guard.so");
  EXPECT_THAT(environment, Contains("XDG_RUNTIME_DIR=/r"));
  EXPECT_THAT(environment, Contains("XDG_CONFIG_HOME=/r/c")) << "short: sockets of monitors are below it";
  EXPECT_THAT(environment, Contains("LIBVIRT_DRIVER_DIR=/k/drivers"));
  EXPECT_THAT(environment, Contains("LD_PRELOAD=/k/guard.so"));
  EXPECT_EQ(daemon_environment(places, false, "").size(), environment.size() - 2);
  EXPECT_EQ(daemon_uri("/r"), "qemu+unix:///session?socket=/r/libvirt/libvirt-sock");
}

// libvirt counts NICs of user-mode networks, and says nothing of them.
TEST(Stats, WhatIsNotCountedIsLeftOut) {
  ASSERT_EQ(virInitialize(), 0);
  virTypedParameterPtr list = nullptr;
  int count = 0, most = 0;
  ASSERT_EQ(virTypedParamsAddUInt(&list, &count, &most, "net.count", 2), 0);
  ASSERT_EQ(virTypedParamsAddString(&list, &count, &most, "net.1.name", "vnet0"), 0);
  ASSERT_EQ(virTypedParamsAddULLong(&list, &count, &most, "net.1.rx.bytes", 0), 0);
  ASSERT_EQ(virTypedParamsAddULLong(&list, &count, &most, "net.1.tx.bytes", 7), 0);
  ASSERT_EQ(virTypedParamsAddULLong(&list, &count, &most, "cpu.time", 3), 0);
  const DomainStats stats = read_stats(list, count);
  virTypedParamsFree(list, count);
  ASSERT_EQ(stats.nics.size(), 1U);
  EXPECT_EQ(stats.nics[0].target, "vnet0");
  EXPECT_EQ(stats.nics[0].receive_bytes, 0U);
  EXPECT_EQ(stats.nics[0].transmit_bytes, 7U);
  EXPECT_EQ(stats.cpu_time_ns, 3U);
}

TEST(HostFacts, FromLibvirtsDocuments) {
  HostFacts facts;
  read_capabilities(
      "<capabilities><host><cpu><arch>x86_64</arch></cpu></host>"
      "<guest><arch name='i686'><machine>isapc</machine></arch></guest>"
      "<guest><arch name='x86_64'><machine>pc-q35-7.2</machine><machine canonical='pc-q35-7.2'>q35</machine>"
      "<domain type='kvm'><machine>q35</machine></domain></arch></guest></capabilities>",
      facts);
  EXPECT_EQ(facts.architecture, "amd64");
  EXPECT_THAT(facts.machine_types, ElementsAre("pc-q35-7.2", "q35"));
  read_domain_capabilities(
      "<domainCapabilities><cpu><mode name='host-model'><model fallback='forbid'>EPYC</model><vendor>AMD</vendor>"
      "<feature policy='require' name='x2apic'/><feature policy='disable' name='vme'/></mode><mode name='custom'>"
      "<model usable='yes'>qemu64</model><model usable='no'>EPYC</model></mode></cpu></domainCapabilities>",
      facts);
  EXPECT_EQ(facts.host_model, "EPYC");
  EXPECT_EQ(facts.vendor, "AMD");
  EXPECT_THAT(facts.required_features, ElementsAre("x2apic"));
  EXPECT_THAT(facts.cpu_models, ElementsAre("qemu64"));
  EXPECT_THAT(facts.known_models, ElementsAre("qemu64", "EPYC"));
  read_baseline("<cpu><feature policy='require' name='sse2'/><feature policy='disable' name='vme'/></cpu>", facts);
  EXPECT_THAT(facts.cpu_features, ElementsAre("sse2"));
  for (const char* broken : {"", "<", "<cpu>", "no document"}) {
    read_baseline(broken, facts);
    EXPECT_THAT(facts.cpu_features, IsEmpty()) << broken;
  }
}

TEST(Migration, FlagsAsUpstreamSetsThem) {
  const unsigned always = VIR_MIGRATE_LIVE | VIR_MIGRATE_PEER2PEER | VIR_MIGRATE_PERSIST_DEST;
  const std::pair<MigrationRequest, unsigned> table[] = {
      {{}, 0},
      {{.non_shared_inc = true}, VIR_MIGRATE_NON_SHARED_INC},
      {{.unsafe = true}, VIR_MIGRATE_UNSAFE},
      {{.auto_converge = true, .postcopy = true}, VIR_MIGRATE_AUTO_CONVERGE | VIR_MIGRATE_POSTCOPY},
      {{.paused = true}, VIR_MIGRATE_PAUSED},
      {{.parallel = 8, .compressed = true}, VIR_MIGRATE_PARALLEL | VIR_MIGRATE_COMPRESSED},
  };
  for (const auto& [request, more] : table) EXPECT_EQ(migration_flags(request), always | more);
}

TEST(Migration, ParametersAreThoseThatAreGiven) {
  ASSERT_EQ(virInitialize(), 0);
  Parameters none, some;
  put_migration({}, none);
  EXPECT_EQ(none.count(), 0);
  put_migration(
      {.migrate_uri = "unix:///m", .destination_xml = "<domain/>", .disks = {"vda", "vdb"}, .bandwidth_mib = 64}, some);
  EXPECT_EQ(some.value_of(VIR_MIGRATE_PARAM_URI), "unix:///m");
  EXPECT_EQ(some.value_of(VIR_MIGRATE_PARAM_PERSIST_XML), "<domain/>");
  EXPECT_EQ(some.value_of(VIR_MIGRATE_PARAM_MIGRATE_DISKS), "vda");
  EXPECT_EQ(some.value_of(VIR_MIGRATE_PARAM_DISKS_URI), "");
}

TEST(Ports, CommandsOfTheMonitor) {
  const PortForward good{
      .nic_alias = "ua-default", .protocol = "tcp", .address = "127.1.2.3", .port = 8022, .guest_port = 22};
  EXPECT_EQ(*forward_command(good), "hostfwd_add hostua-default tcp:127.1.2.3:8022-:22");
  EXPECT_EQ(*stop_forward_command(good), "hostfwd_remove hostua-default tcp:127.1.2.3:8022");
  for (const auto& [alias, protocol, address] : {std::tuple{"a b", "tcp", "127.0.0.1"},
                                                 {"", "tcp", "127.0.0.1"},
                                                 {"a\nquit", "udp", "127.0.0.1"},
                                                 {"a", "tcp\nquit", "127.0.0.1"},
                                                 {"a", "sctp", "127.0.0.1"},
                                                 {"a", "udp", ""},
                                                 {"a", "udp", "localhost"},
                                                 {"a", "udp", "127.0.0.1:1-:2\nquit"}})
    EXPECT_EQ(forward_command({.nic_alias = alias, .protocol = protocol, .address = address}).error().code, 400);
}

TEST(Ports, ThoseThatAreOpen) {
  const auto ports = read_forwarded_ports(
      "Hub -1 (hostua-default):\r\n"
      "  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r\n"
      "  TCP[ESTABLISHED]   30       10.0.2.15 41000     192.0.2.7    80     0     0\r\n"
      "  TCP[HOST_FORWARD]  13      127.70.1.2  8022       10.0.2.15    22     0     0\r\n"
      "  UDP[HOST_FORWARD]  14      127.70.1.2  5353       10.0.2.15  5353     0     0\r\n"
      "  TCP[HOST_FORWARD]  13      127.70.1.2 80222       10.0.2.15    22     0     0\r\n"
      "  TCP[HOST_FORWARD]");
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[0].protocol, "tcp");
  EXPECT_EQ(ports[0].address, "127.70.1.2");
  EXPECT_EQ(ports[0].port, 8022);
  EXPECT_EQ(ports[0].guest_port, 22);
  EXPECT_EQ(ports[1].protocol, "udp");
  EXPECT_TRUE(read_forwarded_ports("").empty());
}

TEST(Panics, TheLastOneOfALog) {
  EXPECT_EQ(last_panic("2026-11-16 15:00:00.1+0000: panic hyper-v: arg1='0x1', arg2='0x2'\nmore\n"),
            "hyper-v: arg1='0x1', arg2='0x2'");
  EXPECT_EQ(last_panic("x: panic a\ny: panic b"), "b");
  EXPECT_EQ(last_panic("panic attack\n"), "");
  EXPECT_EQ(panic_text("/nowhere"), "");
  EXPECT_EQ(panic_text(""), "");
}

TEST(Errors, HaveLibvirtsNumber) {
  const Status missing = libvirt_error(VIR_ERR_NO_DOMAIN, 10, "no such");
  EXPECT_EQ(missing.code, 404);
  EXPECT_EQ(missing.message, "LibvirtError(Code=42, Domain=10, Message='no such')");
  EXPECT_EQ(error_code(missing), 42);
  EXPECT_EQ(error_code(Status::unavailable("x")), std::nullopt);
  EXPECT_LT(libvirt_error(1, 1, std::string(1 << 20, 'x')).message.size(), 8192U);
}

TEST(States, AndTheirReasons) {
  EXPECT_EQ(state_of(VIR_DOMAIN_PMSUSPENDED), State::suspended);
  EXPECT_EQ(state_of(99), State::none);
  EXPECT_EQ(reason_of(VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_IOERROR), "IOError");
  EXPECT_EQ(reason_of(VIR_DOMAIN_PAUSED, VIR_DOMAIN_PAUSED_POSTCOPY_FAILED), "PostcopyFailed");
  EXPECT_EQ(reason_of(VIR_DOMAIN_SHUTOFF, VIR_DOMAIN_SHUTOFF_MIGRATED), "Migrated");
  EXPECT_EQ(reason_of(VIR_DOMAIN_CRASHED, VIR_DOMAIN_CRASHED_PANICKED), "Panicked");
  EXPECT_EQ(reason_of(VIR_DOMAIN_RUNNING, 1), "Unknown");
  EXPECT_EQ(reason_of(VIR_DOMAIN_PAUSED, 99), "Unknown");
}

TEST(Watchdogs, DoWhatTheVmiSays) {
  EXPECT_STREQ(watchdog_action(VIR_DOMAIN_EVENT_WATCHDOG_RESET), "reset");
  EXPECT_STREQ(watchdog_action(VIR_DOMAIN_EVENT_WATCHDOG_POWEROFF), "poweroff");
  EXPECT_STREQ(watchdog_action(VIR_DOMAIN_EVENT_WATCHDOG_SHUTDOWN), "shutdown");
  EXPECT_STREQ(watchdog_action(99), "unknown");
  EXPECT_STREQ(watchdog_action(-1), "unknown");
}

}  // namespace
}  // namespace vg::hypervisor
