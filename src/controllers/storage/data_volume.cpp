#include "controllers/storage/data_volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/storage/facts.h"
#include "controllers/storage/fill.h"
#include "controllers/storage/render.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers {
namespace storage {
namespace {

// How often progress is shown (4.6), and how often a source is looked at that nobody tells of.
constexpr std::chrono::seconds progress_interval{2};
// DV-104: while a VMI has the source.
constexpr std::chrono::seconds source_interval{5};
constexpr std::string_view quota_reason = "ErrExceededQuota";
constexpr std::array<std::string_view, 4> default_labels{
    "instancetype.kubevirt.io/default-instancetype", "instancetype.kubevirt.io/default-instancetype-kind",
    "instancetype.kubevirt.io/default-preference", "instancetype.kubevirt.io/default-preference-kind"};

struct Work {
  const Turn& turn;
  const json::Object& dv;
  Source source;
  Asked asked = {};
  Pass pass = {};
};

// From sync to finish.
json::Value memo_of(const Work& work) {
  return json::Value({{"reason", work.asked.reason}, {"message", work.asked.message}, {"phase", work.asked.phase}},
                     work.turn.storage);
}

Asked asked_of(const json::Value& memo) {
  return {.reason = std::string(json::get_string_or(memo, "reason")),
          .message = std::string(json::get_string_or(memo, "message")),
          .phase = std::string(json::get_string_or(memo, "phase"))};
}

// A DataVolume that no class is found for is left to whoever is the CDI of this cluster, as far as it takes spec.pvc.
bool is_ours(const Turn& turn, const json::Object& dv) {
  const json::Object* spec = spec_of(dv);
  const json::Object* claim = spec ? json::get_object(*spec, "pvc") : nullptr;
  return spec && (!claim || !class_of(turn.world, *claim, false).empty());
}

// --- the source of a clone -------------------------------------------------------------------------------------------

// What another namespace has is looked at for those alone who were allowed to have it when they asked.
bool is_asked_for(const Work& work) {
  return work.source.kind != "pvc" || work.source.pvc_ns == work.turn.key.ns || Identity::asker_of(work.dv).user();
}

// DV-101, DV-102: false when the claim cannot be made yet.
bool source_is_good(Work& work) {
  if (work.source.kind != "pvc") return true;
  if (!is_asked_for(work)) {
    work.asked = {.reason = "CloneNotAllowed",
                  .message = fmt::format("nobody is known who may have the data of namespace \"{}\"; delete the "
                                         "DataVolume and create it again",
                                         work.source.pvc_ns)};
    return false;
  }
  const json::Object* source = work.turn.world.get(kinds::claim, work.source.pvc_ns, work.source.pvc_name);
  if (!source) {
    work.asked = {.reason = "CloneWithoutSource",
                  .message = fmt::format("the source PVC {} does not exist", work.source.pvc_name)};
    work.pass.look_again(progress_interval);
    return false;
  }
  const json::Object& spec = *spec_of(work.dv);
  const std::string_view type = json::get_string_or(spec, "contentType", "kubevirt");
  std::string_view source_type = annotation_of(*source, mark::content_type);
  if (source_type.empty()) source_type = "kubevirt";
  const json::Object* claim = json::get_object(spec, "pvc");
  const bool too_small = claim && request_of(json::Object{{"spec", *claim}}) < request_of(*source);
  if (type == source_type && !too_small) return true;
  work.asked = {
      .reason = "CloneValidationFailed",
      .message = too_small ? "the target is smaller than the source" : "source and target have different content"};
  work.pass.look_again(progress_interval);
  return false;
}

// DV-104, before the claim exists. A VMI that waits may wait for this very DataVolume.
bool source_is_free(Work& work) {
  const Source& source = work.source;
  if (source.kind != "pvc" || !used_by_placed_vmi(work.turn.world, source.pvc_ns, source.pvc_name)) return true;
  work.pass.tell(EventType::warning, "CloneSourceInUse", fmt::format("PVC \"{}\" is in use by a VMI", source.pvc_name));
  work.asked.phase = "CloneScheduled";
  work.pass.look_again(source_interval);
  return false;
}

// --- the claim -------------------------------------------------------------------------------------------------------

void make_claim(Work& work) {
  if (has_annotation(work.dv, mark::prepopulated)) return;  // DV-50
  if (work.source.kind.empty()) {                           // spec storage Q-03
    work.asked = {.reason = "NotFound", .message = "the DataSource is not there, or names nothing"};
    work.pass.look_again(progress_interval);
    return;
  }
  if (!source_is_good(work) || !source_is_free(work)) return;
  auto claim = render_claim(work.turn, work.dv, work.source);
  if (!claim) {  // DV-39
    work.asked = {.reason = claim.error().reason, .message = claim.error().message};
    work.pass.tell(EventType::warning, claim.error().reason, claim.error().message);
    work.pass.try_again = !claim.error().wait;
    return;
  }
  work.pass.add({.verb = Verb::create,
                 .resource = kinds::claim,
                 .ns = work.turn.key.ns,
                 .name = work.turn.key.name,
                 .identity = Identity::asker_of(work.dv),
                 .document = std::move(*claim),
                 .soft_reason = "ErrCreatingClaim"});
}

// DV-45, DV-46: the claim becomes ours.
void adopt(Work& work, const json::Object& claim) {
  if (is_controlled_by(claim, work.dv)) return;
  if (controller_reference(claim)) {
    work.pass.tell(EventType::warning, "ErrResourceExists", "the PVC of this name belongs to another object");
    work.pass.try_again = true;
    return;
  }
  const json::Object& metadata = *json::get_object(claim, "metadata");
  const json::Value* before = json::find(metadata, "ownerReferences");
  json::Array owners(work.turn.storage);
  if (before && before->is_array()) owners = before->get_array();
  owners.push_back(controller_reference_to(owner_of(work.dv), work.turn.storage));
  const json::Value wanted(std::move(owners), work.turn.storage);
  json::PatchBuilder patch(work.turn.storage);
  guarded_change(patch, "/metadata/ownerReferences", before, &wanted);
  work.pass.add({.verb = Verb::patch,
                 .resource = kinds::claim,
                 .ns = work.turn.key.ns,
                 .name = work.turn.key.name,
                 .identity = Identity::own(),
                 .document = json::Value(patch.take(), work.turn.storage)});
}

// 3.4
void look_at_claim(Work& work, const json::Object& claim) {
  if (is_being_deleted(claim)) {  // DV-49
    work.pass.tell(EventType::warning, "ErrResourceMarkedForDeletion", "the PVC of this name is being deleted");
    work.pass.try_again = true;
  } else if (is_adopted(work.dv, claim)) {
    adopt(work, claim);
  } else if (!is_controlled_by(claim, work.dv)) {  // DV-48
    work.pass.tell(EventType::warning, "ErrResourceExists", "a PVC of this name exists and is not this DataVolume's");
    work.pass.try_again = true;
  }
}

void mark_data_volume(Work& work, const json::Object* claim) {
  Marks marks(work.dv);
  if (annotation_of(work.dv, mark::use_populator).empty()) marks.annotate(mark::use_populator, "false");
  if (claim && annotation_of(*claim, mark::populated_for) == work.turn.key.name && phase_of(*claim) == "Bound")
    marks.annotate(mark::prepopulated, work.turn.key.name);
  // DV-98, DV-106
  const json::Object* from = work.source.kind == "pvc" && is_asked_for(work)
                                 ? work.turn.world.get(kinds::claim, work.source.pvc_ns, work.source.pvc_name)
                                 : claim;
  if (work.source.data_source) from = work.source.data_source;
  const bool has_own =
      std::ranges::any_of(default_labels, [&](std::string_view name) { return !label_of(work.dv, name).empty(); });
  for (const std::string_view name : default_labels)
    if (from && !has_own && !label_of(*from, name).empty()) marks.label(name, label_of(*from, name));
  if (auto effect = marks.effect(kinds::data_volume, work.turn.storage)) work.pass.add(std::move(*effect));
}

Pass sync(const Turn& turn) {
  const json::Object* dv = turn.world.get(kinds::data_volume, turn.key.ns, turn.key.name);
  if (!dv || is_being_deleted(*dv) || !turn.world.disks().ready() || !is_ours(turn, *dv)) return {.complete = true};
  Work work{.turn = turn, .dv = *dv, .source = source_of(turn.world, *dv)};
  const json::Object* claim = turn.world.get(kinds::claim, turn.key.ns, turn.key.name);
  mark_data_volume(work, claim);
  if (claim)
    look_at_claim(work, *claim);
  else
    make_claim(work);
  work.pass.memo = memo_of(work);
  return std::move(work.pass);
}

// DV-40
Asked after_failure(const SoftError& error) {
  if (error.message.contains("exceeded quota"))
    return {.reason = std::string(quota_reason), .message = error.message, .phase = "Pending"};
  return {.reason = "ErrClaimNotValid", .message = error.message};
}

Pass finish(const Turn& turn, const Pass& before, const Carried& carried) {
  Pass pass;
  const json::Object* dv = turn.world.get(kinds::data_volume, turn.key.ns, turn.key.name);
  if (!dv || is_being_deleted(*dv) || !before.memo.is_object()) return pass;
  Asked asked = asked_of(before.memo);
  if (carried.error) {
    asked = after_failure(*carried.error);
    pass.tell(EventType::warning, asked.reason, asked.message);
  }
  const json::Object* claim = turn.world.get(kinds::claim, turn.key.ns, turn.key.name);
  const json::Value wanted = data_volume_status(turn, *dv, claim, asked);
  if (const auto job = claim ? turn.world.disks().job(filling_job(*claim)) : std::nullopt;
      job && job->state == DiskJobState::running)
    pass.look_again(progress_interval);
  const json::Value* old = json::find(*dv, "status");
  if (old && json::equal(*old, wanted)) return pass;
  tell_changes(pass, *dv, wanted.get_object(), claim);
  json::PatchBuilder patch(turn.storage);
  guarded_change(patch, "/status", old, &wanted);
  pass.add({.verb = Verb::patch_status,
            .resource = kinds::data_volume,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = json::Value(patch.take(), turn.storage)});
  return pass;
}

// A claim has the name of its DataVolume; and it may be the source of clones.
std::vector<Key> of_claim(const Change& change, const World& world) {
  const std::string ns(metadata_text(change.object(), "namespace")), name(metadata_text(change.object(), "name"));
  std::vector<Key> keys;
  if (world.get(kinds::data_volume, ns, name)) keys.push_back({.ns = ns, .name = name});
  return keys;
}

std::vector<Key> of_class(const Change& change, const World& world) {
  std::vector<Key> keys;
  if (change.happened == Happened::removed) return keys;
  for (const json::Object* dv : world.list(kinds::data_volume, ""))
    if (phase_of(*dv).empty())
      keys.push_back(
          {.ns = std::string(metadata_text(*dv, "namespace")), .name = std::string(metadata_text(*dv, "name"))});
  return keys;
}

constexpr std::array triggers = std::to_array<Trigger>({{kinds::claim, of_claim}, {kinds::storage_class, of_class}});

}  // namespace
}  // namespace storage

Controller data_volume_controller() {
  return {.name = "datavolume",
          .resource = kinds::data_volume,
          .component = "datavolume-import-controller",
          .triggers = storage::triggers,
          .sync = storage::sync,
          .finish = storage::finish};
}

}  // namespace vg::controllers
