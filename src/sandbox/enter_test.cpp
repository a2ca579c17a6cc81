#include "sandbox/enter.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stop_token>
#include <thread>

#include "base/files.h"
#include "sandbox/landlock.h"
#include "sandbox/syscalls.h"

namespace vg::sandbox {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// How a child ended: its exit code, or minus the signal.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(body());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

constexpr int not_entered = 120;

struct SandboxTest : ::testing::Test {
  fs::path root;
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "virtgate-sandbox-XXXXXX").native();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
    fs::create_directory(root / "state");
    fs::create_directory(root / "certs");
    std::ofstream(root / "outside") << "not yours";
    std::ofstream(root / "certs/tls.crt") << "certificate";
  }
  void TearDown() override { fs::remove_all(root); }

  Plan plan() const {
    return make_plan(Mode::on,
                     {.write_folders = {(root / "state").native()},
                      .read_files = reachable({(root / "certs/tls.crt").native(), "/etc/no-such/folder/tls.crt"}),
                      .listen_port = 0},
                     this_machine());
  }
  // What body returns inside of the sandbox.
  int inside(const std::function<int()>& body) const {
    return in_child([&] { return enter(plan()) ? body() : not_entered; });
  }
};

std::string status_line(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return line.substr(line.find_first_not_of(" \t", key.size() + 1));
  return "";
}

TEST_F(SandboxTest, TakesEveryPrivilegeAway) {
  EXPECT_EQ(inside([] {
              if (status_line("NoNewPrivs") != "1") return 1;
              for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
                if (status_line(set) != "0000000000000000") return 2;
              return status_line("Seccomp") == (sanitized_build ? "0" : "2") ? 0 : 3;
            }),
            0);
}

TEST_F(SandboxTest, ThreadsThatWereThereBeforeAreFound) {
  EXPECT_EQ(in_child([&] {
              std::jthread early([](const std::stop_token& stop) {
                while (!stop.stop_requested()) std::this_thread::yield();
              });
              const auto entered = enter({.mode = Mode::required});
              return !entered && entered.error().message.contains("1 threads") ? 0 : 1;
            }),
            0);
}

TEST_F(SandboxTest, RequiredRefusesWhatIsMissing) {
  Plan incomplete{.mode = Mode::required, .capabilities = true, .missing = {"Landlock (none)"}};
  EXPECT_EQ(in_child([&] {
              const auto entered = enter(incomplete);
              return !entered && entered.error().message.contains("Landlock (none)") ? 0 : 1;
            }),
            0);
}

// Everything below needs the filters.
struct SandboxFilterTest : SandboxTest {
  void SetUp() override {
    if (sanitized_build) GTEST_SKIP() << "a sanitizer needs what the filters forbid";
    SandboxTest::SetUp();
  }
};

TEST_F(SandboxFilterTest, ADeadlyCallEndsTheProcess) {
  EXPECT_EQ(inside([] {
              ::execl("/bin/true", "true", nullptr);
              return 1;
            }),
            -SIGSYS);
  EXPECT_EQ(inside([] { return static_cast<int>(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }), -SIGSYS);
  EXPECT_EQ(inside([] { return ::unshare(CLONE_NEWUSER); }), -SIGSYS);
  EXPECT_EQ(inside([] { return static_cast<int>(::syscall(SYS_bpf, 0, nullptr, 0)); }), -SIGSYS);
  EXPECT_EQ(inside([] { return static_cast<int>(::syscall(SYS_io_uring_setup, 1, nullptr)); }), -SIGSYS);
}

// The profiler reads stacks this way; an intruder would read the memory of other processes.
TEST_F(SandboxFilterTest, OnlyOurOwnMemoryIsRead) {
  const auto read_from = [](pid_t process) {
    int from = 7, to = 0;
    iovec here{.iov_base = &to, .iov_len = sizeof to}, there{.iov_base = &from, .iov_len = sizeof from};
    return ::process_vm_readv(process, &here, 1, &there, 1, 0) == sizeof to && to == 7 ? 0 : 1;
  };
  EXPECT_EQ(inside([&] { return read_from(::getpid()); }), 0);
  EXPECT_EQ(inside([&] { return read_from(::getppid()); }), -SIGSYS);
}

TEST_F(SandboxFilterTest, OtherCallsAreNotThere) {
  EXPECT_EQ(inside([] { return ::fork() < 0 ? 0 : 1; }), 0);
  EXPECT_EQ(inside([] { return ::kill(::getppid(), 0) != 0 ? 0 : 1; }), 0);
  EXPECT_EQ(inside([] { return ::setuid(0) != 0 ? 0 : 1; }), 0);
  EXPECT_EQ(inside([] { return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0 ? 0 : 1; }), 0);
  EXPECT_EQ(inside([] { return ::socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == ENOSYS ? 0 : 1; }), 0);
  EXPECT_EQ(inside([] { return ::syscall(SYS_sethostname, "x", 1) != 0 && errno == ENOSYS ? 0 : 1; }), 0);
}

// Landlock does not look at these, and a root without capabilities still owns most of the system.
TEST_F(SandboxFilterTest, FilesAreNotOpenedForOthers) {
  const auto file = root / "outside";
  EXPECT_EQ(inside([&] { return ::chmod(file.c_str(), 0644) != 0 && errno == ENOSYS ? 0 : 1; }), 0);
  EXPECT_EQ(inside([&] { return ::fchmodat(AT_FDCWD, file.c_str(), 0640, 0) != 0 && errno == ENOSYS ? 0 : 1; }), 0);
  EXPECT_EQ(inside([&] { return ::lchown(file.c_str(), 1, 1) != 0 && errno == ENOSYS ? 0 : 1; }), 0);
  EXPECT_EQ(inside([&] {
              const int own = ::open((root / "state/x").c_str(), O_CREAT | O_RDWR, 0600);
              if (own < 0) return 1;
              if (::open((root / "state/y").c_str(), O_CREAT | O_RDWR, 04755) >= 0) return 2;
              if (::fchmod(own, 04755) == 0 || ::fchmod(own, 0666) == 0) return 3;
              return ::fchmod(own, 0644) == 0 ? 0 : 4;
            }),
            0);
}

TEST_F(SandboxFilterTest, RootAsksNobodyOverSockets) {
  const bool expected = ::geteuid() != 0;
  EXPECT_EQ(inside([&] { return (::socket(AF_UNIX, SOCK_STREAM, 0) >= 0) == expected ? 0 : 1; }), 0);
}

TEST_F(SandboxFilterTest, MemoryIsWrittenOrRunNeverBoth) {
  EXPECT_EQ(inside([] {
              void* both =
                  ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              if (both != MAP_FAILED) return 1;
              void* data = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              if (data == MAP_FAILED) return 2;
              if (::mprotect(data, 4096, PROT_READ | PROT_EXEC) == 0) return 3;
              return ::mprotect(data, 4096, PROT_READ) == 0 ? 0 : 4;
            }),
            0);
}

TEST_F(SandboxFilterTest, ThreadsSignalsAndNamesWork) {
  EXPECT_EQ(inside([] {
              int seen = 0;
              std::thread([&] { seen = 1; }).join();
              addrinfo* found = nullptr;
              if (::getaddrinfo("localhost", "443", nullptr, &found) != 0) return 2;
              ::freeaddrinfo(found);
              return seen == 1 ? 0 : 1;
            }),
            0);
  EXPECT_EQ(inside([] {
              std::abort();
              return 1;
            }),
            -SIGABRT);
}

TEST_F(SandboxFilterTest, SocketsWork) {
  EXPECT_EQ(inside([] {
              const int listener = ::socket(AF_INET, SOCK_STREAM, 0), client = ::socket(AF_INET, SOCK_STREAM, 0);
              sockaddr_in address{};
              address.sin_family = AF_INET;
              address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
              socklen_t size = sizeof address;
              auto* name = reinterpret_cast<sockaddr*>(&address);
              if (::bind(listener, name, size) != 0 || ::listen(listener, 1) != 0) return 1;
              if (::getsockname(listener, name, &size) != 0 || ::connect(client, name, size) != 0) return 2;
              return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) >= 0 ? 0 : 3;
            }),
            0);
}

struct LandlockTest : SandboxFilterTest {
  void SetUp() override {
    if (landlock_abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    SandboxFilterTest::SetUp();
  }
};

TEST_F(LandlockTest, OnlyNamedFilesCanBeOpened) {
  EXPECT_EQ(inside([this] {
              if (read_file((root / "outside").native(), 100)) return 1;
              if (::open((root / "new").c_str(), O_CREAT | O_WRONLY, 0600) >= 0) return 2;
              if (!read_file((root / "certs/tls.crt").native(), 100)) return 3;
              if (::open((root / "certs/tls.crt").c_str(), O_WRONLY) >= 0) return 4;
              if (::geteuid() == 0 && ::open("/etc/shadow", O_RDONLY) >= 0) return 5;
              if (::open("/", O_RDONLY | O_DIRECTORY) >= 0) return 6;
              if (::open("/proc/1/cmdline", O_RDONLY) >= 0) return 7;
              return read_file("/etc/hosts", 100'000) || errno == ENOENT ? 0 : 8;
            }),
            0);
}

TEST_F(LandlockTest, TheStateFolderIsWritable) {
  EXPECT_EQ(inside([this] {
              const auto state = root / "state";
              if (!write_file((state / "a").native(), "1", 0600)) return 1;
              if (!write_file((state / "a").native(), "2", 0600)) return 2;
              if (::mkdir((state / "sub").c_str(), 0700) != 0) return 3;
              if (::rename((state / "a").c_str(), (state / "sub/a").c_str()) != 0) return 4;
              if (::truncate((state / "sub/a").c_str(), 0) != 0) return 5;
              if (::unlink((state / "sub/a").c_str()) != 0 || ::rmdir((state / "sub").c_str()) != 0) return 6;
              return 0;
            }),
            0);
}

TEST_F(LandlockTest, OurOwnProcessCanBeLookedAt) {
  EXPECT_EQ(inside([] {
              for (const char* file : {"/proc/self/stat", "/proc/self/maps", "/proc/self/statm"})
                if (!read_file(file, 1 << 20)) return 1;
              std::error_code none;
              return fs::read_symlink("/proc/self/exe", none).empty() ? 2
                                                                      : 0;  // profiles say which program they are of
            }),
            0);
}

TEST_F(LandlockTest, NoOtherPortCanBeServed) {
  if (landlock_abi() < 4) GTEST_SKIP() << "this kernel's Landlock knows no ports";
  EXPECT_EQ(
      inside([] {
        const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(47123);
        return ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 && errno == EACCES ? 0 : 1;
      }),
      0);
}

TEST_F(SandboxTest, FilesThatComeLaterAndLinksAreReachable) {
  fs::create_symlink(root / "outside", root / "certs/link");
  const auto links = reachable({(root / "certs/link").native()});
  EXPECT_EQ(links, (std::vector<std::string>{(root / "certs/link").native(), (root / "outside").native()}));
  const auto later = reachable({(root / "later/on/tls.crt").native()});
  ASSERT_FALSE(later.empty());
  EXPECT_EQ(fs::path(later[0]).parent_path(), root);
}

TEST_F(SandboxTest, BecomesAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can";
  const auto nobody = find_account("nobody");
  ASSERT_TRUE(nobody);
  EXPECT_EQ(find_local_account("nobody"), nobody);
  EXPECT_EQ(find_local_account("no-such-user"), std::nullopt);
  fs::permissions(root, fs::perms::owner_all | fs::perms::others_exec);
  EXPECT_EQ(in_child([&] {
              if (!become(*nobody, root / "made/for/it")) return 1;
              if (::getuid() != nobody->uid || ::getegid() != nobody->gid) return 2;
              if (::setuid(0) == 0) return 3;
              return write_file((root / "made/for/it/x").native(), "1", 0600) ? 0 : 4;
            }),
            0);
}

TEST(SandboxCalls, NoCallIsInTwoTables) {
  for (const auto name : allowed_calls()) EXPECT_EQ(std::ranges::count(deadly_calls(), name), 0) << name;
}

TEST(SandboxCalls, EveryNameIsOne) {
  for (const auto calls : {allowed_calls(), deadly_calls()})
    for (const auto name : calls) EXPECT_NE(seccomp_syscall_resolve_name(name.data()), __NR_SCMP_ERROR) << name;
}

// As libvirtd and QEMU are.
TEST_F(SandboxTest, WhoIsKeptOffOthersChangesItself) {
  const auto within = [&](const std::function<int()>& body) {
    return in_child([&] { return forbid_new_privileges() && keep_off_others() ? body() : not_entered; });
  };
  const auto set_limits = [](pid_t of) {
    rlimit now{};
    if (::prlimit(of, RLIMIT_NOFILE, nullptr, &now) != 0) return -1;
    return ::prlimit(of, RLIMIT_NOFILE, &now, nullptr) == 0 ? 0 : errno;
  };
  EXPECT_EQ(within([&] { return set_limits(0); }), 0);
  EXPECT_EQ(within([&] { return set_limits(::getppid()); }), EPERM);
  EXPECT_EQ(within([] { return ::setpriority(PRIO_PROCESS, 0, 19) == 0 ? 0 : errno; }), 0);
  EXPECT_EQ(within([] { return ::setpriority(PRIO_USER, 0, 19) == 0 ? 0 : errno; }), EPERM);
  // The kernel takes the lower half.
  EXPECT_EQ(within([] { return ::syscall(SYS_setpriority, (1L << 32) + PRIO_USER, 0, 19) == 0 ? 0 : errno; }), EPERM);
}

// As a node does.
TEST_F(SandboxTest, WhoStartsProgramsIsConfinedWithThem) {
  if (sanitized_build || landlock_abi() == 0) GTEST_SKIP() << "no Landlock here";
  const Plan with_programs = make_plan(
      Mode::on, {.programs = true, .rules = {{(root / "state").native(), PathRule::Access::data}}}, this_machine());
  const auto within = [&](const std::function<int()>& body) {
    return in_child([&] { return enter(with_programs) ? body() : not_entered; });
  };
  const auto run = [](const char* script) {
    return WEXITSTATUS(std::system(script));  // NOLINT(cert-env33-c,concurrency-mt-unsafe): a child with one thread
  };
  EXPECT_EQ(within([&] { return run("exit 7"); }), 7);
  EXPECT_EQ(within([&] { return run(fmt::format("echo x > {}/state/new", root.native()).c_str()); }), 0);
  EXPECT_NE(within([&] { return run(fmt::format("exec 2> /dev/null; cat {}/outside", root.native()).c_str()); }), 0);
  EXPECT_EQ(within([] { return ::unshare(CLONE_NEWUSER) == 0 ? 0 : 1; }), -SIGSYS);
  EXPECT_EQ(within([] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1; }), -SIGSYS);
  EXPECT_EQ(within([] { return ::kill(::getppid(), 0) == 0 ? 0 : errno; }), 0) << "it ends what it did not start";
  // Nobody's terminal is typed into, whatever stands in the half of a number that the kernel does not look at.
  const auto asked = [](unsigned long request) {
    return [request] {
      char byte = 'x';
      return ::syscall(SYS_ioctl, STDIN_FILENO + 1000, request, &byte) == 0 ? 0 : errno;
    };
  };
  EXPECT_EQ(within(asked(TIOCSTI)), ENOSYS);
  EXPECT_EQ(within(asked((1UL << 32) + TIOCSTI)), ENOSYS);
  for (const unsigned long other : {TIOCSTI + 1UL, 0UL + FIONREAD, 0x80041272UL, (1UL << 32) + FIONREAD})
    EXPECT_EQ(within(asked(other)), EBADF) << other;
}

}  // namespace
}  // namespace vg::sandbox
