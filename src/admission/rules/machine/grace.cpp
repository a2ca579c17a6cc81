// NVIDIA Grace devices (spec vmi-compute 2.15). Which devices those are, the cluster's permittedHostDevices say: a
// machine only names resources.
#include <fmt/format.h>

#include <array>
#include <string>

#include "admission/rules/machine/families.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using api::in_words;
using config::Gate;
using std::string_view;

constexpr string_view nvidia = "10DE";
constexpr std::array<string_view, 3> grace_ids = {"2342", "2348", "2941"};

// --- what a resource stands for --------------------------------------------------------------------------------------

enum class Kind { other, grace, ambiguous };

// Upper case, without blanks around it and without 0x. Selectors are short texts that administrators write.
std::string plain_id(string_view text) {
  constexpr string_view blanks = " \t\n\v\f\r";
  const auto first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  std::string id(text.substr(first, text.find_last_not_of(blanks) - first + 1));
  for (char& c : id)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return id.starts_with("0X") ? id.substr(2) : id;
}

// vendor:device, or vendor:* for all of a vendor's. What is neither means nothing here, so comparing is enough.
Kind kind_of_selector(string_view selector) {
  const auto colon = selector.find(':');
  if (colon == selector.npos || plain_id(selector.substr(0, colon)) != nvidia) return Kind::other;
  const std::string device = plain_id(selector.substr(colon + 1));
  if (device == "*") return Kind::ambiguous;
  return is_one_of(device, grace_ids) ? Kind::grace : Kind::other;
}

// A later entry for the same resource takes the place of an earlier one.
Kind kind_of_resource(const config::ClusterConfig& config, string_view resource) {
  string_view selector;
  for (const api::View device : api::List<api::View>(config.permitted_host_devices().get("pciHostDevices"))) {
    const auto own = api::Read<string_view>::or_zero(device.get("pciVendorSelector"));
    if (!own.empty() && api::Read<string_view>::or_zero(device.get("resourceName")) == resource) selector = own;
  }
  return kind_of_selector(selector);
}

// --- what a machine asks for -----------------------------------------------------------------------------------------

// One GPU or host device.
struct RequestAt {
  const Machine& machine;
  string_view resource;
  Kind kind;
  const Place& place;
};

// Calls `what` for everything that is, or may be, a Grace device.
void for_each_request(const Machine& machine, auto what) {
  if (!machine.config().permitted_host_devices()) return;
  const api::View devices = machine.spec.domain().devices();
  const Place domain = machine.place.field("domain"), inside = domain.field("devices");
  for (const string_view name : {string_view("gpus"), string_view("hostDevices")}) {
    const Place list = inside.field(name);
    const api::List<api::View> all(devices.get(name));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const string_view resource = api::Read<string_view>::or_zero(all[i].get("deviceName"));
      const Kind kind = resource.empty() ? Kind::other : kind_of_resource(machine.config(), resource);
      const Place place = list.item(i);
      if (kind != Kind::other) what(RequestAt{.machine = machine, .resource = resource, .kind = kind, .place = place});
    }
  }
}

// --- rules -----------------------------------------------------------------------------------------------------------

void resource_is_one_device(const RequestAt& at, Causes& causes) {
  if (at.kind == Kind::ambiguous && at.machine.enabled(Gate::grace_io_virtualization))
    causes.invalid(
        at.place.field("deviceName"),
        fmt::format("resource {} selects all devices of NVIDIA, so Grace devices cannot be told from others; "
                    "name the device in its permittedHostDevices entry",
                    in_words(at.resource)));
}

void grace_is_on(const RequestAt& at, Causes& causes) {
  if (at.kind == Kind::grace && !at.machine.enabled(Gate::grace_io_virtualization))
    causes.invalid(at.place.field("deviceName"),
                   needs_gate("NVIDIA Grace devices require", Gate::grace_io_virtualization));
}

constexpr RuleOn<RequestAt> request_rows[] = {
    {"GRC-01", "a resource must tell whether it is a Grace device", "domain.devices.gpus[].deviceName",
     resource_is_one_device},
    RuleOn<RequestAt>{"GRC-02", "Grace devices require their feature gate", "domain.devices.gpus[].deviceName",
                      grace_is_on}
        .of_gate(Gate::grace_io_virtualization),
};

void runs_on_arm64(const Machine& machine, Causes& causes) {
  if (machine.architecture() != "arm64")
    causes.invalid(machine.place.field("architecture"),
                   fmt::format("{}: NVIDIA Grace devices require arm64", in_words(machine.architecture())));
}

void machine_type_is_virt(const Machine& machine, Causes& causes) {
  const string_view own = machine.spec.domain().machine().type();
  const string_view type = own.empty() ? machine.config().machine_type(machine.architecture()) : own;
  if (type.starts_with("virt")) return;
  const Place domain = machine.place.field("domain"), inside = domain.field("machine");
  causes.invalid(inside.field("type"),
                 fmt::format("{}: NVIDIA Grace devices require machine type virt", in_words(type)));
}

void has_cpus_of_its_own(const Machine& machine, Causes& causes) {
  if (machine.spec.domain().cpu().dedicated_cpu_placement()) return;
  const Place domain = machine.place.field("domain"), cpu = domain.field("cpu");
  causes.required(cpu.field("dedicatedCpuPlacement"), "NVIDIA Grace devices require dedicatedCpuPlacement");
}

void check_gate(const Machine& machine, Gate gate, Causes& causes) {
  const Place domain = machine.place.field("domain");
  if (!machine.enabled(gate)) causes.invalid(domain.field("devices"), needs_gate("NVIDIA Grace devices require", gate));
}

void numa_topology_is_on(const Machine& machine, Causes& causes) {
  check_gate(machine, Gate::pci_numa_aware_topology, causes);
}

void iommufd_is_on(const Machine& machine, Causes& causes) { check_gate(machine, Gate::iommufd, causes); }

constexpr MachineRule machine_rows[] = {
    {"GRC-03", "Grace devices require arm64", "architecture", runs_on_arm64},
    {"GRC-04", "Grace devices require machine type virt", "domain.machine.type", machine_type_is_virt},
    {"GRC-05", "Grace devices require dedicatedCpuPlacement", "domain.cpu.dedicatedCpuPlacement", has_cpus_of_its_own},
    MachineRule{"GRC-06", "Grace devices require a NUMA-aware PCI topology", "domain.devices", numa_topology_is_on}
        .of_gate(Gate::pci_numa_aware_topology),
    MachineRule{"GRC-07", "Grace devices require IOMMUFD", "domain.devices", iommufd_is_on}.of_gate(Gate::iommufd),
};

void check_grace(const Machine& machine, Causes& causes) {
  bool has_grace = false;
  for_each_request(machine, [&](const RequestAt& at) {
    has_grace = has_grace || at.kind == Kind::grace;
    ask_all<request_rows>(at, causes);
  });
  if (has_grace && machine.enabled(Gate::grace_io_virtualization)) ask_all<machine_rows>(machine, causes);
}

// --- annotations -----------------------------------------------------------------------------------------------------

void check_annotation(const Machine& machine, string_view key, Causes& causes) {
  if (!machine.metadata || json::as_string(json::find_path(*machine.metadata, {"annotations", key})) != "true") return;
  const Place annotations = machine.metadata_place.field("annotations");
  causes.invalid(
      annotations.key(key),
      fmt::format("annotation {} is not supported with NVIDIA Grace devices; remove it, or set it to false", key));
}

void not_on_root_complex(const Machine& machine, Causes& causes) {
  check_annotation(machine, "kubevirt.io/placePCIDevicesOnRootComplex", causes);
}

void keeps_the_large_hole(const Machine& machine, Causes& causes) {
  check_annotation(machine, "kubevirt.io/disablePCIHole64", causes);
}

constexpr MachineRule annotation_rows[] = {
    {"GRC-08", "Grace devices must not be placed on the root complex", "metadata.annotations", not_on_root_complex},
    {"GRC-09", "Grace devices require the 64-bit PCI hole", "metadata.annotations", keeps_the_large_hole},
};

// Whatever the gates say.
void check_annotations(const Machine& machine, Causes& causes) {
  bool has_grace = false;
  for_each_request(machine, [&](const RequestAt& at) { has_grace = has_grace || at.kind == Kind::grace; });
  if (has_grace) ask_all<annotation_rows>(machine, causes);
}

}  // namespace

const MachineFamily grace_family = {.check = check_grace, .list = list_rows<request_rows, machine_rows>};
const MachineFamily grace_annotation_family = {.check = check_annotations, .list = list_rows<annotation_rows>};

}  // namespace vg::admission
