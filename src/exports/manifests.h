// Manifests that make the same VM elsewhere, with disks that are imported from the export (spec copies 6.6). Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "json/value.h"

namespace vg::exports {

struct ManifestParts {
  std::string_view name;  // of the export
  std::string_view ns;
  std::string_view base;       // of its URLs
  std::string_view authority;  // PEM
  const json::Object& vm;      // with instance type and preference written out
  // Claims that are exported, by name: their specs.
  std::map<std::string, const json::Object*, std::less<>> claims;
};

// ConfigMap, VM, DataVolumes.
json::Array manifests(const ManifestParts& parts, const json::StoragePtr& storage);
json::Value header_secret(std::string_view name, std::string_view ns, std::string_view token,
                          const json::StoragePtr& storage);

// As documents of YAML, or as a List.
std::string print_yaml(const json::Array& objects);
std::string print_list(const json::Array& objects);

}  // namespace vg::exports
