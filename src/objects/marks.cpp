#include "objects/marks.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "admission/trusted_accounts.h"
#include "base/request_marks.h"
#include "json/access.h"
#include "json/document.h"
#include "json/equal.h"
#include "objects/draft.h"
#include "objects/object_meta.h"
#include "objects/owner_kinds.h"

namespace vg::resources {
namespace {

constexpr std::string_view vms_key = "kubevirt.io/virtualmachines";

constexpr std::array<std::string_view, 10> work_objects = {
    vms_key,
    "kubevirt.io/virtualmachineinstances",
    "kubevirt.io/virtualmachineinstancemigrations",
    "snapshot.kubevirt.io/virtualmachinesnapshots",
    "snapshot.kubevirt.io/virtualmachinerestores",
    "clone.kubevirt.io/virtualmachineclones",
    "export.kubevirt.io/virtualmachineexports",
    "backup.kubevirt.io/virtualmachinebackups",
    "cdi.kubevirt.io/datavolumes",
    "persistentvolumeclaims",
};

const json::Object* annotations_in(const json::Object* object) {
  const json::Object* metadata = object ? json::get_object(*object, "metadata") : nullptr;
  return metadata ? json::get_object(*metadata, "annotations") : nullptr;
}

bool is_mark(std::string_view key) { return key.starts_with(marks::prefix); }

void drop_marks(json::Object& annotations) {
  std::vector<std::string> found;
  for (const auto& [key, value] : annotations)
    if (is_mark(key)) found.emplace_back(key);
  for (const std::string& key : found) json::erase(annotations, key);
}

json::Object& make_annotations(json::Object& object) {
  json::Value& annotations = metadata_of(object)["annotations"];
  return annotations.is_object() ? annotations.get_object() : annotations.emplace_object();
}

void keep_marks(json::Object& object, const json::Object* old) {
  const json::Object* before = annotations_in(old);
  if (!before) return;
  for (const auto& [key, value] : *before)
    if (is_mark(key)) make_annotations(object)[key] = value;
}

bool is_work_object(std::string_view key) { return std::ranges::find(work_objects, key) != work_objects.end(); }

void set_marks(json::Object& texts, std::string_view id, std::string_view user) {
  texts[marks::request] = id;
  texts[marks::user] = user;
}

// --- what controllers make -------------------------------------------------------------------------------------------

// Null: it has none that is known, or it is gone.
ObjectPtr owner_of(const ObjectRequest& request, const json::Object& object) {
  const json::Object* metadata = json::get_object(object, "metadata");
  const json::Array* references = metadata ? json::get_array(*metadata, "ownerReferences") : nullptr;
  for (std::size_t i = 0; references && i < references->size(); ++i) {
    const json::Value& reference = (*references)[i];
    const std::string_view key = owner_key(json::get_string_or(reference, "kind"));
    if (key.empty() || !json::get_bool_or(reference, "controller", false)) continue;
    return request.backend.store.get(key, request.ns, json::get_string_or(reference, "name"));
  }
  return nullptr;
}

// A request that waits in the status of a VM says itself whose it is (actions/execute.cpp).
const json::Array* waiting_in(const json::Object* vm) {
  const json::Object* status = vm ? json::get_object(*vm, "status") : nullptr;
  return status ? json::get_array(*status, "stateChangeRequests") : nullptr;
}

const json::Object* waiting_start(const json::Object* vm) {
  const json::Array* waiting = waiting_in(vm);
  for (std::size_t i = 0; waiting && i < waiting->size(); ++i) {
    const json::Value& change = (*waiting)[i];
    const json::Value* data = json::find(change, "data");
    if (json::get_string_or(change, "action") == "Start" && data && data->is_object() &&
        json::find(*data, marks::request))
      return &data->get_object();
  }
  return nullptr;
}

void inherit_marks(const ObjectRequest& request, json::Object& object) {
  const json::Object* own = annotations_in(&object);
  if (own && json::find(*own, marks::request)) return;
  const ObjectPtr stored = owner_of(request, object);
  if (!stored) return;
  json::Document document;
  const json::Value owner = load_object(*stored, document.storage());
  const json::Object* said = waiting_start(owner.if_object());
  if (!said) said = annotations_in(owner.if_object());
  const std::string_view id = said ? json::get_string_or(*said, marks::request) : std::string_view();
  if (!id.empty()) set_marks(make_annotations(object), id, json::get_string_or(*said, marks::user));
}

// Who writes the status itself says of no request but its own whose it is; those that waited there stay as they are.
void settle_waiting(const ObjectRequest& request, json::Object& vm, const json::Object* old) {
  json::Object* status = json::get_object(vm, "status");
  json::Array* waiting = status ? json::get_array(*status, "stateChangeRequests") : nullptr;
  const json::Array* before = waiting_in(old);
  for (std::size_t i = 0; waiting && i < waiting->size(); ++i) {
    json::Object* change = (*waiting)[i].if_object();
    if (!change || (before && i < before->size() && json::equal((*waiting)[i], (*before)[i]))) continue;
    if (json::Object* data = json::get_object(*change, "data")) drop_marks(*data);
    if (request.backend.marks && !request.request_id.empty())
      set_marks(json::ensure_object(*change, "data"), request.request_id, request.user.name);
  }
}

// What says when a VM runs.
bool changes_running(const json::Object& object, const json::Object& old) {
  static const json::Value none;
  const auto of = [](const json::Object& vm, std::string_view name) -> const json::Value& {
    const json::Object* spec = json::get_object(vm, "spec");
    const json::Value* value = spec ? json::find(*spec, name) : nullptr;
    return value ? *value : none;
  };
  return !json::equal(of(object, "runStrategy"), of(old, "runStrategy")) ||
         !json::equal(of(object, "running"), of(old, "running"));
}

}  // namespace

void settle_marks(const ObjectRequest& request, json::Object& object, const json::Object* old) {
  const bool is_marked = request.backend.marks && is_work_object(request.resource.key);
  const bool is_component = admission::is_trusted_account(request.backend.admission.own_namespace, request.user.name);
  // KubeVirt's own accounts mark what they make for somebody. Controllers do not: what they send of it is out of a
  // user's template.
  if (is_component && !request.own) {
    if (is_marked && !old) inherit_marks(request, object);
    return;
  }
  if (const json::Object* sent = annotations_in(&object))
    if (std::ranges::any_of(*sent, [](const auto& member) { return is_mark(member.key()); })) {
      json::Object& annotations = make_annotations(object);
      drop_marks(annotations);
      if (annotations.empty()) json::erase(metadata_of(object), "annotations");
    }
  if (old) keep_marks(object, old);
  if (is_component && is_marked && !old) inherit_marks(request, object);
  if (is_component) return;
  if (request.resource.key == vms_key) settle_waiting(request, object, old);
  if (!is_marked || request.request_id.empty()) return;
  if (!old || (request.resource.key == vms_key && changes_running(object, *old)))
    set_marks(make_annotations(object), request.request_id, request.user.name);
}

}  // namespace vg::resources
