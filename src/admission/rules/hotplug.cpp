#include "admission/rules/hotplug.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "admission/rules/hotplug_disk.h"
#include "admission/rules/machine/machine.h"
#include "admission/rules/machine/name_index.h"
#include "admission/semantic_equal.h"
#include "api/canonical_words.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "api/views/vmi_status.h"
#include "api/views/vmi_volumes.h"

namespace vg::admission {
namespace {

using api::in_words;
using api::kubevirt::Disk;
using api::kubevirt::StorageMigratedVolumeInfo;
using api::kubevirt::VirtualMachineInstance;
using api::kubevirt::Volume;
using config::Gate;
using std::string_view;

// A row has no field: upstream names none here.
constexpr string_view nowhere;

// --- what there is to compare ----------------------------------------------------------------------------------------

// Volumes and disks of one of the two machines. Where a name stands twice, the last one counts; a disk without a name
// is nobody's.
struct Storage {
  explicit Storage(const VirtualMachineInstance& vmi)
      : volumes(vmi.spec().volumes()),
        disks(vmi.spec().domain().devices().disks()),
        volume_values(vmi.spec().get("volumes")),
        disk_values(vmi.spec().domain().devices().get("disks")),
        volume_names(volumes),
        disk_names(disks,
                   [](const Disk& disk) { return disk.name().empty() ? std::nullopt : std::optional(disk.name()); }) {}

  const json::Value* volume(string_view name) const { return at(volume_values, volume_names, name); }
  const json::Value* disk(string_view name) const { return at(disk_values, disk_names, name); }

  api::List<Volume> volumes;
  api::List<Disk> disks;
  api::List<const json::Value*> volume_values, disk_values;
  NameIndex volume_names, disk_names;

 private:
  static const json::Value* at(const api::List<const json::Value*>& list, const NameIndex& names, string_view name) {
    const auto found = names.last(name);
    return found ? list[*found] : nullptr;
  }
};

struct StorageChange {
  explicit StorageChange(const MachineChange& change)
      : judged(change.judged),
        before(change.before),
        after(change.after),
        filesystems(change.after.spec().domain().devices().filesystems().size()),
        permanent(permanent_volumes(change.before)),
        // As the one who changes the machine says: only KubeVirt's own accounts come this far.
        migrated(change.after.status().migrated_volumes(),
                 [](const StorageMigratedVolumeInfo& info) { return info.volume_name(); }) {}

  const Case& judged;
  Storage before, after;
  std::size_t filesystems;
  NameIndex permanent, migrated;
};

// One volume of the changed machine, with what was there of that name before.
struct VolumeChange {
  VolumeChange(const StorageChange& change, string_view of)
      : judged(change.judged),
        name(of),
        before(change.before.volume(of)),
        after(change.after.volume(of)),
        disk_before(change.before.disk(of)),
        disk_after(change.after.disk(of)),
        is_migrated(change.migrated.contains(of)) {}

  bool same(std::initializer_list<string_view> list, const json::Value* one, const json::Value* other) const {
    const api::Type* type = type_of(judged);
    const api::Field* field = type ? member_at(*type, list) : nullptr;
    return field && semantically_equal(one, other, *field->element);
  }
  bool same_volume() const { return same({"spec", "volumes"}, before, after); }
  bool same_disk() const { return same({"spec", "domain", "devices", "disks"}, disk_before, disk_after); }
  bool is_memory_dump() const { return static_cast<bool>(Volume(after).memory_dump()); }

  const Case& judged;
  string_view name;
  const json::Value *before, *after, *disk_before, *disk_after;  // null for none
  bool is_migrated;
};

// --- of all volumes --------------------------------------------------------------------------------------------------

// An empty drive has no volume and is no mistake, as far as media can be changed by changing volumes.
void every_volume_has_a_device(const StorageChange& change, Causes& causes) {
  const NameIndex volumes(change.after.volumes, [](const Volume& volume) {
    return volume.memory_dump() ? std::nullopt : std::optional(volume.name());
  });
  const bool drives_may_be_empty = change.judged.enabled(Gate::declarative_hotplug_volumes);
  std::size_t devices = change.filesystems;
  for (const Disk disk : change.after.disks)
    if (!drives_may_be_empty || !disk.cdrom() || volumes.contains(disk.name())) ++devices;
  if (devices != volumes.distinct())
    causes.invalid(
        nowhere,
        fmt::format("the VMI would have {} volumes but {} disks and filesystems; add or remove a volume together "
                    "with its disk",
                    volumes.distinct(), devices));
}

std::size_t count_permanent(const StorageChange& change, const Storage& side) {
  return NameIndex(side.volumes,
                   [&](const Volume& volume) {
                     return change.permanent.contains(volume.name()) ? std::optional(volume.name()) : std::nullopt;
                   })
      .distinct();
}

void permanent_volumes_stay(const StorageChange& change, Causes& causes) {
  const auto before = count_permanent(change, change.before), after = count_permanent(change, change.after);
  if (before != after)
    causes.invalid(nowhere,
                   fmt::format("the VMI started with {} volumes, which cannot be added or removed while it runs; "
                               "the request leaves {}",
                               before, after));
}

constexpr RuleOn<StorageChange> storage_rows[] = {
    RuleOn<StorageChange>{"HP-01", "the number of volumes must match the number of disks and filesystems", nowhere,
                          every_volume_has_a_device}
        .of_gate(Gate::declarative_hotplug_volumes),
    {"HP-02", "volumes that the VMI started with must stay", nowhere, permanent_volumes_stay},
};

// --- of a volume that the machine started with -----------------------------------------------------------------------

void permanent_volume_was_there(const VolumeChange& volume, Causes& causes) {
  if (!volume.before)
    causes.invalid(nowhere, fmt::format("volume {} cannot be added: the VMI started with a volume of this name; "
                                        "choose another name",
                                        in_words(volume.name)));
}

void permanent_volume_is_as_it_was(const VolumeChange& volume, Causes& causes) {
  if (!volume.is_migrated && !volume.same_volume())
    causes.invalid(nowhere, fmt::format("volume {} cannot be changed while the VMI runs, except by a migration",
                                        in_words(volume.name)));
}

void permanent_disk_is_as_it_was(const VolumeChange& volume, Causes& causes) {
  if (!volume.is_migrated && !volume.same_disk())
    causes.invalid(nowhere,
                   fmt::format("the disk of volume {} cannot be changed while the VMI runs", in_words(volume.name)));
}

constexpr RuleOn<VolumeChange> permanent_rows[] = {
    {"HP-03", "a hotplugged volume must not reuse the name of a volume that the VMI started with", nowhere,
     permanent_volume_was_there},
    {"HP-04", "volumes that the VMI started with are immutable", nowhere, permanent_volume_is_as_it_was},
    {"HP-05", "disks of volumes that the VMI started with are immutable", nowhere, permanent_disk_is_as_it_was},
};

// --- of a volume that was plugged in before --------------------------------------------------------------------------

void plugged_volume_is_as_it_was(const VolumeChange& volume, Causes& causes) {
  if (!volume.is_migrated && !volume.same_volume())
    causes.invalid(nowhere, fmt::format("hotplugged volume {} is immutable; remove it and add the new one "
                                        "under another name",
                                        in_words(volume.name)));
}

void plugged_volume_keeps_a_disk(const VolumeChange& volume, Causes& causes) {
  if (!volume.is_memory_dump() && !volume.disk_after)
    causes.invalid(
        nowhere,
        fmt::format("hotplugged volume {} has no disk with the same name; remove the volume and its disk together",
                    in_words(volume.name)));
}

void plugged_disk_is_as_it_was(const VolumeChange& volume, Causes& causes) {
  if (!volume.is_memory_dump() && !volume.same_disk())
    causes.invalid(
        nowhere, fmt::format("the disk of hotplugged volume {} is immutable; remove it first", in_words(volume.name)));
}

constexpr RuleOn<VolumeChange> plugged_rows[] = {
    {"HP-06", "hotplugged volumes are immutable", nowhere, plugged_volume_is_as_it_was},
    {"HP-07", "hotplugged volumes must keep their disks", nowhere, plugged_volume_keeps_a_disk},
    {"HP-08", "disks of hotplugged volumes are immutable", nowhere, plugged_disk_is_as_it_was},
};

// --- of a volume that is new -----------------------------------------------------------------------------------------

void new_volume_can_be_plugged(const VolumeChange& change, Causes& causes) {
  const Volume volume(change.after);
  if (!volume.data_volume() && !volume.persistent_volume_claim() && !volume.memory_dump())
    causes.invalid(nowhere, fmt::format("volume {} cannot be hotplugged: only volumes of type dataVolume and "
                                        "persistentVolumeClaim are supported",
                                        in_words(change.name)));
}

void new_volume_has_a_disk(const VolumeChange& volume, Causes& causes) {
  if (!volume.is_memory_dump() && !volume.disk_after)
    causes.invalid(nowhere,
                   fmt::format("volume {} has no disk with the same name; add the disk together with the volume",
                               in_words(volume.name)));
}

// Media are put into a drive that is there already: then nothing new is plugged in.
void new_disk_can_be_plugged(const VolumeChange& volume, Causes& causes) {
  if (!volume.is_memory_dump() && !volume.disk_before)
    check_hotplug_disk(Disk(volume.disk_after), volume.name, nowhere, causes);
}

constexpr RuleOn<VolumeChange> new_rows[] = {
    {"HP-09", "a hotplugged volume must be a dataVolume, a PVC or a memory dump", nowhere, new_volume_can_be_plugged},
    {"HP-10", "a hotplugged volume must have a disk", nowhere, new_volume_has_a_disk},
    {"HP-11", "the disk of a hotplugged volume must support hotplug", nowhere, new_disk_can_be_plugged},
};

bool ask_of_volume(const StorageChange& change, string_view name, bool permanent, Causes& causes) {
  const VolumeChange volume(change, name);
  if (permanent) return ask_until_broken<permanent_rows>(volume, causes);
  return volume.before ? ask_until_broken<plugged_rows>(volume, causes) : ask_until_broken<new_rows>(volume, causes);
}

}  // namespace

NameIndex permanent_volumes(const VirtualMachineInstance& vmi) {
  return NameIndex(vmi.status().volume_status(), [](const api::kubevirt::VolumeStatus& status) {
    return status.hotplug_volume() ? std::nullopt : std::optional(status.name());
  });
}

void check_hotplug(const MachineChange& machine, Causes& causes) {
  const StorageChange change(machine);
  if (!ask_until_broken<storage_rows>(change, causes)) return;
  for (const bool permanent : {true, false})
    for (std::size_t i = 0; i < change.after.volumes.size(); ++i) {
      const string_view name = change.after.volumes[i].name();
      if (change.permanent.contains(name) != permanent || change.after.volume_names.last(name) != i) continue;
      if (!ask_of_volume(change, name, permanent, causes)) return;
    }
}

void list_hotplug_rules(std::vector<RuleInfo>& out) {
  list_rows<storage_rows, permanent_rows, plugged_rows, new_rows>(out);
}

}  // namespace vg::admission
