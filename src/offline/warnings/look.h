// What the functions of warnings share: going through the lists of a manifest, amounts, and examples.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "json/access.h"
#include "offline/warnings.h"

namespace vg::offline {

// One item of a list of a machine. Its path is made when it is asked for: of most there is nothing to tell.
struct ListItem {
  const json::Object& object;
  std::string_view above, list;
  std::size_t index;

  std::string field(std::string_view below = {}) const {
    return fmt::format("{}.{}[{}]{}{}", above, list, index, below.empty() ? "" : ".", below);
  }
};

template <class F>
void for_each_item(const MachineIn& machine, std::string_view list, F&& f) {
  const json::Array* items = machine.spec ? json::as_array(at_path(*machine.spec, list)) : nullptr;
  for (std::size_t i = 0; items && i < items->size(); ++i)
    if (const json::Object* item = (*items)[i].if_object())
      f(ListItem{.object = *item, .above = machine.path, .list = list, .index = i});
}

inline constexpr std::string_view disks = "domain.devices.disks";
inline constexpr std::string_view interfaces = "domain.devices.interfaces";
inline constexpr std::string_view volumes = "volumes";

// A value below the spec of the machine; null for none.
inline const json::Value* find_in(const MachineIn& machine, std::string_view path) {
  return machine.spec ? at_path(*machine.spec, path) : nullptr;
}
inline bool has_items(const json::Value* list) { return list && list->is_array() && !list->get_array().empty(); }

inline void tell(Remarks& found, const MachineIn& machine, std::string_view below, std::string message) {
  found.push_back({.field = fmt::format("{}.{}", machine.path, below), .message = std::move(message)});
}

// Kinds that make any number of machines from one template.
inline bool makes_many(const Manifest& manifest) {
  return manifest.kind == "VirtualMachinePool" || manifest.kind == "VirtualMachineInstanceReplicaSet";
}
// The spec of the VM that it is or makes; null for a kind that makes none.
const json::Object* vm_spec(const Manifest& manifest);
// The specs of the DataVolumes that the VM makes for itself, by name.
std::map<std::string_view, const json::Value*> volume_templates(const Manifest& manifest);
// Whether sizes, or devices, may come from elsewhere.
bool has_instancetype(const Manifest& manifest);
bool has_preference(const Manifest& manifest);

// Nothing for what is absent, or no amount.
std::optional<Quantity> amount(const json::Value* value);

// A MAC address in small letters and with colons.
std::string usual_address(std::string_view address);

// The machine's volumes by name, made once for all disks: a manifest may have any number of both.
class Volumes {
 public:
  explicit Volumes(const MachineIn& machine);
  // Null for none.
  const json::Object* find(std::string_view name) const;

 private:
  std::map<std::string_view, const json::Object*> by_name_;
};

// --- examples, put together while compiling
// ---------------------------------------------------------------------------

template <std::size_t size>
struct Literal {
  char text[size] = {};
  consteval Literal(const char (&from)[size]) { std::copy_n(from, size, text); }  // NOLINT(google-explicit-constructor)
};

template <Literal... parts>
struct Joined {
  static constexpr auto characters = [] {
    std::array<char, (sizeof(parts.text) + ...) - sizeof...(parts)> all{};
    auto at = all.begin();
    ((at = std::copy_n(parts.text, sizeof(parts.text) - 1, at)), ...);
    return all;
  }();
  static constexpr std::string_view text{characters.data(), characters.size()};
};

// A VM with this spec, and one that always runs with this spec of its template.
template <Literal spec>
inline constexpr std::string_view vm_with =
    Joined<R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo"},"spec":)", spec,
           "}">::text;
template <Literal spec>
inline constexpr std::string_view vm_of =
    Joined<R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"demo"},"spec":{)",
           R"("runStrategy":"Always","template":{"spec":)", spec, "}}}">::text;
template <Literal configuration>
inline constexpr std::string_view kubevirt_with =
    Joined<R"({"apiVersion":"kubevirt.io/v1","kind":"KubeVirt","metadata":{"name":"kubevirt","namespace":"kubevirt"},)",
           R"("spec":{"configuration":)", configuration, "}}">::text;

}  // namespace vg::offline
