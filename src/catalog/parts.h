// What stands below Kubernetes' own kinds besides status and scale, and which kinds can only be read. Routing and
// discovery both go by these tables.
#pragma once

#include <span>
#include <string_view>

#include "catalog/catalog.h"

namespace vg::resources {

struct Part {
  std::string_view key;   // of the resource in the store
  std::string_view name;  // of the subresource
  std::string_view kind_group, kind_version, kind;
  std::span<const std::string_view> verbs;
};

std::span<const Part> parts();
// Null when the resource has no such part.
const Part* find_part(std::string_view key, std::string_view name);

// Why objects of the kind cannot be written; empty when they can.
std::string_view read_only_reason(std::string_view key);

}  // namespace vg::resources
