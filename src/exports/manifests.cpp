#include "exports/manifests.h"

#include <fmt/format.h>

#include <set>

#include "controllers/claims.h"
#include "controllers/common/owners.h"
#include "controllers/vm/machine.h"
#include "json/access.h"
#include "json/write.h"
#include "json/yaml_write.h"

namespace vg::exports {
namespace {

using json::Array;
using json::Object;
using json::Value;
using std::string_view;
namespace vm = controllers::vm;

std::string config_map_name(string_view name) { return fmt::format("export-ca-cm-{}", name); }
std::string secret_name(string_view name) { return fmt::format("header-secret-{}", name); }

Value http_source(const ManifestParts& parts, string_view claim, const json::StoragePtr& storage) {
  return Value({{"http",
                 {{"url", fmt::format("{}/volumes/{}/disk.img.gz", parts.base, claim)},
                  {"certConfigMap", config_map_name(parts.name)},
                  {"secretExtraHeaders", Array({Value(secret_name(parts.name), storage)}, storage)}}}},
               storage);
}

Value config_map(const ManifestParts& parts, const json::StoragePtr& storage) {
  return Value({{"apiVersion", "v1"},
                {"kind", "ConfigMap"},
                {"metadata", {{"name", config_map_name(parts.name)}, {"namespace", parts.ns}}},
                {"data", {{"ca.pem", parts.authority}}}},
               storage);
}

// spec copies Q-11: by the name of the claim, which is that of the template.
void import_templates(Object& spec, const ManifestParts& parts, const json::StoragePtr& storage) {
  vm::edit::each(spec, "dataVolumeTemplates", [&](Object& wanted) {
    const std::string name(controllers::metadata_text(wanted, "name"));
    if (!parts.claims.contains(name)) return;
    Object& inside = json::ensure_object(wanted, "spec");
    json::erase(inside, "sourceRef");
    inside["source"] = http_source(parts, name, storage);
  });
}

Value vm_manifest(const ManifestParts& parts, const json::StoragePtr& storage) {
  Value made({{"apiVersion", "kubevirt.io/v1"},
              {"kind", "VirtualMachine"},
              {"metadata", {{"name", controllers::metadata_text(parts.vm, "name")}, {"namespace", parts.ns}}}},
             storage);
  Object& metadata = json::ensure_object(made.get_object(), "metadata");
  for (const string_view map : {"labels", "annotations"})
    if (const Object* entries = vm::at(&parts.vm, {"metadata", map})) metadata[map] = *entries;
  if (const Object* spec = vm::spec_of(parts.vm)) made.get_object()["spec"] = *spec;
  import_templates(json::ensure_object(made.get_object(), "spec"), parts, storage);
  return made;
}

Value data_volume(const ManifestParts& parts, const std::string& name, const Object& claim_spec,
                  const json::StoragePtr& storage) {
  Value made({{"apiVersion", "cdi.kubevirt.io/v1beta1"},
              {"kind", "DataVolume"},
              {"metadata", {{"name", name}, {"namespace", parts.ns}}},
              {"spec", {{"source", http_source(parts, name, storage)}}}},
             storage);
  Object& kept = json::ensure_path(made.get_object(), {"spec", "storage"});
  for (const string_view member : {"accessModes", "volumeMode", "resources"})
    if (const Value* value = json::find(claim_spec, member)) kept[member] = *value;
  return made;
}

std::set<std::string, std::less<>> template_names(const Object& vm) {
  std::set<std::string, std::less<>> names;
  const Object* spec = vm::spec_of(vm);
  vm::each(spec ? json::get_array(*spec, "dataVolumeTemplates") : nullptr,
           [&](const Object& one) { names.emplace(controllers::metadata_text(one, "name")); });
  return names;
}

}  // namespace

Array manifests(const ManifestParts& parts, const json::StoragePtr& storage) {
  Array all(storage);
  all.emplace_back(config_map(parts, storage));
  all.emplace_back(vm_manifest(parts, storage));
  auto made = template_names(parts.vm);
  vm::each(vm::volumes_of(vm::template_spec_of(parts.vm)), [&](const Object& volume) {
    const std::string name(controllers::claim_of_volume(volume));
    const auto claim = parts.claims.find(name);
    if (claim == parts.claims.end() || json::get_object(volume, "memoryDump") || !made.insert(name).second) return;
    all.emplace_back(data_volume(parts, name, *claim->second, storage));
  });
  return all;
}

Value header_secret(string_view name, string_view ns, string_view token, const json::StoragePtr& storage) {
  return Value({{"apiVersion", "v1"},
                {"kind", "Secret"},
                {"metadata", {{"name", secret_name(name)}, {"namespace", ns}}},
                {"stringData", {{"token", fmt::format("x-kubevirt-export-token:{}", token)}}}},
               storage);
}

std::string print_yaml(const Array& objects) {
  std::string text;
  for (const Value& object : objects) text += json::to_yaml(object) + "---\n";
  return text;
}

std::string print_list(const Array& objects) {
  return json::to_text(Value({{"apiVersion", "v1"}, {"kind", "List"}, {"metadata", Object()}, {"items", objects}}));
}

}  // namespace vg::exports
