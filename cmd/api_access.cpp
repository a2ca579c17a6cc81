#include "api_access.h"

#include <filesystem>

#include "state.h"

namespace vg::cmd {

Result<kube::ClusterAccess> find_api(const std::string& kubeconfig, const std::string& state) {
  std::filesystem::path file = kubeconfig;
  if (file.empty()) {
    auto folder = existing_state(state);
    if (!folder) return fail(std::move(folder.error()));
    file = *folder / "admin.kubeconfig";
  }
  return kube::find_cluster(file.native(), "", kube::process_environment());
}

}  // namespace vg::cmd
