#include "controllers/vm/volumes_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

constexpr string_view volumes_error = "VolumesUpdateError";
constexpr string_view cancelled_reason = "VolumesChangeCancellation";
constexpr string_view recovery_reason = "VMI was removed or was final during the volume migration";

// Volume name to claims, in the order of the template.
struct Moved {
  std::string name, from, to;
  const Object* volume;  // of the template
};

std::vector<Moved> moved_volumes(const Object& vm, const Object& vmi) {
  std::vector<Moved> moved;
  const Array* running = volumes_of(at(&vmi, {"spec"}));
  each(volumes_of(template_spec_of(vm)), [&](const Object& volume) {
    const string_view name = json::get_string_or(volume, "name");
    const Object* old = named(running, name);
    const string_view to = claim_name(volume), from = old ? claim_name(*old) : string_view();
    if (!to.empty() && !from.empty() && to != from)
      moved.push_back({.name = std::string(name), .from = std::string(from), .to = std::string(to), .volume = &volume});
  });
  return moved;
}

const Array* migrated_of(const Object& vmi) {
  const Object* status = status_of(vmi);
  return status ? json::get_array(*status, "migratedVolumes") : nullptr;
}

string_view source_claim(const Object& migrated) {
  const Object* source = at(&migrated, {"sourcePVCInfo"});
  return source ? json::get_string_or(*source, "claimName") : string_view();
}

void set_change(Work& work, string_view reason, std::string_view message) {
  Object& status = json::ensure_object(work.edit_vmi(volumes_error), "status");
  set_condition(status, {.type = "VolumesChange",
                         .status = "False",
                         .reason = reason,
                         .message = message,
                         .last_transition = time_text(work.turn.now)});
}

// The volumes of the VMI become those of the template, where they are listed.
void take_volumes(Work& work, const Array* listed) {
  Object& spec = json::ensure_object(work.edit_vmi(volumes_error), "spec");
  Array* volumes = json::get_array(spec, "volumes");
  if (!volumes) return;
  const Array* wanted = volumes_of(template_spec_of(work.vm_object()));
  for (Value& volume : *volumes) {
    const string_view name = json::get_string_or(volume, "name");
    if (!named(listed, name, "volumeName")) continue;
    if (const Object* other = named(wanted, name)) volume = *other;
  }
}

// VMC-105b. True when it was that.
bool handle_running_change(Work& work, const std::vector<Moved>& moved) {
  const Array* listed = migrated_of(*work.stored_vmi);
  const auto is_listed = [&](const Moved& one) { return named(listed, one.name, "volumeName") != nullptr; };
  if (!is_true(status_of(*work.stored_vmi), "VolumesChange") || std::ranges::none_of(moved, is_listed)) return false;
  const bool all_back = listed->size() == moved.size() && std::ranges::all_of(moved, [&](const Moved& one) {
                          const Object* entry = named(listed, one.name, "volumeName");
                          return entry && source_claim(*entry) == one.to;
                        });
  if (!all_back) {
    work.fail(volumes_error,
              "volumes that are being migrated can only be changed back to where they were, all of them");
    return true;
  }
  take_volumes(work, listed);
  set_change(work, cancelled_reason, "the template has the volumes of before again");
  json::erase(json::ensure_object(work.edit_vmi(volumes_error), "status"), "migratedVolumes");
  return true;
}

struct Destination {
  const Object* claim = nullptr;
  bool filled = true;        // not a DataVolume that is still to be filled
  std::string problem = {};  // VMC-105e
};

Destination find_destination(const Work& work, const Moved& moved) {
  Destination found{.claim = work.world().get(kinds::claim, work.turn.key.ns, moved.to)};
  if (json::get_object(*moved.volume, "dataVolume")) {
    const Object* data_volume = work.world().get(kinds::data_volume, work.turn.key.ns, moved.to);
    if (!data_volume) {
      found.problem = fmt::format("DataVolume \"{}\" does not exist", moved.to);
      return found;
    }
    const Object* status = status_of(*data_volume);
    found.filled = status && json::get_string_or(*status, "phase") == "Succeeded";
  }
  if (!found.claim) found.problem = fmt::format("PVC \"{}\" does not exist", moved.to);
  return found;
}

// VMC-105f: why a volume cannot be moved; empty when it can.
string_view obstacle(const Object& machine, const Moved& moved, const Destination& to) {
  const Object* devices = at(&machine, {"domain", "devices"});
  if (devices && named(json::get_array(*devices, "filesystems"), moved.name)) return "filesystems";
  const Object* disk = named(disks_of(&machine), moved.name);
  if (disk && json::get_bool_or(*disk, "shareable", false)) return "shareable disks";
  if (disk && json::get_object(*disk, "lun")) return "LUNs";
  if (!to.filled && !at(to.claim, {"spec", "dataSourceRef"})) return "DataVolumes that are filled by an importer";
  return {};
}

Value claim_info(const Object& claim, const json::StoragePtr& storage) {
  Value info({{"claimName", metadata_text(claim, "name")}}, storage);
  Object& members = info.get_object();
  const auto copy = [&](string_view as, const Value* value) {
    if (value) members[as] = *value;
  };
  copy("accessModes", value_at(&claim, {"spec", "accessModes"}));
  copy("volumeMode", value_at(&claim, {"spec", "volumeMode"}));
  copy("capacity", value_at(&claim, {"status", "capacity"}));
  copy("requests", value_at(&claim, {"spec", "resources", "requests"}));
  return info;
}

// VMC-105h: a volume that is neither shared nor moved keeps the VMI where it is.
bool can_migrate(const Object& vmi, const Array& entries) {
  if (is_false(status_of(vmi), "StorageLiveMigratable")) return false;
  const Object* status = status_of(vmi);
  const Array* volumes = status ? json::get_array(*status, "volumeStatus") : nullptr;
  if (!volumes) return true;
  return std::ranges::all_of(*volumes, [&](const Value& volume) {
    const Value* info = json::find(volume, "persistentVolumeClaimInfo");
    const string_view name = json::get_string_or(volume, "name");
    if (!info || named(&entries, name, "volumeName") || name.starts_with("persistent-state-for")) return true;
    const Array* modes = json::get_array(*info, "accessModes");
    return modes && std::ranges::any_of(*modes, [](const Value& mode) {
             return json::as_string(&mode) == "ReadWriteMany" || json::as_string(&mode) == "ReadOnlyMany";
           });
  });
}

void migrate(Work& work, const std::vector<Moved>& moved) {
  const Object* machine = template_spec_of(work.vm_object());
  std::map<std::string_view, std::string> offenders;
  Array entries(work.storage());
  for (const Moved& one : moved) {
    const Destination to = find_destination(work, one);
    if (!to.problem.empty()) return set_change(work, "", to.problem);
    if (const string_view kind = obstacle(*machine, one, to); !kind.empty()) {
      std::string& names = offenders[kind];
      names += (names.empty() ? "" : ", ") + one.name;
      continue;
    }
    Object& entry = edit::append_object(entries);
    edit::set_text(entry, "volumeName", one.name);
    const Object* from = work.world().get(kinds::claim, work.turn.key.ns, one.from);
    entry["sourcePVCInfo"] = from ? claim_info(*from, work.storage()) : Value({{"claimName", one.from}});
    entry["destinationPVCInfo"] = claim_info(*to.claim, work.storage());
  }
  if (!offenders.empty()) {
    std::string text = "volumes that cannot be migrated were changed:";
    for (const auto& [kind, names] : offenders) text += fmt::format(" {}: {};", kind, names);
    text.pop_back();
    return work.outcome.live_restart.set(std::move(text));
  }
  const Object* vmi_status = status_of(*work.stored_vmi);
  if (is_false(vmi_status, "VolumesChange"))
    drop_condition(json::ensure_object(work.edit_vmi(volumes_error), "status"), "VolumesChange");  // VMC-105g
  if (!can_migrate(*work.stored_vmi, entries))
    return work.outcome.live_restart.set("the VMI cannot be migrated, so that its volumes cannot be either");
  const Array* listed = migrated_of(*work.stored_vmi);
  if (!listed || listed->empty())
    json::ensure_object(work.edit_vmi(volumes_error), "status")["migratedVolumes"] = entries;  // VMC-105i
  else
    take_volumes(work, listed);
  work.outcome.migrated_volumes = Value(std::move(entries));  // VMC-105j
}

}  // namespace

void update_volumes(Work& work) {
  const Object& vm = work.vm_object();
  const std::vector<Moved> moved = moved_volumes(vm, *work.stored_vmi);
  if (handle_running_change(work, moved)) return;
  const string_view strategy = json::get_string_or(*spec_of(vm), "updateVolumesStrategy");
  if (strategy.empty() || strategy == "Replacement") return;  // VMC-105c
  if (strategy != "Migration")
    return work.fail(volumes_error, fmt::format("spec.updateVolumesStrategy \"{}\" is not supported", strategy));
  if (!moved.empty()) migrate(work, moved);  // VMC-105d
}

void update_volume_migration(Object& status, const Object& vm, const Object* vmi) {
  const Object* migration = at(&status, {"volumeUpdateState", "volumeMigrationState"});
  if (!migration) return;
  const auto forget = [&] {
    Object& state = json::ensure_object(status, "volumeUpdateState");
    json::erase(state, "volumeMigrationState");
    if (state.empty()) json::erase(status, "volumeUpdateState");
  };
  const Array* listed = json::get_array(*migration, "migratedVolumes");
  const Array* volumes = volumes_of(template_spec_of(vm));
  bool all_back = true;
  each(listed, [&](const Object& entry) {
    const Object* volume = named(volumes, json::get_string_or(entry, "volumeName"));
    if (volume && claim_name(*volume) != source_claim(entry)) all_back = false;
  });
  const Object* spec = spec_of(vm);
  if (all_back || !spec || json::get_string_or(*spec, "updateVolumesStrategy") != "Migration") {  // VMC-107
    forget();
    drop_condition(status, "VolumesChange");
    drop_condition(status, "ManualRecoveryRequired");
  } else if (!vmi || is_final(*vmi)) {  // VMC-108
    if (is_true(&status, "VolumesChange"))
      set_condition(status, {.type = "ManualRecoveryRequired", .status = "True", .reason = recovery_reason});
  } else if (is_false(status_of(*vmi), "VolumesChange") &&
             condition_reason(status_of(*vmi), "VolumesChange") == cancelled_reason) {  // VMC-109
    forget();
  }
}

}  // namespace vg::controllers::vm
