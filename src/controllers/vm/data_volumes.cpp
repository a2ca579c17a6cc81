#include "controllers/vm/data_volumes.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "controllers/common/user_metadata.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

constexpr string_view created_by_label = "kubevirt.io/created-by";
constexpr string_view adoption_annotation = "cdi.kubevirt.io/allowClaimAdoption";

const Array* templates_of(const Object& vm) {
  const Object* spec = spec_of(vm);
  return spec ? json::get_array(*spec, "dataVolumeTemplates") : nullptr;
}

// VMC-84b: a reference to a DataSource is replaced by what that names.
void resolve_source(const Work& work, Object& spec) {
  const Object* reference = json::get_object(spec, "sourceRef");
  if (!reference || json::get_string_or(*reference, "kind") != "DataSource") return;
  string_view ns = json::get_string_or(*reference, "namespace");
  if (ns.empty()) ns = work.turn.key.ns;
  const Object* source = work.world().get(kinds::data_source, ns, json::get_string_or(*reference, "name"));
  if (!source) return;
  const Object* named = at(source, {"spec", "source"});
  if (named && json::get_object(*named, "dataSource")) named = at(source, {"status", "source"});
  for (const string_view kind : {"pvc", "snapshot"}) {
    const Object* found = at(named, {kind});
    if (!found) continue;
    Value copy(*found, work.storage());
    edit::set_text_if_empty(copy.get_object(), "namespace", ns);
    json::erase(spec, "sourceRef");
    json::ensure_object(spec, "source")[kind] = std::move(copy);
    return;
  }
}

// VMC-84a
Value new_data_volume(const Work& work, const Object& wanted) {
  const json::StoragePtr& storage = work.storage();
  const Object& vm = work.vm_object();
  Value made({{"apiVersion", "cdi.kubevirt.io/v1beta1"}, {"kind", "DataVolume"}}, storage);
  Object& object = made.get_object();
  object["metadata"] = user_metadata(json::get_object(wanted, "metadata"), storage);
  object["spec"] = json::get_object(wanted, "spec") ? Value(*json::get_object(wanted, "spec"), storage)
                                                    : Value(boost::json::object_kind, storage);
  Object& metadata = *json::get_object(object, "metadata");
  edit::set_text(metadata, "namespace", work.turn.key.ns);
  edit::set_text(json::ensure_object(metadata, "labels"), created_by_label, metadata_text(vm, "uid"));
  edit::set_text(json::ensure_object(metadata, "annotations"), adoption_annotation, "true");
  metadata["ownerReferences"] = Array({controller_reference_to(owner_of(vm), storage)}, storage);
  Object& spec = *json::get_object(object, "spec");
  const Object* machine = template_spec_of(vm);
  if (const string_view priority = machine ? json::get_string_or(*machine, "priorityClassName") : string_view();
      !priority.empty())
    edit::set_text_if_empty(spec, "priorityClassName", priority);
  resolve_source(work, spec);
  return made;
}

// VMC-86: creation goes on, the source may still come.
void check_source(Work& work, const Object& data_volume) {
  const Object* source = at(&data_volume, {"spec", "source", "pvc"});
  if (!source) return;
  string_view ns = json::get_string_or(*source, "namespace");
  if (ns.empty()) ns = work.turn.key.ns;
  const string_view name = json::get_string_or(*source, "name");
  if (work.world().get(kinds::claim, ns, name)) return;
  work.pass.tell(EventType::warning, "SourcePVCNotAvailabe",
                 fmt::format("PVC \"{}\" in namespace \"{}\", a source of DataVolume \"{}\", does not exist", name, ns,
                             metadata_text(data_volume, "name")));
}

void create(Work& work, const Object& wanted) {
  Value made = new_data_volume(work, wanted);
  const Object& object = made.get_object();
  const std::string name(metadata_text(object, "name"));
  if (at(&object, {"spec", "sourceRef"})) {  // VMC-85
    work.fail("FailedCreate",
              fmt::format("DataVolume \"{}\": spec.sourceRef must name a DataSource with a PVC or snapshot", name));
    return;
  }
  check_source(work, object);
  work.issued = true;
  work.pass.add({.verb = Verb::create,
                 .resource = kinds::data_volume,
                 .ns = work.turn.key.ns,
                 .name = name,
                 .identity = work.identity(),  // VMC-87
                 .document = std::move(made),
                 .soft_reason = "FailedCreate",  // VMC-88
                 .already_done_is_fine = true,
                 .if_done = Event{.type = EventType::normal,
                                  .reason = "SuccessfulDataVolumeCreate",
                                  .message = fmt::format("DataVolume \"{}\" was created", name)},
                 .if_failed = Event{.type = EventType::warning,
                                    .reason = "FailedDataVolumeCreate",
                                    .message = fmt::format("DataVolume \"{}\" could not be created", name)},
                 .if_not_allowed = Event{.type = EventType::warning,
                                         .reason = "UnauthorizedDataVolumeCreate",
                                         .message = fmt::format("DataVolume \"{}\" was not created", name)}});
}

void tell_failed(Work& work, string_view name, string_view why) {
  work.pass.tell(EventType::warning, "FailedDataVolumeImport",
                 fmt::format("DataVolume \"{}\" could not be filled: {}", name, why));
}

// What is there: true when it can be used.
bool is_ready(Work& work, const Object& data_volume) {
  const string_view name = metadata_text(data_volume, "name");
  const Object* status = status_of(data_volume);
  const string_view phase = status ? json::get_string_or(*status, "phase") : string_view();
  if (phase == "Succeeded" || phase == "WaitForFirstConsumer" || phase == "PendingPopulation") return true;  // VMC-81
  if (phase == "Failed") tell_failed(work, name, "its phase is Failed");                                     // VMC-82
  const bool over_quota = !is_true(status, "Bound") && condition_reason(status, "Bound") == "ErrExceededQuota";
  if (phase == "Pending" && over_quota) {  // VMC-83
    tell_failed(work, name, "a quota is exceeded");
    work.fail("FailedCreate", fmt::format("DataVolume \"{}\" exceeds a quota", name));
  }
  return false;
}

}  // namespace

void claim_data_volumes(Work& work) {
  if (is_being_deleted(work.stored_vm)) return;
  each(templates_of(work.stored_vm), [&](const Object& wanted) {
    const string_view name = metadata_text(wanted, "name");
    const Object* there = work.world().get(kinds::data_volume, work.turn.key.ns, name);
    if (!there || controller_reference(*there) || is_being_deleted(*there)) return;
    json::PatchBuilder patch(work.storage());
    const Value owners(Array({controller_reference_to(owner_of(work.stored_vm), work.storage())}, work.storage()));
    guarded_change(patch, "/metadata/ownerReferences", value_at(there, {"metadata", "ownerReferences"}), &owners);
    work.pass.add({.verb = Verb::patch,
                   .resource = kinds::data_volume,
                   .ns = work.turn.key.ns,
                   .name = std::string(name),
                   .identity = Identity::own(),
                   .document = Value(patch.take())});
  });
}

bool ensure_data_volumes(Work& work) {
  bool ready = true;
  each(templates_of(work.vm_object()), [&](const Object& wanted) {
    if (work.failed()) return;
    const Object* there = work.world().get(kinds::data_volume, work.turn.key.ns, metadata_text(wanted, "name"));
    if (!there) {
      create(work, wanted);  // VMC-80
      ready = false;
    } else if (!is_ready(work, *there)) {
      ready = false;
    }
  });
  return ready && !work.failed();
}

}  // namespace vg::controllers::vm
