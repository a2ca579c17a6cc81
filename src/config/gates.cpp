#include "config/gates.h"

#include <algorithm>
#include <array>

namespace vg::config {
namespace {

using enum GateState;

constexpr std::array table = std::to_array<GateRow>({
    {Gate::align_cpus, "AlignCPUs", alpha},
    {Gate::decentralized_live_migration, "DecentralizedLiveMigration", alpha},
    {Gate::declarative_hotplug_volumes, "DeclarativeHotplugVolumes", beta},
    {Gate::downward_metrics, "DownwardMetrics", alpha},
    {Gate::enable_virtio_fs_storage_volumes, "EnableVirtioFsStorageVolumes", alpha},
    {Gate::experimental_ignition_support, "ExperimentalIgnitionSupport", alpha},
    {Gate::gpus_with_dra, "GPUsWithDRA", beta},
    {Gate::grace_io_virtualization, "GraceIOVirtualization", alpha},
    {Gate::host_devices, "HostDevices", alpha},
    {Gate::host_devices_with_dra, "HostDevicesWithDRA", beta},
    {Gate::host_disk, "HostDisk", alpha},
    {Gate::incremental_backup, "IncrementalBackup", alpha},
    {Gate::iommufd, "IOMMUFD", alpha},
    {Gate::migration_stall_detection, "MigrationStallDetection", alpha},
    {Gate::network_devices_with_dra, "NetworkDevicesWithDRA", alpha},
    {Gate::node_restriction, "NodeRestriction", beta},
    {Gate::object_graph, "ObjectGraph", alpha},
    {Gate::oci_export, "OCIExport", alpha},
    {Gate::passt_binding, "PasstBinding", beta},
    {Gate::pci_numa_aware_topology, "PCINUMAAwareTopology", alpha},
    {Gate::plugins, "Plugins", alpha},
    {Gate::port_ranges_spec, "PortRangesSpec", alpha},
    {Gate::reboot_policy, "RebootPolicy", beta},
    {Gate::reserved_overhead_memlock, "ReservedOverheadMemlock", alpha},
    {Gate::root, "Root", alpha},
    {Gate::sidecar, "Sidecar", alpha},
    {Gate::snapshot, "Snapshot", beta},
    {Gate::template_, "Template", beta},
    {Gate::utility_volumes, "UtilityVolumes", alpha},
    {Gate::vsock, "VSOCK", alpha},
    {Gate::workload_encryption_sev, "WorkloadEncryptionSEV", beta},
    {Gate::workload_encryption_tdx, "WorkloadEncryptionTDX", alpha},

    {Gate::configurable_hypervisor, "ConfigurableHypervisor", alpha},
    {Gate::container_path_volumes, "ContainerPathVolumes", alpha},
    {Gate::cpu_manager, "CPUManager", alpha},
    {Gate::cross_architecture_virtualization, "CrossArchitectureVirtualization", alpha},
    {Gate::firmware_auto_selection, "FirmwareAutoSelection", alpha},
    {Gate::hyperv_strict_check, "HypervStrictCheck", alpha},
    {Gate::vgpu_live_migration, "VGPULiveMigration", alpha},
    {Gate::vm_stats_collector, "VMStatsCollector", alpha},
    {Gate::external_net_resource_injection, "ExternalNetResourceInjection", beta},
    {Gate::image_volume, "ImageVolume", beta},
    {Gate::kubevirt_seccomp_profile, "KubevirtSeccompProfile", beta},
    {Gate::libvirt_hooks_server_and_client, "LibvirtHooksServerAndClient", beta},
    {Gate::opt_out_role_aggregation, "OptOutRoleAggregation", beta},
    {Gate::pod_secondary_interface_naming_upgrade, "PodSecondaryInterfaceNamingUpgrade", beta},
    {Gate::vmi_memory_overhead_report, "VmiMemoryOverheadReport", beta},

    {Gate::auto_resource_limits_gate, "AutoResourceLimitsGate", ga},
    {Gate::bochs_display_for_efi_guests, "BochsDisplayForEFIGuests", ga},
    {Gate::cluster_profiler, "ClusterProfiler", ga},
    {Gate::common_instancetypes_deployment_gate, "CommonInstancetypesDeploymentGate", ga},
    {Gate::cpu_node_discovery, "CPUNodeDiscovery", ga},
    {Gate::disable_custom_selinux_policy, "DisableCustomSELinuxPolicy", ga},
    {Gate::dynamic_pod_interface_naming, "DynamicPodInterfaceNaming", ga},
    {Gate::enable_virtio_fs_config_volumes, "EnableVirtioFsConfigVolumes", ga},
    {Gate::expand_disks, "ExpandDisks", ga},
    {Gate::gpu, "GPU", ga},
    {Gate::hotplug_nics, "HotplugNICs", ga},
    {Gate::instancetype_reference_policy, "InstancetypeReferencePolicy", ga},
    {Gate::live_migration, "LiveMigration", ga},
    {Gate::live_update_nad_ref, "LiveUpdateNADRef", ga},
    {Gate::migration_priority_queue, "MigrationPriorityQueue", ga},
    {Gate::network_binding_plugins, "NetworkBindingPlugins", ga},
    {Gate::non_root, "NonRoot", ga},
    {Gate::numa, "NUMA", ga},
    {Gate::panic_devices, "PanicDevices", ga},
    {Gate::persistent_reservation, "PersistentReservation", ga},
    {Gate::psa, "PSA", ga},
    {Gate::secure_execution, "SecureExecution", ga},
    {Gate::sriov_live_migration, "SRIOVLiveMigration", ga},
    {Gate::video_config, "VideoConfig", ga},
    {Gate::vm_export, "VMExport", ga},
    {Gate::vm_live_update_features, "VMLiveUpdateFeatures", ga},
    {Gate::vm_persistent_state, "VMPersistentState", ga},
    {Gate::volume_migration, "VolumeMigration", ga},
    {Gate::volumes_update_strategy, "VolumesUpdateStrategy", ga},

    {Gate::docker_selinux_mcs_workaround, "DockerSELinuxMCSWorkaround", deprecated},
    {Gate::multi_architecture, "MultiArchitecture", deprecated},
    {Gate::disable_mdev_configuration, "DisableMDEVConfiguration", deprecated},
    {Gate::hotplug_volumes, "HotplugVolumes", deprecated},

    {Gate::experimental_virtiofs_support, "ExperimentalVirtiofsSupport", discontinued},
    {Gate::passt, "Passt", discontinued},
    {Gate::macvtap, "Macvtap", discontinued},
    {Gate::passt_ip_stack_migration, "PasstIPStackMigration", discontinued},
});

constexpr bool rows_stand_at_their_index() {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (static_cast<std::size_t>(table[i].gate) != i) return false;
  return table.size() == gate_count;
}
static_assert(rows_stand_at_their_index());

constexpr std::size_t index_of(Gate gate) { return static_cast<std::size_t>(gate); }

}  // namespace

std::span<const GateRow> gates() { return table; }

std::string_view gate_name(Gate gate) { return table[index_of(gate)].name; }

std::optional<Gate> find_gate(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &GateRow::name);
  return found == table.end() ? std::nullopt : std::optional(found->gate);
}

// From the weakest statement to the strongest: the state, being disabled, being listed, general availability.
GateSet evaluate_gates(api::List<std::string_view> enabled, api::List<std::string_view> disabled) {
  GateSet on;
  for (const GateRow& row : table) on.set(index_of(row.gate), row.state == beta);
  for (const std::string_view name : disabled)
    if (const auto gate = find_gate(name)) on.reset(index_of(*gate));
  for (const std::string_view name : enabled)
    if (const auto gate = find_gate(name)) on.set(index_of(*gate));
  for (const GateRow& row : table)
    if (row.state == ga) on.set(index_of(row.gate));
  return on;
}

}  // namespace vg::config
