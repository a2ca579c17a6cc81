// TLS versions and ciphers of the listener, straight from the KubeVirt object (spec server 3.4): a mistake elsewhere in
// its configuration must not keep them from counting, and without an object the usual ones do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/tls.h"
#include "kube/reflector.h"

namespace vg::kube {

struct TlsSettings {
  http::TlsVersion min_version = http::TlsVersion::tls1_2;
  std::vector<std::string> ciphers = {};
  bool operator==(const TlsSettings&) const = default;
};

// From the text of a KubeVirt object. Nothing when it does not count.
std::optional<TlsSettings> read_tls_settings(std::string_view kubevirt);

// From the one of that namespace.
TlsSettings tls_settings(const Reflector& kubevirts, std::string_view ns);

}  // namespace vg::kube
