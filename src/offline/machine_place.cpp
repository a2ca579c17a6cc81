#include "offline/machine_place.h"

#include <algorithm>
#include <array>

#include "json/access.h"

namespace vg::offline {
namespace {

struct MachinePlace {
  std::string_view kind;
  std::string_view below;  // its spec
};
constexpr std::array machines = std::to_array<MachinePlace>({
    {"VirtualMachine", "template.spec"},
    {"VirtualMachineInstance", ""},
    {"VirtualMachineInstanceReplicaSet", "template.spec"},
    {"VirtualMachinePool", "virtualMachineTemplate.spec.template.spec"},
});

}  // namespace

const json::Value* at_path(const json::Value& from, std::string_view path) {
  const json::Value* at = &from;
  while (at && !path.empty()) {
    const std::string_view name = path.substr(0, path.find('.'));
    at = json::find(*at, name);
    path.remove_prefix(std::min(name.size() + 1, path.size()));
  }
  return at;
}

const json::Value* at_path(const json::Object& from, std::string_view path) {
  const std::string_view first = path.substr(0, path.find('.'));
  const json::Value* value = json::find(from, first);
  return value ? at_path(*value, path.substr(std::min(first.size() + 1, path.size()))) : nullptr;
}

MachineIn machine_in(const json::Object& object) {
  const auto* place = std::ranges::find(machines, json::get_string_or(object, "kind"), &MachinePlace::kind);
  const json::Value* spec = json::find(object, "spec");
  if (place == machines.end() || !spec) return {};
  const json::Value* machine = at_path(*spec, place->below);
  std::string path = "spec";
  if (!place->below.empty()) path.append(".").append(place->below);
  return {.spec = machine ? machine->if_object() : nullptr, .path = std::move(path)};
}

}  // namespace vg::offline
