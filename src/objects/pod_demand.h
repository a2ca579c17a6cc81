// How much a pod asks for: what its containers say, added up as they run.
#pragma once

#include <functional>
#include <map>
#include <string_view>

#include "base/quantity.h"
#include "json/value.h"

namespace vg::resources {

// Amounts by resource, as a container says them or as those of a pod add up. The names live in the document.
using Amounts = std::map<std::string_view, Quantity>;

struct Demand {
  Amounts requests, limits;
};

Amounts amounts_of(const json::Object& list);
// What the container's own "resources" say.
Demand demand_of(const json::Object& container);

void add(Amounts& sum, const Amounts& more);
// The larger of both, for each resource.
void raise(Amounts& sum, const Amounts& other);

// Containers run together; those of the start run before them, one at a time, unless they stay. `of_container` says
// what one of them asks for.
Demand demand_of_pod(const json::Object& spec,
                     const std::function<Demand(const json::Object& container)>& of_container = demand_of);

}  // namespace vg::resources
