// What a preference requires of a machine (spec vm-instancetype 4.8).
#pragma once

#include <optional>
#include <string>

#include "api/views/instancetype.h"
#include "api/views/vmi.h"

namespace vg::admission {

// The specs of what a VM names, in canonical form; nothing where it names none, or none was found.
struct Chosen {
  api::instancetype::VirtualMachineInstancetypeSpec instancetype;
  api::instancetype::VirtualMachinePreferenceSpec preference;
};

struct Unmet {
  std::string field;  // all that could be changed, with commas between them (K06)
  std::string message;
};

// `machine`: with instance type, preference and defaults. Upstream tells the first of the three.
std::optional<Unmet> unmet_cpu(const Chosen& chosen, const api::kubevirt::VirtualMachineInstanceSpec& machine);
std::optional<Unmet> unmet_memory(const Chosen& chosen, const api::kubevirt::VirtualMachineInstanceSpec& machine);
std::optional<Unmet> unmet_architecture(const Chosen& chosen, const api::kubevirt::VirtualMachineInstanceSpec& machine);

}  // namespace vg::admission
