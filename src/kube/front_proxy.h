// Whom the API server's aggregation layer speaks for: what ConfigMap kube-system/extension-apiserver-authentication
// says about its certificates and header fields (spec server 3.2, 4.4 and 4.5).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "http/exchange.h"
#include "http/tls.h"
#include "ports/authorizer.h"

namespace vg::kube {

inline constexpr std::string_view front_proxy_namespace = "kube-system";
inline constexpr std::string_view front_proxy_config_map = "extension-apiserver-authentication";

struct FrontProxy {
  std::string authorities_pem = {};
  // Common names of its certificate; an empty list takes any. Absent: nobody said so, and no certificate is taken.
  std::optional<std::vector<std::string>> allowed_names = {};
  std::vector<std::string> user_headers = {}, group_headers = {}, extra_prefixes = {};
  bool operator==(const FrontProxy&) const = default;

  // For the TLS layer; nothing while no certificate can be taken.
  std::optional<http::ClientAuthority> authority() const;
};

// From the text of the ConfigMap. Refuses one without authorities, and lists that are no JSON.
Result<FrontProxy> read_front_proxy(std::string_view config_map);

// The user that the header fields of a verified front proxy name; 401 with what is missing.
Result<User> user_of_headers(const FrontProxy& proxy, const http::Headers& headers);

}  // namespace vg::kube
