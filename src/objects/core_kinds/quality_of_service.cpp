#include "objects/core_kinds/quality_of_service.h"

#include <map>

#include "base/quantity.h"
#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

using Amounts = std::map<std::string_view, Quantity>;

struct Totals {
  Amounts requests;
  Amounts limits;
  bool all_limited = true;  // every container has a limit for both cpu and memory
};

// How many of cpu and memory the list has.
std::size_t add(Amounts& total, const json::Object& list) {
  std::size_t found = 0;
  for (const std::string_view resource : {"cpu", "memory"}) {
    const Quantity quantity = amount(list, resource);
    if (quantity.sign() <= 0) continue;
    total[resource] += quantity;
    ++found;
  }
  return found;
}

void add_requirements(Totals& totals, const json::Object& requirements) {
  add(totals.requests, members(requirements, "requests"));
  if (add(totals.limits, members(requirements, "limits")) != 2) totals.all_limited = false;
}

Totals total(const json::Object& spec) {
  Totals totals;
  // What the pod asks for as a whole counts instead of what its containers ask for.
  if (has(spec, "resources")) {
    add_requirements(totals, members(spec, "resources"));
    return totals;
  }
  for (const std::string_view list : {"containers", "initContainers"})
    for (const json::Value& container : items(spec, list))
      add_requirements(totals, members(members(container), "resources"));
  return totals;
}

}  // namespace

std::string_view quality_of_service(const json::Object& pod_spec) {
  const Totals totals = total(pod_spec);
  if (totals.requests.empty() && totals.limits.empty()) return "BestEffort";
  return totals.all_limited && totals.requests == totals.limits ? "Guaranteed" : "Burstable";
}

}  // namespace vg::resources::core_kinds
