// Which groups, versions and resources are served: what every form of discovery is written from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vg::resources {

struct ApiGroup {
  std::string_view name;                   // empty: the core group
  std::vector<std::string_view> versions;  // the preferred one first
};

// The core group first, then as a Kubernetes API server orders them: its own groups by weight, the others by name.
// Where a short name is used twice kubectl takes the first.
std::span<const ApiGroup> api_groups();
const ApiGroup* find_api_group(std::string_view name);

// One entry of an APIResourceList: a resource, or what is below one ("virtualmachines/status").
struct ApiResource {
  std::string name;
  std::string_view singular = "";
  std::string_view kind = "";
  // Of the kind, where it is not of the group and version that lists it: scale is autoscaling/v1 everywhere.
  std::string_view kind_group = "", kind_version = "";
  bool namespaced = true;
  std::span<const std::string_view> verbs;
  std::span<const std::string_view> short_names;
  std::span<const std::string_view> categories;
  // Stands for the form in which objects are stored, whichever version lists them: whoever migrates objects compares
  // it. Empty for what is not stored.
  std::string storage_version_hash = {};

  std::string_view resource() const { return std::string_view(name).substr(0, name.find('/')); }
  std::string_view subresource() const {
    const auto slash = name.find('/');
    return slash == std::string::npos ? std::string_view() : std::string_view(name).substr(slash + 1);
  }
};

// Empty when the group does not serve that version.
std::vector<ApiResource> api_resources(std::string_view group, std::string_view version);

}  // namespace vg::resources
