#include "controllers/restore/work.h"

#include <fmt/format.h>

#include "controllers/common/owners.h"
#include "controllers/copies/writing.h"
#include "controllers/vm/machine.h"
#include "json/access.h"

namespace vg::controllers::restore {
Work::Work(const Turn& given, const Object& restore)
    : turn(given), object(restore), status(status_copy(restore, given.storage)) {
  target = json::text_in(vm::at(&object, {"spec", "target"}), "name");
  vm = world().get(kinds::vm, ns(), target);
  vmi = world().get(kinds::vmi, ns(), target);
  snapshot = world().get(kinds::snapshot, ns(), option("virtualMachineSnapshotName"));
  if (!snapshot) return;
  const string_view name = json::text_in(vm::status_of(*snapshot), "virtualMachineSnapshotContentName");
  content = world().get(kinds::snapshot_content, ns(), name);
  saved = vm::at(content, {"spec", "source", "virtualMachine"});
}

string_view Work::option(string_view member) const { return json::text_in(vm::spec_of(object), member); }

std::string Work::mark() const { return fmt::format("{}-{}", turn.key.name, metadata_text(object, "uid")); }
bool Work::is_marked(const Object& marked) const { return annotation_of(marked, mark_annotation) == mark(); }

const Object* Work::restored(string_view volume) const {
  return vm::named(json::get_array(status, "restores"), volume, "volumeName");
}

const Object* Work::data_volume_template(const Object& vm, string_view name) {
  const Object* spec = vm::spec_of(vm);
  const Array* templates = spec ? json::get_array(*spec, "dataVolumeTemplates") : nullptr;
  if (!templates) return nullptr;
  for (const Value& entry : *templates)
    if (const Object* one = entry.if_object(); one && metadata_text(*one, "name") == name) return one;
  return nullptr;
}

void Work::show(bool progressing, string_view progress, bool ready, string_view readiness) {
  set(status, "Progressing", progressing, progress, turn.now);
  set(status, "Ready", ready, readiness, turn.now);
}

void Work::write_status() { copies::write_status(pass, turn, kinds::restore, object, status); }

void Work::patch(string_view resource, const Object& patched, json::Array operations) {
  if (operations.empty()) return;
  pass.add({.verb = Verb::patch,
            .resource = resource,
            .ns = ns(),
            .name = std::string(metadata_text(patched, "name")),
            .identity = Identity::own(),
            .document = Value(std::move(operations), storage())});
}

Identity Work::identity() const { return Identity::machine(ns(), vm::template_spec_of(*saved)); }

void release_target(Work& work) {
  const Object* status = work.vm ? vm::status_of(*work.vm) : nullptr;
  if (json::text_in(status, "restoreInProgress") != work.turn.key.name) return;
  write_status_member(work.pass, work.turn, kinds::vm, *work.vm, "restoreInProgress", nullptr);
  write_status_member(work.pass, work.turn, kinds::vm, *work.vm, "memoryDumpRequest", nullptr);
}

void fault(Work& work, std::string words) {
  work.show(false, words, false, words);
  work.pass.tell(EventType::warning, "VirtualMachineRestoreError",
                 fmt::format("VirtualMachineRestore failed: {}", words));
  work.pass.try_again = true;
}

void fail(Work& work, std::string words) {
  work.show(false, words, false, words);
  set(work.status, "Failure", true, words, work.turn.now);
  work.pass.tell(EventType::warning, "Operation failed", fmt::format("VirtualMachineRestore failed: {}", words));
}

}  // namespace vg::controllers::restore
