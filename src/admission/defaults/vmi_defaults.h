// Defaults of a VMI that is created (spec work-objects 1.3, D14 to D37 and A01 to A04), after those of its spec.
#pragma once

#include <span>
#include <string_view>

#include "admission/context.h"
#include "json/value.h"

namespace vg::admission {

// What a default may read and change. `vmi` has metadata, spec and status, so references to these three stay good.
struct VmiTarget {
  json::Object& vmi;
  const Context& context;

  json::Object& metadata();
  json::Object& annotations();
  json::Object& spec();
  json::Object& status();
  json::Object& domain();
  json::Object& devices();
  json::Object& features();
  std::string_view architecture();
};

struct VmiDefault {
  std::string_view id;  // of the rule in the specification
  void (*apply)(VmiTarget& target);
};

// In the order in which they are applied: later ones read what earlier ones have set.
std::span<const VmiDefault> vmi_defaults();

// feature_defaults.cpp
void default_s390x_acpi(VmiTarget& target);           // D14
void default_timers(VmiTarget& target);               // D21
void default_feature_states(VmiTarget& target);       // D22 and D23
void default_hyperv_states(VmiTarget& target);        // D24
void default_spinlock_retries(VmiTarget& target);     // D25
void default_hyperv_sub_states(VmiTarget& target);    // D26
void default_hyperv_dependencies(VmiTarget& target);  // D30

// device_defaults.cpp
void default_disk_targets(VmiTarget& target);      // D17
void default_inputs(VmiTarget& target);            // D18
void default_cdroms(VmiTarget& target);            // D27
void default_block_sizes(VmiTarget& target);       // D28
void default_gpu_displays(VmiTarget& target);      // D29
void default_for_architecture(VmiTarget& target);  // D31

// hotplug_defaults.cpp
void default_memory_status(VmiTarget& target);  // D33
void default_cpu_status(VmiTarget& target);     // D34
void default_max_sockets(VmiTarget& target);    // D35 and D36
void default_max_guest(VmiTarget& target);      // D35 and D37

}  // namespace vg::admission
