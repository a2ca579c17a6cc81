#include "controllers/pool/template.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <set>

#include "controllers/common/owners.h"
#include "controllers/common/user_metadata.h"
#include "json/access.h"
#include "json/patch.h"

namespace vg::controllers::pool {
namespace {

const json::Object& spec_of(const json::Object& pool) {
  static const json::Object nothing;
  const json::Object* spec = json::get_object(pool, "spec");
  return spec ? *spec : nothing;
}

const json::Object* vm_template(const json::Object& pool) {
  const json::Value* value = template_of(spec_of(pool));
  return value ? value->if_object() : nullptr;
}

// A map of the template's metadata; empty when there is none.
json::Object from_metadata(const json::Object& pool, std::string_view map, const json::StoragePtr& storage) {
  const json::Object* given = vm_template(pool);
  const json::Object metadata = user_metadata(given ? json::get_object(*given, "metadata") : nullptr, storage);
  const json::Object* entries = json::get_object(metadata, map);
  return entries ? json::Object(*entries, storage) : json::Object(storage);
}

void append(json::Object* object, std::string_view member, std::int64_t index) {
  if (!object) return;
  if (const auto name = json::get_string(*object, member); name && !name->empty())
    (*object)[member] = fmt::format("{}-{}", *name, index);
}

struct Naming {
  bool config_maps = false, secrets = false;
};

Naming naming_of(const json::Object& pool) {
  const json::Object* said = json::get_object(spec_of(pool), "nameGeneration");
  if (!said) return {};
  return {.config_maps = json::get_bool_or(*said, "appendIndexToConfigMapRefs", false),
          .secrets = json::get_bool_or(*said, "appendIndexToSecretRefs", false)};
}

void number_secrets(json::Object& volume, std::int64_t index) {
  append(json::get_object(volume, "secret"), "secretName", index);
  for (const std::string_view source : {"cloudInitNoCloud", "cloudInitConfigDrive"}) {
    json::Object* given = json::get_object(volume, source);
    if (!given) continue;
    for (const std::string_view reference : {"secretRef", "networkDataSecretRef"})
      append(json::get_object(*given, reference), "name", index);
  }
}

void number_volume(json::Object& volume, const std::set<std::string, std::less<>>& disks, const Naming& naming,
                   std::int64_t index) {
  struct Reference {
    std::string_view source, member;
  };
  for (const auto& [source, member] :
       {Reference{"dataVolume", "name"}, Reference{"persistentVolumeClaim", "claimName"}}) {
    json::Object* given = json::get_object(volume, source);
    if (given && disks.contains(json::get_string_or(*given, member))) append(given, member, index);
  }
  if (naming.config_maps) append(json::get_object(volume, "configMap"), "name", index);
  if (naming.secrets) number_secrets(volume, index);
}

// POOL-16: every VM has disks of its own.
void number(json::Object& vm_spec, const Naming& naming, std::int64_t index) {
  std::set<std::string, std::less<>> disks;
  if (json::Array* templates = json::get_array(vm_spec, "dataVolumeTemplates"))
    for (json::Value& one : *templates) {
      json::Object* metadata = json::get_object(one, "metadata");
      if (!metadata) continue;
      disks.emplace(json::get_string_or(*metadata, "name"));
      append(metadata, "name", index);
    }
  json::Object* inner = json::get_object(vm_spec, "template");
  json::Object* vmi_spec = inner ? json::get_object(*inner, "spec") : nullptr;
  json::Array* volumes = vmi_spec ? json::get_array(*vmi_spec, "volumes") : nullptr;
  if (!volumes) return;
  for (json::Value& volume : *volumes)
    if (json::Object* object = volume.if_object()) number_volume(*object, disks, naming, index);
}

json::Object indexed_spec(const json::Object& pool, std::int64_t index, const json::StoragePtr& storage) {
  const json::Object* given = vm_template(pool);
  const json::Object* spec = given ? json::get_object(*given, "spec") : nullptr;
  json::Object made = spec ? json::Object(*spec, storage) : json::Object(storage);
  number(made, naming_of(pool), index);
  json::Object& labels = json::ensure_path(made, {"template", "metadata", "labels"});
  labels[revision_label] = revision_name(pool);
  return made;
}

json::Object labels_for(const json::Object& pool, const json::StoragePtr& storage) {
  json::Object labels = from_metadata(pool, "labels", storage);
  labels[revision_label] = revision_name(pool);
  return labels;
}

// A guest knows its machine by these, so they stay when the template says nothing else.
void keep_identity(json::Object& made, const json::Object& vm) {
  const json::Object* spec = json::get_object(vm, "spec");
  const json::Value* inner = spec ? json::find(*spec, "template") : nullptr;
  const json::Value* firmware = inner ? json::find_path(*inner, {"spec", "domain", "firmware"}) : nullptr;
  if (!firmware || !firmware->is_object()) return;
  for (const std::string_view member : {"uuid", "serial"}) {
    const json::Value* known = json::find(*firmware, member);
    if (!known) continue;
    json::Object& wanted = json::ensure_path(made, {"template", "spec", "domain", "firmware"});
    if (!json::find(wanted, member)) wanted[member] = *known;
  }
}

}  // namespace

const json::Value* template_of(const json::Object& pool_spec) {
  return json::find(pool_spec, "virtualMachineTemplate");
}

const json::Object* machine_of(const json::Object& pool) {
  const json::Value* given = template_of(spec_of(pool));
  const json::Value* spec = given ? json::find_path(*given, {"spec", "template", "spec"}) : nullptr;
  return spec ? spec->if_object() : nullptr;
}

const json::Object* stored_spec(const json::Object& revision) { return json::get_object(revision, "data"); }

std::string revision_name(const json::Object& pool) {
  const json::Object* metadata = json::get_object(pool, "metadata");
  return fmt::format("{}-{}", metadata_text(pool, "name"), metadata ? json::get_int_or(*metadata, "generation", 0) : 0);
}

json::Value new_revision(const json::Object& pool, const json::StoragePtr& storage) {
  const json::Object* metadata = json::get_object(pool, "metadata");
  json::Value value({{"apiVersion", "apps/v1"},
                     {"kind", "ControllerRevision"},
                     {"metadata", {{"name", revision_name(pool)}, {"namespace", metadata_text(pool, "namespace")}}},
                     {"revision", metadata ? json::get_int_or(*metadata, "generation", 0) : 0}},
                    storage);
  json::Object& revision = value.get_object();
  json::ensure_object(revision, "metadata")["ownerReferences"] =
      json::Array({controller_reference_to(owner_of(pool), storage)}, storage);
  revision["data"] = spec_of(pool);
  return value;
}

std::int64_t index_of(std::string_view vm_name) {
  const std::size_t dash = vm_name.rfind('-');
  if (dash == std::string_view::npos) return 0;
  const std::string_view digits = vm_name.substr(dash + 1);
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return error == std::errc() && end == digits.data() + digits.size() && index >= 0 ? index : 0;
}

json::Value new_vm(const json::Object& pool, std::int64_t index, const json::StoragePtr& storage) {
  json::Value value({{"apiVersion", "kubevirt.io/v1"}, {"kind", "VirtualMachine"}}, storage);
  json::Object& vm = value.get_object();
  json::Object& metadata = json::ensure_object(vm, "metadata");
  metadata["name"] = fmt::format("{}-{}", metadata_text(pool, "name"), index);
  metadata["namespace"] = metadata_text(pool, "namespace");
  metadata["labels"] = labels_for(pool, storage);
  if (json::Object annotations = from_metadata(pool, "annotations", storage); !annotations.empty())
    metadata["annotations"] = std::move(annotations);
  metadata["finalizers"] = json::Array({json::Value(finalizer, storage)}, storage);
  metadata["ownerReferences"] = json::Array({controller_reference_to(owner_of(pool), storage)}, storage);
  vm["spec"] = indexed_spec(pool, index, storage);
  return value;
}

json::Value update_of(const json::Object& vm, const json::Object& pool, const json::StoragePtr& storage) {
  json::Object spec = indexed_spec(pool, index_of(metadata_text(vm, "name")), storage);
  keep_identity(spec, vm);
  json::PatchBuilder patch(storage);
  patch.add("/metadata/labels", json::Value(labels_for(pool, storage), storage));
  patch.add("/metadata/annotations", json::Value(from_metadata(pool, "annotations", storage), storage));
  patch.replace("/spec", json::Value(std::move(spec), storage));
  return json::Value(patch.take(), storage);
}

}  // namespace vg::controllers::pool
