#include "controllers/storage/volume.h"

#include <fmt/format.h>

#include <array>

#include "base/controller_limits.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/storage/facts.h"
#include "json/access.h"
#include "json/patch.h"

namespace vg::controllers {
namespace storage {
namespace {

std::string removal_of(std::string_view uid, const json::Object* volume) {
  return fmt::format("{}-{}", is_retained(volume) ? "retain" : "remove", uid);
}

Effect volume_effect(const json::Object& volume, Verb verb, json::Value document = {}) {
  return {.verb = verb,
          .resource = kinds::volume,
          .ns = {},
          .name = std::string(metadata_text(volume, "name")),
          .identity = Identity::own(),
          .document = std::move(document),
          .uid = std::string(verb == Verb::remove ? metadata_text(volume, "uid") : std::string_view()),
          .already_done_is_fine = true};
}

void show_released(Pass& pass, const Turn& turn, const json::Object& volume) {
  if (phase_of(volume) == "Released") return;
  json::PatchBuilder patch(turn.storage);
  patch.add("/status", json::Value({{"phase", "Released"}}, turn.storage));
  pass.add(volume_effect(volume, Verb::patch_status, json::Value(patch.take(), turn.storage)));
}

void let_go(Pass& pass, const Turn& turn, const json::Object& volume) {
  json::PatchBuilder patch(turn.storage);
  const json::Object& metadata = *json::get_object(volume, "metadata");
  if (const json::Value* finalizers = json::find(metadata, "finalizers")) {
    guarded_change(patch, "/metadata/finalizers", finalizers, nullptr);
    pass.add(volume_effect(volume, Verb::patch, json::Value(patch.take(), turn.storage)));
  }
  pass.add(volume_effect(volume, Verb::remove));
}

// The claim that this machine has made the volume for; without a uid if it was made by others.
struct Bound {
  DiskClaimName claim;
  std::string uid;
};

Bound bound_to(const json::Object& volume) {
  const json::Object* spec = spec_of(volume);
  const json::Object* csi = spec ? json::get_object(*spec, "csi") : nullptr;
  const json::Object* claim = spec ? json::get_object(*spec, "claimRef") : nullptr;
  if (!csi || !claim || json::get_string_or(*csi, "driver") != local_provisioner) return {};
  const std::string_view uid = json::get_string_or(*claim, "uid");
  if (uid.empty() || metadata_text(volume, "name") != fmt::format("pvc-{}", uid)) return {};
  return {.claim = {.ns = std::string(json::get_string_or(*claim, "namespace")),
                    .name = std::string(json::get_string_or(*claim, "name"))},
          .uid = std::string(uid)};
}

// As Kubernetes has it: of a volume whose claim is not there, or is another one.
void reclaim(Pass& pass, const Turn& turn, const json::Object& volume, const Bound& bound) {
  show_released(pass, turn, volume);
  const DiskView& disks = turn.world.disks();
  const auto disk = disks.claim(bound.claim.ns, bound.claim.name);
  const bool in_place = disk && disk->uid == bound.uid;
  if (in_place && used_by_placed_vmi(turn.world, bound.claim.ns, bound.claim.name))
    return pass.look_again(limits::released_look_interval);
  if (!in_place && is_retained(&volume)) {
    if (is_being_deleted(volume)) let_go(pass, turn, volume);
    return;
  }
  const auto job = disks.job(removal_of(bound.uid, &volume));
  if (!in_place && job && job->state == DiskJobState::succeeded) return release_volume(pass, turn, &volume);
  remove_data(pass, turn, bound.claim, bound.uid, &volume);
  pass.look_again(limits::released_look_interval);
}

Pass sync_volume(const Turn& turn) {
  Pass pass;
  const json::Object* volume = turn.world.get(kinds::volume, "", turn.key.name);
  const Bound bound = volume ? bound_to(*volume) : Bound();
  if (bound.uid.empty() || !turn.world.disks().ready()) return pass;
  const json::Object* claim = turn.world.get(kinds::claim, bound.claim.ns, bound.claim.name);
  if (!claim || metadata_text(*claim, "uid") != bound.uid) reclaim(pass, turn, *volume, bound);
  return pass;
}

std::vector<Key> of_gone_claim(const Change& change, const World& /*world*/) {
  if (change.happened != Happened::removed) return {};
  return {{.ns = {}, .name = volume_name_of(change.object())}};
}

constexpr std::array volume_triggers = std::to_array<Trigger>({{kinds::claim, of_gone_claim}});

}  // namespace

bool is_retained(const json::Object* volume) {
  const json::Object* spec = volume ? spec_of(*volume) : nullptr;
  return spec && json::get_string_or(*spec, "persistentVolumeReclaimPolicy") == "Retain";
}

void remove_data(Pass& pass, const Turn& turn, const DiskClaimName& claim, std::string_view uid,
                 const json::Object* volume) {
  for (const std::string_view fill : {"import", "upload", "clone", "restore"})
    pass.unwanted_jobs.push_back(fmt::format("{}-{}", fill, uid));
  const std::string retained = is_retained(volume) ? fmt::format("pvc-{}", uid) : std::string();
  ask(pass, turn,
      {.identity = Identity::own(),
       .job = {.id = removal_of(uid, volume),
               .claim = claim,
               .claim_uid = std::string(uid),
               .work = RemoveClaim{.retain_as = retained}}});
}

void release_volume(Pass& pass, const Turn& turn, const json::Object* volume) {
  if (!volume) return;
  if (is_retained(volume))
    show_released(pass, turn, *volume);
  else
    let_go(pass, turn, *volume);
}

}  // namespace storage

Controller volume_controller() {
  return {.name = "volume",
          .resource = kinds::volume,
          .component = "persistentvolume-controller",
          .triggers = storage::volume_triggers,
          .sync = storage::sync_volume};
}

}  // namespace vg::controllers
