// What a node gives up before it starts its first thread: it reads what guests, registries and other people's images
// say. Its libvirtd is started before, by a process that is confined in another way (hypervisor/reaper.h).
#pragma once

#include <string>

#include "base/status.h"
#include "handler/place.h"
#include "sandbox/plan.h"

namespace vg::cmd {

struct NodeSandboxOptions {
  const handler::NodePlace& place;
  std::string state;  // of the server
  sandbox::Mode mode = sandbox::Mode::on;
};

Result<void> confine_node(const NodeSandboxOptions& options);

}  // namespace vg::cmd
