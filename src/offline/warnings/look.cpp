#include "offline/warnings/look.h"

namespace vg::offline {

const json::Object* vm_spec(const Manifest& manifest) {
  if (manifest.kind == "VirtualMachine") return json::get_object(manifest.object, "spec");
  if (manifest.kind == "VirtualMachinePool")
    return json::as_object(at_path(manifest.object, "spec.virtualMachineTemplate.spec"));
  return nullptr;
}

std::map<std::string_view, const json::Value*> volume_templates(const Manifest& manifest) {
  std::map<std::string_view, const json::Value*> specs;
  const json::Object* spec = vm_spec(manifest);
  const json::Array* templates = spec ? json::get_array(*spec, "dataVolumeTemplates") : nullptr;
  for (std::size_t i = 0; templates && i < templates->size(); ++i)
    if (const auto name = json::as_string(json::find_path((*templates)[i], {"metadata", "name"})))
      specs.emplace(*name, json::find((*templates)[i], "spec"));
  return specs;
}

bool has_instancetype(const Manifest& manifest) {
  const json::Object* spec = vm_spec(manifest);
  return spec && json::get_object(*spec, "instancetype");
}

bool has_preference(const Manifest& manifest) {
  const json::Object* spec = vm_spec(manifest);
  return spec && json::get_object(*spec, "preference");
}

std::optional<Quantity> amount(const json::Value* value) {
  if (const auto text = json::as_string(value)) {
    if (auto read = Quantity::parse_json(*text)) return std::move(*read);
    return std::nullopt;
  }
  if (const auto number = json::as_int(value)) return Quantity::from_int(*number);
  if (value && value->is_double())
    if (auto read = Quantity::from_double(value->get_double())) return std::move(*read);
  return std::nullopt;
}

std::string usual_address(std::string_view address) {
  std::string usual;
  for (const char c : address) usual.push_back(c == '-' ? ':' : c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
  return usual;
}

Volumes::Volumes(const MachineIn& machine) {
  for_each_item(machine, volumes, [&](const ListItem& volume) {
    by_name_.emplace(json::get_string_or(volume.object, "name"), &volume.object);
  });
}

const json::Object* Volumes::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

}  // namespace vg::offline
