#include "controllers/vm/metadata_sync.h"

#include <fmt/format.h>

#include <array>

#include "admission/defaults/spec_defaults.h"
#include "controllers/common/owners.h"
#include "controllers/vm/stable_uuid.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

constexpr string_view metadata_error = "AnnotationsLabelsChangeError";
constexpr string_view slot_count_annotation = "kubevirt.io/pci-interface-slot-count";

// From where the VMI takes an annotation.
enum class From : std::uint8_t { machine_template, vm };
struct Followed {
  string_view annotation;
  From from;
};
constexpr auto followed = std::to_array<Followed>({
    {"descheduler.alpha.kubernetes.io/evict", From::machine_template},
    {"descheduler.alpha.kubernetes.io/prefer-no-eviction", From::machine_template},
    {"kubevirt.io/skip-backup-hooks", From::vm},
});

const Value* annotation_value(const Object* object, string_view name) {
  return value_at(object, {"metadata", "annotations", name});
}

}  // namespace

void set_firmware_uuid(Work& work) {
  const Object* firmware = at(template_spec_of(work.vm_object()), {"domain", "firmware"});
  if (firmware && !json::get_string_or(*firmware, "uuid").empty()) return;
  Object& made = json::ensure_path(work.vm.edit(), {"spec", "template", "spec", "domain", "firmware"});
  edit::set_text(made, "uuid", stable_firmware_uuid(work.turn.key.name));
}

void sync_annotations(Work& work) {
  if (!work.vmi || work.is_vmi_deleted()) return;
  for (const Followed& row : followed) {
    const Object* source = row.from == From::vm ? &work.vm_object() : template_of(work.vm_object());
    const auto wanted = json::as_string(annotation_value(source, row.annotation));
    const auto present = json::as_string(annotation_value(work.vmi_object(), row.annotation));
    if (wanted == present) continue;
    Object& annotations = json::ensure_path(work.edit_vmi(metadata_error), {"metadata", "annotations"});
    if (wanted)
      edit::set_text(annotations, row.annotation, std::string(*wanted));
    else
      json::erase(annotations, row.annotation);
  }
}

void note_host_disks(Work& work) {
  if (!work.vmi || phase_of(*work.vmi_object()) != "Running") return;
  const Array* volumes = json::as_array(value_at(work.vmi_object(), {"spec", "volumes"}));
  if (!volumes) return;
  const std::string before(annotation_of(work.vm_object(), host_disks_annotation));
  std::string all = before;
  for (const Value& volume : *volumes) {
    const Object* disk = json::get_object(volume, "hostDisk");
    if (!disk || json::get_string_or(*disk, "type") != "DiskOrCreate") continue;
    const std::string line = fmt::format("{}\n", json::get_string_or(*disk, "path"));
    if (!fmt::format("\n{}", all).contains(fmt::format("\n{}", line))) all += line;
  }
  if (all == before) return;
  edit::set_text(json::ensure_path(work.vm.edit(), {"metadata", "annotations"}), host_disks_annotation, all);
}

void keep_pci_topology(Work& work) {
  if (!work.vmi) return;
  const string_view version = annotation_of(*work.vmi_object(), admission::pci_topology_annotation);
  const Object* machine_template = template_of(work.vm_object());
  if (version.empty() || !machine_template ||
      !annotation_of(*machine_template, admission::pci_topology_annotation).empty())
    return;
  Object& annotations = json::ensure_path(work.vm.edit(), {"spec", "template", "metadata", "annotations"});
  edit::set_text(annotations, admission::pci_topology_annotation, version);
  if (const Value* count = annotation_value(work.vmi_object(), slot_count_annotation))
    annotations[slot_count_annotation] = *count;
}

}  // namespace vg::controllers::vm
