#include "guests/hotplug.h"

#include <fmt/format.h>

#include <algorithm>

#include "domain/xml.h"
#include "guests/vmi_lists.h"
#include "json/access.h"

namespace vg::guests {
namespace {

using domain::Element;
using hypervisor::Change;
using std::string_view;

struct WantedDisk {
  const Element* element;
  std::string_view target, bus, device, source, alias;
};

WantedDisk read(const Element& disk) {
  const auto attribute = [&](const Element* from, domain::Name name) { return from ? from->get(name) : string_view(); };
  const Element* source = disk.find("source");
  string_view path = attribute(source, "file");
  if (path.empty()) path = attribute(source, "dev");
  string_view alias = attribute(disk.find("alias"), "name");
  if (alias.starts_with("ua-")) alias.remove_prefix(3);
  return {.element = &disk,
          .target = attribute(disk.find("target"), "dev"),
          .bus = attribute(disk.find("target"), "bus"),
          .device = disk.get("device"),
          .source = path,
          .alias = alias};
}

bool is_below(string_view path, string_view folder) {
  return !folder.empty() && path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}
bool can_be_plugged(string_view bus) { return bus.empty() || bus == "virtio" || bus == "scsi"; }

std::vector<WantedDisk> disks_of(const Element& document) {
  std::vector<WantedDisk> disks;
  const Element* devices = document.find("devices");
  if (!devices) return disks;
  for (const Element& device : devices->children())
    if (device.name() == "disk") disks.push_back(read(device));
  return disks;
}

// The drive as it is, with another medium or none: libvirt lets nothing else of it change.
std::string with_medium(const DiskFact& disk, string_view file) {
  std::string xml = disk.xml;
  if (const auto at = xml.find("<source"); at != std::string::npos) {
    const auto end = xml.find('>', at);
    const bool is_empty = end != std::string::npos && xml[end - 1] == '/';
    const auto close = is_empty ? end : xml.find("</source>", at);
    if (close != std::string::npos) xml.erase(at, close + (is_empty ? 1 : string_view("</source>").size()) - at);
  }
  const auto begin = xml.find('>');
  if (file.empty() || begin == std::string::npos) return xml;
  Element source("source");
  source.set("file", file);
  return xml.insert(begin + 1, domain::to_xml(source));
}

// RUN-HPD-03
void add_media_changes(const DomainFacts& live, const std::vector<WantedDisk>& wanted, string_view folder,
                       std::vector<DeviceChange>& changes) {
  for (const DiskFact& disk : live.disks) {
    if (disk.device != "cdrom" || (!disk.source.empty() && !is_below(disk.source, folder))) continue;
    const auto found = std::ranges::find(wanted, disk.target, &WantedDisk::target);
    const string_view source = found == wanted.end() ? string_view() : found->source;
    if (source == disk.source || (!source.empty() && !is_below(source, folder))) continue;
    changes.push_back({.change = Change::update, .name = disk.alias, .xml = with_medium(disk, source)});
  }
}

std::string with_link(const NicFact& nic, string_view state) {
  std::string xml = nic.xml;
  if (const auto at = xml.find("<link "); at != std::string::npos)
    if (const auto end = xml.find("/>", at); end != std::string::npos) xml.erase(at, end + 2 - at);
  const auto end = xml.rfind("</interface>");
  if (end == std::string::npos) return xml;
  return xml.insert(end, fmt::format("<link state=\"{}\"/>", state));
}

bool is_secondary(const json::Object& vmi, string_view name) {
  return std::ranges::any_of(networks_in(vmi), [&](const json::Value& network) {
    const json::Object* multus = json::get_object(network, "multus");
    return multus && json::get_string_or(network, "name") == name && !json::get_bool_or(*multus, "default", false);
  });
}

bool is_to_plug(const DomainFacts& live, const json::Object& vmi, const json::Value& given) {
  const string_view name = json::get_string_or(given, "name");
  return json::find(given, "bridge") && json::get_string_or(given, "state") != "absent" && !live.nic(name) &&
         is_secondary(vmi, name);
}

}  // namespace

std::vector<DeviceChange> disk_changes(const DomainFacts& live, const Element& wanted, string_view folder) {
  const std::vector<WantedDisk> disks = disks_of(wanted);
  std::vector<DeviceChange> changes;
  for (const DiskFact& disk : live.disks)
    if (is_below(disk.source, folder) && disk.device != "cdrom" && can_be_plugged(disk.bus) &&
        std::ranges::find(disks, disk.target, &WantedDisk::target) == disks.end())
      changes.push_back({.change = Change::detach, .name = disk.alias, .xml = disk.xml});
  for (const WantedDisk& disk : disks)
    if (is_below(disk.source, folder) && disk.device != "cdrom" && can_be_plugged(disk.bus) &&
        std::ranges::find(live.disks, disk.target, &DiskFact::target) == live.disks.end())
      changes.push_back(
          {.change = Change::attach, .name = std::string(disk.alias), .xml = domain::to_xml(*disk.element)});
  add_media_changes(live, disks, folder, changes);
  return changes;
}

bool has_nics_to_plug(const DomainFacts& live, const json::Object& vmi) {
  return std::ranges::any_of(interfaces_in(vmi),
                             [&](const json::Value& given) { return is_to_plug(live, vmi, given); });
}

std::vector<DeviceChange> plugged_nics(const DomainFacts& live, const json::Object& vmi, const Element& wanted) {
  std::vector<DeviceChange> changes;
  const Element* devices = wanted.find("devices");
  for (const json::Value& given : interfaces_in(vmi)) {
    if (!devices || !is_to_plug(live, vmi, given)) continue;
    const string_view name = json::get_string_or(given, "name");
    for (const Element& device : devices->children()) {
      const Element* alias = device.find("alias");
      if (device.name() == "interface" && alias && alias->get("name") == fmt::format("ua-{}", name))
        changes.push_back({.change = Change::attach, .name = std::string(name), .xml = domain::to_xml(device)});
    }
  }
  return changes;
}

std::vector<DeviceChange> unplugged_nics(const DomainFacts& live, const json::Object& vmi) {
  std::vector<DeviceChange> changes;
  for (const json::Value& given : interfaces_in(vmi)) {
    const NicFact* nic = live.nic(json::get_string_or(given, "name"));
    if (nic && json::get_string_or(given, "state") == "absent" && is_secondary(vmi, nic->alias))
      changes.push_back({.change = Change::detach, .name = nic->alias, .xml = nic->xml});
  }
  return changes;
}

std::vector<DeviceChange> link_changes(const DomainFacts& live, const json::Object& vmi) {
  std::vector<DeviceChange> changes;
  for (const json::Value& given : interfaces_in(vmi)) {
    const NicFact* nic = live.nic(json::get_string_or(given, "name"));
    const string_view state = json::get_string_or(given, "state"), wanted = state == "down" ? "down" : "up";
    if (!nic || state == "absent" || nic->link == wanted) continue;
    changes.push_back({.change = Change::update, .name = nic->alias, .xml = with_link(*nic, wanted)});
  }
  return changes;
}

std::string memory_device(const DomainFacts& live, std::int64_t size, std::int64_t requested) {
  constexpr std::int64_t block = 2097152;
  // A device that is there keeps what it has but for this number.
  std::string xml = live.memory_device;
  const auto at = xml.find("<requested"), end = xml.find("</requested>");
  if (at != std::string::npos && end != std::string::npos)
    return xml.replace(at, end - at, fmt::format("<requested unit=\"b\">{}", requested));
  return fmt::format(
      "<memory model=\"virtio-mem\"><target><size unit=\"b\">{}</size><node>0</node><block unit=\"b\">{}</block>"
      "<requested unit=\"b\">{}</requested></target></memory>",
      size, block, requested);
}

std::vector<std::pair<std::string, std::string>> claim_capacities(const json::Object& vmi) {
  std::vector<std::pair<std::string, std::string>> found;
  const json::Object* status = json::get_object(vmi, "status");
  const json::Array* entries = status ? json::get_array(*status, "volumeStatus") : nullptr;
  if (!entries) return found;
  for (const json::Value& entry : *entries) {
    const auto amount = json::as_string(json::find_path(entry, {"persistentVolumeClaimInfo", "capacity", "storage"}));
    if (amount) found.emplace_back(json::get_string_or(entry, "name"), *amount);
  }
  return found;
}

std::vector<std::string> hotplugged_volumes(const json::Object& vmi) {
  std::vector<std::string> names;
  const json::Object* status = json::get_object(vmi, "status");
  const json::Array* entries = status ? json::get_array(*status, "volumeStatus") : nullptr;
  if (entries)
    for (const json::Value& entry : *entries)
      if (json::find(entry, "hotplugVolume")) names.emplace_back(json::get_string_or(entry, "name"));
  return names;
}

}  // namespace vg::guests
