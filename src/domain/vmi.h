// A VMI as the conversion reads it: views of an object in canonical form, and the few questions that many rules ask.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "api/views/k8s_meta.h"
#include "api/views/vmi.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_network.h"
#include "api/views/vmi_status.h"
#include "api/views/vmi_volumes.h"
#include "base/quantity.h"
#include "json/value.h"

namespace vg::domain {

namespace kubevirt = api::kubevirt;

struct Vmi {
  // `object` must be in canonical form (api/canonical.h) and outlive this.
  explicit Vmi(const json::Value& object) : Vmi(kubevirt::VirtualMachineInstance(&object)) {}
  explicit Vmi(kubevirt::VirtualMachineInstance whole)
      : metadata(whole.metadata<api::meta::ObjectMeta>()),
        annotations(metadata.annotations()),
        spec(whole.spec()),
        dom(spec.domain<kubevirt::DomainSpec>()),
        dev(dom.devices<kubevirt::Devices>()),
        status(whole.status<kubevirt::VirtualMachineInstanceStatus>()) {}

  api::meta::ObjectMeta metadata;
  api::Map<std::string_view> annotations;
  kubevirt::VirtualMachineInstanceSpec spec;
  kubevirt::DomainSpec dom;
  kubevirt::Devices dev;
  kubevirt::VirtualMachineInstanceStatus status;

  bool has_annotation(std::string_view key) const { return annotations.contains(key); }
  // Exactly "true", as most annotations are read.
  bool is_true(std::string_view key) const { return annotations[key] == "true"; }
  // "true" in any letter case, as some are.
  bool is_true_in_any_case(std::string_view key) const;

  bool dedicated_cpus() const { return dom.cpu().dedicated_cpu_placement(); }
  bool numa_passthrough() const { return static_cast<bool>(dom.cpu().numa().guest_mapping_passthrough()); }
  bool efi() const { return static_cast<bool>(dom.firmware().bootloader().efi()); }
};

namespace annotation {
inline constexpr std::string_view disable_pci_hole64 = "kubevirt.io/disablePCIHole64";
inline constexpr std::string_view emulator_parity = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity";
inline constexpr std::string_view free_page_reporting_disabled = "kubevirt.io/free-page-reporting-disabled";
inline constexpr std::string_view ignition = "kubevirt.io/ignitiondata";
inline constexpr std::string_view istio_inject = "sidecar.istio.io/inject";
inline constexpr std::string_view memfd = "kubevirt.io/memfd";
inline constexpr std::string_view nonroot = "kubevirt.io/nonroot";
inline constexpr std::string_view qgs_socket = "kubevirt.io/qgs-socket-path";
inline constexpr std::string_view root_complex = "kubevirt.io/placePCIDevicesOnRootComplex";
}  // namespace annotation

bool equal_in_any_case(std::string_view one, std::string_view other);

// What a disk is attached as (DOM-DISK-01); nothing when none of the three members is set.
enum class DiskKind : std::uint8_t { none, disk, lun, cdrom };
DiskKind kind_of(const kubevirt::Disk& disk);
std::string_view bus_of(const kubevirt::Disk& disk);
inline bool has_own_io_thread(const kubevirt::Disk& disk) { return disk.dedicated_io_thread().value_or(false); }

// An amount that is there. Canonical form has made sure that it can be read.
inline Quantity amount_of(const api::QuantityView& given) { return Quantity::parse(given.text()).value_or(Quantity()); }

// cpu or memory, of spec.domain.resources.
std::optional<Quantity> requested(const Vmi& vmi, std::string_view resource);
std::optional<Quantity> limited(const Vmi& vmi, std::string_view resource);

}  // namespace vg::domain
