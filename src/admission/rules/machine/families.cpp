#include "admission/rules/machine/families.h"

namespace vg::admission {
namespace {

// The order is that of spec vmi-compute 1.5: only the first ten causes are told, so clients see it.
constexpr const MachineFamily* spec_order[] = {
    &name_family,
    &memory_family,
    &machine_type_family,
    &acpi_family,
    &cpu_resources_family,
    &cpu_family,
    &start_strategy_family,
    &realtime_family,
    &scheduling_family,
    &network_family,
    &dra_family,
    &disk_volume_family,
    &input_family,
    &io_thread_family,
    &probe_family,
    &disk_list_family,
    &firmware_family,
    &volume_family,
    &container_disk_family,
    &utility_volume_family,
    &access_credential_family,
    &dns_family,
    &eviction_strategy_family,
    &gpu_family,
    &grace_family,
    &sound_family,
    &launch_security_family,
    &vsock_family,
    &reservation_family,
    &downward_metrics_family,
    &filesystem_family,
    &display_family,
    &reboot_policy_family,
    &overhead_family,
    &service_account_family,
};

}  // namespace

std::span<const MachineFamily* const> spec_families() { return spec_order; }

void check_machine_spec(const Machine& machine, Causes& causes) {
  for (const MachineFamily* family : spec_order) family->check(machine, causes);
}

void list_spec_rules(std::vector<RuleInfo>& out) {
  for (const MachineFamily* family : spec_order) family->list(out);
}

}  // namespace vg::admission
