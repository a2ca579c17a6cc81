// Whether the claims of a VMI can be used, and the one that its own state is kept in.
#include <fmt/format.h>

#include <algorithm>

#include "api/views/vmi_devices.h"
#include "api/views/vmi_volumes.h"
#include "controllers/claims.h"
#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/placement.h"
#include "controllers/storage/promise.h"
#include "controllers/vmi/storage.h"
#include "json/access.h"

namespace vg::controllers::vmi {
namespace {

using api::View;
using api::kubevirt::Volume;

constexpr std::string_view state_label = "persistent-state-for";
constexpr std::string_view state_volume = "persistent-state-for-this-vm";
constexpr std::string_view virt_default_class = "storageclass.kubevirt.io/is-default-virt-class";
constexpr std::string_view default_class = "storageclass.kubernetes.io/is-default-class";

std::string_view phase_of(const json::Object& object) {
  return json::as_string(View(json::find(object, "status")).get("phase")).value_or("");
}

bool is_bound(const json::Object& claim) { return phase_of(claim) == "Bound"; }

// The DataVolume that made a claim; empty when none did.
std::string_view importer_of(const json::Object& claim) {
  const json::Object* owner = controller_reference(claim);
  return owner && json::get_string_or(*owner, "kind") == "DataVolume" ? json::get_string_or(*owner, "name")
                                                                      : std::string_view();
}

bool is_plugged_later(const Volume& volume) {
  return json::as_bool(View(volume.get("persistentVolumeClaim")).get("hotpluggable")).value_or(false) ||
         json::as_bool(View(volume.get("dataVolume")).get("hotpluggable")).value_or(false);
}

bool is_claim(const Volume& volume) { return volume.has("persistentVolumeClaim") || volume.has("dataVolume"); }

std::string state_claim_name(const Draft& draft) {
  return fmt::format("{}-{}-{}", state_label, draft.name(),
                     name_suffix(fmt::format("{}/{}", draft.ns(), draft.name())));
}

// The class that the cluster's configuration names, else the default one for VMs, else the default one.
std::string state_storage_class(const Draft& draft) {
  const std::string_view configured = json::get_string_or(draft.turn.config.configuration(), "vmStateStorageClass");
  if (!configured.empty()) return std::string(configured);
  std::string found;
  for (const json::Object* one : draft.turn.world.list(kinds::storage_class, "")) {
    if (annotation_of(*one, virt_default_class) == "true") return std::string(metadata_text(*one, "name"));
    if (annotation_of(*one, default_class) == "true") found = metadata_text(*one, "name");
  }
  return found;
}

bool tracks_changes(const Draft& draft) {
  const std::string_view state =
      json::as_string(draft.read_status().changed_block_tracking().get("state")).value_or("");
  return state == "Initializing" || state == "Enabled";
}

json::Value state_claim(const Draft& draft, std::string_view storage_class) {
  const bool chosen = !json::get_string_or(draft.turn.config.configuration(), "vmStateStorageClass").empty();
  const json::StoragePtr storage = draft.storage();
  json::Array owners(storage);
  const json::Object* metadata = json::get_object(draft.stored, "metadata");
  const json::Array* own = metadata ? json::get_array(*metadata, "ownerReferences") : nullptr;
  if (own && !own->empty())
    owners = *own;
  else
    owners.push_back(controller_reference_to(owner_of(draft.stored), storage));
  return json::Value({{"apiVersion", "v1"},
                      {"kind", "PersistentVolumeClaim"},
                      {"metadata",
                       {{"name", state_claim_name(draft)},
                        {"namespace", draft.ns()},
                        {"labels", {{state_label, draft.name()}, {"cdi.kubevirt.io/applyStorageProfile", "true"}}},
                        {"ownerReferences", std::move(owners)}}},
                      {"spec",
                       {{"accessModes", {chosen ? "ReadWriteMany" : "ReadWriteOnce"}},
                        {"resources", {{"requests", {{"storage", tracks_changes(draft) ? "522Mi" : "10Mi"}}}}},
                        {"storageClassName", storage_class},
                        {"volumeMode", "Filesystem"}}}},
                     storage);
}

// The class of this claim binds it once it is used.
bool waits_for_use(const Draft& draft, const json::Object& claim) {
  const std::string_view name = json::as_string(View(json::find(claim, "spec")).get("storageClassName")).value_or("");
  const json::Object* found = draft.turn.world.get(kinds::storage_class, "", name);
  return found && json::get_string_or(*found, "volumeBindingMode") == "WaitForFirstConsumer";
}

// Quiet: the claim has it looked at again.
void lose_claim(Draft& draft, const json::Object& claim) {
  const storage::Promise promise = storage::promise_of(draft.turn.world, claim);
  draft.error = {
      .reason = std::string(claim_lost_reason), .message = storage::lost_text(claim, promise), .quiet = true};
}

}  // namespace

void tell_missing_claim(Draft& draft) {
  if (condition_reason(draft.read_status().object(), "Synchronized") == draft.error->reason) return;
  const bool is_lost = draft.error->reason == claim_lost_reason;
  draft.tell(draft.error->quiet && !is_lost ? EventType::normal : EventType::warning,
             is_lost ? claim_lost_reason : "FailedPvcNotFound", draft.error->message);
}

ClaimState claim_state(const World& world, std::string_view ns, std::string_view name, bool needs_image) {
  const json::Object* claim = world.get(kinds::claim, ns, name);
  if (!claim) return ClaimState::missing;
  // By what there is now: the claim says so a moment later.
  const storage::Promise promise = storage::promise_of(world, *claim);
  if (promise.state == storage::Promise::State::lost) return ClaimState::lost;
  if (const std::string_view importer = importer_of(*claim); !importer.empty()) {
    const json::Object* data_volume = world.get(kinds::data_volume, ns, importer);
    if (!data_volume) return ClaimState::unknown;
    const std::string_view phase = phase_of(*data_volume);
    if (phase == "WaitForFirstConsumer") return ClaimState::first_use;
    if (phase != "Succeeded" && phase != "PendingPopulation") return ClaimState::waiting;
  }
  // STO-04: while somebody writes it, the guest waits; and while it is copied, since the guest would write to it.
  const DiskHold hold = world.disks().hold(ns, name);
  const bool is_free = hold.writer.empty() && hold.readers == 0;
  if (promise.state == storage::Promise::State::unknown) return ClaimState::waiting;
  const bool lacks_image = needs_image && promise.state == storage::Promise::State::kept && !promise.has_image;
  return is_bound(*claim) && is_free && !lacks_image ? ClaimState::ready : ClaimState::waiting;
}

std::vector<const json::Object*> data_volumes(const Draft& draft) {
  std::vector<const json::Object*> found;
  for (const Volume& volume : draft.spec().volumes()) {
    std::string_view name = json::as_string(View(volume.get("dataVolume")).get("name")).value_or("");
    if (const View source(volume.get("persistentVolumeClaim")); source) {
      const json::Object* claim =
          draft.turn.world.get(kinds::claim, draft.ns(), json::as_string(source.get("claimName")).value_or(""));
      name = claim ? importer_of(*claim) : std::string_view();
    }
    const json::Object* one = name.empty() ? nullptr : draft.turn.world.get(kinds::data_volume, draft.ns(), name);
    if (one) found.push_back(one);
  }
  return found;
}

bool volumes_are_ready(Draft& draft) {
  bool ready = true;
  for (const Volume& volume : draft.spec().volumes()) {
    if (!volume || !is_claim(volume) || is_plugged_later(volume)) continue;
    const std::string_view claim = claim_of_volume(*volume.object());
    switch (claim_state(draft.turn.world, draft.ns(), claim, true)) {
      case ClaimState::missing:
        draft.error = {.reason = "FailedPvcNotFound",
                       .message = fmt::format("PersistentVolumeClaim {}/{} of volume {} does not exist yet; the VMI "
                                              "waits for it",
                                              draft.ns(), claim, volume.name()),
                       .quiet = true};
        return false;
      case ClaimState::unknown:
        draft.fail(
            "FailedDataVolumeImport",
            fmt::format("PersistentVolumeClaim {}/{} belongs to a DataVolume that does not exist", draft.ns(), claim));
        return false;
      case ClaimState::lost:
        lose_claim(draft, *draft.turn.world.get(kinds::claim, draft.ns(), claim));
        return false;
      case ClaimState::waiting:
      case ClaimState::first_use:  // nothing is run here just in order to use it once
        ready = false;
        break;
      case ClaimState::ready:
        break;
    }
  }
  return ready;
}

bool needs_backend_storage(const Draft& draft) {
  const auto domain = draft.spec().domain();
  const auto tpm = domain.devices().tpm();
  const bool keeps_tpm = tpm && tpm.enabled().value_or(true) && tpm.persistent().value_or(false);
  return keeps_tpm || domain.firmware().bootloader().efi().persistent().value_or(false) || tracks_changes(draft);
}

const json::Object* backend_claim(const Draft& draft) {
  const auto is_current = [&](const json::Object* claim) {
    return claim && !is_being_deleted(*claim) && label_of(*claim, state_label) == draft.name();
  };
  const World& world = draft.turn.world;
  if (const json::Object* claim = world.get(kinds::claim, draft.ns(), state_claim_name(draft)); is_current(claim))
    return claim;
  if (!needs_backend_storage(draft)) return nullptr;  // looking through all claims is for those that have one
  for (const json::Object* claim : world.labelled(kinds::claim, draft.ns(), state_label, draft.name()))
    if (is_current(claim)) return claim;
  return nullptr;
}

bool backend_storage_is_ready(Draft& draft) {
  const json::Object* claim = backend_claim(draft);
  if (!needs_backend_storage(draft)) {
    if (claim)
      draft.pass.add({.verb = Verb::remove,
                      .resource = kinds::claim,
                      .ns = std::string(draft.ns()),
                      .name = std::string(metadata_text(*claim, "name")),
                      .identity = Identity::own(),
                      .uid = std::string(metadata_text(*claim, "uid")),
                      .already_done_is_fine = true});
    return true;
  }
  if (claim) {
    const storage::Promise promise = storage::promise_of(draft.turn.world, *claim);
    if (promise.state == storage::Promise::State::lost) {
      lose_claim(draft, *claim);
      tell_missing_claim(draft);
      return false;
    }
    const bool is_known = promise.state != storage::Promise::State::unknown;
    if (is_known && (is_bound(*claim) || waits_for_use(draft, *claim))) return true;
    draft.fail("BackendStorageNotReady",
               fmt::format("PersistentVolumeClaim {} for the state of the VMI is not bound yet",
                           metadata_text(*claim, "name")));
    return false;
  }
  const std::string storage_class = state_storage_class(draft);
  if (storage_class.empty()) {
    draft.fail("FailedBackendStorageCreate",
               "there is no default StorageClass for the state of the VMI; mark one as the default, or set "
               "vmStateStorageClass of the KubeVirt configuration");
    return false;
  }
  draft.pass.add({.verb = Verb::create,
                  .resource = kinds::claim,
                  .ns = std::string(draft.ns()),
                  .name = state_claim_name(draft),
                  .identity = Identity::own(),
                  .document = state_claim(draft, storage_class),
                  .soft_reason = "FailedBackendStorageCreate",
                  .already_done_is_fine = true});
  draft.fail("BackendStorageNotReady", "the PersistentVolumeClaim for the state of the VMI was created just now");
  draft.error->quiet = true;  // the claim has it looked at again
  return false;
}

void show_backend_claim(Draft& draft) {
  const json::Object* claim = backend_claim(draft);
  if (!claim) return;
  json::Array& entries = json::ensure_array(draft.status(), "volumeStatus");
  auto entry = std::ranges::find_if(
      entries, [](const json::Value& one) { return json::get_string_or(one, "name").starts_with(state_label); });
  if (entry == entries.end()) {
    entries.emplace_back(json::Object({{"name", state_volume}, {"target", ""}}, draft.storage()));
    entry = entries.end() - 1;
  }
  json::Object& shown = entry->get_object();
  shown["name"] = state_volume;
  json::Object& info = json::ensure_object(shown, "persistentVolumeClaimInfo");
  info["claimName"] = metadata_text(*claim, "name");
  if (const json::Value* modes = View(json::find(*claim, "spec")).get("accessModes")) info["accessModes"] = *modes;
}

}  // namespace vg::controllers::vmi
