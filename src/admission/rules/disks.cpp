#include "admission/rules/disks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "admission/rules/machine/machine.h"
#include "admission/rules/machine/name_index.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "api/views/vmi_devices.h"
#include "base/names.h"

namespace vg::admission {
namespace {

using api::in_words;
using api::View;
using api::kubevirt::Disk;
using std::string_view;

constexpr std::array<string_view, 3> devices = {"disk", "lun", "cdrom"};

constexpr std::array<string_view, 6> buses = {"", "virtio", "scsi", "sata", "usb", "ide"};
constexpr std::array<string_view, 4> cache_modes = {"", "none", "writethrough", "writeback"};
constexpr std::array<string_view, 3> io_modes = {"", "native", "threads"};
constexpr std::array<string_view, 4> error_policies = {"stop", "ignore", "report", "enospace"};

// One disk and the places that its causes name.
struct DiskAt {
  Disk disk;
  std::size_t index;
  const Place& list;  // where all disks stand
  const NameIndex& names;
  string_view device;  // disk, lun or cdrom, the first that is set; empty for none
  string_view bus;     // of that device

  bool is_on(string_view which) const { return bus == which; }
  std::string field(string_view rest) const {
    return fmt::format("{}[{}]{}", api::print_place(list, api::PlaceStyle::brackets), index, rest);
  }
  // Some rules of upstream print the way to the disks twice; clients match on these texts.
  std::string twice(string_view rest) const {
    return fmt::format("{}.domain.devices.disks{}", api::print_place(list, api::PlaceStyle::brackets), rest);
  }
  std::string twice_at(string_view rest) const { return twice(fmt::format("[{}]{}", index, rest)); }
  std::string bus_field() const { return field(fmt::format(".{}.bus", device)); }
};

DiskAt disk_at(const api::List<Disk>& all, std::size_t index, const Place& list, const NameIndex& names) {
  DiskAt at{.disk = all[index], .index = index, .list = list, .names = names, .device = {}, .bus = {}};
  for (const string_view name : devices)
    if (const View target(at.disk.get(name)); target && at.device.empty()) {
      at.device = name;
      at.bus = member_text(target, "bus");
    }
  return at;
}

// Upstream has one cause for each earlier disk of the name. What would not be told is not counted.
void name_is_own(const DiskAt& at, Causes& causes) {
  const std::size_t room = causes.size() < told_causes_max ? told_causes_max - causes.size() : 1;
  const std::size_t others = std::min(at.names.count_before(at.disk.name(), at.index), room);
  for (std::size_t i = 0; i < others; ++i)
    causes.invalid(at.field(".name"),
                   fmt::format("disk {}: the name {} is used by an earlier disk; names must be unique", at.index,
                               in_words(at.disk.name())));
}

void is_one_device(const DiskAt& at, Causes& causes) {
  if (std::ranges::count_if(devices, [&](string_view name) { return static_cast<bool>(View(at.disk.get(name))); }) > 1)
    causes.invalid(at.field(""), "disk, lun and cdrom are mutually exclusive; keep one of them");
}

std::string pci_address_field(const DiskAt& at) { return at.twice(fmt::format(".disk[{}].pciAddress", at.index)); }

void pci_address_needs_virtio(const DiskAt& at, Causes& causes) {
  const auto target = at.disk.disk();
  if (!target.pci_address().empty() && target.bus() != "virtio")
    causes.invalid(pci_address_field(at),
                   fmt::format("{}: a PCI address is supported only for disks on bus virtio; this disk is on this bus",
                               in_words(target.bus())));
}

void pci_address_is_one(const DiskAt& at, Causes& causes) {
  const string_view address = at.disk.disk().pci_address();
  if (!address.empty() && !is_pci_address(address))
    causes.invalid(pci_address_field(at),
                   fmt::format("{}: must be a PCI address, for example 0000:81:01.0", in_words(address)));
}

void boot_order_counts_from_one(const DiskAt& at, Causes& causes) {
  if (at.disk.boot_order() == 0U) causes.invalid(at.field(".bootOrder"), "0: must be 1 or more");
}

void bus_is_not_ide(const DiskAt& at, Causes& causes) {
  if (at.is_on("ide")) causes.invalid(at.bus_field(), "bus ide is not supported any more; use sata, scsi or virtio");
}

void cdrom_is_off_virtio(const DiskAt& at, Causes& causes) {
  if (at.is_on("virtio") && at.device == "cdrom")
    causes.invalid(at.bus_field(), "bus virtio is not supported for a CD-ROM; use sata or scsi");
}

void sata_disk_is_writable(const DiskAt& at, Causes& causes) {
  if (at.is_on("sata") && at.disk.disk().readonly())
    causes.invalid(at.bus_field(), "bus sata is not supported for a read-only disk; use virtio or scsi, or a cdrom");
}

void bus_is_known(const DiskAt& at, Causes& causes) {
  if (!is_one_of(at.bus, buses))
    causes.invalid(at.bus_field(), fmt::format("{}: supported values: virtio, scsi, sata, usb", in_words(at.bus)));
}

void io_thread_needs_virtio(const DiskAt& at, Causes& causes) {
  if (at.disk.dedicated_io_thread().value_or(false) && !at.bus.empty() && !at.is_on("virtio"))
    causes.not_supported(at.twice_at(""),
                         fmt::format("{}: dedicatedIOThread is supported only on bus virtio", in_words(at.bus)));
}

void serial_is_plain(const DiskAt& at, Causes& causes) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           string_view("_.+-").contains(c);
  };
  if (!std::ranges::all_of(at.disk.serial(), plain))
    causes.invalid(at.field(".serial"), "must contain only letters, digits, _ . + and -");
}

void serial_is_short(const DiskAt& at, Causes& causes) {
  constexpr std::ptrdiff_t characters_max = 256;
  if (std::ranges::count_if(at.disk.serial(), [](char c) { return (c & 0xC0) != 0x80; }) > characters_max)
    causes.invalid(at.field(".serial"), fmt::format("must have at most {} characters", characters_max));
}

void cache_is_known(const DiskAt& at, Causes& causes) {
  if (!is_one_of(at.disk.cache(), cache_modes))
    causes.invalid(at.field(".cache"),
                   fmt::format("{}: supported values: none, writethrough, writeback", in_words(at.disk.cache())));
}

void io_is_known(const DiskAt& at, Causes& causes) {
  if (!is_one_of(at.disk.io(), io_modes))
    causes.not_supported(at.twice_at(".io"),
                         fmt::format("{}: supported values: native, threads", in_words(at.disk.io())));
}

void error_policy_is_known(const DiskAt& at, Causes& causes) {
  const auto policy = at.disk.error_policy();
  if (policy && !is_one_of(*policy, error_policies))
    causes.invalid(at.field(".errorPolicy"),
                   fmt::format("{}: supported values: stop, ignore, report, enospace", in_words(*policy)));
}

void name_is_a_label(const DiskAt& at, Causes& causes) {
  for (const std::string& defect : dns1123_label_defects(at.disk.name()))
    causes.invalid(at.twice_at(".name"), fmt::format("{}: {}", in_words(at.disk.name()), defect));
}

// --- block sizes: the first rule that is broken ends the matter for the disk ---

void block_size_comes_from_one_place(const DiskAt& at, Causes& causes) {
  const auto match = at.disk.block_size().match_volume();
  if (match && match.enabled().value_or(true))
    causes.invalid(at.field(".blockSize"), "custom is mutually exclusive with matchVolume; remove one of them");
}

void logical_block_fits_physical(const DiskAt& at, Causes& causes) {
  const auto custom = at.disk.block_size().custom();
  if (custom.logical() > custom.physical())
    causes.invalid(
        at.field(".blockSize.custom.logical"),
        fmt::format("{}: must not be larger than the physical block size ({})", custom.logical(), custom.physical()));
}

void sata_has_small_blocks(const DiskAt& at, Causes& causes) {
  if (at.is_on("sata") && at.disk.block_size().custom().logical() != 512)
    causes.invalid(at.field(".blockSize.custom.logical"), "must be 512 for a disk on bus sata");
}

void discards_whole_blocks(const DiskAt& at, Causes& causes) {
  const auto custom = at.disk.block_size().custom();
  if (custom.logical() != 0 && custom.discard_granularity().value_or(0) % custom.logical() != 0)
    causes.invalid(at.field(".blockSize.custom.discardGranularity"),
                   fmt::format("must be a multiple of the logical block size ({})", custom.logical()));
}

void blocks_have_sizes_that_exist(const DiskAt& at, Causes& causes) {
  constexpr std::uint64_t size_min = 512, size_max = 2097152;
  const auto check = [&](string_view member, std::uint64_t size) {
    if (size >= size_min && size <= size_max && std::has_single_bit(size)) return;
    causes.invalid(at.field(fmt::format(".blockSize.custom.{}", member)),
                   fmt::format("{2}: must be a power of two from {0} to {1}", size_min, size_max, size));
  };
  const auto custom = at.disk.block_size().custom();
  check("logical", custom.logical());
  check("physical", custom.physical());
}

constexpr RuleOn<DiskAt> disk_rows[] = {
    {"DISK-01", "disk names must be unique", "domain.devices.disks[].name", name_is_own},
    {"DISK-02", "disk, lun and cdrom are mutually exclusive", "domain.devices.disks[]", is_one_device},
    {"DISK-03", "a PCI address is supported only on bus virtio",
     "domain.devices.disks.domain.devices.disks.disk[].pciAddress", pci_address_needs_virtio},
    {"DISK-04", "a PCI address must be valid", "domain.devices.disks.domain.devices.disks.disk[].pciAddress",
     pci_address_is_one},
    {"BOOT-01", "bootOrder of a disk must be 1 or more", "domain.devices.disks[].bootOrder",
     boot_order_counts_from_one},
    {"DISK-05", "bus ide is not supported", "domain.devices.disks[].disk.bus", bus_is_not_ide},
    {"DISK-06", "bus virtio is not supported for a CD-ROM", "domain.devices.disks[].cdrom.bus", cdrom_is_off_virtio},
    {"DISK-07", "bus sata is not supported for a read-only disk", "domain.devices.disks[].disk.bus",
     sata_disk_is_writable},
    {"DISK-08", "the bus must be virtio, scsi, sata or usb", "domain.devices.disks[].disk.bus", bus_is_known},
    {"DISK-09", "dedicatedIOThread is supported only on bus virtio", "domain.devices.disks.domain.devices.disks[]",
     io_thread_needs_virtio},
    {"DISK-10", "a serial number must contain only letters, digits, _ . + and -", "domain.devices.disks[].serial",
     serial_is_plain},
    {"DISK-11", "a serial number must not be too long", "domain.devices.disks[].serial", serial_is_short},
    {"DISK-12", "cache must be none, writethrough or writeback", "domain.devices.disks[].cache", cache_is_known},
    {"DISK-13", "io must be native or threads", "domain.devices.disks.domain.devices.disks[].io", io_is_known},
    {"DISK-14", "errorPolicy must be stop, ignore, report or enospace", "domain.devices.disks[].errorPolicy",
     error_policy_is_known},
    {"DISK-15", "a disk name must be a DNS label", "domain.devices.disks.domain.devices.disks[].name", name_is_a_label},
};

constexpr RuleOn<DiskAt> block_size_rows[] = {
    {"DISK-16", "custom and matchVolume of a block size are mutually exclusive", "domain.devices.disks[].blockSize",
     block_size_comes_from_one_place},
    {"DISK-17", "the logical block size must not exceed the physical block size",
     "domain.devices.disks[].blockSize.custom.logical", logical_block_fits_physical},
    {"DISK-18", "the logical block size must be 512 on bus sata", "domain.devices.disks[].blockSize.custom.logical",
     sata_has_small_blocks},
    {"DISK-19", "discardGranularity must be a multiple of the logical block size",
     "domain.devices.disks[].blockSize.custom.discardGranularity", discards_whole_blocks},
    {"DISK-20", "a block size must be a power of two from 512 to 2097152", "domain.devices.disks[].blockSize.custom",
     blocks_have_sizes_that_exist},
};

}  // namespace

bool is_pci_address(string_view address) {
  constexpr string_view shape = "hhhh:hh:hh.7";
  if (address.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = address[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (shape[i] == 'h' ? !hex : shape[i] == '7' ? c < '0' || c > '7' : c != shape[i]) return false;
  }
  return true;
}

void check_disks(const json::Value* disks, const Place& base, Causes& causes) {
  const api::List<Disk> all(disks);
  const NameIndex names(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const DiskAt at = disk_at(all, i, base, names);
    ask_all<disk_rows>(at, causes);
    if (at.disk.block_size().custom()) ask_until_broken<block_size_rows>(at, causes);
  }
}

void list_disk_rules(std::vector<RuleInfo>& out) { list_rows<disk_rows, block_size_rows>(out); }

}  // namespace vg::admission
