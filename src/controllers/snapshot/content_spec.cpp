#include "controllers/snapshot/content_spec.h"

#include <fmt/format.h>

#include "controllers/common/owners.h"
#include "controllers/copies/names.h"
#include "controllers/copies/revisions.h"
#include "controllers/vm/machine.h"
#include "controllers/vm/revisions.h"
#include "json/access.h"

namespace vg::controllers::snapshot {
namespace {

Value metadata_copy(const Object& object, const json::StoragePtr& storage) {
  const Object* metadata = json::get_object(object, "metadata");
  Value copy = metadata ? Value(*metadata, storage) : Value(boost::json::object_kind, storage);
  json::erase(copy.get_object(), "managedFields");
  return copy;
}

// What of a running VM is as it is now, and not as it was started.
constexpr std::initializer_list<string_view> present_parts[] = {
    {"dataVolumeTemplates"}, {"template", "spec", "volumes"}, {"template", "spec", "domain", "devices", "disks"}};

void take_over(Object& spec, const Object& present, std::initializer_list<string_view> path) {
  const Value* value = vm::value_at(&present, path);
  Object* parent = &spec;
  for (const string_view* name = path.begin(); name + 1 != path.end(); ++name)
    parent = &json::ensure_object(*parent, *name);
  const string_view last = *(path.end() - 1);
  if (value)
    (*parent)[last] = *value;
  else
    json::erase(*parent, last);
}

// SNAP-32, SNAP-33. Nothing when the VM was started as something that is not there any more.
std::optional<Value> saved_spec(const Turn& turn, const State& state) {
  const Object* present = vm::spec_of(*state.source.vm);
  if (!present) return Value(boost::json::object_kind, turn.storage);
  if (!state.source.online()) return Value(*present, turn.storage);
  const Object* status = vm::status_of(*state.source.vmi);
  const string_view name = status ? json::get_string_or(*status, "virtualMachineRevisionName") : string_view();
  const Object* revision = name.empty() ? nullptr : turn.world.get(kinds::revision, turn.key.ns, name);
  if (!revision) return std::nullopt;
  Value started = vm::spec_of_revision(*revision, turn.storage);
  Object& spec = json::ensure_object(started.get_object(), "spec");
  for (const auto& path : present_parts) take_over(spec, *present, path);
  return Value(spec, turn.storage);
}

// SNAP-34, spec copies Q-03: instance type and preference as they were, whether spec or status knows which that is.
bool keep_revisions(Pass& pass, const Turn& turn, const State& state, Object& spec) {
  for (const MatcherRef& matcher : matchers) {
    const string_view name = revision_in_use(spec, *state.source.vm, matcher);
    if (name.empty()) continue;
    const Object* revision = turn.world.get(kinds::revision, turn.key.ns, name);
    if (!revision) return false;
    const std::string copy = renamed_revision(name, state.source.name, turn.key.name);
    pass.add(revision_copy(turn, *revision, copy, owner_of(state.snapshot), identity_of(turn, state)));
    vm::edit::set_text(json::ensure_object(spec, matcher.member), "revisionName", copy);
  }
  return true;
}

// SNAP-35
Array volume_backups(const Turn& turn, const State& state) {
  Array backups(turn.storage);
  for (const SourceVolume& volume : volumes_of(turn.world, turn.key.ns, *state.source.vm).all) {
    const Object* claim = volume.is_claim() ? turn.world.get(kinds::claim, turn.key.ns, volume.claim) : nullptr;
    if (!claim || claim_phase(*claim) != "Bound" || !is_local(*claim)) continue;
    Object backup(turn.storage);
    backup["volumeName"] = volume.name;
    Object& saved = json::ensure_object(backup, "persistentVolumeClaim");
    saved["metadata"] = metadata_copy(*claim, turn.storage);
    if (const Object* spec = vm::spec_of(*claim)) saved["spec"] = *spec;
    backup["volumeSnapshotName"] = volume_snapshot_name(metadata_text(state.snapshot, "uid"), volume.name);
    backups.emplace_back(std::move(backup));
  }
  return backups;
}

Value content_document(const Turn& turn, const State& state, Value spec) {
  Value made({{"apiVersion", "snapshot.kubevirt.io/v1beta1"},
              {"kind", "VirtualMachineSnapshotContent"},
              {"metadata",
               {{"name", content_of(state.snapshot)},
                {"namespace", turn.key.ns},
                {"finalizers", Array({content_finalizer}, turn.storage)}}},
              {"spec",
               {{"virtualMachineSnapshotName", turn.key.name},
                {"source",
                 {{"virtualMachine",
                   {{"metadata", metadata_copy(*state.source.vm, turn.storage)},
                    {"spec", std::move(spec)},
                    {"status", Object(turn.storage)}}}}}}}},
             turn.storage);
  if (Array backups = volume_backups(turn, state); !backups.empty())
    json::ensure_object(made.get_object(), "spec")["volumeBackups"] = std::move(backups);
  return made;
}

}  // namespace

bool create_content(Pass& pass, const Turn& turn, const State& state) {
  std::optional<Value> spec = saved_spec(turn, state);
  if (!spec || !keep_revisions(pass, turn, state, spec->get_object())) return false;
  const std::string name = content_of(state.snapshot);
  pass.add({.verb = Verb::create,
            .resource = kinds::snapshot_content,
            .ns = turn.key.ns,
            .name = name,
            .identity = identity_of(turn, state),
            .document = content_document(turn, state, std::move(*spec)),
            .already_done_is_fine = true,
            .if_done = Event{.type = EventType::normal,
                             .reason = "SuccessfulVirtualMachineSnapshotContentCreate",
                             .message = fmt::format("VirtualMachineSnapshotContent {} was created", name)}});
  return true;
}

}  // namespace vg::controllers::snapshot
