// Defaults of a VM (spec vm-instancetype 2.5 and 2.6).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "admission/context.h"
#include "json/value.h"

namespace vg::admission {

// What a default may read and change. `vm` has spec.template.spec.
struct VmTarget {
  json::Object& vm;
  const json::Object* preference;        // spec of the preference that the VM names, if that was found
  std::string data_source_architecture;  // what find_data_source_architecture() found
  const Context& context;

  json::Object& spec();
  json::Object& template_metadata();
  json::Object& template_spec();
  json::Object& domain();
};

struct VmDefault {
  std::string_view id;  // step of the specification's table 2.1
  void (*apply)(VmTarget& target);
  bool on_create_only = false;
};

// Step 13: of the images that the VM's data volumes are made from; empty where they say none, or where the VM or its
// preference says it. Defaults look nothing up themselves: they change what would be looked at again.
std::string find_data_source_architecture(const json::Object& vm, const json::Object* preference,
                                          const Context& context);

// In the order in which they are applied: what comes first wins.
std::span<const VmDefault> vm_defaults();

}  // namespace vg::admission
