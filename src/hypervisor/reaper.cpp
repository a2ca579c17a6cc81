#include "hypervisor/reaper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "hypervisor/confinement.h"
#include "sandbox/enter.h"
#include "sandbox/isolate.h"
#include "sandbox/landlock.h"
#include "sandbox/syscalls.h"

namespace vg::hypervisor {
namespace {

constexpr int listener = 3, backlog = 4;
constexpr int cannot_start = 127;

// Signals stay within, where the kernel can keep them there.
bool confine(const std::vector<sandbox::PathRule>& rules, bool isolated) {
  if (rules.empty()) return true;
  auto done = sandbox::forbid_new_privileges();
  if (done && isolated) done = sandbox::isolate(rules);
  if (done) done = sandbox::apply_landlock({.paths = rules, .binds_all_ports = true}, sandbox::landlock_abi());
  if (done) done = sandbox::keep_off_others();
  if (!done) std::fprintf(stderr, "libvirtd is not started, because it cannot be confined: %s\n", done.error().c_str());
  return done.has_value();
}

class Loop {
 public:
  explicit Loop(char* const* command) : command_(command) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
    signals_ = File(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    ::fcntl(listener, F_SETFD, FD_CLOEXEC);
    ::fcntl(listener, F_SETFL, O_NONBLOCK);
  }

  int run() {
    bool has_children = false;
    accept_all();
    while (!links_.empty() || has_children) {
      std::vector<pollfd> ready{{listener, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
      for (const Link& link : links_) ready.push_back({link.socket.get(), POLLIN, 0});
      if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return 1;
      signalfd_siginfo signal{};
      while (::read(signals_.get(), &signal, sizeof signal) > 0) {
      }
      has_children = take_exits();
      for (std::size_t i = 0; i < links_.size(); ++i)
        if (ready[i + 2].revents != 0) has_children |= hear(links_[i]);
      std::erase_if(links_, [](const Link& link) { return !link.socket; });
      accept_all();
    }
    return 0;
  }

 private:
  struct Link {
    File socket;
    unsigned number;
  };

  void accept_all() {
    for (int link = 0; (link = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;)
      links_.push_back({File(link), ++numbers_});
  }

  // Whether any child is left.
  bool take_exits() {
    while (true) {
      const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
      if (ended < 0 && errno == EINTR) continue;
      if (ended <= 0) return ended == 0;
      if (ended != running_) continue;
      running_ = 0;
      tell_end();
    }
  }

  // To whom it ran for.
  void tell_end() {
    for (const Link& link : links_)
      if (link.number == asker_) (void)::send(link.socket.get(), &wish_, 1, MSG_NOSIGNAL);
  }

  // Whether something was started.
  bool hear(Link& link) {
    char byte = 0;
    const ssize_t got = ::recv(link.socket.get(), &byte, 1, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
      link.socket = File();
      return false;
    }
    if (running_ != 0) return false;
    wish_ = byte;
    asker_ = link.number;
    posix_spawnattr_t settings;
    posix_spawnattr_init(&settings);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&settings, &none);
    posix_spawnattr_setflags(&settings, POSIX_SPAWN_SETSIGMASK);
    const bool started = ::posix_spawn(&running_, command_[0], nullptr, &settings, command_, ::environ) == 0;
    posix_spawnattr_destroy(&settings);
    if (started) return true;
    running_ = 0;
    tell_end();
    return false;
  }

  char* const* command_;
  File signals_;
  std::vector<Link> links_;
  unsigned numbers_ = 0;
  pid_t running_ = 0;
  unsigned asker_ = 0;  // the link and the wish that the command runs for
  char wish_ = 0;
};

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

File connect_to(const sockaddr_un& address) {
  File link(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (link && ::connect(link.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return link;
  return {};
}

}  // namespace

int run_reaper(char* const* command) {
  std::vector<sandbox::PathRule> rules;
  const bool isolated = *command && std::string_view(*command) == isolate_word;
  for (command += isolated ? 1 : 0; *command; ++command) {
    auto rule = rule_of(*command);
    if (!rule) break;
    rules.push_back(std::move(*rule));
  }
  if (!*command || !confine(rules, isolated)) return cannot_start;
  rules = {};
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  return Loop(command).run();
}

Result<Reaper> Reaper::find_or_start(const Start& start) {
  const auto address = address_of(start.socket);
  if (!address) return fail(Status::internal_error(fmt::format("the path {} is too long", start.socket)));
  Reaper reaper;
  if (reaper.link_ = connect_to(*address); reaper.link_) return reaper;
  ::unlink(start.socket.c_str());
  const File listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listening || ::bind(listening.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::listen(listening.get(), backlog) != 0)
    return system_failed(fmt::format("cannot listen on {}", start.socket));
  // Before it runs: one that finds nobody connected ends.
  reaper.link_ = connect_to(*address);
  if (!reaper.link_) return system_failed(fmt::format("cannot connect to {}", start.socket));
  auto process = start_apart(start.command, start.environment, start.log, listening.get());
  if (!process) return fail(process.error());
  reaper.process_ = std::move(*process);
  reaper.is_new_ = true;
  return reaper;
}

bool Reaper::start_command() {
  ++wish_;
  return ::send(link_.get(), &wish_, 1, MSG_NOSIGNAL) == 1;
}

bool Reaper::has_ended() {
  char ended = 0;
  ssize_t got = 0;
  while ((got = ::recv(link_.get(), &ended, 1, 0)) > 0)
    if (ended == wish_) return true;
  return got == 0 || (errno != EAGAIN && errno != EINTR);
}

}  // namespace vg::hypervisor
