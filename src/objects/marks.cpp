#include "objects/marks.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "admission/trusted_accounts.h"
#include "base/request_marks.h"
#include "json/access.h"
#include "objects/object_meta.h"

namespace vg::resources {
namespace {

constexpr std::array<std::string_view, 9> work_objects = {
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

bool is_mark(std::string_view key) { return key.starts_with(marks_prefix); }

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

}  // namespace

void settle_marks(const ObjectRequest& request, json::Object& object, const json::Object* old) {
  // KubeVirt's own accounts mark what they make for somebody.
  if (admission::is_trusted_account(request.backend.admission.own_namespace, request.user.name)) return;
  if (const json::Object* sent = annotations_in(&object))
    if (std::ranges::any_of(*sent, [](const auto& member) { return is_mark(member.key()); })) {
      json::Object& annotations = make_annotations(object);
      drop_marks(annotations);
      if (annotations.empty()) json::erase(metadata_of(object), "annotations");
    }
  if (old) return keep_marks(object, old);
  if (!request.backend.marks || request.request_id.empty() ||
      std::ranges::find(work_objects, request.resource.key) == work_objects.end())
    return;
  make_annotations(object)[marks::request] = request.request_id;
  make_annotations(object)[marks::user] = request.user.name;
}

}  // namespace vg::resources
