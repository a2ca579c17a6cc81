#include "api/structural_rules.h"

#include <algorithm>
#include <array>

#include "json/access.h"

namespace vg::api {
namespace {

using json::Value;

bool has(const Value& self, std::string_view name) { return json::find(self, name) != nullptr; }
bool is(const Value& self, std::string_view name, std::string_view wanted) {
  return json::get_string(self, name) == wanted;
}
// The field is there and says something.
bool is_filled(const Value& self, std::string_view name) { return !json::get_string_or(self, name).empty(); }

bool is_access_mode(const Value& mode) {
  static constexpr std::array<std::string_view, 4> modes = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany",
                                                            "ReadWriteOncePod"};
  return std::ranges::find(modes, json::as_string(&mode).value_or("")) != modes.end();
}

constexpr std::array<RuleCheck, 13> checks = {{
    {"absolute-path",
     [](const Value& self, const Value*) { return json::as_string(&self).value_or("").starts_with('/'); }},
    {"no-parent-steps",
     [](const Value& self, const Value*) { return self.is_string() && !json::as_string(&self)->contains(".."); }},
    {"access-modes",
     [](const Value& self, const Value*) {
       return self.is_array() && std::ranges::all_of(self.get_array(), is_access_mode);
     }},
    {"only-true", [](const Value& self, const Value*) { return json::as_bool(&self).value_or(false); }},
    {"unchanged", [](const Value& self, const Value* old_self) { return !old_self || self == *old_self; }, true},
    {"pvc-named", [](const Value& self, const Value*) { return is_filled(self, "pvcName"); }},
    {"pull-has-token",
     [](const Value& self, const Value*) { return !is(self, "mode", "Pull") || is_filled(self, "tokenSecretRef"); }},
    {"api-group-given", [](const Value& self, const Value*) { return has(self, "apiGroup"); }},
    {"backup-source-group",
     [](const Value& self, const Value*) {
       return !has(self, "apiGroup") || is(self, "apiGroup", "kubevirt.io") ||
              is(self, "apiGroup", "backup.kubevirt.io");
     }},
    {"backup-source-kind",
     [](const Value& self, const Value*) {
       return !has(self, "apiGroup") || (is(self, "apiGroup", "kubevirt.io") && is(self, "kind", "VirtualMachine")) ||
              (is(self, "apiGroup", "backup.kubevirt.io") && is(self, "kind", "VirtualMachineBackupTracker"));
     }},
    {"name-given", [](const Value& self, const Value*) { return is_filled(self, "name"); }},
    {"vm-group", [](const Value& self, const Value*) { return is(self, "apiGroup", "kubevirt.io"); }},
    {"vm-kind", [](const Value& self, const Value*) { return is(self, "kind", "VirtualMachine"); }},
}};

}  // namespace

const RuleCheck* find_rule(std::string_view name) {
  const auto found = std::ranges::find(checks, name, &RuleCheck::name);
  return found == checks.end() ? nullptr : &*found;
}

}  // namespace vg::api
