// Volumes by themselves, and a few rules about what uses them (spec vmi-storage-network 2.10 and 2.11).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/rules/image_path.h"
#include "admission/rules/machine/amounts.h"
#include "admission/rules/machine/cloud_init.h"
#include "admission/rules/machine/families.h"
#include "admission/rules/machine/name_index.h"
#include "admission/rules/machine/volume_sources.h"
#include "admission/rules/words.h"
#include "api/canonical_words.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_volumes.h"

namespace vg::admission {
namespace {

using api::in_words;
using api::kubevirt::Filesystem;
using api::kubevirt::HostDisk;
using api::kubevirt::Volume;
using config::Gate;
using std::string_view;

struct VolumeAt {
  const Machine& machine;
  Volume volume;
  const Place& place;
  bool name_taken;  // by a volume before
};

constexpr std::array<string_view, 16> sources = {"persistentVolumeClaim",
                                                 "sysprep",
                                                 "cloudInitNoCloud",
                                                 "cloudInitConfigDrive",
                                                 "containerDisk",
                                                 "ephemeral",
                                                 "emptyDisk",
                                                 "hostDisk",
                                                 "dataVolume",
                                                 "configMap",
                                                 "secret",
                                                 "downwardAPI",
                                                 "serviceAccount",
                                                 "memoryDump",
                                                 "downwardMetrics",
                                                 "containerPath"};

void name_is_own(const VolumeAt& at, Causes& causes) {
  if (at.name_taken)
    causes.invalid(at.place.field("name"), fmt::format("{}: volume names must be unique", in_words(at.volume.name())));
}

// Upstream points at the name of the volume, not at that of the data volume.
void data_volume_is_named(const VolumeAt& at, Causes& causes) {
  if (at.volume.data_volume() && at.volume.data_volume().name().empty())
    causes.required(at.place.field("name"), "the name of the DataVolume");
}

void has_one_source(const VolumeAt& at, Causes& causes) {
  const auto count = count_sources(at.volume);
  if (count != 1)
    causes.invalid(at.place,
                   fmt::format("volume {} has {} sources and must have exactly one, for example containerDisk "
                               "or persistentVolumeClaim",
                               in_words(at.volume.name()), count));
}

void downward_metrics_are_enabled(const VolumeAt& at, Causes& causes) {
  if (at.volume.downward_metrics() && !at.machine.enabled(Gate::downward_metrics))
    causes.invalid(at.place, needs_gate("downwardMetrics volumes require", Gate::downward_metrics));
}

void host_disks_are_enabled(const VolumeAt& at, Causes& causes) {
  if (at.volume.host_disk() && !at.machine.enabled(Gate::host_disk))
    causes.invalid(at.place, needs_gate("hostDisk volumes require", Gate::host_disk));
}

void host_disk_has_a_path(const VolumeAt& at, Causes& causes) {
  const Place source = at.place.field("hostDisk");
  if (at.volume.host_disk() && at.volume.host_disk().path().empty())
    causes.not_found(source.field("path"), "the path of the image on the node");
}

void host_disk_is_used_or_made(const VolumeAt& at, Causes& causes) {
  const HostDisk disk = at.volume.host_disk();
  const Place source = at.place.field("hostDisk");
  if (disk && disk.type() != "Disk" && disk.type() != "DiskOrCreate")
    causes.invalid(source.field("type"), fmt::format("{}: supported values: Disk for an image that exists, "
                                                     "DiskOrCreate",
                                                     in_words(disk.type())));
}

void existing_host_disk_has_its_size(const VolumeAt& at, Causes& causes) {
  const HostDisk disk = at.volume.host_disk();
  const Place source = at.place.field("hostDisk");
  if (disk.type() == "Disk" && !amount_of(disk.capacity()).is_zero())
    causes.invalid(source.field("capacity"),
                   "capacity is mutually exclusive with type Disk; remove it, or use type DiskOrCreate");
}

void config_map_is_named(const VolumeAt& at, Causes& causes) {
  const Place source = at.place.field("configMap");
  if (at.volume.config_map() && at.volume.config_map().name().empty())
    causes.invalid(source.field("name"), "the name of the ConfigMap");
}

void secret_is_named(const VolumeAt& at, Causes& causes) {
  const Place source = at.place.field("secret");
  if (at.volume.secret() && at.volume.secret().secret_name().empty())
    causes.invalid(source.field("secretName"), "the name of the Secret");
}

void service_account_is_named(const VolumeAt& at, Causes& causes) {
  const Place source = at.place.field("serviceAccount");
  if (at.volume.service_account() && at.volume.service_account().service_account_name().empty())
    causes.invalid(source.field("serviceAccountName"), "the name of the ServiceAccount");
}

void check_at_most_one(const Machine& machine, string_view source, Causes& causes) {
  const auto volumes = machine.spec.volumes();
  if (std::ranges::count_if(volumes.begin(), volumes.end(), [source](const Volume& volume) {
        return static_cast<bool>(api::View(volume.get(source)));
      }) > 1)
    causes.invalid(machine.place.field("volumes"),
                   fmt::format("at most one {} volume is supported; remove the others", source));
}

void one_service_account(const Machine& machine, Causes& causes) {
  check_at_most_one(machine, "serviceAccount", causes);
}
void downward_metrics_once(const Machine& machine, Causes& causes) {
  check_at_most_one(machine, "downwardMetrics", causes);
}
void one_memory_dump(const Machine& machine, Causes& causes) { check_at_most_one(machine, "memoryDump", causes); }

// Each volume is asked these, then those of cloud-init, then the rest.
constexpr RuleOn<VolumeAt> first_rows[] = {
    {"VOL-01", "volume names must be unique", "volumes[].name", name_is_own},
    {"VOL-02", "dataVolume.name is required", "volumes[].name", data_volume_is_named},
    {"VOL-03", "a volume must have exactly one source", "volumes[]", has_one_source},
};
constexpr RuleOn<VolumeAt> source_rows[] = {
    RuleOn<VolumeAt>{"VOL-04", "downwardMetrics volumes require their feature gate", "volumes[]",
                     downward_metrics_are_enabled}
        .of_gate(Gate::downward_metrics),
    RuleOn<VolumeAt>{"HDISK-01", "hostDisk volumes require their feature gate", "volumes[]", host_disks_are_enabled}
        .of_gate(Gate::host_disk),
    {"HDISK-02", "the path of a hostDisk is required", "volumes[].hostDisk.path", host_disk_has_a_path},
    {"HDISK-03", "the type of a hostDisk must be Disk or DiskOrCreate", "volumes[].hostDisk.type",
     host_disk_is_used_or_made},
    {"HDISK-04", "capacity and type Disk of a hostDisk are mutually exclusive", "volumes[].hostDisk.capacity",
     existing_host_disk_has_its_size},
    {"VOL-05", "the name of a configMap is required", "volumes[].configMap.name", config_map_is_named},
    {"VOL-06", "the name of a secret is required", "volumes[].secret.secretName", secret_is_named},
    {"VOL-07", "the name of a serviceAccount is required", "volumes[].serviceAccount.serviceAccountName",
     service_account_is_named},
};
constexpr MachineRule list_rules[] = {
    {"VOL-08", "at most one serviceAccount volume is supported", "volumes", one_service_account},
    {"VOL-09", "at most one downwardMetrics volume is supported", "volumes", downward_metrics_once},
    {"VOL-10", "at most one memoryDump volume is supported", "volumes", one_memory_dump},
};

void check_volumes(const Machine& machine, Causes& causes) {
  const NameIndex names(machine.spec.volumes());
  const Place in_volumes = machine.place.field("volumes");
  for (std::size_t i = 0; const Volume volume : machine.spec.volumes()) {
    const Place place = in_volumes.item(i);
    const VolumeAt at{
        .machine = machine, .volume = volume, .place = place, .name_taken = names.count_before(volume.name(), i++) > 0};
    ask_all<first_rows>(at, causes);
    check_cloud_init(volume, place, causes);
    ask_all<source_rows>(at, causes);
  }
  ask_all<list_rules>(machine, causes);
}

void list_volume_rules(std::vector<RuleInfo>& out) {
  list_rows<first_rows>(out);
  list_cloud_init_rules(out);
  list_rows<source_rows, list_rules>(out);
}

// --- disks in container images ---

struct ContainerDiskAt {
  string_view path;
  const Place& place;
};

void path_is_more_than_the_root(const ContainerDiskAt& at, Causes& causes) {
  if (at.path == "/") causes.invalid(at.place, "path must be the path of the disk inside of the image, not /");
}

void path_is_clean(const ContainerDiskAt& at, Causes& causes) {
  if (!is_clean_absolute(at.path))
    causes.invalid(at.place, fmt::format("{}: path must be an absolute path inside of the image, without . and ..",
                                         in_words(at.path)));
}

constexpr RuleOn<ContainerDiskAt> container_disk_rows[] = {
    {"CD-01", "the path of a containerDisk must not be /", "volumes[].containerDisk", path_is_more_than_the_root},
    {"CD-02", "the path of a containerDisk must be absolute and clean", "volumes[].containerDisk", path_is_clean},
};

void check_container_disks(const Machine& machine, Causes& causes) {
  const Place in_volumes = machine.place.field("volumes");
  for (std::size_t i = 0; const Volume volume : machine.spec.volumes()) {
    const Place item = in_volumes.item(i++), place = item.field("containerDisk");
    const string_view path = volume.container_disk().path();
    if (!path.empty()) ask_until_broken<container_disk_rows>(ContainerDiskAt{.path = path, .place = place}, causes);
  }
}

// --- what is not asked volume by volume ---

void utility_volumes_come_later(const Machine& machine, Causes& causes) {
  if (machine.spec.utility_volumes())
    causes.invalid(machine.place.field("utilityVolumes"),
                   "utilityVolumes is set by KubeVirt only, for running VMIs; remove it");
}

void reservations_are_enabled(const Machine& machine, Causes& causes) {
  const auto disks = machine.spec.domain().devices().disks();
  if (machine.config().persistent_reservation() ||
      std::ranges::none_of(disks.begin(), disks.end(), [](const auto& disk) { return disk.lun().reservation(); }))
    return;
  const Place domain = machine.place.field("domain"), devices = domain.field("devices"),
              in_disks = devices.field("disks"), luns = in_disks.field("luns");
  causes.invalid(luns.field("reservation"),
                 "SCSI persistent reservations are disabled; an administrator can set "
                 "spec.configuration.persistentReservationConfiguration.enabled of the KubeVirt object");
}

// Upstream does not say which of the file systems it is.
void stored_filesystems_are_enabled(const Machine& machine, Causes& causes) {
  const auto filesystems = machine.spec.domain().devices().filesystems();
  if (filesystems.empty() || machine.enabled(Gate::enable_virtio_fs_storage_volumes)) return;
  const auto volumes = machine.spec.volumes();
  const NameIndex names(volumes);
  const Place domain = machine.place.field("domain"), devices = domain.field("devices");
  for (const Filesystem filesystem : filesystems) {
    const auto found = names.last(filesystem.name());
    if (found && (volumes[*found].persistent_volume_claim() || volumes[*found].data_volume()))
      causes.invalid(
          devices.field("filesystems"),
          needs_gate(fmt::format("filesystem {} on a PVC or DataVolume requires", in_words(filesystem.name())),
                     Gate::enable_virtio_fs_storage_volumes));
  }
}

constexpr MachineRule utility_rows[] = {
    {"UTIL-01", "a new VMI must not have utility volumes", "utilityVolumes", utility_volumes_come_later},
};
constexpr MachineRule reservation_rows[] = {
    {"PR-01", "persistent reservations must be enabled", "domain.devices.disks.luns.reservation",
     reservations_are_enabled},
};
constexpr MachineRule filesystem_rows[] = {
    MachineRule{"FS-01", "filesystems on PVCs require their feature gate", "domain.devices.filesystems",
                stored_filesystems_are_enabled}
        .of_gate(Gate::enable_virtio_fs_storage_volumes),
};

}  // namespace

std::size_t count_sources(const Volume& volume) {
  return static_cast<std::size_t>(
      std::ranges::count_if(sources, [&](string_view name) { return static_cast<bool>(api::View(volume.get(name))); }));
}

const MachineFamily volume_family = {.check = check_volumes, .list = list_volume_rules};
const MachineFamily container_disk_family = {.check = check_container_disks, .list = list_rows<container_disk_rows>};
const MachineFamily utility_volume_family = family_of<utility_rows>;
const MachineFamily reservation_family = family_of<reservation_rows>;
const MachineFamily filesystem_family = family_of<filesystem_rows>;

}  // namespace vg::admission
