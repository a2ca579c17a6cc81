#include "admission/rules/machine/firmware.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/rules/image_path.h"
#include "admission/rules/machine/families.h"
#include "api/canonical_words.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_volumes.h"
#include "base/glob.h"
#include "base/joined.h"

namespace vg::admission {
namespace {

using api::in_words;
using api::kubevirt::Firmware;
using api::kubevirt::KernelBootContainer;
using std::string_view;

// ---- the machine type -----------------------------------------------------------------------------------------------

void machine_type_is_emulated(const Machine& machine, Causes& causes) {
  const string_view type = machine.spec.domain().machine().type();
  if (type.empty()) return;
  const auto patterns = machine.config().emulated_machines(machine.spec.architecture());
  if (std::ranges::any_of(patterns.begin(), patterns.end(),
                          [type](string_view pattern) { return glob_matches(pattern, type); }))
    return;
  causes.invalid(
      machine.place.field("domain").field("machine").field("type"),
      fmt::format("{}: supported machine types of this architecture: {}", in_words(type), joined(patterns, ", ")));
}

constexpr MachineRule machine_type_rows[] = {
    {"MACH-01", "the machine type must be allowed by the cluster", "domain.machine.type", machine_type_is_emulated},
};

// ---- ACPI tables, which come from secrets. Causes leave out domain.firmware, as upstream has it
// ----------------------

void acpi_has_a_table(const Machine& machine, Causes& causes) {
  const auto acpi = machine.spec.domain().firmware().acpi();
  if (acpi.slic_name_ref().empty() && acpi.msdm_name_ref().empty())
    causes.invalid(machine.place.field("acpi"),
                   "acpi requires slicNameRef or msdmNameRef; set one of them, or remove acpi");
}

// One table: the member that names it, and the volume of that name.
struct AcpiTable {
  const Machine& machine;
  string_view member, name;
  api::kubevirt::Volume volume = {};

  AcpiTable(const Machine& of, string_view reference, string_view named) : machine(of), member(reference), name(named) {
    const auto volumes = of.spec.volumes();
    const auto found = std::ranges::find(volumes.begin(), volumes.end(), named, &api::kubevirt::Volume::name);
    if (found != volumes.end()) volume = *found;
  }
};

void table_has_a_volume(const AcpiTable& table, Causes& causes) {
  if (!table.volume)
    causes.invalid(table.machine.place.field("acpi").field(table.member),
                   fmt::format("{}: no volume has this name; add a volume of type secret with the ACPI table",
                               in_words(table.name)));
}

void table_is_a_secret(const AcpiTable& table, Causes& causes) {
  if (table.volume && !table.volume.secret())
    causes.invalid(table.machine.place.field("acpi").field(table.member),
                   fmt::format("{}: the volume of an ACPI table must be of type secret", in_words(table.name)));
}

constexpr MachineRule acpi_rows[] = {
    {"FW-01", "acpi requires slicNameRef or msdmNameRef", "acpi", acpi_has_a_table},
};
constexpr RuleOn<AcpiTable> table_rows[] = {
    {"FW-02", "an ACPI table must have a volume", "acpi.slicNameRef, acpi.msdmNameRef", table_has_a_volume},
    {"FW-03", "the volume of an ACPI table must be of type secret", "acpi.slicNameRef, acpi.msdmNameRef",
     table_is_a_secret},
};

void check_acpi(const Machine& machine, Causes& causes) {
  const auto acpi = machine.spec.domain().firmware().acpi();
  if (!acpi || !ask_until_broken<acpi_rows>(machine, causes)) return;
  if (const auto name = acpi.slic_name_ref(); !name.empty())
    ask_all<table_rows>(AcpiTable(machine, "slicNameRef", name), causes);
  if (const auto name = acpi.msdm_name_ref(); !name.empty())
    ask_all<table_rows>(AcpiTable(machine, "msdmNameRef", name), causes);
}

// ---- what is booted -------------------------------------------------------------------------------------------------

struct FirmwareAt {
  Firmware firmware;
  const Place& place;
};

void boots_one_way(const FirmwareAt& at, Causes& causes) {
  if (const auto loader = at.firmware.bootloader(); loader.efi() && loader.bios())
    causes.invalid(at.place.field("bootloader"), "efi is mutually exclusive with bios; remove one of them");
}

void arguments_have_a_kernel(const FirmwareAt& at, Causes& causes) {
  if (const auto boot = at.firmware.kernel_boot(); !boot.container() && !boot.kernel_args().empty())
    causes.invalid(at.place.field("kernelBoot").field("kernelArgs"), "kernelArgs requires a kernel in container");
}

constexpr RuleOn<FirmwareAt> boot_rows[] = {
    {"FW-04", "efi and bios are mutually exclusive", "domain.firmware.bootloader", boots_one_way},
    {"FW-05", "kernelArgs requires a kernel", "domain.firmware.kernelBoot.kernelArgs", arguments_have_a_kernel},
};

// The image that a kernel comes from.
struct KernelImage {
  KernelBootContainer container;
  const Place& place;
};

void kernel_has_an_image(const KernelImage& kernel, Causes& causes) {
  if (kernel.container.image().empty()) causes.required(kernel.place.field("image"), "the image that holds the kernel");
}

void image_boots_something(const KernelImage& kernel, Causes& causes) {
  if (kernel.container.kernel_path().empty() && kernel.container.initrd_path().empty())
    causes.required(kernel.place, "kernelPath or initrdPath");
}

void check_path(string_view path, const Place& place, Causes& causes) {
  if (!path.empty() && !is_clean_absolute(path))
    causes.invalid(place, fmt::format("{1}: {0} must be an absolute path to a file, without . and ..", place.name,
                                      in_words(path)));
}

void kernel_path_is_clean(const KernelImage& kernel, Causes& causes) {
  check_path(kernel.container.kernel_path(), kernel.place.field("kernelPath"), causes);
}

void initrd_path_is_clean(const KernelImage& kernel, Causes& causes) {
  check_path(kernel.container.initrd_path(), kernel.place.field("initrdPath"), causes);
}

constexpr RuleOn<KernelImage> kernel_rows[] = {
    {"FW-06", "kernelBoot.container requires an image", "domain.firmware.kernelBoot.container.image",
     kernel_has_an_image},
    {"FW-07", "kernelPath or initrdPath is required", "domain.firmware.kernelBoot.container", image_boots_something},
    {"FW-08", "kernelPath must be absolute and clean", "domain.firmware.kernelBoot.container.kernelPath",
     kernel_path_is_clean},
    {"FW-09", "initrdPath must be absolute and clean", "domain.firmware.kernelBoot.container.initrdPath",
     initrd_path_is_clean},
};

// ---- Secure Boot ----------------------------------------------------------------------------------------------------

// With EFI it is on unless it is turned off.
bool boots_securely(const Firmware& firmware) {
  const auto efi = firmware.bootloader().efi();
  return efi && efi.secure_boot().value_or(true);
}

bool has_smm(const api::kubevirt::Features& features) {
  const api::kubevirt::FeatureState smm = features.smm();
  return smm && smm.enabled().value_or(true);
}

void secure_boot_has_smm(const Machine& machine, Causes& causes) {
  const api::kubevirt::DomainSpec domain = machine.spec.domain();
  if (boots_securely(domain.firmware()) && !has_smm(domain.features()) && !domain.launch_security().tdx())
    causes.invalid(machine.place.field("domain"),
                   "Secure Boot, the default of efi, requires system management "
                   "mode; enable features.smm, or set firmware.bootloader.efi.secureBoot to false");
}

constexpr MachineRule secure_boot_rows[] = {
    {"FW-10", "Secure Boot requires features.smm", "domain", secure_boot_has_smm},
};

void check_firmware(const Machine& machine, Causes& causes) {
  check_boot(machine.spec.domain().get("firmware"), machine.place.field("domain").field("firmware"), causes);
  ask_all<secure_boot_rows>(machine, causes);
}

}  // namespace

void check_boot(const json::Value* firmware, const Place& place, Causes& causes) {
  const Firmware view(firmware);
  ask_all<boot_rows>(FirmwareAt{.firmware = view, .place = place}, causes);
  const KernelBootContainer container = view.kernel_boot().container();
  if (!container) return;
  const Place kernel_boot = place.field("kernelBoot"), at = kernel_boot.field("container");
  ask_all<kernel_rows>(KernelImage{.container = container, .place = at}, causes);
}

void list_boot_rules(std::vector<RuleInfo>& out) { list_rows<boot_rows, kernel_rows>(out); }

const MachineFamily machine_type_family = family_of<machine_type_rows>;
const MachineFamily acpi_family = {.check = check_acpi, .list = list_rows<acpi_rows, table_rows>};
const MachineFamily firmware_family = {.check = check_firmware,
                                       .list = list_rows<boot_rows, kernel_rows, secure_boot_rows>};

}  // namespace vg::admission
