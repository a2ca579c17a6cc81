// The cluster's own configuration, and policies: what has no effect any more, and what puts guests at risk.
#include <array>

#include "config/gates.h"
#include "offline/warnings/look.h"
#include "offline/warnings/tables.h"

namespace vg::offline {
namespace {

constexpr std::string_view configuration = "spec.configuration";

const json::Object* settings(const Manifest& manifest) {
  return manifest.kind == "KubeVirt" ? json::as_object(at_path(manifest.object, configuration)) : nullptr;
}

// Why a name in the list of feature gates is of no use; empty for one that is.
std::string_view useless(std::string_view name) {
  const auto gate = config::find_gate(name);
  if (!gate) return "is not a feature gate that is known; letter case counts";
  switch (config::gates()[static_cast<std::size_t>(*gate)].state) {
    case config::GateState::ga:
      return "is always on by now";
    case config::GateState::beta:
      return "is on without it";
    case config::GateState::discontinued:
      return "belongs to a feature that is gone";
    case config::GateState::deprecated:
      return "is deprecated";
    case config::GateState::alpha:
      break;
  }
  return {};
}

void look_at_gates(const Manifest& manifest, Remarks& found) {
  const json::Object* all = settings(manifest);
  const json::Array* gates = all ? json::as_array(at_path(*all, "developerConfiguration.featureGates")) : nullptr;
  for (std::size_t i = 0; gates && i < gates->size(); ++i) {
    const auto name = json::as_string(&(*gates)[i]);
    if (name && !useless(*name).empty())
      found.push_back({.field = fmt::format("{}.developerConfiguration.featureGates[{}]", configuration, i),
                       .message = fmt::format("{} {}", *name, useless(*name))});
  }
}

void look_at_old_settings(const Manifest& manifest, Remarks& found) {
  const json::Object* all = settings(manifest);
  for (const std::string_view path :
       {"emulatedMachines", "machineType", "ovmfPath", "supportedGuestAgentVersions", "minCPUModel",
        "network.permitSlirpInterface", "architectureConfiguration.ppc64le",
        "mediatedDevicesConfiguration.mediatedDevicesTypes"})
    if (const json::Value* value = all ? at_path(*all, path) : nullptr; value && !value->is_null())
      found.push_back({.field = fmt::format("{}.{}", configuration, path), .message = "the setting is deprecated"});
}

void look_at_emulation(const Manifest& manifest, Remarks& found) {
  const json::Object* all = settings(manifest);
  if (all && json::as_bool(at_path(*all, "developerConfiguration.useEmulation")) == true)
    found.push_back({.field = "spec.configuration.developerConfiguration.useEmulation",
                     .message = "guests run without hardware support on nodes without /dev/kvm, many times slower"});
}

void look_at_post_copy(const Manifest& manifest, Remarks& found) {
  const std::string_view path = manifest.kind == "KubeVirt"          ? "spec.configuration.migrations.allowPostCopy"
                                : manifest.kind == "MigrationPolicy" ? "spec.allowPostCopy"
                                                                     : "";
  if (!path.empty() && json::as_bool(at_path(manifest.object, path)) == true)
    found.push_back(
        {.field = std::string(path), .message = "a guest whose migration breaks down half way is lost on both nodes"});
}

void look_at_old_firmware_preferences(const Manifest& manifest, Remarks& found) {
  if (!manifest.kind.ends_with("Preference")) return;
  for (const std::string_view name : {"preferredUseEfi", "preferredUseSecureBoot"}) {
    const std::string path = fmt::format("spec.firmware.{}", name);
    if (const json::Value* value = at_path(manifest.object, path); value && !value->is_null())
      found.push_back({.field = path, .message = "the field is deprecated"});
  }
}

constexpr std::array cluster_table = std::to_array<Warning>({
    {.id = "WISE-44",
     .title = "Feature gates should be listed only as long as they have an effect",
     .field = "spec.configuration.developerConfiguration.featureGates",
     .why = "Names that are not known, or belong to what is always on or gone, do nothing and are not refused.",
     .advice = "Remove them from the list, or correct the name.",
     .good = kubevirt_with<R"({"developerConfiguration":{"featureGates":["HostDisk"]}})">,
     .bad = kubevirt_with<R"({"developerConfiguration":{"featureGates":["HostDisk","LiveMigration","Hostdisk"]}})">,
     .look = look_at_gates},
    {.id = "WISE-45",
     .title = "Settings of KubeVirt should be current ones",
     .field = "spec.configuration",
     .why = "Deprecated settings are ignored, or win over those that replaced them; a later release drops them.",
     .advice =
         "Use architectureConfiguration for machine types and firmware, mediatedDeviceTypes for mediated devices, and "
         "leave the others out.",
     .good = kubevirt_with<R"({"architectureConfiguration":{"amd64":{"machineType":"q35"}}})">,
     .bad = kubevirt_with<R"({"machineType":"q35"})">,
     .look = look_at_old_settings},
    {.id = "WISE-46",
     .title = "Guests should run with hardware support",
     .field = "spec.configuration.developerConfiguration.useEmulation",
     .why = "Emulation is for trying KubeVirt out on hosts without it. On a real cluster it hides that a node's "
            "virtualization is turned off.",
     .advice = "Leave it out where nodes have /dev/kvm.",
     .good = kubevirt_with<R"({"developerConfiguration":{"useEmulation":false}})">,
     .bad = kubevirt_with<R"({"developerConfiguration":{"useEmulation":true}})">,
     .look = look_at_emulation},
    {.id = "WISE-47",
     .title = "Post-copy migrations should be chosen with care",
     .field = "spec.allowPostCopy",
     .why =
         "After the switch the guest's memory is on two nodes. A broken connection, or one of the nodes failing, ends "
         "the guest.",
     .advice =
         "Prefer allowAutoConverge for guests that change much memory; allow post-copy by a policy for guests that "
         "may be lost.",
     .good = R"({"apiVersion":"migrations.kubevirt.io/v1alpha1","kind":"MigrationPolicy","metadata":{"name":"demo"},
       "spec":{"allowAutoConverge":true,"selectors":{"virtualMachineInstanceSelector":{"size":"large"}}}})",
     .bad = R"({"apiVersion":"migrations.kubevirt.io/v1alpha1","kind":"MigrationPolicy","metadata":{"name":"demo"},
       "spec":{"allowPostCopy":true,"selectors":{"virtualMachineInstanceSelector":{"size":"large"}}}})",
     .look = look_at_post_copy},
    {.id = "WISE-48",
     .title = "A preference should ask for firmware by preferredEfi",
     .field = "spec.firmware.preferredUseEfi",
     .why = "preferredUseEfi and preferredUseSecureBoot are deprecated; a later version of the kind drops them.",
     .advice = "Use preferredEfi: {}, with secureBoot and persistent below it.",
     .good = R"({"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachinePreference",
       "metadata":{"name":"demo"},"spec":{"firmware":{"preferredEfi":{"secureBoot":true}}}})",
     .bad = R"({"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachinePreference",
       "metadata":{"name":"demo"},"spec":{"firmware":{"preferredUseEfi":true}}})",
     .look = look_at_old_firmware_preferences},
});

}  // namespace

std::span<const Warning> cluster_warnings() { return cluster_table; }

}  // namespace vg::offline
