#include "admission/defaults/vm_defaults.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "admission/defaults/edit.h"
#include "admission/defaults/spec_defaults.h"

namespace vg::admission {
namespace {

using json::Object;
using json::Value;
using std::string_view;

constexpr string_view architecture_label = "template.kubevirt.io/architecture";

bool same_but_for_case(string_view a, string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// Step 9
void prefer_architecture(VmTarget& target) {
  const string_view preferred = json::text_in(target.preference, "preferredArchitecture");
  if (!preferred.empty()) edit::set_text_if_empty(target.template_spec(), "architecture", preferred);
}

// Step 10
void prefer_machine_type(VmTarget& target) {
  const string_view preferred = json::text_in(edit::child(target.preference, "machine"), "preferredMachineType");
  if (!preferred.empty()) edit::set_text_if_empty(json::ensure_object(target.domain(), "machine"), "type", preferred);
}

// Step 11: an empty class means "none" to storage, so it counts as given.
void prefer_storage_class(VmTarget& target) {
  const string_view preferred = json::text_in(edit::child(target.preference, "volumes"), "preferredStorageClassName");
  if (preferred.empty()) return;
  edit::each(target.spec(), "dataVolumeTemplates", [&](Object& item) {
    for (const string_view kind : {"pvc", "storage"})
      if (Object* claim = edit::descend(item, {"spec", kind}); claim && !edit::has(*claim, "storageClassName"))
        edit::set_text(*claim, "storageClassName", preferred);
  });
}

// Step 12: what a guest may have been licensed for must not change when the VM is restarted.
void default_firmware_identity(VmTarget& target) {
  Object& firmware = json::ensure_object(target.domain(), "firmware");
  for (const string_view field : {"uuid", "serial"})
    if (json::get_string_or(firmware, field).empty()) edit::set_text(firmware, field, target.context.randomness.uuid());
}

const Object* get_data_source(const Context& context, string_view ns, string_view name) {
  auto found = context.lookups.get("cdi.kubevirt.io/datasources", ns, name, context.storage);
  return found ? json::as_object(static_cast<const Value*>(*found)) : nullptr;
}

// Of the DataSource or, one level deep, of the one that it points at.
string_view data_source_architecture(const Context& context, string_view ns, const Object& reference) {
  const string_view given = json::text_in(&reference, "namespace");
  const Object* source = get_data_source(context, given.empty() ? ns : given, json::text_in(&reference, "name"));
  if (!source) return {};
  if (const Object* next = edit::descend(*source, {"spec", "source", "dataSource"}))
    source = get_data_source(context, json::text_in(next, "namespace"), json::text_in(next, "name"));
  return source ? json::text_in(edit::descend(*source, {"metadata", "labels"}), architecture_label) : string_view();
}

// Step 13: an image is built for one architecture.
void default_architecture_from_data_source(VmTarget& target) {
  if (!target.data_source_architecture.empty())
    edit::set_text_if_empty(target.template_spec(), "architecture", target.data_source_architecture);
}

// Steps 13 and 14: as for a VMI.
void default_architecture_of_cluster(VmTarget& target) {
  SpecTarget spec{.spec = target.template_spec(), .config = target.context.config};
  default_architecture(spec);
}
void default_machine_type_of_cluster(VmTarget& target) {
  SpecTarget spec{.spec = target.template_spec(), .config = target.context.config};
  default_machine_type(spec);
}

// Step 15: machines that exist keep the layout that their guests know.
void annotate_pci_topology(VmTarget& target) {
  const string_view type = json::text_in(edit::child(&target.domain(), "machine"), "type");
  if (!wants_pci_topology(json::text_in(&target.template_spec(), "architecture"), type)) return;
  Object& annotations = json::ensure_object(target.template_metadata(), "annotations");
  if (!annotations.contains(pci_topology_annotation))
    edit::set_text(annotations, pci_topology_annotation, pci_topology_version);
}

constexpr std::array vm_default_table = std::to_array<VmDefault>({
    {"9", prefer_architecture},
    {"10", prefer_machine_type},
    {"11", prefer_storage_class},
    {"12", default_firmware_identity, true},
    {"13 DataSource", default_architecture_from_data_source},
    {"13 cluster", default_architecture_of_cluster},
    {"14", default_machine_type_of_cluster},
    {"15", annotate_pci_topology, true},
});

}  // namespace

Object& VmTarget::spec() { return json::ensure_object(vm, "spec"); }
Object& VmTarget::template_metadata() { return json::ensure_path(vm, {"spec", "template", "metadata"}); }
Object& VmTarget::template_spec() { return json::ensure_path(vm, {"spec", "template", "spec"}); }
Object& VmTarget::domain() { return json::ensure_object(template_spec(), "domain"); }

std::span<const VmDefault> vm_defaults() { return vm_default_table; }

// What cannot be found or is not known says nothing.
std::string find_data_source_architecture(const Object& vm, const Object* preference, const Context& context) {
  if (!json::text_in(edit::descend(vm, {"spec", "template", "spec"}), "architecture").empty()) return {};
  if (!json::text_in(preference, "preferredArchitecture").empty()) return {};
  const Object* spec = edit::child(&vm, "spec");
  const string_view ns = json::text_in(edit::child(&vm, "metadata"), "namespace");
  std::string architecture;
  if (spec)
    edit::each(*spec, "dataVolumeTemplates", [&](const Object& item) {
      const Object* reference = edit::descend(item, {"spec", "sourceRef"});
      if (!architecture.empty() || !reference || !same_but_for_case(json::text_in(reference, "kind"), "DataSource"))
        return;
      const string_view label = data_source_architecture(context, ns, *reference);
      if (label == "amd64" || label == "arm64" || label == "s390x") architecture = label;
    });
  return architecture;
}

}  // namespace vg::admission
