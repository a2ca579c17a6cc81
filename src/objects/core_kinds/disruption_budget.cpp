#include <array>

#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"
#include "objects/core_kinds/workload_parts.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 2> eviction_policies = {"AlwaysAllow", "IfHealthyBudget"};

void validate_disruption_budget(const json::Object& object, const json::Object* /*old*/, const WriteContext& context,
                                std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (context.subresource == "status") return check_status_counts(causes, object);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  if (has(spec, "minAvailable") && has(spec, "maxUnavailable"))
    causes.invalid(at, "minAvailable and maxUnavailable are mutually exclusive; keep one");
  for (const std::string_view member : {"minAvailable", "maxUnavailable"})
    check_int_or_percent(causes, at.field(member), json::find(spec, member), true);
  check_label_selector(causes, at.field("selector"), members(spec, "selector"));
  if (has(spec, "unhealthyPodEvictionPolicy"))
    check_supported(causes, at.field("unhealthyPodEvictionPolicy"), text(spec, "unhealthyPodEvictionPolicy"),
                    eviction_policies);
}

}  // namespace

constinit const Strategy disruption_budget_strategy = {.group = "policy",
                                                       .kind = "PodDisruptionBudget",
                                                       .prepare_create = prepare_counted_create,
                                                       .prepare_update = prepare_counted_update,
                                                       .validate = validate_disruption_budget};

}  // namespace vg::resources::core_kinds
