// Where a machine (what has a VMI's spec) stands in an object.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace vg::offline {

struct MachineIn {
  const json::Object* spec = nullptr;  // null: the object has none
  std::string path = {};               // "spec.template.spec"
};
MachineIn machine_in(const json::Object& object);

// The value at a path of names that are separated by dots, without lists; null for none.
const json::Value* at_path(const json::Value& from, std::string_view path);
const json::Value* at_path(const json::Object& from, std::string_view path);

}  // namespace vg::offline
