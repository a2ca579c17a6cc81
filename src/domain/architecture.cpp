#include "domain/architecture.h"

#include <algorithm>
#include <array>

namespace vg::domain {
namespace {

constexpr std::array traits_table = std::to_array<Traits>({
    {.name = "amd64",
     .os_arch = "x86_64",
     .machine = "q35",
     .plain_virtio = false,
     .scsi_model = "",
     .usb = Traits::Usb::when_used,
     .cpu_hotplug = true,
     .smbios = true,
     .option_rom = true,
     .disables_mpx = true,
     .firmware_log = true,
     .vmport = true,
     .pci_hole64_switch = true,
     .pcie_placement = true,
     .watchdog = "i6300esb",
     .vga = true,
     .extra_tablet = "",
     .extra_keyboard = "",
     .launch_security = true,
     .block_size_max = {}},
    {.name = "arm64",
     .os_arch = "aarch64",
     .machine = "virt",
     .plain_virtio = false,
     .scsi_model = "",
     .usb = Traits::Usb::always,
     .cpu_hotplug = false,
     .smbios = true,
     .option_rom = true,
     .disables_mpx = false,
     .firmware_log = false,
     .vmport = false,
     .pci_hole64_switch = false,
     .pcie_placement = true,
     .watchdog = "",
     .vga = false,
     .extra_tablet = "usb",
     .extra_keyboard = "usb",
     .launch_security = false,
     .block_size_max = {}},
    {.name = "s390x",
     .os_arch = "s390x",
     .machine = "s390-ccw-virtio",
     .plain_virtio = true,
     .scsi_model = "virtio-scsi",
     .usb = Traits::Usb::never,
     .cpu_hotplug = true,
     .smbios = false,
     .option_rom = false,
     .disables_mpx = false,
     .firmware_log = false,
     .vmport = false,
     .pci_hole64_switch = false,
     .pcie_placement = false,
     .watchdog = "diag288",
     .vga = false,
     .extra_tablet = "",
     .extra_keyboard = "virtio",
     .launch_security = false,
     .block_size_max = 4096},
});

}  // namespace

const Traits& traits_of(std::string_view architecture) {
  const auto* found = std::ranges::find(traits_table, architecture, &Traits::name);
  return found == traits_table.end() ? traits_table.front() : *found;
}

std::string_view virtio_model(const Traits& traits, bool transitional) {
  if (traits.plain_virtio) return "virtio";
  return transitional ? "virtio-transitional" : "virtio-non-transitional";
}

}  // namespace vg::domain
