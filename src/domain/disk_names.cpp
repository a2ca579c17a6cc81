#include "domain/disk_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace vg::domain {
namespace {

// How far upstream looks for the index of a name that is given.
constexpr std::uint64_t indices_searched = 26 * 26 * 26;

// The other way round than letters_of; 0 where upstream finds none.
std::uint64_t index_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return 0;
  name.remove_prefix(prefix.size());
  std::uint64_t index = 0;
  for (const char c : name) {
    if (c < 'a' || c > 'z' || index > indices_searched) return 0;
    index = index * 26 + static_cast<std::uint64_t>(c - 'a') + 1;
  }
  return index == 0 || index > indices_searched ? 0 : index - 1;
}

}  // namespace

std::string_view name_prefix(std::string_view bus) {
  if (bus == "virtio") return "vd";
  return bus == "sata" || bus == "scsi" || bus == "usb" ? "sd" : "";
}

std::string letters_of(std::uint64_t index) {
  std::string letters;
  for (++index; index > 0; index = (index - 1) / 26) letters += static_cast<char>('a' + (index - 1) % 26);
  std::ranges::reverse(letters);
  return letters;
}

DiskNames::DiskNames(const Vmi& vmi) {
  ByName<std::string> targets;
  for (const kubevirt::VolumeStatus status : vmi.status.volume_status())
    if (!status.target().empty()) targets.insert_or_assign(std::string(status.name()), std::string(status.target()));
  for (const kubevirt::Disk disk : vmi.dev.disks()) {
    const auto target = targets.find(disk.name());
    if (target == targets.end() || kind_of(disk) == DiskKind::none) continue;
    Prefixed& prefixed = prefixes_[std::string(name_prefix(bus_of(disk)))];
    prefixed.of_disk.insert_or_assign(std::string(disk.name()), target->second);
    prefixed.used.insert(target->second);
  }
}

DiskNames::Named DiskNames::name(std::string_view disk, std::string_view bus) {
  const std::string_view prefix = name_prefix(bus);
  Prefixed& prefixed = prefixes_[std::string(prefix)];
  if (const auto known = prefixed.of_disk.find(disk); known != prefixed.of_disk.end())
    return {.name = known->second, .index = index_of(known->second, prefix)};
  std::string name;
  while (prefixed.used.contains(name = fmt::format("{}{}", prefix, letters_of(prefixed.next)))) ++prefixed.next;
  prefixed.of_disk.emplace(disk, name);
  prefixed.used.insert(name);
  return {.name = std::move(name), .index = prefixed.next++};
}

}  // namespace vg::domain
