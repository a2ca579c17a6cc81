#include "controllers/vm/machine.h"

#include <algorithm>

#include "admission/semantic_equal.h"
#include "api/schema.h"
#include "base/time_rfc3339.h"
#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

std::optional<Timestamp> time_at(const Object* root, string_view member) {
  const string_view text = root ? json::get_string_or(*root, member) : string_view();
  if (text.empty()) return std::nullopt;
  const auto parsed = parse_rfc3339(text);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

const api::Type& type_of(Type type) {
  static const api::Type* const vm = api::find_kind("kubevirt.io", "", "VirtualMachine")->type;
  static const api::Type* const vmi = api::find_kind("kubevirt.io", "", "VirtualMachineInstance")->type;
  return type == Type::vm ? *vm : *vmi;
}

bool flag(const Object& volume, string_view source) {
  const Object* found = json::get_object(volume, source);
  return found && json::get_bool_or(*found, "hotpluggable", false);
}

const Array* devices_list(const Object* spec, string_view name) {
  const Object* devices = at(spec, {"domain", "devices"});
  return devices ? json::get_array(*devices, name) : nullptr;
}

}  // namespace

const Object* at(const Object* root, std::initializer_list<string_view> path) {
  for (const string_view name : path) root = root ? json::get_object(*root, name) : nullptr;
  return root;
}

const Value* value_at(const Object* root, std::initializer_list<string_view> path) {
  const Value* found = nullptr;
  for (const string_view name : path) {
    found = root ? json::find(*root, name) : nullptr;
    root = found ? found->if_object() : nullptr;
  }
  return found && !found->is_null() ? found : nullptr;
}

std::optional<Quantity> quantity_at(const Object* root, std::initializer_list<string_view> path) {
  const auto text = json::as_string(value_at(root, path));
  if (!text) return std::nullopt;
  auto parsed = Quantity::parse(*text);
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

const Object* spec_of(const Object& vm) { return at(&vm, {"spec"}); }
const Object* template_of(const Object& vm) { return at(&vm, {"spec", "template"}); }
const Object* template_spec_of(const Object& vm) { return at(&vm, {"spec", "template", "spec"}); }
const Object* status_of(const Object& object) { return at(&object, {"status"}); }

std::int64_t generation_of(const Object& object) {
  const Object* metadata = at(&object, {"metadata"});
  return metadata ? json::get_int_or(*metadata, "generation", 0) : 0;
}

string_view phase_of(const Object& vmi) {
  const Object* status = status_of(vmi);
  return status ? json::get_string_or(*status, "phase") : string_view();
}

bool is_final(const Object& vmi) {
  const string_view phase = phase_of(vmi);
  return phase == "Failed" || phase == "Succeeded";
}

bool reached_running(const Object& vmi) {
  const Object* status = status_of(vmi);
  const Array* times = status ? json::get_array(*status, "phaseTransitionTimestamps") : nullptr;
  return named(times, "Running", "phase") != nullptr;
}

bool is_migrating(const Object& vmi, Time now) {
  const Object* migration = at(&vmi, {"status", "migrationState"});
  const auto start = time_at(migration, "startTimestamp");
  const auto end = time_at(migration, "endTimestamp");
  const Timestamp instant = Timestamp::from(now);
  return start && *start <= instant && (!end || *end > instant);
}

const Object* first_request(const Object* vm_status) {
  const Array* requests = vm_status ? json::get_array(*vm_status, "stateChangeRequests") : nullptr;
  return requests && !requests->empty() ? requests->front().if_object() : nullptr;
}

bool wants_start(const Object* vm_status) {
  const Object* request = first_request(vm_status);
  return request && json::get_string_or(*request, "action") == "Start";
}

bool wants_stop(const Object* vm_status, string_view vmi_uid) {
  const Object* request = first_request(vm_status);
  if (!request || json::get_string_or(*request, "action") != "Stop") return false;
  const auto uid = json::get_string(*request, "uid");
  return uid && *uid == vmi_uid;
}

std::optional<string_view> run_strategy(const Object& vm) {
  const Object* spec = spec_of(vm);
  if (!spec) return "Halted";
  const auto running = json::get_bool(*spec, "running");
  const auto strategy = json::get_string(*spec, "runStrategy");
  if (running && strategy) return std::nullopt;
  if (strategy) return strategy;
  return running.value_or(false) ? "Always" : "Halted";
}

string_view claim_name(const Object& volume) {
  if (const Object* source = json::get_object(volume, "dataVolume")) return json::get_string_or(*source, "name");
  if (const Object* source = json::get_object(volume, "persistentVolumeClaim"))
    return json::get_string_or(*source, "claimName");
  if (const Object* source = json::get_object(volume, "memoryDump")) return json::get_string_or(*source, "claimName");
  return {};
}

bool is_hotpluggable(const Object& volume) {
  return flag(volume, "persistentVolumeClaim") || flag(volume, "dataVolume");
}

bool is_hotpluggable_or_dump(const Object& volume) { return is_hotpluggable(volume) || flag(volume, "memoryDump"); }

const Array* volumes_of(const Object* spec) { return spec ? json::get_array(*spec, "volumes") : nullptr; }
const Array* networks_of(const Object* spec) { return spec ? json::get_array(*spec, "networks") : nullptr; }
const Array* disks_of(const Object* spec) { return devices_list(spec, "disks"); }
const Array* interfaces_of(const Object* spec) { return devices_list(spec, "interfaces"); }

const Object* named(const Array* list, string_view name, string_view member) {
  if (!list) return nullptr;
  for (const Value& item : *list)
    if (const Object* object = item.if_object(); object && json::get_string_or(*object, member) == name) return object;
  return nullptr;
}

bool is_cdrom(const Object& disk) { return json::get_object(disk, "cdrom") != nullptr; }

bool same_values(Type type, std::initializer_list<string_view> path, const Value* one, const Value* other) {
  const api::Field* field = admission::member_at(type_of(type), path);
  return field && admission::semantically_equal(one, other, *field);
}

bool same_items(Type type, std::initializer_list<string_view> path, const Object& one, const Object& other) {
  const api::Field* field = admission::member_at(type_of(type), path);
  if (!field || !field->element || !field->element->type) return false;
  return std::ranges::all_of(field->element->type->fields, [&](const api::Field& member) {
    return admission::semantically_equal(json::find(one, member.name), json::find(other, member.name), member);
  });
}

bool same_at(Type type, std::initializer_list<string_view> path, const Object& one, const Object& other) {
  return same_values(type, path, value_at(&one, path), value_at(&other, path));
}

}  // namespace vg::controllers::vm
