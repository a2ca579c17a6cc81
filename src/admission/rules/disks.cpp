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

string_view text(const View& view, string_view name) { return api::Read<string_view>::or_zero(view.get(name)); }

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
      at.bus = text(target, "bus");
    }
  return at;
}

// Upstream has one cause for each earlier disk of the name. What would not be told is not counted.
void name_is_own(const DiskAt& at, Causes& causes) {
  const std::size_t room = causes.size() < told_causes_max ? told_causes_max - causes.size() : 1;
  const std::size_t others = std::min(at.names.count_before(at.disk.name(), at.index), room);
  for (std::size_t i = 0; i < others; ++i)
    causes.invalid(at.field(".name"), fmt::format("disk {} has the name {} of a disk before it; give each its own",
                                                  at.index, in_words(at.disk.name())));
}

void is_one_device(const DiskAt& at, Causes& causes) {
  if (std::ranges::count_if(devices, [&](string_view name) { return static_cast<bool>(View(at.disk.get(name))); }) > 1)
    causes.invalid(at.field(""), "a disk is one of disk, lun and cdrom; keep one of them");
}

std::string pci_address_field(const DiskAt& at) { return at.twice(fmt::format(".disk[{}].pciAddress", at.index)); }

void pci_address_needs_virtio(const DiskAt& at, Causes& causes) {
  const auto target = at.disk.disk();
  if (!target.pci_address().empty() && target.bus() != "virtio")
    causes.invalid(pci_address_field(at),
                   fmt::format("only a disk on bus virtio has a PCI address, not one on {}", in_words(target.bus())));
}

void pci_address_is_one(const DiskAt& at, Causes& causes) {
  const string_view address = at.disk.disk().pci_address();
  if (!address.empty() && !is_pci_address(address))
    causes.invalid(pci_address_field(at),
                   fmt::format("a PCI address looks like 0000:81:01.0, not like {}", in_words(address)));
}

void boot_order_counts_from_one(const DiskAt& at, Causes& causes) {
  if (at.disk.boot_order() == 0U)
    causes.invalid(at.field(".bootOrder"), "boot order counts from 1; give 1 or more, or leave it out");
}

void bus_is_not_ide(const DiskAt& at, Causes& causes) {
  if (at.is_on("ide")) causes.invalid(at.bus_field(), "bus ide is not there any more; use sata, scsi or virtio");
}

void cdrom_is_off_virtio(const DiskAt& at, Causes& causes) {
  if (at.is_on("virtio") && at.device == "cdrom")
    causes.invalid(at.bus_field(), "a CD-ROM cannot be on bus virtio; use sata or scsi");
}

void sata_disk_is_writable(const DiskAt& at, Causes& causes) {
  if (at.is_on("sata") && at.disk.disk().readonly())
    causes.invalid(at.bus_field(), "a disk on bus sata cannot be read-only; use virtio or scsi, or a cdrom");
}

void bus_is_known(const DiskAt& at, Causes& causes) {
  if (!is_one_of(at.bus, buses))
    causes.invalid(at.bus_field(), fmt::format("a bus is virtio, scsi, sata or usb, not {}", in_words(at.bus)));
}

void io_thread_needs_virtio(const DiskAt& at, Causes& causes) {
  if (at.disk.dedicated_io_thread().value_or(false) && !at.bus.empty() && !at.is_on("virtio"))
    causes.not_supported(
        at.twice_at(""),
        fmt::format("only a disk on bus virtio has an I/O thread of its own, not one on {}", in_words(at.bus)));
}

void serial_is_plain(const DiskAt& at, Causes& causes) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           string_view("_.+-").contains(c);
  };
  if (!std::ranges::all_of(at.disk.serial(), plain))
    causes.invalid(at.field(".serial"), "a serial number is made of letters, digits, _ . + and -");
}

void serial_is_short(const DiskAt& at, Causes& causes) {
  constexpr std::ptrdiff_t characters_max = 256;
  if (std::ranges::count_if(at.disk.serial(), [](char c) { return (c & 0xC0) != 0x80; }) > characters_max)
    causes.invalid(at.field(".serial"), fmt::format("a serial number has at most {} characters", characters_max));
}

void cache_is_known(const DiskAt& at, Causes& causes) {
  if (!is_one_of(at.disk.cache(), cache_modes))
    causes.invalid(at.field(".cache"),
                   fmt::format("cache is none, writethrough or writeback, not {}", in_words(at.disk.cache())));
}

void io_is_known(const DiskAt& at, Causes& causes) {
  if (!is_one_of(at.disk.io(), io_modes))
    causes.not_supported(at.twice_at(".io"), fmt::format("io is native or threads, not {}", in_words(at.disk.io())));
}

void error_policy_is_known(const DiskAt& at, Causes& causes) {
  const auto policy = at.disk.error_policy();
  if (policy && !is_one_of(*policy, error_policies))
    causes.invalid(at.field(".errorPolicy"),
                   fmt::format("errorPolicy is stop, ignore, report or enospace, not {}", in_words(*policy)));
}

void name_is_a_label(const DiskAt& at, Causes& causes) {
  for (const std::string& defect : dns1123_label_defects(at.disk.name()))
    causes.invalid(at.twice_at(".name"), fmt::format("name {}: {}", in_words(at.disk.name()), defect));
}

// --- block sizes: the first rule that is broken ends the matter for the disk ---

void block_size_comes_from_one_place(const DiskAt& at, Causes& causes) {
  const auto match = at.disk.block_size().match_volume();
  if (match && match.enabled().value_or(true))
    causes.invalid(at.field(".blockSize"), "a block size is either custom or that of the volume; keep one");
}

void logical_block_fits_physical(const DiskAt& at, Causes& causes) {
  const auto custom = at.disk.block_size().custom();
  if (custom.logical() > custom.physical())
    causes.invalid(at.field(".blockSize.custom.logical"),
                   fmt::format("the logical block ({}) cannot be larger than the physical one ({})", custom.logical(),
                               custom.physical()));
}

void sata_has_small_blocks(const DiskAt& at, Causes& causes) {
  if (at.is_on("sata") && at.disk.block_size().custom().logical() != 512)
    causes.invalid(at.field(".blockSize.custom.logical"), "a disk on bus sata has logical blocks of 512 bytes");
}

void discards_whole_blocks(const DiskAt& at, Causes& causes) {
  const auto custom = at.disk.block_size().custom();
  if (custom.logical() != 0 && custom.discard_granularity().value_or(0) % custom.logical() != 0)
    causes.invalid(at.field(".blockSize.custom.discardGranularity"),
                   fmt::format("discardGranularity is a multiple of the logical block ({})", custom.logical()));
}

void blocks_have_sizes_that_exist(const DiskAt& at, Causes& causes) {
  constexpr std::uint64_t size_min = 512, size_max = 2097152;
  const auto check = [&](string_view member, std::uint64_t size) {
    if (size >= size_min && size <= size_max && std::has_single_bit(size)) return;
    causes.invalid(at.field(fmt::format(".blockSize.custom.{}", member)),
                   fmt::format("a block size is a power of two from {} to {}, not {}", size_min, size_max, size));
  };
  const auto custom = at.disk.block_size().custom();
  check("logical", custom.logical());
  check("physical", custom.physical());
}

constexpr RuleOn<DiskAt> disk_rows[] = {
    {"DISK-01", "disks have names of their own", "domain.devices.disks[].name", name_is_own},
    {"DISK-02", "a disk is one kind of device", "domain.devices.disks[]", is_one_device},
    {"DISK-03", "only a disk on bus virtio has a PCI address",
     "domain.devices.disks.domain.devices.disks.disk[].pciAddress", pci_address_needs_virtio},
    {"DISK-04", "the PCI address of a disk is one", "domain.devices.disks.domain.devices.disks.disk[].pciAddress",
     pci_address_is_one},
    {"BOOT-01", "the boot order of a disk counts from 1", "domain.devices.disks[].bootOrder",
     boot_order_counts_from_one},
    {"DISK-05", "no disk is on bus ide", "domain.devices.disks[].disk.bus", bus_is_not_ide},
    {"DISK-06", "no CD-ROM is on bus virtio", "domain.devices.disks[].cdrom.bus", cdrom_is_off_virtio},
    {"DISK-07", "a disk on bus sata is not read-only", "domain.devices.disks[].disk.bus", sata_disk_is_writable},
    {"DISK-08", "the bus of a disk is one that exists", "domain.devices.disks[].disk.bus", bus_is_known},
    {"DISK-09", "a disk with an I/O thread of its own is on bus virtio", "domain.devices.disks.domain.devices.disks[]",
     io_thread_needs_virtio},
    {"DISK-10", "a serial number is made of plain characters", "domain.devices.disks[].serial", serial_is_plain},
    {"DISK-11", "a serial number is not too long", "domain.devices.disks[].serial", serial_is_short},
    {"DISK-12", "the cache mode is one that exists", "domain.devices.disks[].cache", cache_is_known},
    {"DISK-13", "the I/O mode is one that exists", "domain.devices.disks.domain.devices.disks[].io", io_is_known},
    {"DISK-14", "the error policy is one that exists", "domain.devices.disks[].errorPolicy", error_policy_is_known},
    {"DISK-15", "the name of a disk is a DNS label", "domain.devices.disks.domain.devices.disks[].name",
     name_is_a_label},
};

constexpr RuleOn<DiskAt> block_size_rows[] = {
    {"DISK-16", "a block size is custom or that of the volume", "domain.devices.disks[].blockSize",
     block_size_comes_from_one_place},
    {"DISK-17", "the logical block is not larger than the physical one",
     "domain.devices.disks[].blockSize.custom.logical", logical_block_fits_physical},
    {"DISK-18", "a disk on bus sata has logical blocks of 512 bytes", "domain.devices.disks[].blockSize.custom.logical",
     sata_has_small_blocks},
    {"DISK-19", "whole blocks are discarded", "domain.devices.disks[].blockSize.custom.discardGranularity",
     discards_whole_blocks},
    {"DISK-20", "block sizes are powers of two from 512 to 2097152", "domain.devices.disks[].blockSize.custom",
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
