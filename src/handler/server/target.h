// What a request to a handler is about (spec subresources 3.4 step 6).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace vg::handler {

struct Target {
  std::string ns, name;
  std::string what;   // "console", "vnc/screenshot", "portforward/22/tcp"
  std::string query;  // raw

  std::string domain() const { return ns + "_" + name; }  // no name of Kubernetes has an underscore
};

// Of a path that is none: nothing. Names are those that an object can have: they become part of a domain's name.
std::optional<Target> read_target(std::string_view path, std::string_view query);

// Of "portforward/PORT" or "portforward/PORT/PROTOCOL", which is our own: virt-api dials guests itself.
struct ForwardTarget {
  std::uint16_t port = 0;
  std::string_view protocol = "tcp";
};
std::optional<ForwardTarget> read_forward(std::string_view what);

// Of "vsock?port=PORT&tls=BOOL" (spec subresources 3.6). 400 for one that is neither.
struct VsockTarget {
  std::uint32_t port = 0;
  bool tls = false;
};
Result<VsockTarget> read_vsock(std::string_view query);

// As Go's ParseBool, where anything else counts as no.
bool is_true_value(std::string_view query, std::string_view name);

}  // namespace vg::handler
