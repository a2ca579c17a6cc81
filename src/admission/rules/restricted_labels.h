// Labels by which KubeVirt finds its own things: users neither set nor change them (META-01, UPD-09).
#pragma once

#include <array>
#include <string_view>

namespace vg::admission {

inline constexpr std::array<std::string_view, 6> restricted_labels = {
    "kubevirt.io/created-by",  "kubevirt.io/migrationJobUID",
    "kubevirt.io/nodeName",    "kubevirt.io/migrationTargetNodeName",
    "kubevirt.io/schedulable", "kubevirt.io/install-strategy",
};

}  // namespace vg::admission
