#include "hypervisor/daemon_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "base/hypervisor_limits.h"

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 does not say that these are functions of C
}

namespace vg::hypervisor {

Failed system_failed(std::string_view what) {
  const int error = errno;
  return fail(Status::internal_error(fmt::format("{}: {}", what, std::generic_category().message(error))));
}

namespace {

constexpr int peer_pidfd = 77;  // SO_PEERPIDFD of Linux 6.5, which the C library does not know yet

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));  // posix_spawn changes nothing
  all.push_back(nullptr);
  return all;
}

class SpawnSettings {
 public:
  SpawnSettings(int log, int given) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, log, 1);
    posix_spawn_file_actions_adddup2(&files, log, 2);
    posix_spawn_file_actions_adddup2(&files, given, 3);
    posix_spawn_file_actions_addclosefrom_np(&files, 4);
    posix_spawn_file_actions_addchdir_np(&files, "/");
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t files = {};
  posix_spawnattr_t attributes = {};
};

}  // namespace

Result<Process> start_apart(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                            const std::string& log, int given) {
  const File output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!output) return system_failed(fmt::format("cannot write {}", log));
  const SpawnSettings settings(output.get(), given);
  Process process;
  errno = posix_spawn(&process.pid, command.front().c_str(), &settings.files, &settings.attributes,
                      pointers(command).data(), pointers(environment).data());
  if (errno != 0) return system_failed(fmt::format("cannot start {}", command.front()));
  process.handle = File(pidfd_open(process.pid, 0));
  if (!process.handle) return system_failed(fmt::format("cannot watch {}", command.front()));
  return process;
}

std::optional<Process> process_of(int pid) {
  Process process{.pid = pid, .handle = File(pidfd_open(pid, 0))};
  if (!process.handle) return {};
  return process;
}

std::optional<Process> listener_of(const std::string& socket_path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (socket_path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  // One that accepts nobody any more must not make us wait.
  const File socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0) return {};
  int handle = -1;
  size = sizeof handle;
  if (::getsockopt(socket.get(), SOL_SOCKET, peer_pidfd, &handle, &size) == 0)
    return Process{.pid = peer.pid, .handle = File(handle)};
  return errno == ENOPROTOOPT ? process_of(peer.pid) : std::nullopt;
}

std::optional<Process> holder_of(const std::string& pid_file) {
  const File file(::open(pid_file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (!file || ::fcntl(file.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK || lock.l_pid <= 0) return {};
  return process_of(lock.l_pid);
}

bool wait_for_end(const Process& process, std::chrono::milliseconds time) {
  pollfd watched{.fd = process.handle.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do ready = ::poll(&watched, 1, static_cast<int>(time.count()));
  while (ready < 0 && errno == EINTR);
  if (ready <= 0) return false;
  siginfo_t info{};  // of others there is none to take
  ::waitid(P_PIDFD, static_cast<id_t>(process.handle.get()), &info, WEXITED | WNOHANG);
  return true;
}

void kill_process(const Process& process) { pidfd_send_signal(process.handle.get(), SIGKILL, nullptr, 0); }

void end_process(const Process& process) {
  pidfd_send_signal(process.handle.get(), SIGTERM, nullptr, 0);
  if (wait_for_end(process, limits::libvirtd_stop_max)) return;
  kill_process(process);
  wait_for_end(process, limits::libvirtd_stop_max);
}

}  // namespace vg::hypervisor
