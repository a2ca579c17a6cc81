#include "objects/pod_demand.h"

#include <algorithm>
#include <utility>

#include "objects/core_kinds/quantities.h"
#include "objects/core_kinds/values.h"

namespace vg::resources {
namespace {

using core_kinds::items;
using core_kinds::members;

void add_demand(Demand& sum, const Demand& more) {
  add(sum.requests, more.requests);
  add(sum.limits, more.limits);
}

void raise_demand(Demand& sum, const Demand& other) {
  raise(sum.requests, other.requests);
  raise(sum.limits, other.limits);
}

}  // namespace

Amounts amounts_of(const json::Object& list) {
  Amounts amounts;
  for (const auto& member : list)
    if (auto quantity = core_kinds::quantity_of(&member.value())) amounts.emplace(member.key(), std::move(*quantity));
  return amounts;
}

Demand demand_of(const json::Object& container) {
  const json::Object& resources = members(container, "resources");
  return {.requests = amounts_of(members(resources, "requests")), .limits = amounts_of(members(resources, "limits"))};
}

void add(Amounts& sum, const Amounts& more) {
  for (const auto& [resource, quantity] : more) sum[resource] += quantity;
}

void raise(Amounts& sum, const Amounts& other) {
  for (const auto& [resource, quantity] : other) {
    const auto [mine, added] = sum.try_emplace(resource, quantity);
    if (!added && mine->second < quantity) mine->second = quantity;
  }
}

Demand demand_of_pod(const json::Object& spec, const std::function<Demand(const json::Object&)>& of_container) {
  Demand all, staying, starting;
  for (const json::Value& container : items(spec, "initContainers")) {
    Demand one = of_container(members(container));
    if (core_kinds::text(container, "restartPolicy") == "Always") {
      add_demand(staying, one);
      one = staying;
    } else {
      add_demand(one, staying);
    }
    raise_demand(starting, one);
  }
  for (const json::Value& container : items(spec, "containers")) add_demand(all, of_container(members(container)));
  add_demand(all, staying);
  raise_demand(all, starting);
  return all;
}

}  // namespace vg::resources
