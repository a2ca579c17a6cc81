#include "controllers/copies/source.h"

#include <algorithm>
#include <array>

#include "controllers/claims.h"
#include "controllers/common/owners.h"
#include "controllers/copies/names.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers::copies {
namespace {

bool flag(const Object* object, string_view member, bool otherwise) {
  return object ? json::get_bool_or(*object, member, otherwise) : false;
}

bool tracks_blocks(const Object& vm) {
  const Object* tracking = vm::at(&vm, {"status", "changedBlockTracking"});
  const string_view state = tracking ? json::get_string_or(*tracking, "state") : string_view();
  return state == "Enabled" || state == "Initializing";
}

bool is_over(const Object* vmi) { return !vmi || vm::is_final(*vmi); }

}  // namespace

bool needs_persistent_state(const Object& vm) {
  const Object* domain = vm::at(vm::template_spec_of(vm), {"domain"});
  const Object* tpm = vm::at(domain, {"devices", "tpm"});
  const Object* efi = vm::at(domain, {"firmware", "bootloader", "efi"});
  return (flag(tpm, "persistent", false) && flag(tpm, "enabled", true)) || flag(efi, "persistent", false) ||
         tracks_blocks(vm);
}

const Object* persistent_state(const World& world, string_view ns, string_view vm) {
  for (const Object* claim : world.labelled(kinds::claim, ns, "persistent-state-for", vm))
    if (!is_being_deleted(*claim)) return claim;
  return nullptr;
}

SourceVolumes volumes_of(const World& world, string_view ns, const Object& vm) {
  SourceVolumes found;
  vm::each(vm::volumes_of(vm::template_spec_of(vm)), [&](const Object& volume) {
    found.all.push_back({.name = std::string(json::get_string_or(volume, "name")),
                         .claim = claim_of_volume(volume),
                         .volume = &volume});
  });
  if (!needs_persistent_state(vm)) return found;
  const string_view name = metadata_text(vm, "name");
  const Object* claim = persistent_state(world, ns, name);
  found.no_backend = claim == nullptr;
  if (claim) found.all.push_back({.name = state_volume_name(name), .claim = metadata_text(*claim, "name")});
  return found;
}

bool is_populated(const World& world, const Object& claim) {
  const Object* owner = controller_reference(claim);
  if (!owner || json::get_string_or(*owner, "kind") != "DataVolume") return true;
  const Object* data_volume =
      world.get(kinds::data_volume, metadata_text(claim, "namespace"), json::get_string_or(*owner, "name"));
  const Object* status = data_volume ? vm::status_of(*data_volume) : nullptr;
  return status && json::get_string_or(*status, "phase") == "Succeeded";
}

string_view claim_phase(const Object& claim) {
  const Object* status = vm::status_of(claim);
  return status ? json::get_string_or(*status, "phase") : string_view();
}

bool is_local(const Object& claim) {
  const Object* spec = vm::spec_of(claim);
  return spec && json::get_string_or(*spec, "storageClassName") == local_class;
}

bool is_running(const World& world, string_view ns, string_view vm) { return !is_over(world.get(kinds::vmi, ns, vm)); }

bool is_busy(const World& world, string_view ns, string_view claim, string_view vm) {
  if (!world.disks().hold(ns, claim).writer.empty()) return true;
  return std::ranges::any_of(world.vmis_with_claim(ns, claim),
                             [&](const std::string& vmi) { return vmi != vm && is_running(world, ns, vmi); });
}

}  // namespace vg::controllers::copies
