#include "controllers/backup/backup.h"

#include <fmt/format.h>

#include "controllers/common/owners.h"
#include "controllers/copies/source.h"
#include "controllers/copies/writing.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers {
namespace backup {
namespace {

using json::Object;
using std::string_view;

constexpr string_view backups = "backup.kubevirt.io/virtualmachinebackups";
constexpr string_view trackers = "backup.kubevirt.io/virtualmachinebackuptrackers";
constexpr string_view finalizer = "backup.kubevirt.io/vmbackup-protection";
constexpr string_view tracker_kind = "VirtualMachineBackupTracker";
constexpr string_view advice =
    "take a VirtualMachineSnapshot, or a VirtualMachineExport of one, for a copy of the disks while the VM runs";

string_view text_at(const Object* object, std::initializer_list<string_view> path) {
  return json::as_string(vm::value_at(object, path)).value_or("");
}

bool has_tracked_volume(const Object& vm) {
  bool found = false;
  vm::each(vm::volumes_of(vm::template_spec_of(vm)), [&](const Object& volume) {
    for (const string_view kind : {"persistentVolumeClaim", "dataVolume", "hostDisk"})
      found = found || json::get_object(volume, kind) != nullptr;
  });
  return found;
}

// BKP-02, BKP-32: the first thing that a backup waits for.
std::string obstacle(const Turn& turn, const Object& backup) {
  const std::string& ns = turn.key.ns;
  string_view name = text_at(&backup, {"spec", "source", "name"});
  if (text_at(&backup, {"spec", "source", "kind"}) == tracker_kind) {
    const Object* tracker = turn.world.get(trackers, ns, name);
    if (!tracker) return fmt::format("{} {} does not exist", tracker_kind, name);
    name = text_at(tracker, {"spec", "source", "name"});
  }
  const Object* vm = turn.world.get(kinds::vm, ns, name);
  if (!vm) return fmt::format("VirtualMachine {} does not exist", name);
  const Object* vmi = turn.world.get(kinds::vmi, ns, name);
  if (!vmi) return fmt::format("VirtualMachine {} does not run", name);
  if (!has_tracked_volume(*vm)) return fmt::format("VirtualMachine {} has no volume that can be backed up", name);
  const string_view state = text_at(vmi, {"status", "changedBlockTracking", "state"});
  if (state == "Enabled") return fmt::format("backups are not carried out by this server; {}", advice);
  return fmt::format(
      "changed blocks of VirtualMachine {} are not tracked (state: {}): nodes of this server cannot do it, since it "
      "needs libvirt 10.10 or newer; {}",
      name, state.empty() ? "none" : state, advice);
}

Pass sync(const Turn& turn) {
  Pass pass;
  const Object& backup = *turn.world.get(backups, turn.key.ns, turn.key.name);
  const Object* status = vm::status_of(backup);
  if (is_being_deleted(backup)) {  // BKP-01, BKP-30: nothing was begun
    copies::remove_finalizer(pass, turn, backups, backup, finalizer);
    return pass;
  }
  if (is_true(status, "Complete") || is_true(status, "Failed")) return pass;
  Object shown = copies::status_copy(backup, turn.storage);
  const std::string now = time_text(turn.now), words = obstacle(turn, backup);
  set_condition_and_message(shown, {.type = "Progressing",
                                    .status = "True",
                                    .reason = "Initializing",
                                    .message = words,
                                    .last_probe = {},
                                    .last_transition = now});
  copies::write_status(pass, turn, backups, backup, shown);
  return pass;
}

// --- what wakes it ---------------------------------------------------------------------------------------------------

std::vector<Key> all_of(const World& world, string_view ns) {
  std::vector<Key> keys;
  for (const Object* backup : world.list(backups, ns))
    keys.push_back({.ns = std::string(ns), .name = std::string(metadata_text(*backup, "name"))});
  return keys;
}

// Whether it is there, and what it says of its blocks.
std::vector<Key> of_machine(const Change& change, const World& world) {
  const auto state = [](const Object* object) { return text_at(object, {"status", "changedBlockTracking", "state"}); };
  if (change.before && change.after && state(change.before) == state(change.after)) return {};
  return all_of(world, metadata_text(change.object(), "namespace"));
}

std::vector<Key> of_tracker(const Change& change, const World& world) {
  if (change.happened == Happened::changed) return {};
  return all_of(world, metadata_text(change.object(), "namespace"));
}

constexpr Trigger triggers[] = {{.resource = kinds::vm, .keys = of_machine},
                                {.resource = kinds::vmi, .keys = of_machine},
                                {.resource = trackers, .keys = of_tracker}};

}  // namespace
}  // namespace backup

Controller backup_controller() {
  return {.name = "backup",
          .resource = backup::backups,
          .component = "virt-controller",
          .triggers = backup::triggers,
          .sync = backup::sync};
}

}  // namespace vg::controllers
