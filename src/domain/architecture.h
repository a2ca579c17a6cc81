// What differs from one architecture to another (spec domain 3.2), as one table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vg::domain {

struct Traits {
  std::string_view name;  // as spec.architecture has it
  // DOM-ARCH-01
  std::string_view os_arch, machine;
  // DOM-ARCH-02: no difference between transitional and not
  bool plain_virtio;
  // DOM-ARCH-03: empty: the virtio model
  std::string_view scsi_model;
  // DOM-ARCH-04
  enum class Usb : std::uint8_t { when_used, always, never } usb;
  bool cpu_hotplug;           // DOM-ARCH-05
  bool smbios;                // DOM-ARCH-06
  bool option_rom;            // DOM-ARCH-07
  bool disables_mpx;          // DOM-ARCH-08
  bool firmware_log;          // DOM-ARCH-09
  bool vmport;                // DOM-ARCH-10
  bool pci_hole64_switch;     // DOM-ARCH-11
  bool pcie_placement;        // DOM-ARCH-12
  std::string_view watchdog;  // DOM-ARCH-13: empty: there is none
  bool vga;                   // DOM-ARCH-14: else virtio
  // DOM-ARCH-15: the bus of a tablet and of a keyboard that are added, empty for none
  std::string_view extra_tablet, extra_keyboard;
  bool launch_security;  // DOM-ARCH-16
  // DOM-ARCH-17: largest custom block size
  std::optional<std::uint64_t> block_size_max;
};

// An unknown name behaves as amd64.
const Traits& traits_of(std::string_view architecture);

// DOM-ARCH-02
std::string_view virtio_model(const Traits& traits, bool transitional);

}  // namespace vg::domain
