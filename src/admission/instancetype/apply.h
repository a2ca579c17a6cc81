// Putting an instance type into a machine (spec vm-instancetype 4.3).
#pragma once

#include "admission/instancetype/topology.h"
#include "json/value.h"

namespace vg::admission {

// spec.template of a VM, in canonical form: what is applied may be what canonical form leaves out.
struct MachineTemplate {
  json::Object& metadata;
  json::Object& spec;

  // Makes the two where they are missing.
  static MachineTemplate in(json::Object& machine_template);
};

// Only for a machine without conflicts. `preference` lays out the vCPUs.
void apply_instancetype(const json::Object& instancetype, const TopologyChoice& topology, MachineTemplate& machine);

// Annotations that the machine does not have yet.
void add_missing_annotations(const json::Object& from, MachineTemplate& machine);

}  // namespace vg::admission
