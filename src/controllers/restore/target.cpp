#include "controllers/restore/target.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/controller_limits.h"
#include "controllers/common/observed.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/common/user_metadata.h"
#include "controllers/copies/names.h"
#include "controllers/copies/revisions.h"
#include "controllers/vm/machine.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers::restore {
namespace {

const Value* member_of_metadata(const Object& object, string_view member) {
  return vm::value_at(&object, {"metadata", member});
}

void drop_owners(json::PatchBuilder& patch, const Object& object) {
  guarded_change(patch, "/metadata/ownerReferences", member_of_metadata(object, "ownerReferences"), nullptr);
}

void set_owner(Work& work, string_view resource, const Object& object, bool drop_annotation) {
  json::PatchBuilder patch(work.storage());
  const Value owners(Array({controller_reference_to(owner_of(*work.vm), work.storage())}, work.storage()));
  guarded_change(patch, "/metadata/ownerReferences", member_of_metadata(object, "ownerReferences"), &owners);
  if (drop_annotation) patch.remove(patch_path("/metadata/annotations", {owned_annotation}));
  work.patch(resource, object, patch.take());
}

// --- disks -----------------------------------------------------------------------------------------------------------

// RST-31: the claims of DataVolumes of templates are handed to those. True when something was written.
bool hand_claims_over(Work& work) {
  bool changed = false;
  Array* restores = json::get_array(work.status, "restores");
  vm::each(vm::volumes_of(vm::template_spec_of(*work.saved)), [&](const Object& volume) {
    const std::string name(restored_data_volume(work, volume));
    const Object* claim = name.empty() ? nullptr : work.claim(name);
    if (!claim) return;
    if (annotation_of(*claim, populated_annotation) != name) {
      json::PatchBuilder patch(work.storage());
      set_metadata_entries(patch, *claim, "annotations", {{populated_annotation, name}});
      drop_owners(patch, *claim);
      work.patch(kinds::claim, *claim, patch.take());
      changed = true;
    }
    for (Value& entry : *restores)
      if (Object* one = entry.if_object(); one && json::get_string_or(*one, "persistentVolumeClaim") == name &&
                                           json::get_string_or(*one, "dataVolumeName") != name) {
        vm::edit::set_text(*one, "dataVolumeName", name);
        changed = true;
      }
  });
  return changed;
}

Value new_data_volume(const Work& work, const Object& wanted) {
  Value made({{"apiVersion", "cdi.kubevirt.io/v1beta1"}, {"kind", "DataVolume"}}, work.storage());
  made.get_object()["metadata"] = user_metadata(json::get_object(wanted, "metadata"), work.storage());
  if (const Object* spec = json::get_object(wanted, "spec")) made.get_object()["spec"] = *spec;
  Object& metadata = json::ensure_object(made.get_object(), "metadata");
  vm::edit::set_text(metadata, "namespace", work.ns());
  Object& annotations = json::ensure_object(metadata, "annotations");
  vm::edit::set_text(annotations, "cdi.kubevirt.io/allowClaimAdoption", "true");
  vm::edit::set_text(annotations, name_annotation, work.turn.key.name);
  vm::edit::set_text(annotations, prepopulated_annotation, "true");
  return made;
}

// RST-35, RST-36
Step restore_data_volume(Work& work, const Object& wanted) {
  const string_view name = metadata_text(wanted, "name");
  if (const Object* there = work.data_volume(name)) {
    const Object* status = vm::status_of(*there);
    const string_view phase = status ? json::get_string_or(*status, "phase") : string_view();
    const bool ready = phase == "Succeeded" || phase == "WaitForFirstConsumer" || phase == "PendingPopulation";
    return ready ? Step() : Step::waits();
  }
  const Object* claim = work.claim(name);
  if (!claim) return Step::wrong(fmt::format("PVC {} of DataVolume {} does not exist", name, name));
  const bool free = annotation_of(*claim, populated_annotation) == name && !controller_reference(*claim);
  if (!free) return Step::waits();
  work.pass.add({.verb = Verb::create,
                 .resource = kinds::data_volume,
                 .ns = work.ns(),
                 .name = std::string(name),
                 .identity = work.identity(),
                 .document = new_data_volume(work, wanted),
                 .already_done_is_fine = true,
                 .if_failed = Event{.type = EventType::warning,
                                    .reason = "RestoreDataVolumeCreateError",
                                    .message = fmt::format("DataVolume {} could not be created", name)}});
  return Step::waits();
}

// Templates that no restored volume has are left to the VM controller.
Step restore_data_volumes(Work& work, const Object& spec) {
  Step all;
  const Array* restores = json::get_array(work.status, "restores");
  vm::each(json::get_array(spec, "dataVolumeTemplates"), [&](const Object& wanted) {
    if (all.state == Step::State::wrong) return;
    if (!vm::named(restores, metadata_text(wanted, "name"), "persistentVolumeClaim")) return;
    const Step step = restore_data_volume(work, wanted);
    if (!step.is_done()) all = step;
  });
  return all;
}

// RST-37. True when the list changed.
bool list_deleted(Work& work, const Object& spec) {
  if (!work.vm) return false;
  Array gone(work.storage());
  const Object* present = vm::spec_of(*work.vm);
  vm::each(present ? json::get_array(*present, "dataVolumeTemplates") : nullptr, [&](const Object& one) {
    const string_view name = metadata_text(one, "name");
    const Array* wanted = json::get_array(spec, "dataVolumeTemplates");
    const bool stays = wanted && std::ranges::any_of(*wanted, [&](const Value& entry) {
                         return entry.is_object() && metadata_text(entry.get_object(), "name") == name;
                       });
    if (!stays) gone.emplace_back(name);
  });
  const Value* known = json::find(work.status, "deletedDataVolumes");
  if (gone.empty() ? !known : known && json::equal(*known, Value(gone))) return false;
  if (gone.empty()) return false;
  work.status["deletedDataVolumes"] = std::move(gone);
  return true;
}

// RST-38: what the VM keeps of its firmware is in the restored claim from now on. True when something was written.
bool move_state(Work& work) {
  if (!needs_persistent_state(*work.saved)) return false;
  const string_view saved_name = metadata_text(*work.saved, "name");
  const Object* entry = work.restored(state_volume_name(saved_name));
  const Object* claim = entry ? work.claim(json::get_string_or(*entry, "persistentVolumeClaim")) : nullptr;
  if (!claim || label_of(*claim, state_label) == work.target) return false;
  if (const Object* old = persistent_state(work.world(), work.ns(), work.target); old && old != claim) {
    json::PatchBuilder patch(work.storage());
    patch.remove(patch_path("/metadata/labels", {state_label}));
    if (saved_name == work.target)
      patch.add(patch_path("/metadata/labels", {cleanup_label}),
                Value(label_value(state_volume_name(work.target)), work.storage()));
    work.patch(kinds::claim, *old, patch.take());
  }
  json::PatchBuilder patch(work.storage());
  set_metadata_entries(patch, *claim, "labels", {{state_label, work.target}});
  work.patch(kinds::claim, *claim, patch.take());
  return true;
}

// --- revisions (RST-39) ----------------------------------------------------------------------------------------------

// False while an old one is in the way.
bool restore_revisions(Work& work, const Object& spec) {
  bool ready = true;
  for (const MatcherRef& matcher : matchers) {
    const Object* saved = vm::at(vm::spec_of(*work.saved), {matcher.member});
    const Object* wanted = json::get_object(spec, matcher.member);
    const string_view from = saved ? json::get_string_or(*saved, "revisionName") : string_view();
    const string_view name = wanted ? json::get_string_or(*wanted, "revisionName") : string_view();
    const Object* source = from.empty() ? nullptr : work.world().get(kinds::revision, work.ns(), from);
    if (!source || name.empty() || name == from) continue;
    const Object* there = work.world().get(kinds::revision, work.ns(), name);
    if (!there) {
      Effect& made = work.pass.add(revision_copy(work.turn, *source, std::string(name), {}, work.identity()));
      Object& metadata = json::ensure_object(made.document.get_object(), "metadata");
      json::erase(metadata, "ownerReferences");
      if (work.vm)
        metadata["ownerReferences"] =
            Array({controller_reference_to(owner_of(*work.vm), work.storage())}, work.storage());
      continue;
    }
    const Value *old = json::find(*there, "data"), *kept = json::find(*source, "data");
    if (old && kept && json::equal(*old, *kept)) continue;
    work.pass.add({.verb = Verb::remove,
                   .resource = kinds::revision,
                   .ns = work.ns(),
                   .name = std::string(name),
                   .identity = Identity::own(),
                   .already_done_is_fine = true});
    ready = false;
  }
  return ready;
}

// --- the VM ----------------------------------------------------------------------------------------------------------

// What follows once the VM is there: what was made for it is its own (RST-39, RST-41). True when something was written.
bool adopt(Work& work) {
  const std::size_t before = work.pass.effects.size();
  for (const MatcherRef& matcher : matchers) {
    const Object* named = vm::at(vm::spec_of(*work.vm), {matcher.member});
    const string_view name = named ? json::get_string_or(*named, "revisionName") : string_view();
    const Object* revision = name.empty() ? nullptr : work.world().get(kinds::revision, work.ns(), name);
    if (revision && !controller_reference(*revision)) set_owner(work, kinds::revision, *revision, false);
  }
  if (work.ownership() != "None")
    vm::each(json::get_array(work.status, "restores"), [&](const Object& entry) {
      const Object* claim = work.claim(json::get_string_or(entry, "persistentVolumeClaim"));
      if (claim && annotation_of(*claim, owned_annotation) == work.turn.key.name && !controller_reference(*claim))
        set_owner(work, kinds::claim, *claim, true);
    });
  return work.pass.effects.size() != before;
}

void update_vm(Work& work, const Value& spec) {
  json::PatchBuilder patch(work.storage());
  guarded_change(patch, "/spec", json::find(*work.vm, "spec"), &spec);
  const std::string mark = work.mark();
  set_metadata_entries(patch, *work.vm, "annotations", {{mark_annotation, mark}});
  work.pass.add({.verb = Verb::patch,
                 .resource = kinds::vm,
                 .ns = work.ns(),
                 .name = std::string(work.target),
                 .identity = work.identity(),
                 .document = Value(patch.take(), work.storage())});
}

Step write_vm(Work& work, Value spec) {
  if (work.vm) {
    update_vm(work, spec);
    return Step::waits();
  }
  auto made = new_vm(work, std::move(spec));
  if (!made) return Step::wrong(made.error().message);
  work.pass.add({.verb = Verb::create,
                 .resource = kinds::vm,
                 .ns = work.ns(),
                 .name = std::string(work.target),
                 .identity = work.identity(),
                 .document = std::move(*made)});
  return Step::waits();
}

}  // namespace

Step restore_target(Work& work) {
  if (work.vm && work.is_marked(*work.vm)) return adopt(work) ? Step::waits() : Step();  // RST-30
  if (hand_claims_over(work)) return Step::waits();
  Value spec = new_spec(work);
  if (const Step step = restore_data_volumes(work, spec.get_object()); !step.is_done()) return step;
  if (list_deleted(work, spec.get_object()) || move_state(work)) return Step::waits();
  if (!restore_revisions(work, spec.get_object())) return Step::waits();
  return write_vm(work, std::move(spec));
}

}  // namespace vg::controllers::restore
