// How disks, file systems and volumes belong together, and what boots first (spec vmi-storage-network 2.8).
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <set>

#include "admission/rules/machine/families.h"
#include "admission/rules/machine/name_index.h"
#include "api/canonical_words.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_network.h"
#include "api/views/vmi_volumes.h"

namespace vg::admission {
namespace {

using api::in_words;
using api::kubevirt::Disk;
using api::kubevirt::Interface;
using api::kubevirt::Volume;
using std::string_view;

// A disk and the volume of its name, which may be a view of nothing.
struct MappedDisk {
  const Machine& machine;
  Disk disk;
  Volume volume;
  const Place& place;
  bool boot_order_taken;  // by a disk before
};

void disk_has_a_volume(const MappedDisk& at, Causes& causes) {
  if (!at.volume && !at.disk.cdrom())
    causes.invalid(at.place.field("name"),
                   fmt::format("{0}: no volume has this name; add one to volumes, or remove the "
                               "disk",
                               in_words(at.disk.name())));
}

void empty_cdrom_needs_hotplug(const MappedDisk& at, Causes& causes) {
  if (!at.volume && at.disk.cdrom() && !at.machine.enabled(config::Gate::declarative_hotplug_volumes))
    causes.invalid(at.place.field("name"), fmt::format("CD-ROM {} has no volume; add one, or enable the feature gate "
                                                       "DeclarativeHotplugVolumes for empty CD-ROMs",
                                                       in_words(at.disk.name())));
}

void lun_is_a_claim(const MappedDisk& at, Causes& causes) {
  if (at.disk.lun() && at.volume && !at.volume.persistent_volume_claim() && !at.volume.data_volume())
    causes.invalid(at.place.field("lun"), fmt::format("volume {} of a LUN must be a persistentVolumeClaim or a "
                                                      "dataVolume; use disk instead of lun, or change the volume",
                                                      in_words(at.disk.name())));
}

void downward_metrics_are_on_a_disk(const MappedDisk& at, Causes& causes) {
  if (at.volume.downward_metrics() && !at.disk.disk())
    causes.required(at.place.field("disk"), "downwardMetrics requires disk: {bus: virtio}");
}

void downward_metrics_are_on_virtio(const MappedDisk& at, Causes& causes) {
  const string_view bus = at.disk.disk().bus();
  if (!at.volume.downward_metrics() || bus.empty() || bus == "virtio") return;
  const Place target = at.place.field("disk");
  causes.invalid(target.field("bus"), fmt::format("{}: downwardMetrics requires bus virtio", in_words(bus)));
}

void disk_boots_in_its_turn(const MappedDisk& at, Causes& causes) {
  if (at.boot_order_taken)
    causes.invalid(at.place.field("bootOrder"),
                   fmt::format("{}: bootOrder must be unique; another disk has it", *at.disk.boot_order()));
}

struct BootingInterface {
  const Machine& machine;
  std::size_t index;
  std::uint64_t order;
  bool taken;  // by a disk, or an interface before
};

// Upstream puts the index behind the spec itself; clients match on the text.
void interface_order_counts_from_one(const BootingInterface& at, Causes& causes) {
  const Place misplaced = at.machine.place.item(at.index);
  if (at.order == 0) causes.invalid(misplaced.field("bootOrder"), "0: must be 1 or more");
}

void interface_boots_in_its_turn(const BootingInterface& at, Causes& causes) {
  if (!at.taken) return;
  const Place domain = at.machine.place.field("domain"), devices = domain.field("devices"),
              interfaces = devices.field("interfaces"), item = interfaces.item(at.index);
  causes.invalid(item.field("bootOrder"),
                 fmt::format("{}: bootOrder must be unique; a disk or another interface has it", at.order));
}

constexpr RuleOn<MappedDisk> disk_rows[] = {
    {"MAP-01", "a disk must have a volume of the same name", "domain.devices.disks[].name", disk_has_a_volume},
    RuleOn<MappedDisk>{"MAP-02", "a CD-ROM without a volume requires declarative hotplug",
                       "domain.devices.disks[].name", empty_cdrom_needs_hotplug}
        .of_gate(config::Gate::declarative_hotplug_volumes),
    {"MAP-03", "a LUN must be a PVC or a DataVolume", "domain.devices.disks[].lun", lun_is_a_claim},
    {"MAP-04", "downwardMetrics requires a disk", "domain.devices.disks[].disk", downward_metrics_are_on_a_disk},
    {"MAP-05", "downwardMetrics requires bus virtio", "domain.devices.disks[].disk.bus",
     downward_metrics_are_on_virtio},
    {"BOOT-02", "bootOrder of disks must be unique", "domain.devices.disks[].bootOrder", disk_boots_in_its_turn},
};
constexpr RuleOn<BootingInterface> interface_rows[] = {
    {"BOOT-03", "bootOrder of an interface must be 1 or more", "[].bootOrder", interface_order_counts_from_one},
    {"BOOT-04", "bootOrder of interfaces must be unique", "domain.devices.interfaces[].bootOrder",
     interface_boots_in_its_turn},
};

void check_disk_volumes(const Machine& machine, Causes& causes) {
  const auto devices = machine.spec.domain().devices();
  const auto volumes = machine.spec.volumes();
  const NameIndex names(volumes);
  const Place domain = machine.place.field("domain"), in_devices = domain.field("devices"),
              in_disks = in_devices.field("disks");
  std::set<std::uint64_t> turns;  // of booting, that are taken
  for (std::size_t i = 0; const Disk disk : devices.disks()) {
    const Place place = in_disks.item(i++);
    const auto found = names.last(disk.name());
    const auto order = disk.boot_order();
    ask_all<disk_rows>(MappedDisk{.machine = machine,
                                  .disk = disk,
                                  .volume = found ? volumes[*found] : Volume(),
                                  .place = place,
                                  .boot_order_taken = order && !turns.insert(*order).second},
                       causes);
  }
  for (std::size_t i = 0; i < devices.interfaces().size(); ++i) {
    const auto order = Interface(devices.interfaces()[i]).boot_order();
    if (!order) continue;
    const bool taken = *order != 0 && !turns.insert(*order).second;
    ask_all<interface_rows>(BootingInterface{.machine = machine, .index = i, .order = *order, .taken = taken}, causes);
  }
}

// --- whether every volume is used; asked of VMIs alone ---

struct UsedVolume {
  Volume volume;
  const Place& place;
  bool by_disk, by_filesystem;
};

void volume_is_used(const UsedVolume& at, Causes& causes) {
  if (!at.by_disk && !at.by_filesystem)
    causes.invalid(
        at.place.field("name"),
        fmt::format("{}: no disk and no filesystem uses this volume; add one with the same name, or remove the "
                    "volume",
                    in_words(at.volume.name())));
}

void container_path_is_no_disk(const UsedVolume& at, Causes& causes) {
  if (at.volume.container_path() && at.by_disk)
    causes.invalid(at.place, fmt::format("{}: a containerPath volume is not supported as a disk; use it in "
                                         "domain.devices.filesystems",
                                         in_words(at.volume.name())));
}

void container_path_is_a_filesystem(const UsedVolume& at, Causes& causes) {
  if (at.volume.container_path() && !at.by_filesystem)
    causes.invalid(at.place, fmt::format("{}: a containerPath volume requires a filesystem of the same name in "
                                         "domain.devices.filesystems",
                                         in_words(at.volume.name())));
}

void container_path_is_not_our_own(const UsedVolume& at, Causes& causes) {
  const string_view path = at.volume.container_path().path();
  for (const string_view reserved : {string_view("/var/run/kubevirt"), string_view("/var/run/libvirt")})
    if (path.starts_with(reserved)) {
      const Place source = at.place.field("containerPath");
      return causes.invalid(source.field("path"),
                            fmt::format("paths below {} are reserved for KubeVirt; choose another path than "
                                        "{}",
                                        reserved, in_words(path)));
    }
}

constexpr RuleOn<UsedVolume> usage_rows[] = {
    {"MAP-06", "a volume must be used by a disk or a filesystem", "domain.volumes[].name", volume_is_used},
    {"MAP-07", "a containerPath volume must not be used by a disk", "domain.volumes[]", container_path_is_no_disk},
    {"MAP-08", "a containerPath volume must be used by a filesystem", "domain.volumes[]",
     container_path_is_a_filesystem},
    {"MAP-09", "a containerPath must not be reserved for KubeVirt", "domain.volumes[].containerPath.path",
     container_path_is_not_our_own},
};

void check_volume_usage(const Machine& machine, Causes& causes) {
  const auto devices = machine.spec.domain().devices();
  const NameIndex disks(devices.disks()), filesystems(devices.filesystems());
  // Upstream says domain.volumes, where no volumes are.
  const Place domain = machine.place.field("domain"), in_volumes = domain.field("volumes");
  for (std::size_t i = 0; const Volume volume : machine.spec.volumes()) {
    const Place place = in_volumes.item(i++);
    if (volume.memory_dump()) continue;
    ask_all<usage_rows>(UsedVolume{.volume = volume,
                                   .place = place,
                                   .by_disk = disks.contains(volume.name()),
                                   .by_filesystem = filesystems.contains(volume.name())},
                        causes);
  }
}

}  // namespace

const MachineFamily disk_volume_family = {.check = check_disk_volumes, .list = list_rows<disk_rows, interface_rows>};
const MachineFamily volume_usage_family = {.check = check_volume_usage, .list = list_rows<usage_rows>};

}  // namespace vg::admission
