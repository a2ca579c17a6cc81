#include <fmt/format.h>

#include "controllers/common/owners.h"
#include "controllers/common/user_metadata.h"
#include "controllers/copies/names.h"
#include "controllers/copies/revisions.h"
#include "controllers/restore/target.h"
#include "controllers/vm/machine.h"
#include "controllers/vm/stable_uuid.h"
#include "json/access.h"
#include "json/parse.h"
#include "json/patch.h"

namespace vg::controllers::restore {
namespace {

string_view volume_name(const Object& volume) { return json::get_string_or(volume, "name"); }

void point_at(Object& source, string_view member, string_view name) { vm::edit::set_text(source, member, name); }

// RST-32: one volume of the new spec. False: it is dropped.
bool change_volume(const Work& work, Object& volume) {
  if (json::get_object(volume, "memoryDump")) return false;
  const Object* entry = work.restored(volume_name(volume));
  if (!entry) return true;
  const string_view claim = json::get_string_or(*entry, "persistentVolumeClaim");
  if (Object* source = json::get_object(volume, "persistentVolumeClaim")) {
    point_at(*source, "claimName", claim);
    return true;
  }
  Object* source = json::get_object(volume, "dataVolume");
  if (!source) return true;
  if (Work::data_volume_template(*work.saved, json::get_string_or(*source, "name"))) {
    point_at(*source, "name", claim);
    return true;
  }
  const bool hotpluggable = json::get_bool_or(*source, "hotpluggable", false);  // spec copies Q-07
  json::erase(volume, "dataVolume");
  Object& plain = json::ensure_object(volume, "persistentVolumeClaim");
  point_at(plain, "claimName", claim);
  if (hotpluggable) plain["hotpluggable"] = true;
  return true;
}

void change_volumes(const Work& work, Object& spec) {
  Object* machine = vm::edit::descend(spec, {"template", "spec"});
  Array* volumes = machine ? json::get_array(*machine, "volumes") : nullptr;
  if (!volumes) return;
  Array kept(work.storage());
  for (Value& volume : *volumes)
    if (Object* object = volume.if_object(); object && change_volume(work, *object)) kept.emplace_back(*object);
  (*machine)["volumes"] = std::move(kept);
}

// Templates are renamed with their volumes.
void change_templates(const Work& work, Object& spec) {
  Array* templates = json::get_array(spec, "dataVolumeTemplates");
  if (!templates) return;
  vm::each(vm::volumes_of(vm::template_spec_of(*work.saved)), [&](const Object& volume) {
    const string_view renamed = restored_data_volume(work, volume);
    if (renamed.empty()) return;
    for (Value& entry : *templates)
      if (Object* one = entry.if_object(); one && metadata_text(*one, "name") == vm::claim_name(volume))
        point_at(json::ensure_object(*one, "metadata"), "name", renamed);
  });
}

void keep_switched_off(Object& spec) {
  if (json::get_bool(spec, "running")) {
    spec["running"] = false;
    return;
  }
  vm::edit::set_text(spec, "runStrategy", "Halted");
}

// RST-33
void keep_run_strategy(const Work& work, Object& spec) {
  if (!work.vm) return keep_switched_off(spec);
  const Object* present = vm::spec_of(*work.vm);
  for (const string_view member : {"running", "runStrategy"}) json::erase(spec, member);
  if (!present) return keep_switched_off(spec);
  if (json::get_bool(*present, "running"))
    spec["running"] = false;
  else if (const auto strategy = json::get_string(*present, "runStrategy"))
    vm::edit::set_text(spec, "runStrategy", *strategy);
}

// RST-34
void keep_uuid(const Work& work, Object& spec) {
  if (metadata_text(*work.saved, "name") != work.target) return;
  Object* domain = vm::edit::descend(spec, {"template", "spec", "domain"});
  if (!domain) return;
  vm::edit::set_text_if_empty(json::ensure_object(*domain, "firmware"), "uuid", vm::stable_firmware_uuid(work.target));
}

// RST-39: the copies are the VM's own.
void rename_revisions(const Work& work, Object& spec) {
  for (const MatcherRef& matcher : matchers) {
    Object* named = json::get_object(spec, matcher.member);
    const string_view name = named ? json::get_string_or(*named, "revisionName") : string_view();
    if (!name.empty())
      point_at(*named, "revisionName", renamed_revision(name, work.option("virtualMachineSnapshotName"), work.target));
  }
}

Result<Value> joined_patches(const Work& work) {
  Array all(work.storage());
  const Object* spec = vm::spec_of(work.object);
  const Array* patches = spec ? json::get_array(*spec, "patches") : nullptr;
  if (patches)
    for (const Value& text : *patches) {
      auto parsed = json::parse(json::as_string(&text).value_or(""), work.storage());
      if (!parsed) return vg::fail(parsed.error());
      all.emplace_back(std::move(*parsed));
    }
  return Value(std::move(all));
}

}  // namespace

string_view restored_data_volume(const Work& work, const Object& volume) {
  const Object* source = json::get_object(volume, "dataVolume");
  const Object* entry = source ? work.restored(volume_name(volume)) : nullptr;
  if (!entry || !Work::data_volume_template(*work.saved, json::get_string_or(*source, "name"))) return {};
  return json::get_string_or(*entry, "persistentVolumeClaim");
}

Value new_spec(const Work& work) {
  const Object* saved = vm::spec_of(*work.saved);
  Value made = saved ? Value(*saved, work.storage()) : Value(boost::json::object_kind, work.storage());
  Object& spec = made.get_object();
  change_templates(work, spec);
  change_volumes(work, spec);
  keep_run_strategy(work, spec);
  keep_uuid(work, spec);
  rename_revisions(work, spec);
  return made;
}

Result<Value> new_vm(const Work& work, Value spec) {
  Value made({{"apiVersion", "kubevirt.io/v1"},
              {"kind", "VirtualMachine"},
              {"metadata", {{"name", work.target}, {"namespace", work.ns()}}},
              {"spec", std::move(spec)}},
             work.storage());
  Object& metadata = json::ensure_object(made.get_object(), "metadata");
  for (const string_view map : {"labels", "annotations"})
    if (const Object* entries = vm::at(work.saved, {"metadata", map})) metadata[map] = *entries;
  vm::edit::set_text(json::ensure_object(metadata, "annotations"), mark_annotation, work.mark());
  auto patches = joined_patches(work);
  if (!patches) return vg::fail(std::move(patches.error()));
  if (auto patched = json::apply_json_patch(made, *patches); !patched) return vg::fail(std::move(patched.error()));
  if (Object* said = made.is_object() ? json::get_object(made.get_object(), "metadata") : nullptr) drop_reserved(*said);
  return made;
}

}  // namespace vg::controllers::restore
