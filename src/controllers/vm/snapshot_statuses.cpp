#include "controllers/vm/snapshot_statuses.h"

#include <fmt/format.h>

#include <string>

#include "controllers/common/owners.h"
#include "controllers/copies/names.h"
#include "controllers/copies/source.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

string_view text_at(const Object* object, string_view member) {
  return object ? json::get_string_or(*object, member) : string_view();
}

string_view storage_class_of(const Object& claim) { return text_at(at(&claim, {"spec"}), "storageClassName"); }

// Of a claim that a DataVolume fills, what that says of it goes first.
string_view storage_class(const World& world, const Object& vm, const Object& volume, const Object& claim) {
  if (json::get_object(volume, "dataVolume")) {
    const string_view name = claim_name(volume);
    for (const string_view member : {"pvc", "storage"}) {
      const Object* data_volume = world.get(kinds::data_volume, metadata_text(vm, "namespace"), name);
      const Object* made = at(data_volume, {"spec", member});
      if (const string_view found = text_at(made, "storageClassName"); !found.empty()) return found;
    }
  }
  return storage_class_of(claim);
}

// The claim of what a VM keeps of its firmware; null for none.
const Object* persistent_state(const World& world, const Object& vm) {
  const Object* domain = at(template_spec_of(vm), {"domain"});
  const Object* tpm = at(domain, {"devices", "tpm"});
  const Object* efi = at(domain, {"firmware", "bootloader", "efi"});
  const auto persists = [](const Object* part) { return part && json::get_bool_or(*part, "persistent", false); };
  if (!persists(tpm) && !persists(efi)) return nullptr;
  const auto claims =
      world.labelled(kinds::claim, metadata_text(vm, "namespace"), "persistent-state-for", metadata_text(vm, "name"));
  return claims.empty() ? nullptr : claims.front();
}

std::string no_snapshot_class(string_view storage_class, string_view volume) {
  return fmt::format("no VolumeSnapshotClass: volume snapshots are not configured for StorageClass [{}] [{}]",
                     storage_class, volume);
}

// Why a volume cannot be snapshotted; empty when it can (VMC-174). What this machine keeps itself can, and it has no
// classes of volume snapshots for the others.
std::string obstacle(const World& world, const Object& vm, const Object& volume) {
  const string_view name = json::get_string_or(volume, "name");
  const string_view claim = claim_name(volume);
  if (claim.empty())  // VMC-170
    return fmt::format("snapshots of this type of volume are not supported [{}]", name);
  const Object* there = world.get(kinds::claim, metadata_text(vm, "namespace"), claim);
  if (!there) return "PVC not found";  // VMC-171
  const string_view used = storage_class(world, vm, volume, *there);
  return used == copies::local_class ? std::string() : no_snapshot_class(used, name);  // VMC-172
}

}  // namespace

void update_snapshot_statuses(Object& status, const World& world, const Object& vm) {
  Array statuses(status.storage());
  const auto add = [&](string_view name, std::string reason) {
    Object entry(status.storage());
    entry["name"] = name;
    entry["enabled"] = reason.empty();
    if (!reason.empty()) entry["reason"] = reason;
    statuses.emplace_back(std::move(entry));
  };
  each(volumes_of(template_spec_of(vm)),
       [&](const Object& volume) { add(json::get_string_or(volume, "name"), obstacle(world, vm, volume)); });
  const Object* state = persistent_state(world, vm);
  if (state)
    add(copies::state_volume_name(metadata_text(vm, "name")),
        copies::is_local(*state) ? std::string()
                                 : no_snapshot_class(storage_class_of(*state), metadata_text(*state, "name")));
  if (statuses.empty())
    json::erase(status, "volumeSnapshotStatuses");
  else
    status["volumeSnapshotStatuses"] = std::move(statuses);
}

}  // namespace vg::controllers::vm
