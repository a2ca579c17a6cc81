// Reading VMs and VMIs as the VM controller needs it (spec vm-controller 0): small questions, each asked in many
// places.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "admission/defaults/edit.h"
#include "base/quantity.h"
#include "controllers/world.h"
#include "json/value.h"

namespace vg::controllers::vm {

namespace edit = admission::edit;
using json::Array;
using json::Object;
using json::Value;
using std::string_view;

inline constexpr string_view controller_finalizer = "kubevirt.io/virtualMachineControllerFinalize";
inline constexpr string_view orphan_finalizer = "orphan";  // Kubernetes' own: dependents are to stay
inline constexpr string_view generation_annotation = "kubevirt.io/vm-generation";

// spec, spec.template, spec.template.spec ("TS") and status of a VM; null for none.
const Object* spec_of(const Object& vm);
const Object* template_of(const Object& vm);
const Object* template_spec_of(const Object& vm);
const Object* status_of(const Object& object);
std::int64_t generation_of(const Object& object);

// Of a VMI.
string_view phase_of(const Object& vmi);
bool is_final(const Object& vmi);         // FIN
bool reached_running(const Object& vmi);  // at some time
bool is_migrating(const Object& vmi, Time now);

// status.stateChangeRequests[0]; null for none.
const Object* first_request(const Object* vm_status);
bool wants_start(const Object* vm_status);                      // START?
bool wants_stop(const Object* vm_status, string_view vmi_uid);  // STOP?

// VMC-30: the effective run strategy; nothing when `running` and `runStrategy` contradict each other.
std::optional<string_view> run_strategy(const Object& vm);

// Of a volume.
string_view claim_name(const Object& volume);        // CN
bool is_hotpluggable(const Object& volume);          // HP
bool is_hotpluggable_or_dump(const Object& volume);  // HPM
// Lists of a machine's spec (TS, or the spec of a VMI); null for none.
const Array* volumes_of(const Object* spec);
const Array* disks_of(const Object* spec);
const Array* interfaces_of(const Object* spec);
const Array* networks_of(const Object* spec);
// The entry of this name; null for none.
const Object* named(const Array* list, string_view name, string_view member = "name");
bool is_cdrom(const Object& disk);

// SemEq of what stands at `path` of the two objects, which are of this kind: Type::vm, Type::vmi. An empty path means
// the whole.
enum class Type : std::uint8_t { vm, vmi };
bool same_at(Type type, std::initializer_list<string_view> path, const Object& one, const Object& other);
// SemEq of two values that are what stands at `path` of such an object, or null.
bool same_values(Type type, std::initializer_list<string_view> path, const Value* one, const Value* other);
// The same for items of the list that stands there.
bool same_items(Type type, std::initializer_list<string_view> path, const Object& one, const Object& other);

std::optional<Quantity> quantity_at(const Object* root, std::initializer_list<string_view> path);
// The object at `path`; null for none.
const Object* at(const Object* root, std::initializer_list<string_view> path);
const Value* value_at(const Object* root, std::initializer_list<string_view> path);

// A copy of the list in `storage` of those items that `keeps` wants.
template <class Keeps>
Array filtered(const Array* list, const json::StoragePtr& storage, Keeps keeps) {
  Array kept(storage);
  if (!list) return kept;
  for (const Value& item : *list)
    if (const Object* object = item.if_object(); object && keeps(*object)) kept.emplace_back(item);
  return kept;
}

template <class Visit>
void each(const Array* list, Visit visit) {
  if (!list) return;
  for (const Value& item : *list)
    if (const Object* object = item.if_object()) visit(*object);
}

}  // namespace vg::controllers::vm
