// For tests of instance types and preferences: one of each, and the template of a VM that they are applied to.
#pragma once

#include <string>
#include <string_view>

#include "admission/defaults/testing.h"
#include "admission/instancetype/apply.h"
#include "admission/instancetype/conflicts.h"
#include "admission/instancetype/preference.h"

namespace vg::admission::testing {

// An object of that kind whose spec is this, in canonical form.
inline json::Document canonical(std::string_view group, std::string_view kind, std::string_view spec) {
  json::Document document = parsed(R"({"spec":)" + std::string(spec) + "}");
  EXPECT_TRUE(api::canonicalize(document.root(), *api::find_kind(group, "", kind)->type)) << spec;
  return document;
}
inline json::Document instancetype(std::string_view spec) {
  return canonical("instancetype.kubevirt.io", "VirtualMachineInstancetype", spec);
}
inline json::Document preference(std::string_view spec) {
  return canonical("instancetype.kubevirt.io", "VirtualMachinePreference", spec);
}
// A VM; `machine` is the spec of its template.
inline json::Document vm_of(std::string_view machine, std::string_view annotations = "{}") {
  return canonical("kubevirt.io", "VirtualMachine",
                   R"({"template":{"metadata":{"annotations":)" + std::string(annotations) + R"(},"spec":)" +
                       std::string(machine) + "}}");
}
inline json::Object& template_of(json::Document& vm) {
  return json::find_path(vm.root(), {"spec", "template"})->get_object();
}
inline const json::Object& spec_of(const json::Document& document) {
  return json::find(document.root(), "spec")->get_object();
}

// What stands at a JSON pointer; "" for nothing.
inline std::string text_at(const json::Object& object, std::string_view pointer) {
  const json::Value value(object);
  const json::Value* found = json::resolve(value, *json::Pointer::parse(pointer));
  return found ? json::to_text(*found) : std::string();
}

}  // namespace vg::admission::testing
