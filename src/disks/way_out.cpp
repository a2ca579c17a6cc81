#include "disks/way_out.h"

#include <cstdlib>

#include "disks/address.h"
#include "sandbox/landlock.h"

namespace vg::disks {
namespace {

bool is_set(const char* name) {
  const char* value = ::getenv(name);  // NOLINT: nobody sets it
  return value && *value != '\0';
}

}  // namespace

bool has_proxy(std::string_view scheme) {
  return scheme == "http" ? is_set("http_proxy") : is_set("https_proxy") || is_set("HTTPS_PROXY");
}

void WayOut::guide(Program& program) const {
  if (proxy) program.proxy_variables = proxy->variables();
  program.ruleset = ruleset.get();
}

std::string WayOut::problem(const Ended& ended) const {
  std::string refusal = proxy ? proxy->refusal() : std::string();
  return refusal.empty() ? complaint(ended) : refusal;
}

Outcome<WayOut> way_out(const std::string& blocked) {
  WayOut way;
  if (blocked.empty() || has_proxy("http") || has_proxy("https")) return way;
  auto proxy = GuardProxy::start(blocked);
  if (!proxy) return std::unexpected(proxy.error());
  way.proxy = std::move(*proxy);
  // Go passes no request to this host's own addresses to a proxy: where those are blocked, nothing but the proxy can be
  // connected to.
  if (!blocks_loopback(blocked)) return way;
  way.ruleset = Descriptor(sandbox::connect_ruleset(way.proxy->port()));
  if (!way.ruleset)
    return failed(DiskError::pull,
                  "failed to pull image: this kernel cannot keep skopeo from the blocked addresses of this host "
                  "(--import-blocked-networks); Linux 6.7 or later is required for that");
  return way;
}

}  // namespace vg::disks
