// Who is at the other end, as its certificate says.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace vg::http {

// What a verified client certificate says. Filled only after its chain was verified.
struct PeerCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string authority;  // the name of the trust anchor set that verified it (see TlsServerConfig)
  std::chrono::system_clock::time_point not_after = {};
};

}  // namespace vg::http
