// A proxy on loopback through which a program reaches other hosts, for one that follows redirects by itself: each host
// is looked up here, once, and what is in a blocked network is refused (403). It knows CONNECT and plain HTTP.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "disks/outcome.h"

namespace vg::disks {

class GuardProxy {
 public:
  static Outcome<std::unique_ptr<GuardProxy>> start(std::string blocked);
  ~GuardProxy();
  GuardProxy(const GuardProxy&) = delete;
  GuardProxy& operator=(const GuardProxy&) = delete;

  std::uint16_t port() const { return port_; }
  // What the programs that shall use it have in their environment.
  std::vector<std::string> variables() const;
  // Why the last host was refused; empty: none was.
  std::string refusal() const;

 private:
  explicit GuardProxy(std::string blocked) : blocked_(std::move(blocked)) {}
  void accept_all();
  void serve(int client);
  Outcome<Descriptor> reach(std::string_view authority, std::string_view default_port);

  // A connection, and who serves it. Its thread ends when the socket is shut down.
  struct Served {
    Descriptor client;
    bool done = false;
    std::thread thread = {};
  };

  const std::string blocked_;
  Descriptor listener_, stop_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::string refusal_;
  std::list<Served> served_;
  std::thread accepting_;
};

}  // namespace vg::disks
