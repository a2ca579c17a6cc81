#include <array>

#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 1> own_strategies = {"OldestEmulationVersion"};

void check_strategy(FieldCauses& causes, const Place& spec, std::string_view strategy) {
  const Place at = spec.field("strategy");
  const Place place = at.field("strategy");  // twice: so it is upstream
  if (strategy.find('/') == std::string_view::npos)
    check_supported(causes, place, strategy, own_strategies);
  else
    causes.defects(place, strategy, qualified_name_defects(strategy));
}

void validate_lease(const json::Object& object, const json::Object* /*old*/, const WriteContext& /*context*/,
                    std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  if (const auto seconds = json::get_int(spec, "leaseDurationSeconds"); seconds && *seconds <= 0)
    causes.invalid(at.field("leaseDurationSeconds"), "must be greater than 0");
  if (const auto transitions = json::get_int(spec, "leaseTransitions"); transitions)
    check_not_negative(causes, at.field("leaseTransitions"), *transitions);
  if (has(spec, "strategy")) check_strategy(causes, at, text(spec, "strategy"));
  if (!text(spec, "preferredHolder").empty() && text(spec, "strategy").empty())
    causes.forbidden(at.field("preferredHolder"), "preferredHolder requires a strategy");
}

}  // namespace

constinit const Strategy lease_strategy = {.group = "coordination.k8s.io", .kind = "Lease", .validate = validate_lease};

}  // namespace vg::resources::core_kinds
