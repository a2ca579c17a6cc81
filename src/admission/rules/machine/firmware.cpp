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
  causes.invalid(machine.place.field("domain").field("machine").field("type"),
                 fmt::format("machine type {} is none that the cluster allows for this architecture: {}",
                             in_words(type), fmt::join(patterns.begin(), patterns.end(), ", ")));
}

constexpr MachineRule machine_type_rows[] = {
    {"MACH-01", "the machine type is one that the cluster allows", "domain.machine.type", machine_type_is_emulated},
};

// ---- ACPI tables, which come from secrets. Causes leave out domain.firmware, as upstream has it
// ----------------------

void acpi_has_a_table(const Machine& machine, Causes& causes) {
  const auto acpi = machine.spec.domain().firmware().acpi();
  if (acpi.slic_name_ref().empty() && acpi.msdm_name_ref().empty())
    causes.invalid(machine.place.field("acpi"),
                   "acpi names the volumes that hold tables; set slicNameRef or msdmNameRef, or leave acpi out");
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
    causes.invalid(
        table.machine.place.field("acpi").field(table.member),
        fmt::format("there is no volume {}; add one with the secret that holds the table", in_words(table.name)));
}

void table_is_a_secret(const AcpiTable& table, Causes& causes) {
  if (table.volume && !table.volume.secret())
    causes.invalid(table.machine.place.field("acpi").field(table.member),
                   fmt::format("volume {} is no secret; a table comes from one", in_words(table.name)));
}

constexpr MachineRule acpi_rows[] = {
    {"FW-01", "acpi names at least one table", "acpi", acpi_has_a_table},
};
constexpr RuleOn<AcpiTable> table_rows[] = {
    {"FW-02", "an ACPI table has a volume", "acpi.slicNameRef, acpi.msdmNameRef", table_has_a_volume},
    {"FW-03", "the volume of an ACPI table is a secret", "acpi.slicNameRef, acpi.msdmNameRef", table_is_a_secret},
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
    causes.invalid(at.place.field("bootloader"), "a machine boots by EFI or by BIOS; keep one of them");
}

void arguments_have_a_kernel(const FirmwareAt& at, Causes& causes) {
  if (const auto boot = at.firmware.kernel_boot(); !boot.container() && !boot.kernel_args().empty())
    causes.invalid(at.place.field("kernelBoot").field("kernelArgs"),
                   "kernelArgs go with a kernel; say in container where it comes from");
}

constexpr RuleOn<FirmwareAt> boot_rows[] = {
    {"FW-04", "a machine boots by EFI or by BIOS", "domain.firmware.bootloader", boots_one_way},
    {"FW-05", "arguments of a kernel go with a kernel", "domain.firmware.kernelBoot.kernelArgs",
     arguments_have_a_kernel},
};

// The image that a kernel comes from.
struct KernelImage {
  KernelBootContainer container;
  const Place& place;
};

void kernel_has_an_image(const KernelImage& kernel, Causes& causes) {
  if (kernel.container.image().empty())
    causes.required(kernel.place.field("image"), "say which image holds the kernel");
}

void image_boots_something(const KernelImage& kernel, Causes& causes) {
  if (kernel.container.kernel_path().empty() && kernel.container.initrd_path().empty())
    causes.required(kernel.place, "set kernelPath, initrdPath or both: without them nothing is booted");
}

void check_path(string_view path, const Place& place, Causes& causes) {
  if (!path.empty() && !is_clean_absolute(path))
    causes.invalid(
        place, fmt::format("{} is an absolute path to a file, without . and .., not {}", place.name, in_words(path)));
}

void kernel_path_is_clean(const KernelImage& kernel, Causes& causes) {
  check_path(kernel.container.kernel_path(), kernel.place.field("kernelPath"), causes);
}

void initrd_path_is_clean(const KernelImage& kernel, Causes& causes) {
  check_path(kernel.container.initrd_path(), kernel.place.field("initrdPath"), causes);
}

constexpr RuleOn<KernelImage> kernel_rows[] = {
    {"FW-06", "a kernel comes from an image", "domain.firmware.kernelBoot.container.image", kernel_has_an_image},
    {"FW-07", "the image has a kernel, an initrd or both", "domain.firmware.kernelBoot.container",
     image_boots_something},
    {"FW-08", "the kernel's path is absolute and clean", "domain.firmware.kernelBoot.container.kernelPath",
     kernel_path_is_clean},
    {"FW-09", "the initrd's path is absolute and clean", "domain.firmware.kernelBoot.container.initrdPath",
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
                   "Secure Boot, which EFI has unless secureBoot is false, keeps its secrets by system management "
                   "mode; enable features.smm, or set firmware.bootloader.efi.secureBoot to false");
}

constexpr MachineRule secure_boot_rows[] = {
    {"FW-10", "Secure Boot goes with system management mode", "domain", secure_boot_has_smm},
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
