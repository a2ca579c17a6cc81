// Defaults of a machine's spec that need only the spec and the configuration (spec work-objects 1.3, D01 to D13). The
// VMI mutator stores them; the VM's rules and the expansion of instance types look at a copy that has them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "config/cluster_config.h"
#include "json/value.h"

namespace vg::admission {

// What a default may read and change.
struct SpecTarget {
  json::Object& spec;  // of a VMI, or of a VM's template, in canonical form
  const config::ClusterConfig& config;
  std::optional<std::string> refusal = {};  // set by a default that cannot be given: nothing more is applied

  json::Object& domain();
  json::Object& devices();
};

struct SpecDefault {
  std::string_view id;  // of the rule in the specification
  void (*apply)(SpecTarget& target);
};

// In the order in which they are applied: later ones read what earlier ones have set.
std::span<const SpecDefault> spec_defaults();

// All of them. Refusals (400) come from D11 alone: the configured default interface is not allowed.
Result<void> apply_spec_defaults(json::Object& spec, const config::ClusterConfig& config);

// Single steps that also have other users.
void default_architecture(SpecTarget& target);  // D01
void default_machine_type(SpecTarget& target);  // D02
void default_interfaces(SpecTarget& target);    // D10 to D12
void default_disks(SpecTarget& target);         // D13

// A01: whether a machine of this architecture and type gets the current layout of its PCI bus.
bool wants_pci_topology(std::string_view architecture, std::string_view machine_type);
inline constexpr std::string_view pci_topology_annotation = "kubevirt.io/pci-topology-version";
inline constexpr std::string_view pci_topology_version = "v3";

}  // namespace vg::admission
