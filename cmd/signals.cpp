#include "signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace vg::cmd {

ProcessSignals::ProcessSignals() {
  ::signal(SIGPIPE, SIG_IGN);  // a client or a pipe that goes away is an error of one write, not of the process
  ::signal(SIGXFSZ, SIG_IGN);  // likewise a file that reached its size limit: the write fails and readiness says so
  sigemptyset(&set_);
  for (int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) sigaddset(&set_, signal);
  ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
}

ProcessSignals::~ProcessSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

ProcessSignals::Watch::Watch(const ProcessSignals& signals, std::chrono::milliseconds interval,
                             std::function<void(int)> on_signal, std::function<void()> on_time)
    : on_signal_(std::move(on_signal)),
      on_time_(std::move(on_time)),
      signals_(::signalfd(-1, &signals.set_, SFD_CLOEXEC | SFD_NONBLOCK)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (signals_ < 0 || stop_ < 0) throw std::system_error(errno, std::generic_category(), "cannot watch signals");
  thread_ = std::thread([this, interval] { run(interval); });
}

ProcessSignals::Watch::~Watch() {
  const std::uint64_t one = 1;
  while (::write(stop_, &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
  ::close(signals_);
  ::close(stop_);
}

void ProcessSignals::Watch::run(std::chrono::milliseconds interval) {
  using Steady = std::chrono::steady_clock;
  auto due = Steady::now() + interval;
  for (;;) {
    pollfd waits[] = {{.fd = stop_, .events = POLLIN, .revents = 0}, {.fd = signals_, .events = POLLIN, .revents = 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Steady::now()).count();
    const int ready = ::poll(waits, 2, static_cast<int>(std::clamp<std::int64_t>(left, 0, INT32_MAX)));
    if (waits[0].revents) return;
    if (ready > 0 && waits[1].revents) {
      signalfd_siginfo info;
      while (::read(signals_, &info, sizeof info) == sizeof info) on_signal_(static_cast<int>(info.ssi_signo));
    }
    if (Steady::now() >= due) {
      due = Steady::now() + interval;
      on_time_();
    }
  }
}

}  // namespace vg::cmd
