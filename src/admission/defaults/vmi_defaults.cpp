#include "admission/defaults/vmi_defaults.h"

#include <array>
#include <cstdint>
#include <utility>

#include "admission/defaults/edit.h"
#include "admission/defaults/spec_defaults.h"

namespace vg::admission {
namespace {

using json::Object;
using std::string_view;

constexpr string_view even_parity_annotation = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity";
constexpr string_view qgs_socket_annotation = "kubevirt.io/qgs-socket-path";
constexpr std::uint32_t qemu_user = 107;  // the account of an unprivileged launcher

// D15 and D16: later defaults write into both.
void default_sections(VmiTarget& target) {
  json::ensure_object(target.domain(), "firmware");
  json::ensure_object(target.domain(), "features");
}

// D19: as kubelet's own probes; what is below 1 counts as not given.
void default_probes(VmiTarget& target) {
  static constexpr std::pair<string_view, std::uint32_t> least[] = {
      {"timeoutSeconds", 1}, {"periodSeconds", 10}, {"successThreshold", 1}, {"failureThreshold", 3}};
  for (const string_view name : {"readinessProbe", "livenessProbe"}) {
    Object* probe = edit::child(&target.spec(), name);
    if (!probe) continue;
    for (const auto& [field, value] : least)
      if (json::get_int_or(*probe, field, 0) < 1) edit::set_number(*probe, field, value);
  }
}

// D20
void default_firmware_uuid(VmiTarget& target) {
  Object& firmware = json::ensure_object(target.domain(), "firmware");
  if (json::get_string_or(firmware, "uuid").empty()) edit::set_text(firmware, "uuid", target.context.randomness.uuid());
}

// D32: by now arm64 has one.
void default_cpu_model(VmiTarget& target) {
  const string_view configured = target.context.config.cpu_model();
  edit::set_text_if_empty(json::ensure_object(target.domain(), "cpu"), "model",
                          configured.empty() ? "host-model" : configured);
}

// A01
void annotate_pci_topology(VmiTarget& target) {
  const Object* machine = edit::child(&target.domain(), "machine");
  const string_view type = machine ? json::get_string_or(*machine, "type") : string_view();
  if (!wants_pci_topology(target.architecture(), type)) return;
  if (!target.annotations().contains(pci_topology_annotation))
    edit::set_text(target.annotations(), pci_topology_annotation, pci_topology_version);
}

// A02
void annotate_emulator_thread(VmiTarget& target) {
  const config::ClusterConfig& config = target.context.config;
  const Object* cpu = edit::child(&target.domain(), "cpu");
  if (!cpu || !json::get_bool_or(*cpu, "isolateEmulatorThread", false)) return;
  if (config.emulator_thread_complete_to_even_parity() && config.enabled(config::Gate::align_cpus))
    edit::set_text(target.annotations(), even_parity_annotation, "");
}

// A03
void annotate_quote_socket(VmiTarget& target) {
  const string_view path = target.context.config.qgs_socket_path();
  if (!path.empty() && edit::descend(target.domain(), {"launchSecurity", "tdx"}))
    edit::set_text(target.annotations(), qgs_socket_annotation, path);
}

// A04
void set_runtime_user(VmiTarget& target) {
  if (!target.context.config.enabled(config::Gate::root)) edit::set_number(target.status(), "runtimeUser", qemu_user);
}

constexpr std::array vmi_default_table = std::to_array<VmiDefault>({
    {"D14", default_s390x_acpi},
    {"D15", default_sections},
    {"D17", default_disk_targets},
    {"D18", default_inputs},
    {"D19", default_probes},
    {"D20", default_firmware_uuid},
    {"D21", default_timers},
    {"D22", default_feature_states},
    {"D24", default_hyperv_states},
    {"D25", default_spinlock_retries},
    {"D26", default_hyperv_sub_states},
    {"D27", default_cdroms},
    {"D28", default_block_sizes},
    {"D29", default_gpu_displays},
    {"D30", default_hyperv_dependencies},
    {"D31", default_for_architecture},
    {"D32", default_cpu_model},
    {"D33", default_memory_status},
    {"D34", default_cpu_status},
    {"D36", default_max_sockets},
    {"D37", default_max_guest},
    {"A01", annotate_pci_topology},
    {"A02", annotate_emulator_thread},
    {"A03", annotate_quote_socket},
    {"A04", set_runtime_user},
});

}  // namespace

Object& VmiTarget::metadata() { return json::ensure_object(vmi, "metadata"); }
Object& VmiTarget::annotations() { return json::ensure_object(metadata(), "annotations"); }
Object& VmiTarget::spec() { return json::ensure_object(vmi, "spec"); }
Object& VmiTarget::status() { return json::ensure_object(vmi, "status"); }
Object& VmiTarget::domain() { return json::ensure_object(spec(), "domain"); }
Object& VmiTarget::devices() { return json::ensure_object(domain(), "devices"); }
Object& VmiTarget::features() { return json::ensure_object(domain(), "features"); }
string_view VmiTarget::architecture() { return json::get_string_or(spec(), "architecture"); }

std::span<const VmiDefault> vmi_defaults() { return vmi_default_table; }

}  // namespace vg::admission
