#include "controllers/vm/memory_dump.h"

#include <fmt/format.h>

#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/vm/hotplug.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

constexpr string_view memory_dump_error = "MemoryDumpError";
constexpr string_view dump_annotation = "kubevirt.io/memory-dump";
constexpr string_view failed_dump = "Memory dump failed";  // what clients find on the claim

void mount(Object& spec, string_view claim, const json::StoragePtr& storage) {
  Array volumes = copy_of(volumes_of(&spec), storage);
  volumes.push_back(Value({{"name", claim}, {"memoryDump", {{"claimName", claim}, {"hotpluggable", true}}}}, storage));
  set_volumes(spec, std::move(volumes));
}

void unmount(Object& spec, string_view claim, const json::StoragePtr& storage) {
  set_volumes(spec, filtered(volumes_of(&spec), storage,
                             [&](const Object& volume) { return json::get_string_or(volume, "name") != claim; }));
}

bool has_volume(const Object* spec, string_view claim) { return named(volumes_of(spec), claim) != nullptr; }

void unmount_from_vmi(Work& work, string_view claim) {
  if (work.vmi && has_volume(at(work.vmi_object(), {"spec"}), claim))
    unmount(json::ensure_object(work.edit_vmi(memory_dump_error), "spec"), claim, work.storage());
}

// VMC-130
void associate(Work& work, string_view claim) {
  if (!work.vmi || work.is_vmi_deleted() || phase_of(*work.stored_vmi) != "Running") return;
  if (!has_volume(template_spec_of(work.vm_object()), claim))
    mount(json::ensure_path(work.vm.edit(), {"spec", "template", "spec"}), claim, work.storage());
  if (!has_volume(at(work.vmi_object(), {"spec"}), claim))
    mount(json::ensure_object(work.edit_vmi(memory_dump_error), "spec"), claim, work.storage());
}

// VMC-131
void annotate_claim(Work& work, string_view claim, string_view text) {
  const Object* there = work.world().get(kinds::claim, work.turn.key.ns, claim);
  if (!there)
    return work.fail(memory_dump_error, fmt::format("PVC \"{}\", which takes the memory dump, does not exist", claim));
  if (text.empty() || annotation_of(*there, dump_annotation) == text) return;
  json::PatchBuilder patch(work.storage());
  if (value_at(there, {"metadata", "annotations"}))
    patch.add(patch_path("/metadata/annotations", {dump_annotation}), Value(text, work.storage()));
  else
    guarded_add(patch, "/metadata/annotations", Value({{dump_annotation, text}}, work.storage()));
  work.pass.add({.verb = Verb::patch,
                 .resource = kinds::claim,
                 .ns = work.turn.key.ns,
                 .name = std::string(claim),
                 .identity = Identity::own(),
                 .document = Value(patch.take()),
                 .soft_reason = std::string(memory_dump_error)});
}

const Object* volume_status(const Object* vmi, string_view claim) {
  const Object* status = vmi ? status_of(*vmi) : nullptr;
  return status ? named(json::get_array(*status, "volumeStatus"), claim) : nullptr;
}

// VMC-134a and VMC-134b. True when the dump is over.
bool read_progress(Object& request, const Object& volume) {
  const Object* dump = json::get_object(volume, "memoryDumpVolume");
  if (!dump) return false;
  const auto copy = [&](string_view from, string_view to) {
    if (const Value* value = value_at(dump, {from})) request[to] = *value;
  };
  copy("startTimestamp", "startTimestamp");
  const string_view phase = json::get_string_or(volume, "phase");
  if (phase == "MemoryDumpCompleted") {
    edit::set_text(request, "phase", "Unmounting");
    copy("endTimestamp", "endTimestamp");
    copy("targetFileName", "fileName");
    return true;
  }
  if (phase != "MemoryDumpFailed") return false;
  edit::set_text(request, "phase", "Failed");
  edit::set_text(request, "message", json::get_string_or(volume, "message"));
  copy("endTimestamp", "endTimestamp");
  return true;
}

}  // namespace

void handle_memory_dump(Work& work) {
  const Object* request = at(&work.stored_vm, {"status", "memoryDumpRequest"});
  if (!request) return;
  const string_view claim = json::get_string_or(*request, "claimName");
  const string_view phase = json::get_string_or(*request, "phase");
  if (phase == "Associating") return associate(work, claim);
  if (phase == "Unmounting" || phase == "Failed") {
    annotate_claim(work, claim, phase == "Failed" ? failed_dump : json::get_string_or(*request, "fileName"));
    if (!work.failed()) unmount_from_vmi(work, claim);
    return;
  }
  if (phase != "Dissociating") return;  // VMC-132
  unmount_from_vmi(work, claim);
  if (has_volume(template_spec_of(work.vm_object()), claim))
    unmount(json::ensure_path(work.vm.edit(), {"spec", "template", "spec"}), claim, work.storage());
}

void update_memory_dump(Object& status, const Object& vm, const Object* vmi) {
  Object* request = json::get_object(status, "memoryDumpRequest");
  if (!request) return;
  const std::string claim(json::get_string_or(*request, "claimName"));
  const std::string phase(json::get_string_or(*request, "phase"));
  const bool in_template = has_volume(template_spec_of(vm), claim);
  const Object* volume = volume_status(vmi, claim);
  if (phase == "Completed") return;                                                                   // VMC-137
  if (phase == "Associating" && in_template) return edit::set_text(*request, "phase", "InProgress");  // VMC-133
  if (phase == "InProgress" && volume && read_progress(*request, *volume)) return;
  if (phase == "Unmounting" && !volume) return edit::set_text(*request, "phase", "Completed");  // VMC-135
  if (phase == "Dissociating") {                                                                // VMC-136
    if (!volume && !in_template) json::erase(status, "memoryDumpRequest");
    return;
  }
  if (json::get_bool_or(*request, "remove", false)) edit::set_text(*request, "phase", "Dissociating");  // VMC-138
}

}  // namespace vg::controllers::vm
