#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/preemption.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::int64_t user_priority_max = 1'000'000'000;
constexpr std::string_view system_prefix = "system-";

struct SystemClass {
  std::string_view name;
  std::int64_t value;
};
constexpr std::array<SystemClass, 2> system_classes = {
    {{"system-node-critical", 2'000'001'000}, {"system-cluster-critical", 2'000'000'000}}};

void default_priority_class(json::Object& object, const WriteContext& /*context*/) {
  default_pointer(object, "preemptionPolicy", json::Value(preempt_lower_priority));
}

void prepare_new_priority_class(json::Object& object, const WriteContext& /*context*/) { begin_generation(object); }

bool is_system_class(const json::Object& object) {
  const auto* const known = std::ranges::find(system_classes, name_of(object), &SystemClass::name);
  return known != system_classes.end() && known->value == json::get_int_or(object, "value", 0) &&
         !json::get_bool_or(object, "globalDefault", false);
}

void check_new(FieldCauses& causes, const json::Object& object) {
  if (name_of(object).starts_with(system_prefix)) {
    if (!is_system_class(object))
      causes.forbidden(top("metadata").field("name"), "the prefix system- is reserved for Kubernetes");
  } else if (json::get_int_or(object, "value", 0) > user_priority_max) {
    causes.forbidden(top("value"), fmt::format("must be at most {}", user_priority_max));
  }
  if (has(object, "preemptionPolicy"))
    check_choice(causes, top("preemptionPolicy"), text(object, "preemptionPolicy"), preemption_policies);
}

void check_priority_class_change(FieldCauses& causes, const json::Object& object, const json::Object& old) {
  if (json::get_int_or(object, "value", 0) != json::get_int_or(old, "value", 0))
    causes.forbidden(top("value"), cannot_change);
  if (!same_member(object, old, "preemptionPolicy")) causes.invalid(top("preemptionPolicy"), cannot_change);
}

void validate_priority_class(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                             std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  if (old)
    check_priority_class_change(causes, object, *old);
  else
    check_new(causes, object);
}

}  // namespace

constinit const Strategy priority_class_strategy = {.group = "scheduling.k8s.io",
                                                    .kind = "PriorityClass",
                                                    .defaults = default_priority_class,
                                                    .prepare_create = prepare_new_priority_class,
                                                    .validate = validate_priority_class};

}  // namespace vg::resources::core_kinds
