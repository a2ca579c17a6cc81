// The feature gates of KubeVirt v1.9: one row a gate (spec server 7.5).
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "api/view.h"

namespace vg::config {

enum class GateState : std::uint8_t {
  alpha,         // off unless listed
  beta,          // on unless disabled
  ga,            // always on
  deprecated,    // off unless listed
  discontinued,  // the feature is gone; listing the gate only matters to what looks for leftovers
};

// In the order of the table below; both lists are written by tools/facts_import.py.
enum class Gate : std::uint8_t {
  // Looked at when requests are judged.
  align_cpus,
  decentralized_live_migration,
  declarative_hotplug_volumes,
  downward_metrics,
  enable_virtio_fs_storage_volumes,
  experimental_ignition_support,
  gpus_with_dra,
  grace_io_virtualization,
  host_devices,
  host_devices_with_dra,
  host_disk,
  incremental_backup,
  iommufd,
  migration_stall_detection,
  network_devices_with_dra,
  node_restriction,
  object_graph,
  oci_export,
  passt_binding,
  pci_numa_aware_topology,
  plugins,
  port_ranges_spec,
  reboot_policy,
  reserved_overhead_memlock,
  root,
  sidecar,
  snapshot,
  template_,
  utility_volumes,
  vsock,
  workload_encryption_sev,
  workload_encryption_tdx,
  // Other components look at these.
  configurable_hypervisor,
  container_path_volumes,
  cpu_manager,
  cross_architecture_virtualization,
  firmware_auto_selection,
  hyperv_strict_check,
  vgpu_live_migration,
  vm_stats_collector,
  external_net_resource_injection,
  image_volume,
  kubevirt_seccomp_profile,
  libvirt_hooks_server_and_client,
  opt_out_role_aggregation,
  pod_secondary_interface_naming_upgrade,
  vmi_memory_overhead_report,
  // Generally available.
  auto_resource_limits_gate,
  bochs_display_for_efi_guests,
  cluster_profiler,
  common_instancetypes_deployment_gate,
  cpu_node_discovery,
  disable_custom_selinux_policy,
  dynamic_pod_interface_naming,
  enable_virtio_fs_config_volumes,
  expand_disks,
  gpu,
  hotplug_nics,
  instancetype_reference_policy,
  live_migration,
  live_update_nad_ref,
  migration_priority_queue,
  network_binding_plugins,
  non_root,
  numa,
  panic_devices,
  persistent_reservation,
  psa,
  secure_execution,
  sriov_live_migration,
  video_config,
  vm_export,
  vm_live_update_features,
  vm_persistent_state,
  volume_migration,
  volumes_update_strategy,
  // Deprecated.
  docker_selinux_mcs_workaround,
  multi_architecture,
  disable_mdev_configuration,
  hotplug_volumes,
  // Discontinued.
  experimental_virtiofs_support,
  passt,
  macvtap,
  passt_ip_stack_migration,
};

inline constexpr std::size_t gate_count = static_cast<std::size_t>(Gate::passt_ip_stack_migration) + 1;

struct GateRow {
  Gate gate;
  std::string_view name;  // as it is listed; case matters
  GateState state;
};

// All of them; row i is about Gate i.
std::span<const GateRow> gates();
std::string_view gate_name(Gate gate);
// Nothing for a name that is not registered.
std::optional<Gate> find_gate(std::string_view name);

using GateSet = std::bitset<gate_count>;

// Which gates are on, given developerConfiguration.featureGates and .disabledFeatureGates.
GateSet evaluate_gates(api::List<std::string_view> enabled, api::List<std::string_view> disabled);

}  // namespace vg::config
