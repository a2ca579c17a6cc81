#include "admission/rules/disks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "admission/rules/image_path.h"
#include "api/canonical_words.h"
#include "api/view.h"
#include "base/names.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using api::in_words;
using api::View;
using std::string_view;

constexpr std::array<string_view, 3> devices = {"disk", "lun", "cdrom"};
constexpr std::array<string_view, 5> buses = {"virtio", "scsi", "sata", "usb", "ide"};

string_view text(const View& view, string_view name) { return api::Read<string_view>::or_zero(view.get(name)); }
std::int64_t number(const View& view, string_view name) { return api::Read<std::int64_t>::or_zero(view.get(name)); }
bool flag(const View& view, string_view name) { return api::Read<bool>::or_zero(view.get(name)); }

bool is_one_of(string_view word, std::span<const string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// One disk and the places that its causes name. Some rules of upstream print the way to the disks twice; clients match
// on these texts.
struct DiskAt {
  View disk;
  std::size_t index;
  Place list;          // B
  string_view device;  // disk, lun or cdrom; empty for none
  View target;         // the object of that name

  DiskAt(View value, std::size_t at, const Place& base) : disk(value), index(at), list(base), device(), target() {
    for (const string_view name : devices)
      if (View found(disk.get(name)); found && device.empty()) {
        device = name;
        target = found;
      }
  }
  string_view bus() const { return text(target, "bus"); }
  std::string field(string_view rest) const {
    return fmt::format("{}[{}]{}", api::print_place(list, api::PlaceStyle::brackets), index, rest);
  }
  std::string twice(string_view rest) const {
    return fmt::format("{}.domain.devices.disks[{}]{}", api::print_place(list, api::PlaceStyle::brackets), index, rest);
  }
  std::string bus_field() const { return field(fmt::format(".{}.bus", device)); }
};

void name_is_own(const DiskAt& at, const api::List<View>& all, Causes& causes) {
  for (std::size_t i = 0; i < at.index; ++i)
    if (text(all[i], "name") == text(at.disk, "name"))
      causes.invalid(at.field(".name"), fmt::format("disk {} has the name of disk {}, {}; names must differ", at.index,
                                                    i, in_words(text(at.disk, "name"))));
}

void is_one_device(const DiskAt& at, Causes& causes) {
  if (std::ranges::count_if(devices, [&](string_view name) { return static_cast<bool>(View(at.disk.get(name))); }) > 1)
    causes.invalid(at.field(""), "a disk is one of disk, lun and cdrom; keep one of them");
}

void pci_address_fits(const DiskAt& at, Causes& causes) {
  const View disk(at.disk.get("disk"));
  const string_view address = text(disk, "pciAddress");
  if (address.empty()) return;
  const std::string field = fmt::format("{}.domain.devices.disks.disk[{}].pciAddress",
                                        api::print_place(at.list, api::PlaceStyle::brackets), at.index);
  if (text(disk, "bus") != "virtio")
    causes.invalid(
        field, fmt::format("only a disk on bus virtio has a PCI address, not one on {}", in_words(text(disk, "bus"))));
  if (!is_pci_address(address))
    causes.invalid(field, fmt::format("a PCI address looks like 0000:81:01.0, not like {}", in_words(address)));
}

void boot_order_counts_from_one(const DiskAt& at, Causes& causes) {
  const auto order = api::Read<std::int64_t>::maybe(at.disk.get("bootOrder"));
  if (order && *order < 1)
    causes.invalid(at.field(".bootOrder"), "boot order counts from 1; give 1 or more, or leave it out");
}

void bus_fits_device(const DiskAt& at, Causes& causes) {
  const string_view bus = at.bus();
  if (bus == "ide")
    causes.invalid(at.bus_field(), "bus ide is not there any more; use sata, scsi or virtio");
  else if (bus == "virtio" && at.device == "cdrom")
    causes.invalid(at.bus_field(), "a CD-ROM cannot be on bus virtio; use sata or scsi");
  else if (bus == "sata" && at.device == "disk" && flag(at.target, "readonly"))
    causes.invalid(at.bus_field(), "a disk on bus sata cannot be read-only; use virtio or scsi, or a cdrom");
  else if (!bus.empty() && !is_one_of(bus, buses))
    causes.invalid(at.bus_field(), fmt::format("a bus is virtio, scsi, sata or usb, not {}", in_words(bus)));
}

void io_thread_needs_virtio(const DiskAt& at, Causes& causes) {
  if (flag(at.disk, "dedicatedIOThread") && !at.bus().empty() && at.bus() != "virtio")
    causes.not_supported(at.twice(""), fmt::format("only a disk on bus virtio has an I/O thread of its own, not one on "
                                                   "{}",
                                                   in_words(at.bus())));
}

void serial_is_plain(const DiskAt& at, Causes& causes) {
  constexpr std::size_t characters_max = 256;
  const string_view serial = text(at.disk, "serial");
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           string_view("_.+-").contains(c);
  };
  if (!std::ranges::all_of(serial, plain))
    causes.invalid(at.field(".serial"), "a serial number is made of letters, digits, _ . + and -");
  const auto characters = std::ranges::count_if(serial, [](char c) { return (c & 0xC0) != 0x80; });
  if (static_cast<std::size_t>(characters) > characters_max)
    causes.invalid(at.field(".serial"), fmt::format("a serial number has at most {} characters", characters_max));
}

void cache_is_known(const DiskAt& at, Causes& causes) {
  constexpr std::array<string_view, 4> modes = {"", "none", "writethrough", "writeback"};
  if (!is_one_of(text(at.disk, "cache"), modes))
    causes.invalid(at.field(".cache"),
                   fmt::format("cache is none, writethrough or writeback, not {}", in_words(text(at.disk, "cache"))));
}

void io_is_known(const DiskAt& at, Causes& causes) {
  constexpr std::array<string_view, 3> modes = {"", "native", "threads"};
  if (!is_one_of(text(at.disk, "io"), modes))
    causes.not_supported(at.twice(".io"),
                         fmt::format("io is native or threads, not {}", in_words(text(at.disk, "io"))));
}

void error_policy_is_known(const DiskAt& at, Causes& causes) {
  constexpr std::array<string_view, 4> policies = {"stop", "ignore", "report", "enospace"};
  const auto policy = api::Read<string_view>::maybe(at.disk.get("errorPolicy"));
  if (policy && !is_one_of(*policy, policies))
    causes.invalid(at.field(".errorPolicy"),
                   fmt::format("errorPolicy is stop, ignore, report or enospace, not {}", in_words(*policy)));
}

void name_is_a_label(const DiskAt& at, Causes& causes) {
  for (const std::string& defect : dns1123_label_defects(text(at.disk, "name")))
    causes.invalid(at.twice(".name"), fmt::format("name {}: {}", in_words(text(at.disk, "name")), defect));
}

void check_block(const DiskAt& at, string_view member, std::int64_t size, Causes& causes) {
  constexpr std::int64_t size_min = 512, size_max = 2097152;
  if (size >= size_min && size <= size_max && std::has_single_bit(static_cast<std::uint64_t>(size))) return;
  causes.invalid(at.field(fmt::format(".blockSize.custom.{}", member)),
                 fmt::format("a block size is a power of two from {} to {}, not {}", size_min, size_max, size));
}

void block_size_fits(const DiskAt& at, Causes& causes) {
  const View size(at.disk.get("blockSize")), custom(size.get("custom")), match(size.get("matchVolume"));
  if (!custom) return;
  if (match && api::Read<bool>::maybe(match.get("enabled")).value_or(true))
    return causes.invalid(at.field(".blockSize"), "a block size is either custom or that of the volume; keep one");
  const auto logical = number(custom, "logical"), physical = number(custom, "physical");
  const auto discard = api::Read<std::int64_t>::maybe(custom.get("discardGranularity"));
  if (logical > physical)
    return causes.invalid(
        at.field(".blockSize.custom.logical"),
        fmt::format("the logical block ({}) cannot be larger than the physical one ({})", logical, physical));
  if (at.bus() == "sata" && logical != 512)
    return causes.invalid(at.field(".blockSize.custom.logical"), "a disk on bus sata has logical blocks of 512 bytes");
  if (discard && logical != 0 && *discard % logical != 0)
    return causes.invalid(at.field(".blockSize.custom.discardGranularity"),
                          fmt::format("discardGranularity is a multiple of the logical block ({})", logical));
  check_block(at, "logical", logical, causes);
  check_block(at, "physical", physical, causes);
}

void check_boot_path(const View& container, string_view member, const Place& place, Causes& causes) {
  const string_view path = text(container, member);
  if (path.empty() || is_clean_absolute(path)) return;
  causes.invalid(place.field(member),
                 fmt::format("{} is an absolute path to a file, without . and .., not {}", member, in_words(path)));
}

void check_kernel_boot(const View& boot, const Place& place, Causes& causes) {
  if (!boot) return;
  const View container(boot.get("container"));
  if (!container) {
    if (!text(boot, "kernelArgs").empty())
      causes.invalid(place.field("kernelArgs"), "kernelArgs go with a kernel; say in container where it comes from");
    return;
  }
  const Place inside = place.field("container");
  if (text(container, "image").empty()) causes.required(inside.field("image"), "say which image holds the kernel");
  if (text(container, "kernelPath").empty() && text(container, "initrdPath").empty())
    causes.required(inside, "set kernelPath, initrdPath or both: without them nothing is booted");
  check_boot_path(container, "kernelPath", inside, causes);
  check_boot_path(container, "initrdPath", inside, causes);
}

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
  const api::List<View> all(disks);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const DiskAt at(all[i], i, base);
    name_is_own(at, all, causes);
    is_one_device(at, causes);
    pci_address_fits(at, causes);
    boot_order_counts_from_one(at, causes);
    bus_fits_device(at, causes);
    io_thread_needs_virtio(at, causes);
    serial_is_plain(at, causes);
    cache_is_known(at, causes);
    io_is_known(at, causes);
    error_policy_is_known(at, causes);
    name_is_a_label(at, causes);
    block_size_fits(at, causes);
  }
}

void check_firmware(const json::Value* firmware, const Place& base, Causes& causes) {
  const View view(firmware);
  if (!view) return;
  const View loader(view.get("bootloader"));
  if (View(loader.get("efi")) && View(loader.get("bios")))
    causes.invalid(base.field("bootloader"), "a machine boots by EFI or by BIOS; keep one of them");
  check_kernel_boot(View(view.get("kernelBoot")), base.field("kernelBoot"), causes);
}

}  // namespace vg::admission
