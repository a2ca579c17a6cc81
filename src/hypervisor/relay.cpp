#include "hypervisor/relay.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <optional>
#include <thread>
#include <vector>

#include "base/hypervisor_limits.h"
#include "hypervisor/daemon_process.h"

namespace vg::hypervisor {
namespace {

struct Address {
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

std::optional<Address> address_of(const std::string& path) {
  Address address;
  if (path.size() >= sizeof address.name.sun_path) return std::nullopt;
  std::memcpy(address.name.sun_path, path.c_str(), path.size() + 1);
  return address;
}

File new_socket() { return File(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

// What came in and did not go out yet.
struct Way {
  std::array<char, 64 * 1024> buffer{};
  std::size_t begin = 0, end = 0;
  bool empty() const { return begin == end; }

  // False at the end of either.
  bool move(int from, int to, const std::function<void()>& came = nullptr) {
    if (empty()) {
      const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
      if (got <= 0) return false;
      begin = 0;
      end = static_cast<std::size_t>(got);
      if (came) came();
    }
    const ssize_t sent = ::send(to, buffer.data() + begin, end - begin, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    begin += static_cast<std::size_t>(sent);
    return true;
  }
};

struct Pair {
  File near, far;
  Way out = {}, in = {};

  pollfd watch_near() const { return watch(near, out, in); }
  pollfd watch_far() const { return watch(far, in, out); }
  bool move(const std::function<void()>& answered) {
    return out.move(near.get(), far.get()) && in.move(far.get(), near.get(), answered);
  }

 private:
  static pollfd watch(const File& socket, const Way& from, const Way& to) {
    const int events = (from.empty() ? POLLIN : 0) | (to.empty() ? 0 : POLLOUT);
    return {.fd = socket.get(), .events = static_cast<short>(events), .revents = 0};
  }
};

class Running final : public Relay {
 public:
  Running(std::string path, Address to, File listener, std::function<void()> answered)
      : path_(std::move(path)),
        to_(to),
        listener_(std::move(listener)),
        wake_(::eventfd(0, EFD_CLOEXEC)),
        answered_(std::move(answered)) {
    thread_ = std::jthread([this] { run(); });
  }
  ~Running() override {
    const std::uint64_t one = 1;
    while (::write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
    ::unlink(path_.c_str());
  }

 private:
  void run() {
    std::list<Pair> pairs;
    while (true) {
      std::vector<pollfd> ready{
          {.fd = wake_.get(), .events = POLLIN, .revents = 0},
          {.fd = pairs.size() < limits::relay_connections_max ? listener_.get() : -1, .events = POLLIN, .revents = 0}};
      for (const Pair& pair : pairs) ready.insert(ready.end(), {pair.watch_near(), pair.watch_far()});
      if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
      if (ready[0].revents != 0) return;
      std::size_t at = 2;
      std::erase_if(pairs, [&](Pair& pair) {
        const bool is_ready = ready[at].revents != 0 || ready[at + 1].revents != 0;
        at += 2;
        return is_ready && !pair.move(answered_);
      });
      if (ready[1].revents != 0) accept(pairs);
    }
  }

  void accept(std::list<Pair>& pairs) {
    File near(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    File far = new_socket();
    if (near && far && ::connect(far.get(), to_.get(), sizeof to_.name) == 0)
      pairs.push_back({.near = std::move(near), .far = std::move(far)});
  }

  const std::string path_;
  const Address to_;
  const File listener_, wake_;
  const std::function<void()> answered_;
  std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<Relay>> Relay::open(const std::string& path, const std::string& to,
                                           std::function<void()> answered) {
  const auto here = address_of(path), there = address_of(to);
  if (!here || !there) return fail(Status::internal_error(fmt::format("the path {} or {} is too long", path, to)));
  ::unlink(path.c_str());
  File listener = new_socket();
  if (!listener || ::bind(listener.get(), here->get(), sizeof here->name) != 0 ||
      ::listen(listener.get(), static_cast<int>(limits::relay_connections_max)) != 0)
    return system_failed(fmt::format("cannot listen on {}", path));
  return std::make_unique<Running>(path, *there, std::move(listener), std::move(answered));
}

}  // namespace vg::hypervisor
