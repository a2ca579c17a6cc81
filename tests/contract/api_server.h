// A `virtgate serve --api-only` in a process and a folder of its own, to play kube-apiserver.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "store/testing.h"

namespace vg::contract {

class ApiServer {
 public:
  ApiServer();   // returns once it serves
  ~ApiServer();  // ends it, and expects that it ends well
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  std::uint16_t port() const { return port_; }
  // "ca.crt", "admin.token", ...
  std::string pki(std::string_view name) const { return folder_.file("state/pki/" + std::string(name)); }

 private:
  bool start();
  bool wait_until_ready(int output) const;

  store::TemporaryFolder folder_;
  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

// A port at which nobody listens at the moment.
std::uint16_t free_port();

}  // namespace vg::contract
