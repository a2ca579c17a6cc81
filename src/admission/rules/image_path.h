// Paths of files inside of container images: disks, kernels, initrds (spec vmi-storage-network 3.5).
#pragma once

#include <string>
#include <string_view>

namespace vg::admission {

// Absolute, and written without detours; one slash at the end does no harm.
inline bool is_clean_absolute(std::string_view path) {
  if (!path.starts_with('/') || path == "/") return false;
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty() || path.ends_with('/') || path.contains("//")) return false;
  const std::string closed = std::string(path) + "/";
  return !closed.contains("/./") && !closed.contains("/../");
}

}  // namespace vg::admission
