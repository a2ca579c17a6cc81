// Where the commands that are clients find their server.
#pragma once

#include <string>

#include "base/status.h"
#include "kube/cluster_access.h"

namespace vg::cmd {

// The kubeconfig that is named, else the admin.kubeconfig of the state folder (--state, or the one `serve` would take).
Result<kube::ClusterAccess> find_api(const std::string& kubeconfig, const std::string& state);

}  // namespace vg::cmd
