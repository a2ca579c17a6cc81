#include "objects/priority_classes.h"

#include <fmt/format.h>

#include "json/access.h"

namespace vg::resources {

std::string_view priority_class_of(const json::Object& pod) {
  const json::Object* spec = json::get_object(pod, "spec");
  return spec ? json::get_string_or(*spec, "priorityClassName") : std::string_view();
}

std::optional<std::string> apply_priority_class(json::Object& pod, const json::Object* priority_class) {
  const std::string_view name = priority_class_of(pod);
  if (name.empty()) return std::nullopt;
  if (!priority_class) return fmt::format("no PriorityClass with name {:.253} was found", name);
  json::Object& spec = *json::get_object(pod, "spec");
  const auto value = json::get_int_or(*priority_class, "value", 0);
  if (const auto stated = json::get_int(spec, "priority"); stated && *stated != value)
    return fmt::format("priority {} differs from {}, the value of PriorityClass {:.253}; remove it", *stated, value,
                       name);
  const std::string_view policy = json::get_string_or(*priority_class, "preemptionPolicy", "PreemptLowerPriority");
  if (const std::string_view stated = json::get_string_or(spec, "preemptionPolicy");
      !stated.empty() && stated != policy)
    return fmt::format("preemptionPolicy {:.253} differs from {}, that of PriorityClass {:.253}; remove it", stated,
                       policy, name);
  const std::string kept(policy);
  spec["priority"] = value;
  spec["preemptionPolicy"] = kept;
  return std::nullopt;
}

}  // namespace vg::resources
