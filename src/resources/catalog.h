// The resources that are served: one row a kind, made once from the schema.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/schema.h"

namespace vg::resources {

struct Resource {
  const api::Kind* kind = nullptr;
  std::string key;                  // in the store: "kubevirt.io/virtualmachines", or "pods" in the core group
  std::string storage_api_version;  // "kubevirt.io/v1"
  bool stored = true;               // false: questions that are answered at once, such as access reviews

  std::string_view group() const { return kind->group; }
  std::string_view plural() const { return kind->plural; }
};

// Sorted by key.
std::span<const Resource> resources();
// Null when the group has no such plural in that version, or does not serve that version.
const Resource* find_resource(std::string_view group, std::string_view version, std::string_view plural);
// By the key in the store.
const Resource* find_resource(std::string_view key);
// By what an owner reference says; any version of the group.
const Resource* find_resource_of_kind(std::string_view api_version, std::string_view kind);

// "v1", "kubevirt.io/v1".
std::string api_version(std::string_view group, std::string_view version);
struct GroupVersion {
  std::string_view group, version;
};
GroupVersion split_api_version(std::string_view text);

}  // namespace vg::resources
