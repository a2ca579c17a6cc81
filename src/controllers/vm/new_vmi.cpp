#include "controllers/vm/new_vmi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "admission/defaults/spec_defaults.h"
#include "admission/instancetype/expand.h"
#include "admission/instancetype/preference.h"
#include "controllers/common/owners.h"
#include "controllers/common/user_metadata.h"
#include "controllers/vm/block_tracking.h"
#include "controllers/vm/metadata_sync.h"
#include "controllers/vm/stable_uuid.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

Value copy_or_empty(const Value* value, const json::StoragePtr& storage) {
  return value && value->is_object() ? Value(*value, storage) : Value(boost::json::object_kind, storage);
}

// Rows 2 to 4, 10 and 12.
void set_metadata(Object& metadata, const Work& work) {
  const Object& vm = work.vm_object();
  edit::set_text(metadata, "name", work.turn.key.name);
  edit::set_text(metadata, "namespace", work.turn.key.ns);
  json::erase(metadata, "generateName");
  metadata["ownerReferences"] = Array({controller_reference_to(owner_of(vm), work.storage())}, work.storage());
  edit::set_text(json::ensure_object(metadata, "annotations"), generation_annotation,
                 fmt::to_string(generation_of(vm)));
  if (const string_view made = annotation_of(vm, host_disks_annotation); !made.empty())
    edit::set_text(json::ensure_object(metadata, "annotations"), host_disks_annotation, made);
  edit::append_text(json::ensure_array(metadata, "finalizers"), controller_finalizer);
}

// Row 6
bool starts_paused(const Object* vm_status) {
  const Object* data = wants_start(vm_status) ? at(first_request(vm_status), {"data"}) : nullptr;
  return data && json::get_string_or(*data, "paused") == "true";
}

// Row 7: a dump that is over is not mounted again.
void leave_out_dump(Object& spec, const Object* vm_status) {
  const Object* request = at(vm_status, {"memoryDumpRequest"});
  Array* volumes = json::get_array(spec, "volumes");
  if (!request || !volumes) return;
  const string_view phase = json::get_string_or(*request, "phase");
  if (phase == "Associating" || phase == "InProgress") return;
  Array kept = filtered(volumes, spec.storage(), [&](const Object& volume) {
    return json::get_string_or(volume, "name") != json::get_string_or(*request, "claimName");
  });
  *volumes = std::move(kept);
}

// Row 8
void derive_firmware_uuid(Object& spec, string_view vm_name) {
  edit::set_text_if_empty(json::ensure_path(spec, {"domain", "firmware"}), "uuid", stable_firmware_uuid(vm_name));
}

// Row 13
void prefer_attachments(const Object& preference, Object& spec) {
  static constexpr auto attachments = std::to_array<admission::Preferred>({
      {"preferredAutoattachGraphicsDevice", "autoattachGraphicsDevice"},
      {"preferredAutoattachMemBalloon", "autoattachMemBalloon"},
      {"preferredAutoattachPodInterface", "autoattachPodInterface"},
      {"preferredAutoattachSerialConsole", "autoattachSerialConsole"},
      {"preferredAutoattachInputDevice", "autoattachInputDevice"},
  });
  if (const Object* devices = json::get_object(preference, "devices"))
    admission::fill(*devices, json::ensure_path(spec, {"domain", "devices"}), attachments);
}

// Row 15
void add_input(Object& spec) {
  Object& devices = json::ensure_path(spec, {"domain", "devices"});
  if (!json::get_bool_or(devices, "autoattachInputDevice", false) || edit::has_items(devices, "inputs")) return;
  edit::set_text(edit::append_object(json::ensure_array(devices, "inputs")), "name", "default-0");
}

// Row 17
void name_matchers(const Object& vm, Object& metadata) {
  for (const string_view member : {"instancetype", "preference"}) {
    const Object* matcher = at(&vm, {"spec", member});
    if (!matcher) continue;
    std::string kind(json::get_string_or(*matcher, "kind"));
    std::ranges::transform(kind, kind.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    const bool of_cluster = kind.empty() || kind.starts_with("virtualmachinecluster");
    edit::set_text(json::ensure_object(metadata, "annotations"),
                   fmt::format("kubevirt.io/{}{}-name", of_cluster ? "cluster-" : "", member),
                   json::get_string_or(*matcher, "name"));
  }
}

// Rows 14 and 19
Value first_status(const Work& work, string_view revision_name) {
  Value status({{"virtualMachineRevisionName", revision_name}}, work.storage());
  const Object& vm = work.vm_object();
  const string_view tracking = first_tracking_state(work.turn.config.enabled(config::Gate::incremental_backup),
                                                    is_tracking_selected(work.turn, vm), tracking_state_of(vm));
  if (!tracking.empty())
    edit::set_text(json::ensure_object(status.get_object(), "changedBlockTracking"), "state", tracking);
  return status;
}

}  // namespace

std::optional<Value> new_vmi(Work& work, string_view revision_name) {
  const json::StoragePtr& storage = work.storage();
  const Object& vm = work.vm_object();
  const Object* vm_status = status_of(vm);
  Value made({{"apiVersion", "kubevirt.io/v1"},
              {"kind", "VirtualMachineInstance"},
              {"metadata", user_metadata(at(&vm, {"spec", "template", "metadata"}), storage)},
              {"spec", copy_or_empty(value_at(&vm, {"spec", "template", "spec"}), storage)},
              {"status", first_status(work, revision_name)}},
             storage);
  Object& vmi = made.get_object();
  Object& metadata = *json::get_object(vmi, "metadata");
  Object& spec = *json::get_object(vmi, "spec");
  set_metadata(metadata, work);
  if (starts_paused(vm_status)) edit::set_text(spec, "startStrategy", "Paused");
  leave_out_dump(spec, vm_status);
  derive_firmware_uuid(spec, work.turn.key.name);
  admission::SpecTarget target{.spec = spec, .config = work.turn.config};
  default_disks(target);  // row 9
  if (work.chosen.preference) prefer_attachments(*work.chosen.preference.object(), spec);
  add_input(spec);
  default_interfaces(target);  // row 16, VMC-62
  if (target.refusal) {
    work.fail("FailedCreate", std::move(*target.refusal));
    return std::nullopt;
  }
  name_matchers(vm, metadata);
  if (auto good = apply_chosen(work.chosen, vmi); !good) {  // row 18, VMC-63
    work.pass.tell(EventType::warning, "FailedCreate",
                   fmt::format("VMI \"{}\" could not be created: {}", work.turn.key.name, good.error().message));
    work.fail("FailedCreate", std::move(good.error().message));
    return std::nullopt;
  }
  return made;
}

}  // namespace vg::controllers::vm
