// Disks, interfaces and other devices of a guest.
#include <array>
#include <set>

#include "offline/warnings/look.h"
#include "offline/warnings/tables.h"

namespace vg::offline {
namespace {

// Volumes that hold a file or two for the guest, and no system.
constexpr std::array<std::string_view, 8> data_sources{
    "cloudInitNoCloud", "cloudInitConfigDrive", "configMap",       "secret",
    "serviceAccount",   "downwardAPI",          "downwardMetrics", "sysprep"};

bool boots(const json::Object* volume) {
  return !volume ||
         std::ranges::none_of(data_sources, [&](std::string_view source) { return volume->contains(source); });
}

// Guests that may have no drivers of virtio, and VMs whose devices a preference completes.
bool may_need_emulation(const Manifest& manifest) {
  return has_preference(manifest) || json::as_object(find_in(manifest.machine, "domain.features.hyperv")) ||
         json::as_object(find_in(manifest.machine, "domain.features.hypervPassthrough"));
}

// An empty bus becomes sata on amd64 (spec work-objects D31).
void look_at_buses(const Manifest& manifest, Remarks& found) {
  const std::string_view architecture = json::as_string(find_in(manifest.machine, "architecture")).value_or("");
  if (may_need_emulation(manifest) || architecture == "arm64" || architecture == "s390x") return;
  const Volumes all(manifest.machine);
  for_each_item(manifest.machine, disks, [&](const ListItem& item) {
    const json::Object* disk = json::get_object(item.object, "disk");
    if (disk && json::get_string_or(*disk, "bus").empty() && boots(all.find(json::get_string_or(item.object, "name"))))
      found.push_back(
          {.field = item.field("disk"), .message = "no bus is given, so the disk gets sata, which is slow"});
  });
}

void look_at_models(const Manifest& manifest, Remarks& found) {
  static constexpr std::array<std::string_view, 5> emulated{"e1000", "e1000e", "ne2k_pci", "pcnet", "rtl8139"};
  if (may_need_emulation(manifest)) return;
  for_each_item(manifest.machine, interfaces, [&](const ListItem& item) {
    const std::string_view model = json::get_string_or(item.object, "model");
    if (std::ranges::find(emulated, model) != emulated.end())
      found.push_back({.field = item.field("model"),
                       .message = fmt::format("{} is emulated, and slow; virtio is what remains without it", model)});
  });
}

void look_at_serials(const Manifest& manifest, Remarks& found) {
  static constexpr std::size_t kept_bytes = 20;  // of virtio-blk and of ATA
  for_each_item(manifest.machine, disks, [&](const ListItem& item) {
    const std::string_view serial = json::get_string_or(item.object, "serial");
    const json::Object* disk = json::get_object(item.object, "disk");
    const std::string_view bus = disk ? json::get_string_or(*disk, "bus") : std::string_view("scsi");
    if (serial.size() > kept_bytes && bus != "scsi" && bus != "usb")
      found.push_back({.field = item.field("serial"),
                       .message = fmt::format("the guest sees \"{}\"", serial.substr(0, kept_bytes))});
  });
}

void look_at_boot_order(const Manifest& manifest, Remarks& found) {
  const Volumes all(manifest.machine);
  for_each_item(manifest.machine, disks, [&](const ListItem& item) {
    if (json::get_int(item.object, "bootOrder") && !boots(all.find(json::get_string_or(item.object, "name"))))
      found.push_back({.field = item.field("bootOrder"), .message = "there is no system on this disk to boot"});
  });
}

// Whether something says what is booted: then the order of disks does not matter.
bool has_boot_order(const MachineIn& machine) {
  bool given = json::as_object(find_in(machine, "domain.firmware.kernelBoot")) != nullptr;
  for (const std::string_view list : {disks, interfaces})
    for_each_item(machine, list, [&](const ListItem& item) { given = given || item.object.contains("bootOrder"); });
  return given;
}

// Without a boot order libvirt has the firmware try the first disk, and no other.
void look_at_first_disk(const Manifest& manifest, Remarks& found) {
  if (has_boot_order(manifest.machine)) return;
  const Volumes all(manifest.machine);
  std::optional<std::string> first;  // the first disk, if it has no system
  bool first_seen = false, another_boots = false;
  for_each_item(manifest.machine, disks, [&](const ListItem& item) {
    if (item.object.contains("cdrom")) return;
    const bool bootable = boots(all.find(json::get_string_or(item.object, "name")));
    if (!std::exchange(first_seen, true) && !bootable) first = item.field();
    another_boots = another_boots || bootable;
  });
  if (first && another_boots)
    found.push_back(
        {.field = *first, .message = "the first disk is the one that is booted, and this one has no system"});
}

void look_at_tpm(const Manifest& manifest, Remarks& found) {
  const json::Object* tpm = json::as_object(find_in(manifest.machine, "domain.devices.tpm"));
  if (!vm_spec(manifest) || !tpm || json::get_bool_or(*tpm, "persistent", false)) return;
  if (json::get_bool_or(*tpm, "enabled", true))
    tell(found, manifest.machine, "domain.devices.tpm", "what the guest puts into the TPM is gone when the VM stops");
}

void look_at_consoles(const Manifest& manifest, Remarks& found) {
  const auto is_off = [&](std::string_view name) {
    return json::as_bool(find_in(manifest.machine, fmt::format("domain.devices.{}", name))) == false;
  };
  if (is_off("autoattachSerialConsole") && is_off("autoattachGraphicsDevice"))
    tell(found, manifest.machine, "domain.devices.autoattachSerialConsole",
         "with no screen and no serial console nobody sees why a guest does not boot");
}

void look_at_equal_addresses(const Manifest& manifest, Remarks& found) {
  std::set<std::string> seen;
  for_each_item(manifest.machine, interfaces, [&](const ListItem& item) {
    const std::string address = usual_address(json::get_string_or(item.object, "macAddress"));
    if (!address.empty() && !seen.insert(address).second)
      found.push_back({.field = item.field("macAddress"), .message = "another interface of the VM has this address"});
  });
}

// spec work-objects D10 to D12.
void look_at_empty_interfaces(const Manifest& manifest, Remarks& found) {
  const json::Value* list = find_in(manifest.machine, interfaces);
  if (!list || !list->is_array() || !list->get_array().empty() || has_items(find_in(manifest.machine, "networks")))
    return;
  if (json::as_bool(find_in(manifest.machine, "domain.devices.autoattachPodInterface")) != false)
    tell(found, manifest.machine, interfaces, "an empty list is as none: the VM gets an interface to the pod network");
}

void look_at_ports(const Manifest& manifest, Remarks& found) {
  for_each_item(manifest.machine, interfaces, [&](const ListItem& item) {
    if (!has_items(json::find(item.object, "ports"))) return;
    if (json::get_object(item.object, "bridge") || json::get_object(item.object, "sriov"))
      found.push_back(
          {.field = item.field("ports"), .message = "ports have no effect with this binding: all are open"});
  });
}

constexpr std::array devices_table = std::to_array<Warning>({
    {.id = "WISE-33",
     .title = "A disk should be on a bus of virtio",
     .field = "spec.template.spec.domain.devices.disks[].disk.bus",
     .why = "A disk without a bus becomes a SATA disk on amd64, which is emulated and several times slower.",
     .advice = "Set bus: virtio, or bus: sata to say that the guest has no driver for virtio.",
     .good = vm_of<R"({"domain":{"devices":{"disks":[{"name":"root","disk":{"bus":"virtio"}}]},
       "memory":{"guest":"1Gi"}},"volumes":[{"name":"root","emptyDisk":{"capacity":"1Gi"}}]})">,
     .bad = vm_of<R"({"domain":{"devices":{"disks":[{"name":"root","disk":{}}]},
       "memory":{"guest":"1Gi"}},"volumes":[{"name":"root","emptyDisk":{"capacity":"1Gi"}}]})">,
     .look = look_at_buses},
    {.id = "WISE-34",
     .title = "An interface should be of the model virtio",
     .field = "spec.template.spec.domain.devices.interfaces[].model",
     .why = "Other models are emulated register by register: slow, and a load on the node.",
     .advice = "Leave the model out. For a guest without drivers use a preference, or silence this.",
     .good = vm_of<R"({"domain":{"devices":{"interfaces":[{"name":"default","masquerade":{}}]},
       "memory":{"guest":"1Gi"}},"networks":[{"name":"default","pod":{}}]})">,
     .bad = vm_of<R"({"domain":{"devices":{"interfaces":[{"name":"default","masquerade":{},"model":"e1000"}]},
       "memory":{"guest":"1Gi"}},"networks":[{"name":"default","pod":{}}]})">,
     .look = look_at_models},
    {.id = "WISE-35",
     .title = "The serial number of a disk should have 20 characters at most",
     .field = "spec.template.spec.domain.devices.disks[].serial",
     .why = "Disks of virtio and SATA show the guest 20 bytes of it. Two disks whose numbers differ behind that look "
            "the same in /dev/disk/by-id.",
     .advice = "Make it shorter, or use the bus scsi.",
     .good = vm_of<R"({"domain":{"devices":{"disks":[{"name":"root","disk":{"bus":"virtio"},"serial":"data-1"}]},
       "memory":{"guest":"1Gi"}},"volumes":[{"name":"root","emptyDisk":{"capacity":"1Gi"}}]})">,
     .bad = vm_of<R"({"domain":{"devices":{"disks":[{"name":"root","disk":{"bus":"virtio"},
       "serial":"database-volume-number-1"}]},"memory":{"guest":"1Gi"}},
       "volumes":[{"name":"root","emptyDisk":{"capacity":"1Gi"}}]})">,
     .look = look_at_serials},
    {.id = "WISE-36",
     .title = "A boot order should be given to disks with a system",
     .field = "spec.template.spec.domain.devices.disks[].bootOrder",
     .why = "As soon as one device has a boot order, those without are not booted. A disk of cloud-init or of a "
            "ConfigMap has nothing to boot.",
     .advice = "Give the boot order to the disk with the system.",
     .good = vm_of<R"({"domain":{"devices":{"disks":[{"name":"root","disk":{"bus":"virtio"},"bootOrder":1},
       {"name":"init","disk":{"bus":"virtio"}}]},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"root","emptyDisk":{"capacity":"1Gi"}},
       {"name":"init","cloudInitNoCloud":{"userData":"#cloud-config\nhostname: demo\n"}}]})">,
     .bad = vm_of<R"({"domain":{"devices":{"disks":[{"name":"root","disk":{"bus":"virtio"}},
       {"name":"init","disk":{"bus":"virtio"},"bootOrder":1}]},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"root","emptyDisk":{"capacity":"1Gi"}},
       {"name":"init","cloudInitNoCloud":{"userData":"#cloud-config\nhostname: demo\n"}}]})">,
     .look = look_at_boot_order},
    {.id = "WISE-37",
     .title = "The first disk should be the one with the system",
     .field = "spec.template.spec.domain.devices.disks[0]",
     .why = "Without any bootOrder the guest boots from the first disk of the list and tries no other.",
     .advice = "Put the disk with the system first, or give it bootOrder: 1.",
     .good = vm_of<R"({"domain":{"devices":{"disks":[{"name":"root","disk":{"bus":"virtio"}},
       {"name":"init","disk":{"bus":"virtio"}}]},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"root","emptyDisk":{"capacity":"1Gi"}},
       {"name":"init","cloudInitNoCloud":{"userData":"#cloud-config\nhostname: demo\n"}}]})">,
     .bad = vm_of<R"({"domain":{"devices":{"disks":[{"name":"init","disk":{"bus":"virtio"}},
       {"name":"root","disk":{"bus":"virtio"}}]},"memory":{"guest":"1Gi"}},"volumes":[
       {"name":"root","emptyDisk":{"capacity":"1Gi"}},
       {"name":"init","cloudInitNoCloud":{"userData":"#cloud-config\nhostname: demo\n"}}]})">,
     .look = look_at_first_disk},
    {.id = "WISE-38",
     .title = "The TPM of a VM should keep what is in it",
     .field = "spec.template.spec.domain.devices.tpm",
     .why = "Without persistent: true every start has a new, empty TPM: a disk that is encrypted with its keys "
            "(BitLocker) "
            "asks for its recovery key.",
     .advice = "Set persistent: true.",
     .good = vm_of<R"({"domain":{"devices":{"tpm":{"persistent":true}},"memory":{"guest":"1Gi"}}})">,
     .bad = vm_of<R"({"domain":{"devices":{"tpm":{}},"memory":{"guest":"1Gi"}}})">,
     .look = look_at_tpm},
    {.id = "WISE-39",
     .title = "A VM should have a console",
     .field = "spec.template.spec.domain.devices.autoattachSerialConsole",
     .why = "When the guest's network does not work, virtctl console and virtctl vnc are the only ways in.",
     .advice = "Leave the serial console on; it costs next to nothing.",
     .good = vm_of<R"({"domain":{"devices":{"autoattachGraphicsDevice":false},"memory":{"guest":"1Gi"}}})">,
     .bad = vm_of<R"({"domain":{"devices":{"autoattachGraphicsDevice":false,"autoattachSerialConsole":false},
       "memory":{"guest":"1Gi"}}})">,
     .look = look_at_consoles},
    {.id = "WISE-40",
     .title = "Interfaces of a VM should have different addresses",
     .field = "spec.template.spec.domain.devices.interfaces[].macAddress",
     .why =
         "A guest tells its interfaces apart by their MAC addresses, and so does everything on a network that two of "
         "them are on.",
     .advice = "Give each its own, or leave them out.",
     .good = vm_of<R"({"domain":{"devices":{"interfaces":[{"name":"a","masquerade":{},"macAddress":"02:00:00:00:00:01"},
       {"name":"b","bridge":{},"macAddress":"02:00:00:00:00:02"}]},"memory":{"guest":"1Gi"}},
       "networks":[{"name":"a","pod":{}},{"name":"b","multus":{"networkName":"lan"}}]})">,
     .bad = vm_of<R"({"domain":{"devices":{"interfaces":[{"name":"a","masquerade":{},"macAddress":"02:00:00:00:00:01"},
       {"name":"b","bridge":{},"macAddress":"02-00-00-00-00-01"}]},"memory":{"guest":"1Gi"}},
       "networks":[{"name":"a","pod":{}},{"name":"b","multus":{"networkName":"lan"}}]})">,
     .look = look_at_equal_addresses},
    {.id = "WISE-41",
     .title = "A VM without a network should say so",
     .field = "spec.template.spec.domain.devices.interfaces",
     .why = "To the server an empty list is the same as none, and a VM without interfaces gets one to the pod network.",
     .advice = "Set autoattachPodInterface: false.",
     .good = vm_of<R"({"domain":{"devices":{"interfaces":[],"autoattachPodInterface":false},
       "memory":{"guest":"1Gi"}}})">,
     .bad = vm_of<R"({"domain":{"devices":{"interfaces":[]},"memory":{"guest":"1Gi"}}})">,
     .look = look_at_empty_interfaces},
    {.id = "WISE-42",
     .title = "Ports should be listed only where they have an effect",
     .field = "spec.template.spec.domain.devices.interfaces[].ports",
     .why = "With masquerade only the ports that are listed are forwarded. With a bridge or SR-IOV the guest is on the "
            "network itself, and the list keeps nobody out.",
     .advice = "Remove the list, and use a NetworkPolicy or the guest's own firewall.",
     .good = vm_of<R"({"domain":{"devices":{"interfaces":[{"name":"default","masquerade":{},"ports":[{"port":22}]}]},
       "memory":{"guest":"1Gi"}},"networks":[{"name":"default","pod":{}}]})">,
     .bad = vm_of<R"({"domain":{"devices":{"interfaces":[{"name":"lan","bridge":{},"ports":[{"port":22}]}]},
       "memory":{"guest":"1Gi"}},"networks":[{"name":"lan","multus":{"networkName":"lan"}}]})">,
     .look = look_at_ports},
});

}  // namespace

std::span<const Warning> device_warnings() { return devices_table; }

}  // namespace vg::offline
