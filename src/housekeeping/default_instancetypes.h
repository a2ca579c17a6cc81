// The instance types and preferences that KubeVirt's operator deploys for every cluster: general sizes to choose a VM
// by, and what each guest system prefers. They are kept as tables of series, sizes and traits, and made once; from then
// on they are the cluster administrator's to change or delete.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "json/value.h"
#include "objects/planned_writes.h"

namespace vg::resources {

// The release of these definitions, which their labels name.
inline constexpr std::string_view default_instancetypes_version = "v1.7.0";

using DefaultVisitor = std::function<void(std::string name, json::Object object)>;
void for_each_default_instancetype(const DefaultVisitor& visit);
void for_each_default_preference(const DefaultVisitor& visit);

// The ConfigMap in KubeVirt's namespace that remembers by name what was made before. Without it everything that is
// missing is made again.
inline constexpr std::string_view made_defaults_map = "virtgate-default-instancetypes";

// Those that were never made, which at later starts are the new ones of a newer program.
void plan_default_instancetypes(PlannedWrites& writes, std::string_view kubevirt_namespace);

}  // namespace vg::resources
