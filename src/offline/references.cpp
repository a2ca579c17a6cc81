#include "offline/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "json/access.h"
#include "offline/machine_place.h"

namespace vg::offline {
namespace {

// A path below the spec of a machine; "[]" goes through a list. A name with a slash has its namespace in front.
struct ReferenceField {
  std::string_view path;
  std::string_view resource;
  std::string_view or_resource = {};  // see Reference
};
constexpr std::array fields = std::to_array<ReferenceField>({
    {"volumes[].persistentVolumeClaim.claimName", "persistentvolumeclaims", "cdi.kubevirt.io/datavolumes"},
    {"volumes[].ephemeral.persistentVolumeClaim.claimName", "persistentvolumeclaims", "cdi.kubevirt.io/datavolumes"},
    {"volumes[].dataVolume.name", "cdi.kubevirt.io/datavolumes"},
    {"volumes[].configMap.name", "configmaps"},
    {"volumes[].secret.secretName", "secrets"},
    {"volumes[].serviceAccount.serviceAccountName", "serviceaccounts"},
    {"volumes[].sysprep.configMap.name", "configmaps"},
    {"volumes[].sysprep.secret.name", "secrets"},
    {"volumes[].cloudInitNoCloud.secretRef.name", "secrets"},
    {"volumes[].cloudInitNoCloud.networkDataSecretRef.name", "secrets"},
    {"volumes[].cloudInitConfigDrive.secretRef.name", "secrets"},
    {"volumes[].cloudInitConfigDrive.networkDataSecretRef.name", "secrets"},
    {"networks[].multus.networkName", "k8s.cni.cncf.io/network-attachment-definitions"},
    {"accessCredentials[].sshPublicKey.source.secret.secretName", "secrets"},
    {"accessCredentials[].userPassword.source.secret.secretName", "secrets"},
});

// NOLINTNEXTLINE(misc-no-recursion): as deep as a row of the table
void follow(const json::Object& from, std::string_view path, const std::string& place, const ReferenceField& row,
            std::string_view ns, std::vector<Reference>& found) {
  const auto list = path.find("[]");
  if (list == path.npos) {
    const json::Value* around = at_path(from, path.substr(0, path.rfind('.')));
    const std::string_view name = path.substr(path.rfind('.') + 1);
    const json::Value* value = around ? json::find(*around, name) : nullptr;
    if (!value || !value->is_string() || value->get_string().empty()) return;
    if (json::get_bool_or(*around, "optional", false)) return;
    const std::string_view named = value->get_string();
    const auto slash = named.find('/');
    const std::string_view space = slash == named.npos ? ns : named.substr(0, slash);
    found.push_back({.field = fmt::format("{}.{}", place, path),
                     .to = {.resource = std::string(row.resource),
                            .ns = std::string(space),
                            .name = std::string(slash == named.npos ? named : named.substr(slash + 1))},
                     .or_to = row.or_resource});
    return;
  }
  const json::Value* items = at_path(from, path.substr(0, list));
  const json::Array* array = items ? items->if_array() : nullptr;
  for (std::size_t i = 0; array && i < array->size(); ++i)
    if (const json::Object* item = (*array)[i].if_object())
      follow(*item, path.substr(list + 3), fmt::format("{}.{}[{}]", place, path.substr(0, list), i), row, ns, found);
}

// The volumes that a VM makes for itself exist by the time it needs them.
bool has_template(const json::Object& object, std::string_view name) {
  for (const std::string_view path :
       {"spec.dataVolumeTemplates", "spec.virtualMachineTemplate.spec.dataVolumeTemplates"}) {
    const json::Value* at = at_path(object, path);
    const json::Array* templates = at ? at->if_array() : nullptr;
    if (templates && std::ranges::any_of(*templates, [&](const json::Value& one) {
          return json::as_string(json::find_path(one, {"metadata", "name"})) == name;
        }))
      return true;
  }
  return false;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
bool search(const json::Value& value, std::string_view name, std::string& path) {
  const std::size_t length = path.size();
  if (const json::String* text = value.if_string()) return std::string_view(*text) == name;
  if (const json::Object* object = value.if_object()) {
    for (const auto& member : *object) {
      path.append(path.empty() ? "" : ".").append(member.key());
      if (path != "metadata.name" && search(member.value(), name, path)) return true;
      path.resize(length);
    }
  } else if (const json::Array* array = value.if_array()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      path += fmt::format("[{}]", i);
      if (search((*array)[i], name, path)) return true;
      path.resize(length);
    }
  }
  return false;
}

}  // namespace

std::vector<Reference> references_of(const json::Object& object, std::string_view ns) {
  std::vector<Reference> found;
  const MachineIn machine = machine_in(object);
  if (!machine.spec) return found;
  for (const ReferenceField& row : fields) follow(*machine.spec, row.path, machine.path, row, ns, found);
  std::erase_if(found, [&](const Reference& reference) {
    const bool always_there = reference.to.resource == "serviceaccounts" && reference.to.name == "default";
    return always_there || has_template(object, reference.to.name);
  });
  return found;
}

std::string field_with_value(const json::Object& object, std::string_view name) {
  std::string path;
  for (const auto& member : object) {
    path = member.key();
    if (path != "kind" && path != "apiVersion" && search(member.value(), name, path)) return path;
  }
  return {};
}

}  // namespace vg::offline
