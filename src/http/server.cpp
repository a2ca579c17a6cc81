#include "http/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/log.h"
#include "http/core_socket.h"
#include "http/server_core.h"
#include "http/tcp.h"

namespace vg::http {
namespace {

using namespace std::chrono_literals;

// Connections taken before others get their turn on core 0.
constexpr int accepts_in_a_row = 64;
// How long the listener rests when the process is out of descriptors.
constexpr auto accept_pause = 100ms;
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
    auto fd = listen_tcp(shared_.config.host, shared_.config.port, limits::listen_backlog_connections);
    if (!fd) return fail(std::move(fd.error()));
    port_ = local_port(*fd);
    allow_descriptors();
    listener_ = Socket(*loops_[0], *fd);
    keep_spare_fd();
    // Queued, so that it runs on its core.
    loops_[0]->post([this] {
      if (!draining_) accepting_ = Background(accept_all());
    });
    return {};
  }

  std::uint16_t port() const override { return port_; }
  std::size_t core_count() const override { return loops_.size(); }
  Core& core(std::size_t index) override { return *loops_.at(index); }
  std::size_t open_connections() const override { return shared_.open.load(); }

  void run() override {
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
          log::error("cannot accept a connection", {{"reason", std::string_view(::strerrordesc_np(errno))}});
          relieve();
          exhausted = true;
          return false;
        default:  // this one went away again
          return true;
      }
    }
    if (shared_.open.load(std::memory_order_relaxed) >= shared_.config.connections_max) {
      turn_away(fd);
      return true;
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    shared_.open.fetch_add(1);
    shared_.metrics.open.add();
    shared_.metrics.accepted.add();
    auto [host, port] = name_of(address);
    // In turn: connections of the same client do about the same work, and no core has to ask another one.
    ServerCore& core = *cores_[next_core_++ % cores_.size()];
    if (&core == cores_[0].get()) {
      core.adopt(fd, std::move(host), port);
    } else {
      core.loop().post([&core, fd, name = std::move(host), port]() mutable { core.adopt(fd, std::move(name), port); });
    }
    return true;
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

  // Shells give a process 1024 descriptors, whatever it is; it may ask for more by itself.
  void allow_descriptors() {
    // A stream holds two, one to each side, and the store and its helpers some.
    const rlim_t wanted = 2 * shared_.config.connections_max + 256;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < wanted) {
      log::info("fewer descriptors are allowed than connections may need",
                {{"allowed", limit.rlim_cur}, {"wanted", wanted}});
    }
  }

  // Too many connections. A closed connection is the clearest answer there is before TLS.
  void turn_away(int fd) {
    shared_.metrics.turned_away.add();
    const auto now = Stream::Clock::now();
    if (now - turned_away_logged_ > 1s) {
      turned_away_logged_ = now;
      log::warning("too many connections are open; new ones are closed", {{"limit", shared_.config.connections_max}});
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
    if (const auto left = shared_.open.load()) log::warning("stopping with connections open", {{"connections", left}});
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
  bool draining_ = false;
  Stream::Clock::time_point cut_at_{};
  std::atomic<std::size_t> cores_left_{0};
  Background accepting_;
  Background cutting_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::create(ServerConfig config, Handler& handler) {
  const auto tls = config.tls;
  auto server = std::make_unique<ServerImpl>(std::move(config), handler);
  if (tls) {
    if (auto set = server->set_tls(*tls); !set) return fail(std::move(set.error()));
  }
  return server;
}

}  // namespace vg::http
