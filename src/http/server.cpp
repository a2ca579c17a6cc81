#include "http/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/background.h"
#include "base/cpus.h"
#include "base/log.h"
#include "http/core_socket.h"
#include "http/descriptors.h"
#include "http/server_core.h"
#include "http/tcp.h"

namespace vg::http {
namespace {

using namespace std::chrono_literals;

// Connections taken before others get their turn on core 0.
constexpr int accepts_in_a_row = 64;
// How long the listener rests when the process is out of descriptors, and how many connections are closed meanwhile.
constexpr auto accept_pause = 20ms;
constexpr std::size_t evicted_at_once = 8;
// After everything was cut: the time that handlers have to notice.
constexpr auto cut_grace = 1s;

class ServerImpl final : public Server {
 public:
  ServerImpl(ServerConfig config, Handler& handler) : shared_(std::move(config), handler) {
    const unsigned count = shared_.config.cores ? shared_.config.cores : allowed_cpus();
    for (unsigned i = 0; i < count; ++i) {
      loops_.push_back(EventLoop::create(i, {.tick = shared_.config.times.tick}));
      cores_.push_back(std::make_unique<ServerCore>(shared_, *loops_.back(), count));
    }
    shared_.all_closed = [this] { finish(); };
  }
  ~ServerImpl() override {
    for (auto& core : cores_) core->abandon();
    if (spare_fd_ >= 0) ::close(spare_fd_);
  }

  Result<void> listen() override {
    const auto& config = shared_.config;
    auto fd = config.bound < 0 ? listen_tcp(config.host, config.port, limits::listen_backlog_connections)
                               : Result<int>(config.bound);
    if (fd && config.bound >= 0 && ::listen(*fd, limits::listen_backlog_connections) != 0)
      fd = fail(Status::unavailable(fmt::format("cannot listen on port {}: {}", config.port, std::strerror(errno))));
    if (!fd) return fail(std::move(fd.error()));
    port_ = local_port(*fd);
    listener_ = Socket(*loops_[0], *fd);
    keep_spare_fd();
    // Queued, so that it runs on its core.
    loops_[0]->post([this] {
      if (!draining_)
        accepting_ = Background(keep_running(*loops_[0], "accepting connections", [this] { return accept_all(); }));
    });
    return {};
  }

  std::uint16_t port() const override { return port_; }
  Core& core(std::size_t index) override { return *loops_.at(index); }
  std::size_t open_connections() const override { return shared_.open.load(); }

  std::optional<std::string> stall() const override {
    const std::lock_guard lock(watchdog_mutex_);
    return watchdog_ ? watchdog_->problem() : std::nullopt;
  }

  void run() override {
    watch_loops();
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < loops_.size(); ++i) {
      threads.emplace_back([loop = loops_[i].get()] {
        // Signals are the main thread's business, but for those of a profiler, which are for the thread that runs.
        sigset_t others;
        ::sigfillset(&others);
        ::sigdelset(&others, SIGPROF);
        ::pthread_sigmask(SIG_BLOCK, &others, nullptr);
        loop->run();
      });
    }
    loops_[0]->run();
    {
      const std::lock_guard lock(watchdog_mutex_);
      watchdog_.reset();
    }
    for (auto& loop : loops_) loop->stop();
  }

  void drain(std::chrono::milliseconds deadline) override {
    loops_[0]->post([this, deadline] { drain_here(deadline); });
  }

  Result<void> set_tls(const TlsServerConfig& config) override {
    auto context = TlsServerContext::create(config, shared_.ticket_keys);
    if (!context) return fail(std::move(context.error()));
    const std::lock_guard lock(shared_.mutex);
    shared_.tls_context = std::move(*context);
    return {};
  }

 private:
  void watch_loops() {
    std::vector<LoopWatchdog::Watched> watched;
    for (auto& core : cores_) watched.push_back({core->loop(), core->current});
    const std::lock_guard lock(watchdog_mutex_);
    watchdog_.emplace(std::move(watched), shared_.config.metrics ? *shared_.config.metrics : shared_.own_registry,
                      LoopWatchdog::Options());
  }

  Task<void> accept_all() {
    for (;;) {
      if (co_await listener_.until(Direction::read) != IoError::none) co_return;
      bool exhausted = false;
      for (int i = 0; i < accepts_in_a_row && !exhausted && listener_.is_open(); ++i) {
        if (!accept_one(exhausted)) break;
      }
      if (exhausted) {
        // A listener never becomes writable, so this waits for its deadline or for its end.
        listener_.set_deadline(Stream::Clock::now() + accept_pause);
        if (co_await listener_.until(Direction::write) == IoError::closed) co_return;
        listener_.set_deadline(Stream::Clock::time_point::max());
        keep_spare_fd();
      }
    }
  }

  // False when there is nothing to take.
  bool accept_one(bool& exhausted) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    const int fd =
        ::accept4(listener_.fd(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      switch (errno) {
        case EAGAIN:
          return false;
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
          // No std::error_category here: UBSan looks at an object through a pipe, and there is no descriptor left for
          // it.
          // The system looks for a descriptor before it looks for a connection, so there may be none that waits.
          if (const int error = errno; somebody_waits()) {
            complain(::strerrordesc_np(error));
            make_room();
          }
          exhausted = true;
          return false;
        default:  // this one went away again
          return true;
      }
    }
    const std::uint64_t source = source_of(address);
    auto [seat, leaves] = shared_.ledger.enter(source);
    if (leaves) send_away(std::move(leaves));
    if (!seat) {
      turn_away(fd);
      return true;
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    shared_.count_open();
    shared_.metrics.accepted.add();
    auto [host, port] = name_of(address);
    // In turn: connections of the same client do about the same work, and no core has to ask another one.
    seat->core = static_cast<unsigned>(next_core_++ % cores_.size());
    ServerCore& core = *cores_[seat->core];
    if (seat->core == 0) {
      core.adopt(fd, std::move(host), port, source, std::move(seat));
    } else {
      core.loop().post([&core, fd, name = std::move(host), port, source, taken = std::move(seat)]() mutable {
        core.adopt(fd, std::move(name), port, source, std::move(taken));
      });
    }
    return true;
  }

  // A connection whose place is somebody else's. It is queued behind its own coming, so it is there by then.
  void send_away(ConnectionLedger::SeatPtr seat) {
    ServerCore& core = *cores_[seat->core];
    core.loop().post([&core, leaving = std::move(seat)] { core.evict(leaving); });
  }

  static std::pair<std::string, std::uint16_t> name_of(const sockaddr_storage& address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address.ss_family == AF_INET) {
      const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
      ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
      return {text, ntohs(v4.sin_port)};
    }
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    std::string_view shown = text;
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) shown.remove_prefix(std::string_view("::ffff:").size());
    return {std::string(shown), ntohs(v6.sin6_port)};
  }

  bool somebody_waits() const {
    pollfd listening{.fd = listener_.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&listening, 1, 0) > 0;
  }

  void complain(const char* reason) {
    const auto now = Stream::Clock::now();
    if (now - complained_ < 1s) return;
    complained_ = now;
    log::error("cannot accept a connection; idle ones are closed to make room", {{"reason", std::string_view(reason)}});
  }

  // The system has no room for another connection: idle ones leave, so that those who wait can be taken after a rest.
  void make_room() {
    std::size_t left = 0;
    for (; left < evicted_at_once; ++left) {
      auto seat = shared_.ledger.make_room();
      if (!seat) break;
      send_away(std::move(seat));
    }
    if (left == 0) relieve();
  }

  // Too many connections. A closed connection is the clearest answer there is before TLS.
  void turn_away(int fd) {
    shared_.metrics.turned_away.add();
    const auto now = Stream::Clock::now();
    if (now - turned_away_logged_ > 1s) {
      turned_away_logged_ = now;
      log::warning("too many connections are open and none is idle; new ones are closed",
                   {{"limit", shared_.config.connections_max}});
    }
    if (shared_.config.plain) {
      static constexpr std::string_view answer =
          "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\nRetry-After: 1\r\n\r\n";
      (void)::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    ::close(fd);
  }

  // Out of descriptors, a waiting client can be neither served nor sent away, and the listener stays readable. One
  // descriptor is kept back for this moment: given up, it takes the client in and out.
  void relieve() {
    if (spare_fd_ < 0) return;
    ::close(spare_fd_);
    spare_fd_ = -1;
    if (const int fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC); fd >= 0) ::close(fd);
    keep_spare_fd();
  }
  void keep_spare_fd() {
    if (spare_fd_ < 0) spare_fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }

  void drain_here(std::chrono::milliseconds deadline) {
    const auto cut_at = Stream::Clock::now() + deadline;
    if (draining_ && cut_at >= cut_at_) return;
    cut_at_ = cut_at;
    if (!draining_) {
      draining_ = true;
      listener_.close();
      // The last core to begin draining notices when nothing was open to begin with.
      cores_left_ = cores_.size();
      for (auto& core : cores_) {
        core->loop().post([this, &core] {
          core->drain();
          if (cores_left_.fetch_sub(1) == 1 && shared_.open.load() == 0) finish();
        });
      }
    }
    cutting_ = Background(cut_after(deadline));
  }

  Task<void> cut_after(std::chrono::milliseconds deadline) {
    co_await loops_[0]->sleep(deadline);
    for (auto& core : cores_) core->loop().post([&core] { core->cut(); });
    co_await loops_[0]->sleep(cut_grace);
    if (const auto left = shared_.open.load()) log::warning("stopping with open connections", {{"connections", left}});
    finish();
  }

  void finish() { loops_[0]->stop(); }

  ServerShared shared_;
  std::vector<std::unique_ptr<EventLoop>> loops_;
  std::vector<std::unique_ptr<ServerCore>> cores_;
  Socket listener_;
  std::uint16_t port_ = 0;
  int spare_fd_ = -1;
  std::size_t next_core_ = 0;
  Stream::Clock::time_point turned_away_logged_{};
  Stream::Clock::time_point complained_{};
  bool draining_ = false;
  Stream::Clock::time_point cut_at_{};
  std::atomic<std::size_t> cores_left_{0};
  Background accepting_;
  Background cutting_;
  mutable std::mutex watchdog_mutex_;
  std::optional<LoopWatchdog> watchdog_;  // while loops run
};

}  // namespace

Result<std::unique_ptr<Server>> Server::create(ServerConfig config, Handler& handler) {
  const auto tls = config.tls;
  const auto descriptors = allow_descriptors(config.connections_max);
  if (!descriptors) return fail(descriptors.error());
  if (descriptors->allowed < descriptors->recommended) {
    log::warning(fmt::format("open file limit is {}, {} recommended; raise ulimit -n", descriptors->allowed,
                             descriptors->recommended),
                 {{"connectionsMax", descriptors->connections}});
  }
  config.connections_max = descriptors->connections;
  auto server = std::make_unique<ServerImpl>(std::move(config), handler);
  if (tls) {
    if (auto set = server->set_tls(*tls); !set) return fail(std::move(set.error()));
  }
  return server;
}

}  // namespace vg::http
