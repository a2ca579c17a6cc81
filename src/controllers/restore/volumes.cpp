// The claims that a restore makes of a snapshot's data (spec copies 4.4).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/controller_limits.h"
#include "base/quantity.h"
#include "controllers/common/observed.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/common/user_metadata.h"
#include "controllers/copies/claim_from_record.h"
#include "controllers/copies/names.h"
#include "controllers/copies/writing.h"
#include "controllers/restore/work.h"
#include "controllers/vm/machine.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers::restore {
namespace {

const Array* backups_of(const Object* content) {
  const Object* spec = vm::at(content, {"spec"});
  return spec ? json::get_array(*spec, "volumeBackups") : nullptr;
}

bool is_memory_dump(const Object& saved, string_view volume) {
  const Object* found = vm::named(vm::volumes_of(vm::template_spec_of(saved)), volume);
  return found && json::get_object(*found, "memoryDump");
}

const Object* override_of(const Work& work, string_view volume) {
  const Object* spec = vm::spec_of(work.object);
  return vm::named(spec ? json::get_array(*spec, "volumeRestoreOverrides") : nullptr, volume, "volumeName");
}

std::string claim_name_for(const Work& work, const Object& backup) {
  const string_view volume = json::get_string_or(backup, "volumeName");
  const Object* wanted = override_of(work, volume);
  if (const string_view name = wanted ? json::get_string_or(*wanted, "restoreName") : string_view(); !name.empty())
    return std::string(name);
  const string_view policy = work.option("volumeRestorePolicy");
  if (policy == "InPlace") {
    const Object* claim = json::get_object(backup, "persistentVolumeClaim");
    return claim ? std::string(metadata_text(*claim, "name")) : std::string();
  }
  if (policy == "PrefixTargetName") return joined_name(work.target, volume);
  return fmt::format("restore-{}-{}", metadata_text(work.object, "uid"), volume);
}

// RST-20. True when something was added.
bool list_restores(Work& work) {
  Array list(work.storage());
  bool changed = false;
  vm::each(backups_of(work.content), [&](const Object& backup) {
    const string_view volume = json::get_string_or(backup, "volumeName");
    if (is_memory_dump(*work.saved, volume) || list.size() == limits::snapshot_volumes_max) return;
    if (const Object* known = work.restored(volume)) {
      list.emplace_back(*known);
      return;
    }
    changed = true;
    list.emplace_back(Value({{"volumeName", volume},
                             {"persistentVolumeClaim", claim_name_for(work, backup)},
                             {"volumeSnapshotName", json::get_string_or(backup, "volumeSnapshotName")}},
                            work.storage()));
  });
  if (changed) work.status["restores"] = std::move(list);
  return changed;
}

// --- new claims (RST-21..24) -----------------------------------------------------------------------------------------

constexpr std::array<string_view, 6> dropped_annotations{"pv.kubernetes.io",    "volume.beta.kubernetes.io",
                                                         "cdi.kubevirt.io",     "volume.kubernetes.io",
                                                         "k8s.io/CloneRequest", "k8s.io/CloneOf"};

bool is_kept(string_view annotation) {
  if (annotation == "cdi.kubevirt.io/storage.contentType") return true;
  return std::ranges::none_of(dropped_annotations, [&](string_view begin) { return annotation.starts_with(begin); });
}

void add_all(Object& to, const Object* from) {
  if (!from) return;
  for (const auto& entry : *from) to[entry.key()] = entry.value();
}

void set_labels(const Work& work, Object& labels, const Object* saved) {  // RST-22
  add_all(labels, saved);
  json::erase(labels, state_label);
  const Object* source = vm::at(work.saved, {"metadata"});
  const string_view name = source ? json::get_string_or(*source, "name") : string_view();
  vm::edit::set_text(labels, "restore.kubevirt.io/source-vm-name", label_value(name));
  vm::edit::set_text(labels, "restore.kubevirt.io/source-vm-namespace", label_value(work.ns()));
}

void set_annotations(const Work& work, Object& annotations, const Object* saved) {  // RST-23
  if (saved)
    for (const auto& entry : *saved)
      if (is_kept(entry.key())) annotations[entry.key()] = entry.value();
  vm::edit::set_text(annotations, name_annotation, work.turn.key.name);
  vm::edit::set_text(annotations, mark_annotation, work.mark());
}

bool was_owned_by_vm(const Work& work, const Object& saved_claim) {
  const Object* owner = controller_reference(saved_claim);
  return owner && json::get_string_or(*owner, "kind") == "VirtualMachine" &&
         json::get_string_or(*owner, "uid") == metadata_text(*work.saved, "uid");
}

void set_owner(const Work& work, Object& metadata, const Object& entry, const Object& saved_claim) {  // RST-24
  if (const string_view name = json::get_string_or(entry, "dataVolumeName"); !name.empty()) {
    vm::edit::set_text(json::ensure_object(metadata, "annotations"), populated_annotation, name);
  } else if (work.ownership() == "None") {
    return;
  } else if (work.vm) {
    metadata["ownerReferences"] = Array({controller_reference_to(owner_of(*work.vm), work.storage())}, work.storage());
  } else if (was_owned_by_vm(work, saved_claim)) {
    vm::edit::set_text(json::ensure_object(metadata, "annotations"), owned_annotation, work.turn.key.name);
  }
}

Value claim_metadata(const Work& work, const Object& entry, const Object& saved_claim) {
  Value made({{"name", json::get_string_or(entry, "persistentVolumeClaim")}, {"namespace", work.ns()}}, work.storage());
  Object& metadata = made.get_object();
  set_labels(work, json::ensure_object(metadata, "labels"), vm::at(&saved_claim, {"metadata", "labels"}));
  set_annotations(work, json::ensure_object(metadata, "annotations"),
                  vm::at(&saved_claim, {"metadata", "annotations"}));
  const Object* wanted = override_of(work, json::get_string_or(entry, "volumeName"));
  for (const string_view map : {"labels", "annotations"})
    add_all(json::ensure_object(metadata, map), wanted ? json::get_object(*wanted, map) : nullptr);
  drop_reserved(metadata);
  set_owner(work, metadata, entry, saved_claim);
  return made;
}

Step create_claim(Work& work, const Object& entry, const Object& saved_claim) {
  const string_view volume_snapshot = json::get_string_or(entry, "volumeSnapshotName");
  const auto record = find_record(work.turn, volume_snapshot);
  if (!record && work.world().disks().ready())
    return Step::wrong(fmt::format("VolumeSnapshot {} does not exist", volume_snapshot));
  if (!record) {
    work.pass.look_again(limits::snapshot_retry);
    return Step::waits();
  }
  Value made = claim_from_record(work.turn, saved_claim, volume_snapshot, *record);
  made.get_object()["metadata"] = claim_metadata(work, entry, saved_claim);
  work.pass.add({.verb = Verb::create,
                 .resource = kinds::claim,
                 .ns = work.ns(),
                 .name = std::string(json::get_string_or(entry, "persistentVolumeClaim")),
                 .identity = work.identity(),
                 .document = std::move(made),
                 .already_done_is_fine = true});
  return Step::waits();
}

// --- claims that are there -------------------------------------------------------------------------------------------

// RST-25: the claim makes room for the one that has its name.
Step replace_claim(Work& work, Object& entry, const Object& claim) {
  if (is_being_deleted(claim)) return Step::waits();
  const string_view name = metadata_text(claim, "name");
  if (is_busy(work.world(), work.ns(), name, work.target)) {  // RST-73
    work.pass.look_again(limits::snapshot_retry);
    return Step::waits();
  }
  const Object* owner = controller_reference(claim);
  if (owner && json::get_string_or(*owner, "kind") == "DataVolume") {
    const string_view data_volume = json::get_string_or(*owner, "name");
    if (json::get_string_or(entry, "dataVolumeName") != data_volume) {
      vm::edit::set_text(entry, "dataVolumeName", data_volume);
      return Step::waits();
    }
    if (const Object* there = work.data_volume(data_volume);
        there && annotation_of(*there, name_annotation) != work.turn.key.name) {
      json::PatchBuilder patch(work.storage());
      set_metadata_entries(patch, *there, "annotations",
                           {{name_annotation, work.turn.key.name}, {prepopulated_annotation, "true"}});
      work.patch(kinds::data_volume, *there, patch.take());
    }
  }
  remove(work.pass, kinds::claim, claim);
  return Step::waits();
}

bool binds_at_once(const World& world, const Object& claim) {
  const Object* spec = vm::spec_of(claim);
  const string_view name = spec ? json::get_string_or(*spec, "storageClassName") : string_view();
  const Object* found = name.empty() ? nullptr : world.get(kinds::storage_class, "", name);
  return !found || json::get_string_or(*found, "volumeBindingMode") != "WaitForFirstConsumer";
}

// RST-26
Step wait_for_claim(const Work& work, const Object& claim) {
  const string_view phase = claim_phase(claim);
  if (phase == "Bound") return {};
  if (phase == "Pending" || phase.empty()) return binds_at_once(work.world(), claim) ? Step::waits() : Step();
  return Step::wrong(fmt::format("PVC {} is in phase {}", metadata_text(claim, "name"), phase));
}

std::string stage_job(const std::string& staged) { return "stage-record/" + staged; }

// RST-71: all data is copied beside what is there before the first claim goes, so that a copy that fails (a full disk,
// say) leaves the VM as it was. What is left is quick, and is gone on with after a crash.
Step stage_volume(Work& work, const Object& entry) {
  const Object* claim = work.claim(json::get_string_or(entry, "persistentVolumeClaim"));
  if (!claim || work.is_marked(*claim) || is_being_deleted(*claim)) return {};
  const std::string record = record_name(work.ns(), json::get_string_or(entry, "volumeSnapshotName"));
  const auto source = work.world().disks().record(record);
  if (!source || !source->ready)
    return Step::wrong(fmt::format("the data for PVC {} is not there", metadata_text(*claim, "name")));
  const std::string staged = staged_name(record), id = stage_job(staged);
  const auto there = work.world().disks().record(staged);
  if (there && there->ready) return {};
  const auto job = work.world().disks().job(id);
  const bool is_failed = job && job->state == DiskJobState::failed;
  const bool is_set_back = is_failed && work.turn.now < job->changed;
  if (!is_failed || is_set_back || work.turn.now >= job->changed + limits::snapshot_retry)
    work.pass.jobs.push_back(
        {.identity = work.identity(),
         .job = {
             .id = id, .claim = {.ns = work.ns(), .name = {}}, .work = StageRecord{.record = record, .as = staged}}});
  else
    work.pass.look_again(limits::snapshot_retry);
  return is_failed ? Step::wrong(job->message) : Step::waits();
}

Step stage_all(Work& work, const Array& restores) {
  if (work.option("volumeRestorePolicy") != "InPlace") return {};
  if (!work.world().disks().ready()) {
    work.pass.look_again(limits::snapshot_retry);
    return Step::waits();
  }
  Step all;
  for (const Value& entry : restores) {
    const Object* one = entry.if_object();
    Step step = one ? stage_volume(work, *one) : Step();
    if (step.state == Step::State::wrong) return step;
    if (!step.is_done()) all = std::move(step);
  }
  return all;
}

Step restore_volume(Work& work, Object& entry) {
  const Object* backup = vm::named(backups_of(work.content), json::get_string_or(entry, "volumeName"), "volumeName");
  const Object* saved_claim = backup ? json::get_object(*backup, "persistentVolumeClaim") : nullptr;
  const string_view name = json::get_string_or(entry, "persistentVolumeClaim");
  if (!saved_claim || name.empty()) return Step::wrong("the snapshot content does not hold the volume any more");
  const Object* claim = work.claim(name);
  if (!claim) return create_claim(work, entry, *saved_claim);
  if (work.is_marked(*claim)) return wait_for_claim(work, *claim);
  if (work.option("volumeRestorePolicy") == "InPlace") return replace_claim(work, entry, *claim);
  return Step::wrong(fmt::format("PVC {} exists already and is not of this restore", name));
}

}  // namespace

void drop_staged(Work& work) {
  Array* restores = json::get_array(work.status, "restores");
  for (const Value& entry : restores ? *restores : Array()) {
    const std::string staged = staged_name(record_name(work.ns(), json::get_string_or(entry, "volumeSnapshotName")));
    if (work.world().disks().job(stage_job(staged))) work.pass.unwanted_jobs.push_back(stage_job(staged));
    if (work.world().disks().record(staged))
      work.pass.jobs.push_back({.identity = Identity::own(),
                                .job = {.id = "drop-record/" + staged, .work = RemoveRecord{.record = staged}}});
  }
}

Step restore_volumes(Work& work) {
  if (list_restores(work)) return Step::waits();
  Array* restores = json::get_array(work.status, "restores");
  Step all;
  if (!restores) return all;
  if (Step staged = stage_all(work, *restores); !staged.is_done()) return staged;
  for (Value& entry : *restores) {
    Object* one = entry.if_object();
    const Step step = one ? restore_volume(work, *one) : Step::wrong("the status is damaged");
    if (step.state == Step::State::wrong) return step;
    if (!step.is_done()) all = step;
  }
  return all;
}

}  // namespace vg::controllers::restore
