// Whether the API server is reached through a proxy, and through which: the variables HTTPS_PROXY, HTTP_PROXY and
// NO_PROXY, read as Go's net/http reads them for Kubernetes' own client, and the proxy-url of a kubeconfig. Pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/client.h"
#include "http/proxy.h"
#include "kube/cluster_access.h"

namespace vg::kube {

// "http://user:password@host:port", also with socks5 and socks5h. Without a scheme it is http.
Result<http::ProxyPtr> parse_proxy_url(std::string_view url);

// Whether NO_PROXY names this host: by itself, by its domain, by a network, by "*", each but the last two perhaps with
// a port. "localhost" and loopback addresses never go through a proxy.
bool is_exempt(std::string_view no_proxy, std::string_view host, std::uint16_t port);

struct ProxyChoice {
  http::ProxyPtr proxy = nullptr;
  // Why a variable that is set counts for nothing, if so.
  std::string warning = {};
};

// An error: the environment asks for a kind of proxy that we cannot use, and to go without it would be wrong.
Result<ProxyChoice> choose_proxy(const Environment& environment, const http::Origin& origin);

}  // namespace vg::kube
