// Amounts of resources: lists from the name of a resource to a quantity, as pods, nodes, claims and quotas have them.
#pragma once

#include <optional>
#include <string_view>

#include "base/quantity.h"
#include "json/value.h"
#include "objects/core_kinds/checks.h"

namespace vg::resources::core_kinds {

std::optional<Quantity> quantity_of(const json::Value* value);
// 0 when there is none.
Quantity amount(const json::Object& list, std::string_view resource);

// Kubernetes keeps nothing finer than a thousandth; what is finer is rounded up.
void round_amounts(json::Object& in, std::string_view list);
// The same for the limits and requests of a ResourceRequirements.
void round_requirements(json::Object& in, std::string_view requirements);

bool is_huge_page_resource(std::string_view name);

void check_amount(FieldCauses& causes, const Place& at, std::string_view resource, const json::Value& value);
// Of which pods and containers can be limited.
void check_limit_resource(FieldCauses& causes, const Place& at, std::string_view resource);
void check_quota_resource(FieldCauses& causes, const Place& at, std::string_view resource);
// Of a container: {"limits":{},"requests":{}}.
void check_requirements(FieldCauses& causes, const Place& at, const json::Object& requirements);
// Of a pod's overhead, which is checked as the limits of a container at the same place.
void check_overhead(FieldCauses& causes, const Place& at, const json::Object& overhead);

}  // namespace vg::resources::core_kinds
