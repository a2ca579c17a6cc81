#include "controllers/vm/instancetypes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

#include "admission/defaults/instancetype_lookup.h"
#include "admission/instancetype/conflicts.h"
#include "controllers/common/owners.h"
#include "json/access.h"
#include "json/equal.h"

namespace vg::controllers::vm {
namespace {

using admission::Family;

constexpr string_view group_prefix = "instancetype.kubevirt.io/";
constexpr string_view current_version = "v1beta1";
constexpr string_view version_label = "instancetype.kubevirt.io/object-version";
constexpr std::array<const Family*, 2> families = {&admission::instancetype_family, &admission::preference_family};

// The root of a value needs a place in the pass' memory as well; it is never freed by itself.
Value* keep(const Object& object, const json::StoragePtr& storage) {
  void* place = storage->allocate(sizeof(Value), alignof(Value));
  return new (place) Value(object, storage);
}

std::vector<Value*> keep_all(const std::vector<const Object*>& objects, const json::StoragePtr& storage) {
  std::vector<Value*> kept;
  kept.reserve(objects.size());
  for (const Object* object : objects) kept.push_back(keep(*object, storage));
  return kept;
}

std::string lower(string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

const Object* matcher_of(const Object& vm, const Family& family) { return at(&vm, {"spec", family.matcher}); }

string_view revision_in_use(const Object& vm, const Family& family) {
  const Object* reference = at(&vm, {"status", family.status_reference, "controllerRevisionRef"});
  return reference ? json::get_string_or(*reference, "name") : string_view();
}

// The object that a matcher without a revision names.
const Object* find_named(const Work& work, const Object& matcher, const Family& family) {
  const std::string kind = lower(json::get_string_or(matcher, "kind"));
  const bool in_namespace = kind == lower(family.kind) || kind == family.plural;
  return work.world().get(fmt::format("{}{}", group_prefix, in_namespace ? family.plural : family.cluster_plural),
                          in_namespace ? string_view(work.turn.key.ns) : string_view(),
                          json::get_string_or(matcher, "name"));
}

// VMC-95: what a revision of the object holds.
Value revision_data(const Object& object, const json::StoragePtr& storage) {
  Value data(object, storage);
  if (Object* metadata = json::get_object(data, "metadata"))
    for (const string_view member :
         {"labels", "annotations", "finalizers", "ownerReferences", "managedFields", "resourceVersion"})
      json::erase(*metadata, member);
  return data;
}

std::string revision_name(string_view vm_name, const Object& object) {
  return fmt::format("{}-{}-{}-{}-{}", vm_name, metadata_text(object, "name"), current_version,
                     metadata_text(object, "uid"), generation_of(object));
}

Value new_revision(const Work& work, const std::string& name, const Object& object) {
  const auto label = [](string_view member) { return fmt::format("instancetype.kubevirt.io/object-{}", member); };
  const json::StoragePtr& storage = work.storage();
  return Value({{"apiVersion", "apps/v1"},
                {"kind", "ControllerRevision"},
                {"metadata",
                 {{"name", name},
                  {"namespace", work.turn.key.ns},
                  {"labels",
                   {{label("generation"), fmt::to_string(generation_of(object))},
                    {label("kind"), json::get_string_or(object, "kind")},
                    {label("name"), metadata_text(object, "name")},
                    {label("uid"), metadata_text(object, "uid")},
                    {label("version"), current_version}}},
                  {"ownerReferences", Array({controller_reference_to(owner_of(work.stored_vm), storage)}, storage)}}},
                {"data", revision_data(object, storage)},
                {"revision", 0}},
               storage);
}

void fail_to_store(Work& work, std::string message) {
  work.pass.tell(EventType::warning, "FailedCreate",
                 fmt::format("a revision of the instance type or preference could not be stored: {}", message));
  work.fail("FailedCreate", std::move(message));
}

// Has a revision of this object made, unless it is there. Empty when it cannot be.
std::string store_revision(Work& work, const Object& object) {
  std::string name = revision_name(work.turn.key.name, object);
  if (const Object* there = work.world().get(kinds::revision, work.turn.key.ns, name)) {
    const Object* data = at(there, {"data"});
    const Value* old_spec = data ? json::find(*data, "spec") : nullptr;
    const Value* new_spec = json::find(object, "spec");
    if (old_spec && new_spec && json::equal(*old_spec, *new_spec)) return name;
    fail_to_store(work, fmt::format("ControllerRevision \"{}\" exists and holds something else; delete it", name));
    return {};
  }
  work.pass.add({.verb = Verb::create,
                 .resource = kinds::revision,
                 .ns = work.turn.key.ns,
                 .name = name,
                 .identity = work.identity(),
                 .document = new_revision(work, name, object),
                 .soft_reason = "FailedCreate",
                 .if_failed = Event{.type = EventType::warning,
                                    .reason = "FailedCreate",
                                    .message = "a revision of the instance type or preference could not be stored"}});
  return name;
}

// VMC-94a. True when the reference means another object than before.
bool copy_matcher(const Object& matcher, Object& reference) {
  bool changed = false;
  for (const string_view member : {"name", "kind", "inferFromVolume"}) {
    const string_view wanted = json::get_string_or(matcher, member);
    if (wanted.empty() || wanted == json::get_string_or(reference, member)) continue;
    edit::set_text(reference, member, wanted);
    changed = true;
  }
  if (const string_view policy = json::get_string_or(matcher, "inferFromVolumeFailurePolicy"); !policy.empty())
    edit::set_text(reference, "inferFromVolumeFailurePolicy", policy);
  return changed;
}

// VMC-95, for an instance type alone.
bool has_conflicts(Work& work, const Family& family) {
  const Object* machine_template = template_of(work.vm_object());
  if (&family != &admission::instancetype_family || !machine_template) return false;
  const auto conflicts = admission::find_conflicts(work.chosen.instancetype, *machine_template);
  if (conflicts.empty()) return false;
  std::string fields;
  for (const auto& conflict : conflicts) fields += fmt::format("{}{}", fields.empty() ? "" : ", ", conflict.field);
  fail_to_store(work, fmt::format("the VM sets what its instance type sets, remove from the VM: {}", fields));
  return true;
}

// The status reference as the matcher wants it; nothing is changed where it is that already.
void store_reference(Work& work, const Family& family) {
  const Object* matcher = matcher_of(work.vm_object(), family);
  if (!matcher) return;
  const Object* old = at(&work.vm_object(), {"status", family.status_reference});
  Value wanted = old ? Value(*old, work.storage()) : Value(boost::json::object_kind, work.storage());
  Object& reference = wanted.get_object();
  if (copy_matcher(*matcher, reference)) json::erase(reference, "controllerRevisionRef");
  if (const string_view name = json::get_string_or(*matcher, "revisionName"); !name.empty()) {
    edit::set_text(json::ensure_object(reference, "controllerRevisionRef"), "name", name);
  } else if (!json::get_object(reference, "controllerRevisionRef")) {
    const Object* object = find_named(work, *matcher, family);
    if (!object || has_conflicts(work, family)) return;
    const std::string made = store_revision(work, *object);
    if (made.empty()) return;
    edit::set_text(json::ensure_object(reference, "controllerRevisionRef"), "name", made);
  }
  if (old && json::equal(*old, reference)) return;
  json::ensure_object(work.vm.edit(), "status")[family.status_reference] = std::move(wanted);
}

// VMC-97: a revision of an older layout is made anew.
void upgrade_reference(Work& work, const Family& family) {
  const std::string name(revision_in_use(work.vm_object(), family));
  const Object* revision = name.empty() ? nullptr : work.world().get(kinds::revision, work.turn.key.ns, name);
  if (!revision || label_of(*revision, version_label) == current_version) return;
  const Object* object = json::get_object(*revision, "data");
  if (!object) return;
  const std::string upgraded = store_revision(work, *object);
  if (upgraded.empty() || upgraded == name) return;
  Object& reference = json::ensure_path(work.vm.edit(), {"status", family.status_reference, "controllerRevisionRef"});
  edit::set_text(reference, "name", upgraded);
  work.write_vm_status("FailedCreate");
  work.pass.add({.verb = Verb::remove,
                 .resource = kinds::revision,
                 .ns = work.turn.key.ns,
                 .name = name,
                 .identity = Identity::own(),
                 .may_fail = true,
                 .already_done_is_fine = true});
}

// VMC-91
bool store(Work& work) {
  for (const Family* family : families) {
    store_reference(work, *family);
    if (work.failed()) return true;
  }
  work.write_vm_status("FailedCreate");
  for (const Family* family : families) upgrade_reference(work, *family);
  return true;
}

// VMC-98
bool expand(Work& work) {
  const WorldLookups lookups(work.world());
  const admission::Context context{.config = work.turn.config,
                                   .lookups = lookups,
                                   .randomness = admission::system_randomness(),
                                   .own_namespace = {},
                                   .now = work.turn.now,
                                   .storage = work.storage()};
  auto expanded = admission::expand_vm(work.vm_object(), context);
  if (!expanded) {
    work.fail("UnsupportedSyncError", fmt::format("the VM could not be expanded: {}", expanded.error().message));
    return true;
  }
  std::vector<std::string> revisions;
  for (const Family* family : families)
    if (const string_view name = revision_in_use(work.vm_object(), *family); !name.empty())
      revisions.emplace_back(name);
  work.vm.edit() = expanded->get_object();
  work.write_vm("UnsupportedSyncError");
  work.write_vm_status("UnsupportedSyncError");
  for (const std::string& name : revisions)
    work.pass.add({.verb = Verb::remove,
                   .resource = kinds::revision,
                   .ns = work.turn.key.ns,
                   .name = name,
                   .identity = Identity::own(),
                   .soft_reason = "FailedCreate",
                   .already_done_is_fine = true});
  return false;
}

// VMC-90
bool find_both(Work& work) {
  const WorldLookups lookups(work.world());
  const admission::Context context{.config = work.turn.config,
                                   .lookups = lookups,
                                   .randomness = admission::system_randomness(),
                                   .own_namespace = {},
                                   .now = work.turn.now,
                                   .storage = work.storage()};
  const auto instancetype = find_named_spec(work.vm_object(), admission::instancetype_family, context);
  if (!instancetype) {
    work.fail("FailedFindInstancetype", instancetype.error().message);
    return false;
  }
  const auto preference = find_named_spec(work.vm_object(), admission::preference_family, context);
  if (!preference) {
    work.fail("FailedFindPreference", preference.error().message);
    return false;
  }
  work.chosen.instancetype = api::instancetype::VirtualMachineInstancetypeSpec(*instancetype);
  work.chosen.preference = api::instancetype::VirtualMachinePreferenceSpec(*preference);
  return true;
}

string_view reference_policy(const config::ClusterConfig& config) {
  const Object* settings = at(&config.configuration(), {"instancetype"});
  const string_view policy = settings ? json::get_string_or(*settings, "referencePolicy") : string_view();
  return policy.empty() ? "reference" : policy;
}

}  // namespace

Result<Value*> WorldLookups::get(string_view resource, string_view ns, string_view name,
                                 const json::StoragePtr& storage) const {
  const Object* object = world_.get(resource, ns, name);
  return object ? keep(*object, storage) : nullptr;
}

Result<std::vector<Value*>> WorldLookups::list(string_view resource, string_view ns,
                                               const json::StoragePtr& storage) const {
  return keep_all(world_.list(resource, ns), storage);
}

Result<std::vector<Value*>> WorldLookups::list_labelled(string_view resource, string_view ns, string_view label,
                                                        string_view value, const json::StoragePtr& storage) const {
  return keep_all(world_.labelled(resource, ns, label, value), storage);
}

bool names_instancetype_or_preference(const Object& vm) {
  return std::ranges::any_of(families, [&](const Family* family) { return matcher_of(vm, *family) != nullptr; });
}

Result<admission::Chosen> chosen_by(const Object& vm, const Turn& turn) {
  if (!names_instancetype_or_preference(vm)) return admission::Chosen();
  const WorldLookups lookups(turn.world);
  return admission::find_chosen(vm, {.config = turn.config,
                                     .lookups = lookups,
                                     .randomness = admission::system_randomness(),
                                     .own_namespace = {},
                                     .now = turn.now,
                                     .storage = turn.storage});
}

bool sync_instancetypes(Work& work) {
  if (!names_instancetype_or_preference(work.vm_object()) || !find_both(work)) return true;
  const string_view policy = reference_policy(work.turn.config);
  if (policy == "reference") return store(work);
  const bool referenced = std::ranges::any_of(
      families, [&](const Family* family) { return !revision_in_use(work.vm_object(), *family).empty(); });
  if (policy == "expand" && referenced) return true;  // VMC-92
  return expand(work);
}

}  // namespace vg::controllers::vm
