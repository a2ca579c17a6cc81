#include "helpers/kept_process.h"

#include <poll.h>
#include <signal.h>  // NOLINT: kill and SIGKILL are POSIX's
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace vg::helpers {
namespace {

using std::chrono::milliseconds;
using Clock = KeptProcess::Clock;

int timeout_until(Clock::time_point due) {
  const auto left = std::chrono::ceil<milliseconds>(due - Clock::now());
  return static_cast<int>(std::max(left, milliseconds(0)).count());
}

// Until something is to be done. False: the server is gone.
bool wait_for(int server, std::span<KeptProcess> processes, Clock::time_point until) {
  std::vector<pollfd> ready{{server, POLLRDHUP, 0}};
  std::vector<KeptProcess*> running;
  for (KeptProcess& one : processes) {
    if (one.runs()) {
      ready.push_back({one.descriptor(), POLLIN, 0});
      running.push_back(&one);
    } else {
      until = std::min(until, one.due());
    }
  }
  if (::poll(ready.data(), ready.size(), timeout_until(until)) < 0) return errno == EINTR;
  for (std::size_t i = 0; i < running.size(); ++i)
    if (ready[i + 1].revents != 0) running[i]->bury();
  return ready[0].revents == 0;
}

void end_all(std::span<KeptProcess> processes) {
  for (const KeptProcess& one : processes) one.signal(SIGTERM);
  const auto deadline = Clock::now() + limits::helper_stop_deadline;
  for (KeptProcess& one : processes) {
    if (!one.runs()) continue;
    pollfd ended{one.descriptor(), POLLIN, 0};
    while (::poll(&ended, 1, timeout_until(deadline)) < 0 && errno == EINTR) {
    }
    if (ended.revents == 0) one.signal(SIGKILL);
  }
}

}  // namespace

// Where it leads a group, to all of that: what it started could go on beside the next one while it hangs in the kernel.
void KeptProcess::signal(int number) const {
  if (runs() && ::kill(-process_, number) != 0) ::kill(process_, number);
}

void KeptProcess::start() {
  heartbeat_.beat();
  seen_ = heartbeat_.last();
  silent_looks_ = 0;
  began_ = Clock::now();
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    // Whoever is not looked after would go on beside the next server's; its own body says how it learns of that.
    if (::getppid() != parent) ::_exit(1);
    ::_exit(body_(heartbeat_));
  }
  if (process_ > 0) ended_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  if (!ended_ && process_ > 0) {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (!ended_) bury();
}

void KeptProcess::bury() {
  // Not waited for: one that hangs in the kernel ends when that lets go of it, and touches nothing of ours by then.
  if (ended_) (void)::waitpid(process_, nullptr, WNOHANG);
  process_ = -1;
  ended_.close();
  if (Clock::now() - began_ > limits::helper_pause_max) pause_ = limits::helper_pause_min;
  due_ = Clock::now() + pause_;
  pause_ = std::min(pause_ * 2, limits::helper_pause_max);
}

void KeptProcess::look() {
  if (!runs()) return;
  const std::int64_t now = heartbeat_.last();
  silent_looks_ = now == std::exchange(seen_, now) ? silent_looks_ + 1 : 0;
  if (silent_looks_ == silent_looks_max_) signal(SIGKILL);
  if (silent_looks_ == 2 * silent_looks_max_) bury();
}

void keep_running(int server, std::span<KeptProcess> processes, Heartbeat* own) {
  auto next_look = Clock::now() + limits::helper_beat_interval;
  do {
    if (own) own->beat();
    for (KeptProcess& one : processes)
      if (!one.runs() && one.due() <= Clock::now()) one.start();
    if (Clock::now() < next_look) continue;
    next_look = Clock::now() + limits::helper_beat_interval;
    for (KeptProcess& one : processes) one.look();
  } while (wait_for(server, processes, next_look));
  end_all(processes);
}

}  // namespace vg::helpers
