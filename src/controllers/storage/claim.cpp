#include "controllers/storage/claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/controller_limits.h"
#include "base/quantity.h"
#include "base/time_rfc3339.h"
#include "controllers/claims.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/storage/facts.h"
#include "controllers/storage/fill.h"
#include "controllers/storage/promise.h"
#include "controllers/storage/record_fill.h"
#include "controllers/storage/volume.h"
#include "json/access.h"
#include "json/patch.h"

namespace vg::controllers {
namespace storage {
namespace {

// Long enough that a claim which is only now bound was told why not before.
constexpr std::chrono::seconds late_binding{5};

struct Work {
  const Turn& turn;
  const json::Object& claim;
  Pass pass = {};

  std::string_view uid() const { return metadata_text(claim, "uid"); }
  std::string volume() const { return volume_name_of(claim); }
  std::string job(std::string_view what) const { return fmt::format("{}-{}", what, uid()); }
  DiskJob disk_job(std::string id, DiskWork work) const {
    return {.id = std::move(id),
            .claim = {.ns = turn.key.ns, .name = turn.key.name},
            .claim_uid = std::string(uid()),
            .work = std::move(work)};
  }
  const json::Object* persistent_volume() const { return turn.world.get(kinds::volume, "", volume()); }
};

Effect patch_of(const Work& work, Verb verb, json::PatchBuilder& patch) {
  return {.verb = verb,
          .resource = kinds::claim,
          .ns = work.turn.key.ns,
          .name = work.turn.key.name,
          .identity = Identity::own(),
          .document = json::Value(patch.take(), work.turn.storage)};
}

// --- deletion --------------------------------------------------------------------------------------------------------

void release(Work& work) {
  json::PatchBuilder patch(work.turn.storage);
  const json::Object& metadata = *json::get_object(work.claim, "metadata");
  const json::Value left(finalizers_without(work.claim, protection_finalizer, work.turn.storage));
  guarded_change(patch, "/metadata/finalizers", json::find(metadata, "finalizers"), &left);
  work.pass.add(patch_of(work, Verb::patch, patch)).already_done_is_fine = true;
}

// PVC-05: not while a VMI or a job has it. Once the data is gone, there is nothing to keep for a VMI that has not
// begun.
void remove(Work& work) {
  if (!has_finalizer(work.claim, protection_finalizer)) return;
  const auto& [ns, name] = work.turn.key;
  const auto disk = disk_of(work.turn.world, work.claim);
  if (disk ? used_by_vmi(work.turn.world, ns, name) : used_by_placed_vmi(work.turn.world, ns, name)) return;
  const json::Object* volume = work.persistent_volume();
  if (disk) return remove_data(work.pass, work.turn, {.ns = ns, .name = name}, work.uid(), volume);
  release_volume(work.pass, work.turn, volume);
  release(work);
}

// --- binding ---------------------------------------------------------------------------------------------------------

json::Value claim_reference(const Work& work) {
  return json::Value({{"apiVersion", "v1"},
                      {"kind", "PersistentVolumeClaim"},
                      {"namespace", work.turn.key.ns},
                      {"name", work.turn.key.name},
                      {"uid", work.uid()}},
                     work.turn.storage);
}

json::Value new_volume(const Work& work, std::string_view storage_class, std::int64_t capacity) {
  const json::Object* found = work.turn.world.get(kinds::storage_class, "", storage_class);
  const std::string_view policy = found ? json::get_string_or(*found, "reclaimPolicy", "Delete") : "Delete";
  const json::Object& spec = *spec_of(work.claim);
  const json::Array* modes = json::get_array(spec, "accessModes");
  return json::Value({{"apiVersion", "v1"},
                      {"kind", "PersistentVolume"},
                      {"metadata",
                       {{"name", work.volume()},
                        {"annotations", {{"pv.kubernetes.io/provisioned-by", local_provisioner}}},
                        {"finalizers", {"kubernetes.io/pv-protection"}}}},
                      {"spec",
                       {{"capacity", {{"storage", size_text(capacity)}}},
                        {"accessModes", modes ? *modes : json::Array()},
                        {"claimRef", claim_reference(work)},
                        {"csi",
                         {{"driver", local_provisioner},
                          {"volumeHandle", fmt::format("{}/{}", work.turn.key.ns, work.turn.key.name)}}},
                        {"persistentVolumeReclaimPolicy", policy},
                        {"storageClassName", storage_class},
                        {"volumeMode", "Filesystem"}}}},
                     work.turn.storage);
}

void make_volume(Work& work, std::string_view storage_class, std::int64_t capacity) {
  const json::Object* volume = work.persistent_volume();
  if (!volume)
    work.pass.add({.verb = Verb::create,
                   .resource = kinds::volume,
                   .ns = {},
                   .name = work.volume(),
                   .identity = Identity::own(),
                   .document = new_volume(work, storage_class, capacity),
                   .already_done_is_fine = true});
  if (volume && phase_of(*volume) == "Bound") return;
  json::PatchBuilder patch(work.turn.storage);
  patch.add("/status", json::Value({{"phase", "Bound"}}, work.turn.storage));
  work.pass.add({.verb = Verb::patch_status,
                 .resource = kinds::volume,
                 .ns = {},
                 .name = work.volume(),
                 .identity = Identity::own(),
                 .document = json::Value(patch.take(), work.turn.storage)});
}

// spec storage Q-10: virtctl stops for such an event, whatever its age.
void drop_old_complaints(Work& work) {
  const auto made = parse_rfc3339(metadata_text(work.claim, "creationTimestamp"));
  const auto now = Timestamp::from(work.turn.now);
  if (!made || now.seconds - made->seconds < late_binding.count()) return;
  for (const json::Object* one : work.turn.world.list(kinds::event, work.turn.key.ns)) {
    const json::Object* involved = json::get_object(*one, "involvedObject");
    if (!involved || json::get_string_or(*involved, "uid") != work.uid()) continue;
    if (json::get_string_or(*one, "reason") != "ProvisioningFailed") continue;
    work.pass.add({.verb = Verb::remove,
                   .resource = kinds::event,
                   .ns = work.turn.key.ns,
                   .name = std::string(metadata_text(*one, "name")),
                   .identity = Identity::own(),
                   .already_done_is_fine = true});
  }
}

void show_bound(Work& work, std::int64_t capacity) {
  const json::Object& spec = *spec_of(work.claim);
  const json::Array* modes = json::get_array(spec, "accessModes");
  const json::Value wanted({{"phase", "Bound"},
                            {"accessModes", modes ? *modes : json::Array()},
                            {"capacity", {{"storage", size_text(capacity)}}}},
                           work.turn.storage);
  json::PatchBuilder patch(work.turn.storage);
  const json::Value* before = json::find(work.claim, "status");
  guarded_change(patch, "/status", before, &wanted);
  Effect& effect = work.pass.add(patch_of(work, Verb::patch_status, patch));
  if (phase_of(work.claim) == "Bound") return;
  if (phase_of(work.claim) == "Lost") {
    effect.if_done = event(EventType::normal, "ClaimFound", "the data of the claim is there again");
    return;
  }
  effect.if_done = event(EventType::normal, "ProvisioningSucceeded", fmt::format("volume {} was made", work.volume()));
}

std::string_view shown_capacity(const json::Object& object, std::string_view part) {
  const json::Object* inside = json::get_object(object, part);
  const json::Object* capacity = inside ? json::get_object(*inside, "capacity") : nullptr;
  return capacity ? json::get_string_or(*capacity, "storage") : std::string_view();
}

// PVC-01
void bind_claim(Work& work, std::int64_t capacity) {
  json::PatchBuilder patch(work.turn.storage);
  const json::Object& spec = *spec_of(work.claim);
  const json::Value name(work.volume(), work.turn.storage);
  if (json::get_string_or(spec, "volumeName").empty())
    guarded_change(patch, "/spec/volumeName", json::find(spec, "volumeName"), &name);
  if (!patch.operations().empty()) work.pass.add(patch_of(work, Verb::patch, patch));
  Marks marks(work.claim);
  marks.annotate("pv.kubernetes.io/bind-completed", "yes");
  marks.annotate("pv.kubernetes.io/bound-by-controller", "yes");
  marks.annotate("volume.kubernetes.io/storage-provisioner", local_provisioner);
  if (has_annotation(work.claim, mark::bound)) {
    marks.annotate(mark::bound, "true");
    marks.annotate(mark::bound_reason, "");
    marks.annotate(mark::bound_message, "");
  }
  if (auto effect = marks.effect(kinds::claim, work.turn.storage)) work.pass.add(std::move(*effect));
  drop_old_complaints(work);
  show_bound(work, capacity);
}

// PVC-04
void keep_size(Work& work, const DiskClaim& disk) {
  const std::int64_t wanted = request_of(work.claim);
  if (wanted > disk.capacity) {
    const std::string id = fmt::format("{}-{}", work.job("resize"), wanted);
    const auto status = work.turn.world.disks().job(id);
    if (status && status->state == DiskJobState::failed)
      work.pass.tell(EventType::warning, "VolumeResizeFailed", status->message);
    ask(work.pass, work.turn, {.identity = Identity::own(), .job = work.disk_job(id, ResizeClaim{.capacity = wanted})});
  }
  const std::string capacity = size_text(disk.capacity);
  if (const json::Object* volume = work.persistent_volume(); volume && shown_capacity(*volume, "spec") != capacity) {
    json::PatchBuilder patch(work.turn.storage);
    patch.add("/spec/capacity", json::Value({{"storage", capacity}}, work.turn.storage));
    work.pass.add({.verb = Verb::patch,
                   .resource = kinds::volume,
                   .ns = {},
                   .name = work.volume(),
                   .identity = Identity::own(),
                   .document = json::Value(patch.take(), work.turn.storage)});
  }
  if (shown_capacity(work.claim, "status") != capacity) show_bound(work, disk.capacity);
}

// --- what is promised (promise.h)
// --------------------------------------------------------------------------------------

// As Kubernetes shows a claim whose volume is gone.
void lose(Work& work, const std::string& why) {
  if (phase_of(work.claim) == "Lost") return;
  const json::Object* status = json::get_object(work.claim, "status");
  json::Value wanted(status ? *status : json::Object(), work.turn.storage);
  wanted.get_object()["phase"] = "Lost";
  json::PatchBuilder patch(work.turn.storage);
  guarded_change(patch, "/status", json::find(work.claim, "status"), &wanted);
  work.pass.add(patch_of(work, Verb::patch_status, patch)).if_done = event(EventType::warning, "ClaimLost", why);
}

// From here on it must be there.
void note_held(Work& work, const DiskClaim& disk) {
  const json::Object* volume = work.persistent_volume();
  if (!volume) return;
  Marks marks(*volume);
  if (const std::string held = held_in_all(*volume, disk); !held.empty()) marks.annotate(mark::holds, held);
  if (auto effect = marks.effect(kinds::volume, work.turn.storage)) work.pass.add(std::move(*effect));
}

bool is_disk_of(const json::Object& vmi, std::string_view claim) {
  const json::Object* spec = spec_of(vmi);
  const json::Array* volumes = spec ? json::get_array(*spec, "volumes") : nullptr;
  return volumes && std::ranges::any_of(*volumes, [&](const json::Value& volume) {
           return volume.is_object() && !json::find(volume, "memoryDump") &&
                  claim_of_volume(volume.get_object()) == claim;
         });
}

bool is_wanted_as_disk(const Work& work) {
  const auto& [ns, name] = work.turn.key;
  return std::ranges::any_of(work.turn.world.vmis_with_claim(ns, name), [&](const std::string& user) {
    const json::Object* vmi = work.turn.world.get(kinds::vmi, ns, user);
    return vmi && phase_of(*vmi) != "Succeeded" && phase_of(*vmi) != "Failed" && is_disk_of(*vmi, name);
  });
}

// DOM-PRE-03: what was asked for unless more than there is, in whole MiB.
std::int64_t first_image_bytes(const Work& work, std::int64_t capacity) {
  const json::Object* resources = json::get_object(*spec_of(work.claim), "resources");
  const json::Object* requests = resources ? json::get_object(*resources, "requests") : nullptr;
  const auto asked = Quantity::parse_json(requests ? json::get_string_or(*requests, "storage") : std::string_view());
  return std::max(mib, std::min(asked ? asked->value() : capacity, capacity) / mib * mib);
}

// PVC-06, RUN-IMG-05: the image of a claim that nothing fills is made once, for the first VMI that wants it; nodes make
// none. The volume must be there to say from then on that it was.
void make_first_image(Work& work, const DiskClaim& disk) {
  const json::Object* volume = work.persistent_volume();
  if (disk.image_size > 0 || !volume || had_image(*volume)) return;
  const std::string filling = filling_job(work.claim);
  if ((!filling.empty() && disk.filled_by != filling) || !is_wanted_as_disk(work)) return;
  const std::string id = work.job("blank");
  const auto status = work.turn.world.disks().job(id);
  if (status && status->state == DiskJobState::failed)
    work.pass.tell(EventType::warning, "ProvisioningFailed", status->message);
  ask(work.pass, work.turn,
      {.identity = Identity::own(),
       .job = work.disk_job(id, MakeBlankImage{.size = first_image_bytes(work, disk.capacity)})});
}

// Why it is not bound; DV-70: so that the DataVolume that it was made for can tell it, too.
void complain(Work& work, EventType type, std::string_view reason, const std::string& message) {
  work.pass.tell(type, reason, message);
  if (!has_annotation(work.claim, mark::made_for)) return;
  Marks marks(work.claim);
  marks.annotate(mark::bound, "false");
  marks.annotate(mark::bound_reason, reason);
  marks.annotate(mark::bound_message, message);
  if (auto effect = marks.effect(kinds::claim, work.turn.storage)) work.pass.add(std::move(*effect));
}

// PVC-02: why it stays as it is; empty: it does not.
std::string refusal(const Work& work, std::string_view storage_class) {
  const json::Object& spec = *spec_of(work.claim);
  if (!work.turn.world.get(kinds::storage_class, "", storage_class))
    return fmt::format("storageclass.storage.k8s.io \"{}\" not found", storage_class);
  if (!is_local_class(work.turn.world, storage_class))
    return fmt::format("nobody provisions volumes of StorageClass \"{}\" here; use the class local", storage_class);
  if (json::get_string_or(spec, "volumeMode") == "Block")
    return "block volumes are not configured; use the volume mode Filesystem";
  if (json::find(spec, "selector")) return "a claim with a selector is never provisioned";
  // What is bound already is not given up for it.
  const std::string_view phase = phase_of(work.claim);
  return phase == "Bound" || phase == "Lost" ? std::string() : unknown_source(work.claim);
}

// What a claim of the same name has left is removed or retained first (volume.h).
bool waits_for_the_one_before(Work& work) {
  const auto& [ns, name] = work.turn.key;
  const auto there = work.turn.world.disks().claim(ns, name);
  if (!there || there->uid.empty() || !work.turn.world.get(kinds::volume, "", fmt::format("pvc-{}", there->uid)))
    return false;
  complain(work, EventType::normal, "Provisioning", "the data of an earlier claim of this name is still being removed");
  work.pass.look_again(limits::released_look_interval);
  return true;
}

void provision(Work& work, std::string_view storage_class) {
  // First what the claim says of itself, so that it is protected before there is anything to lose.
  json::PatchBuilder patch(work.turn.storage);
  const json::Object& metadata = *json::get_object(work.claim, "metadata");
  if (!has_finalizer(work.claim, protection_finalizer)) {
    const json::Value with(finalizers_with(work.claim, protection_finalizer, work.turn.storage));
    guarded_change(patch, "/metadata/finalizers", json::find(metadata, "finalizers"), &with);
  }
  const json::Value name(storage_class, work.turn.storage);
  if (!json::find(*spec_of(work.claim), "storageClassName"))
    guarded_change(patch, "/spec/storageClassName", nullptr, &name);
  if (!patch.operations().empty()) work.pass.add(patch_of(work, Verb::patch, patch));
  if (waits_for_the_one_before(work)) return;
  const std::string id = work.job("create");
  const auto status = work.turn.world.disks().job(id);
  if (status && status->state == DiskJobState::failed)  // PVC-03
    complain(work, EventType::warning, "ProvisioningFailed", status->message);
  ask(work.pass, work.turn,
      {.identity = Identity::own(), .job = work.disk_job(id, CreateClaim{.capacity = request_of(work.claim)})});
}

// The volume comes before any data: it is what leads to the data once the claim is gone.
void fill_and_bind(Work& work, std::string_view storage_class, const DiskClaim& disk) {
  make_volume(work, storage_class, disk.capacity);
  if (!waits_for_record(work.pass, work.turn, work.claim, disk)) bind_claim(work, disk.capacity);
}

// Of one that is bound, and has all that it ever had.
void keep(Work& work, const DiskClaim& disk) {
  note_held(work, disk);
  if (phase_of(work.claim) == "Lost") return show_bound(work, disk.capacity);
  keep_size(work, disk);
  make_first_image(work, disk);
}

Pass sync(const Turn& turn) {
  const json::Object* claim = turn.world.get(kinds::claim, turn.key.ns, turn.key.name);
  if (!claim || !turn.world.disks().ready() || !spec_of(*claim)) return {};
  Work work{.turn = turn, .claim = *claim};
  if (is_being_deleted(*claim)) {
    remove(work);
    return std::move(work.pass);
  }
  const json::Object& spec = *spec_of(*claim);
  const std::string storage_class = class_of(turn.world, spec, false);
  if (!json::get_string_or(spec, "volumeName").empty() && json::get_string_or(spec, "volumeName") != work.volume())
    return {};  // somebody else's
  if (storage_class.empty()) {
    if (json::find(spec, "storageClassName") && phase_of(*claim) == "Pending")
      complain(work, EventType::normal, "FailedBinding", "no class is named, and nobody made a volume for this claim");
    return std::move(work.pass);
  }
  if (const std::string why = refusal(work, storage_class); !why.empty()) {
    if (phase_of(*claim) == "Pending") complain(work, EventType::warning, "ProvisioningFailed", why);
    return std::move(work.pass);
  }
  const auto disk = disk_of(turn.world, *claim);
  const Promise promise = promise_of(turn.world, *claim);
  if (promise.state == Promise::State::lost)
    lose(work, lost_text(*claim, promise));
  else if (!disk)
    provision(work, storage_class);
  else if (phase_of(*claim) == "Bound" || phase_of(*claim) == "Lost")
    keep(work, *disk);
  else
    fill_and_bind(work, storage_class, *disk);
  return std::move(work.pass);
}

// A class that is new, or became the default, may be the one that claims wait for.
std::vector<Key> waiting_claims(const Change& change, const World& world) {
  std::vector<Key> keys;
  if (change.happened == Happened::removed) return keys;
  for (const json::Object* claim : world.list(kinds::claim, ""))
    if (phase_of(*claim) == "Pending")
      keys.push_back(
          {.ns = std::string(metadata_text(*claim, "namespace")), .name = std::string(metadata_text(*claim, "name"))});
  return keys;
}

constexpr std::array triggers =
    std::to_array<Trigger>({{kinds::vmi, claims_of_vmi}, {kinds::storage_class, waiting_claims}});

}  // namespace
}  // namespace storage

Controller claim_controller() {
  return {.name = "claim",
          .resource = kinds::claim,
          .component = "persistentvolume-controller",
          .triggers = storage::triggers,
          .sync = storage::sync};
}

}  // namespace vg::controllers
