// Defaults of a VM (spec vm-instancetype 2.5 and 2.6).
#pragma once

#include <span>
#include <string_view>

#include "admission/context.h"
#include "json/value.h"

namespace vg::admission {

// What a default may read and change. `vm` has spec.template.spec.
struct VmTarget {
  json::Object& vm;
  const json::Object* preference;  // spec of the preference that the VM names, if that was found
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

// In the order in which they are applied: what comes first wins.
std::span<const VmDefault> vm_defaults();

}  // namespace vg::admission
