// The resources that are served: one row a kind, made once from the schema.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/schema.h"

namespace vg::resources {

struct Conversion;

struct Resource {
  const api::Kind* kind = nullptr;
  std::string key;                  // in the store: "kubevirt.io/virtualmachines", or "pods" in the core group
  std::string storage_api_version;  // "kubevirt.io/v1"
  bool stored = true;               // false: questions that are answered at once, such as access reviews
  // Of a kind that is another form of stored objects (resources/conversion.h); then key and storage_api_version are
  // theirs.
  const Conversion* conversion = nullptr;

  std::string_view group() const { return kind->group; }
  std::string_view plural() const { return kind->plural; }
};

// Sorted by key, without those that are another form of one that is here.
std::span<const Resource> resources();
// Null when the group has no such plural in that version, or does not serve that version.
const Resource* find_resource(std::string_view group, std::string_view version, std::string_view plural);
// By the key in the store; never another form of what is stored there.
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
