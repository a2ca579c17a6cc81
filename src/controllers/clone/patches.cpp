#include "controllers/clone/patches.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "controllers/clone/key_filter.h"
#include "controllers/common/patch.h"
#include "controllers/vm/machine.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::controllers::clone {
namespace {

using json::Array;
using json::Object;
using json::Value;
using std::string_view;

constexpr string_view domain_path = "/spec/template/spec/domain";
constexpr string_view mark_annotation = "restore.kubevirt.io/lastRestoreUID";

struct Patches {
  Array all;

  void add(string_view op, string_view path, const string_view* value) {
    Object operation;
    operation["op"] = op;
    operation["path"] = path;
    if (value) operation["value"] = *value;
    all.emplace_back(json::to_text(Value(std::move(operation))));
  }
  void replace(string_view path, string_view value) { add("replace", path, &value); }
  void remove(string_view path) { add("remove", path, nullptr); }
};

// The other way to write a MAC address: restores take no values with ":" (spec work-objects RE07).
std::string with_dashes(string_view address) {
  std::string made(address);
  std::ranges::replace(made, ':', '-');
  return made;
}

void give_addresses(Patches& patches, const Object* spec, const Object& vm) {  // CLN-60
  const Object* wanted = vm::at(spec, {"newMacAddresses"});
  std::size_t index = 0;
  vm::each(vm::interfaces_of(vm::template_spec_of(vm)), [&](const Object& interface) {
    patches.replace(fmt::format("{}/devices/interfaces/{}/macAddress", domain_path, index++),
                    with_dashes(json::text_in(wanted, json::get_string_or(interface, "name"))));
  });
}

void filter(Patches& patches, const Array* filters, const Object* entries, string_view path) {  // CLN-62
  if (!filters || !entries) return;
  const KeyFilter kept(*filters);
  for (const auto& entry : *entries)
    if (entry.key() != mark_annotation && !kept.includes(entry.key())) patches.remove(patch_path(path, {entry.key()}));
}

void filter_metadata(Patches& patches, const Object* filters, const Object* metadata, const std::string& path) {
  constexpr std::pair<string_view, string_view> maps[] = {{"labels", "labelFilters"},
                                                          {"annotations", "annotationFilters"}};
  for (const auto& [map, member] : maps)
    filter(patches, filters ? json::get_array(*filters, member) : nullptr, vm::at(metadata, {map}),
           fmt::format("{}/{}", path, map));
}

}  // namespace

Array clone_patches(const Object& clone, const Object& vm, const json::StoragePtr& storage) {
  Patches patches{.all = Array(storage)};
  const Object* spec = vm::spec_of(clone);
  const bool has_firmware = vm::at(vm::template_spec_of(vm), {"domain", "firmware"}) != nullptr;
  give_addresses(patches, spec, vm);
  if (has_firmware)  // CLN-61
    patches.replace(fmt::format("{}/firmware/serial", domain_path), json::text_in(spec, "newSMBiosSerial"));
  filter_metadata(patches, spec, vm::at(&vm, {"metadata"}), "/metadata");
  filter_metadata(patches, vm::at(spec, {"template"}), vm::at(&vm, {"spec", "template", "metadata"}),
                  "/spec/template/metadata");
  if (has_firmware) patches.replace(fmt::format("{}/firmware/uuid", domain_path), "");  // CLN-63
  if (const Array* own = spec ? json::get_array(*spec, "patches") : nullptr)            // CLN-64
    for (const Value& patch : *own) patches.all.emplace_back(patch);
  return std::move(patches.all);
}

}  // namespace vg::controllers::clone
