#include "controllers/vm/work.h"

#include "api/canonical.h"
#include "api/schema.h"
#include "controllers/common/owners.h"
#include "controllers/common/patch.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

string_view kind_of(Type type) { return type == Type::vm ? "VirtualMachine" : "VirtualMachineInstance"; }

string_view mark_name(RestartMark::What what) {
  switch (what) {
    case RestartMark::What::drop:
      return "drop";
    case RestartMark::What::set:
      return "set";
    default:
      return "";
  }
}

Value mark_json(const RestartMark& mark, const json::StoragePtr& storage) {
  return Value({{"what", mark_name(mark.what)}, {"message", mark.message}}, storage);
}

RestartMark mark_of(const Value& value, string_view member) {
  const Value* mark = json::find(value, member);
  if (!mark) return {};
  RestartMark read;
  const string_view what = json::get_string_or(*mark, "what");
  if (what == "drop") read.drop();
  if (what == "set") read.set(std::string(json::get_string_or(*mark, "message")));
  return read;
}

}  // namespace

Object& Draft::edit() {
  if (!copy_) copy_.emplace(*stored_, storage_);
  return copy_->get_object();
}

Array Draft::take_patch(std::initializer_list<string_view> members) {
  json::PatchBuilder patch(storage_);
  if (!copy_) return patch.take();
  // What cannot be brought into canonical form would be refused by whoever is asked to write it, with a better message.
  (void)api::canonicalize(*copy_, *api::find_kind("kubevirt.io", "", kind_of(type_))->type);
  const Object& wanted = copy_->get_object();
  Value after(*stored_, storage_);
  for (const string_view member : members) {
    const Value* old = json::find(*stored_, member);
    const Value* now = json::find(wanted, member);
    const std::string path = patch_path("", {member});
    if (old && now && old->is_object() && now->is_object())
      guarded_diff(patch, path, old->get_object(), now->get_object());
    else
      guarded_change(patch, path, old, now);
    if (now) after.get_object()[member] = *now;
  }
  taken_ = std::move(after);
  stored_ = &taken_->get_object();
  return patch.take();
}

Value Outcome::to_json(const json::StoragePtr& storage) const {
  Value value(boost::json::object_kind, storage);
  Object& object = value.get_object();
  if (error) object["error"] = {{"reason", error->reason}, {"message", error->message}};
  object["restart"] = mark_json(restart, storage);
  object["liveRestart"] = mark_json(live_restart, storage);
  if (migrated_volumes) object["migratedVolumes"] = *migrated_volumes;
  if (observed_generation) object["observedGeneration"] = *observed_generation;
  return value;
}

Outcome Outcome::from_json(const Value& value) {
  Outcome outcome;
  if (const Value* error = json::find(value, "error"))
    outcome.error = {.reason = std::string(json::get_string_or(*error, "reason")),
                     .message = std::string(json::get_string_or(*error, "message"))};
  outcome.restart = mark_of(value, "restart");
  outcome.live_restart = mark_of(value, "liveRestart");
  if (const Value* volumes = json::find(value, "migratedVolumes")) outcome.migrated_volumes.emplace(*volumes);
  outcome.observed_generation = json::get_int(value, "observedGeneration");
  return outcome;
}

bool Work::is_vmi_deleted() const { return is_being_deleted(*stored_vmi); }

Object& Work::edit_vmi(string_view reason) {
  if (vmi_part.empty()) vmi_part = reason;
  return vmi->edit();
}

void Work::fail(string_view reason, std::string message) {
  if (outcome.error) return;
  outcome.error = {.reason = std::string(reason), .message = std::move(message)};
  pass.try_again = true;
}

Identity Work::identity() const { return Identity::machine(turn.key.ns, template_spec_of(vm_object())); }

void Work::write_vm(string_view soft_reason) {
  Array patch = vm.take_patch({"metadata", "spec"});
  if (patch.empty()) return;
  pass.add({.verb = Verb::patch,
            .resource = kinds::vm,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .identity = identity(),
            .document = Value(std::move(patch)),
            .soft_reason = std::string(soft_reason)});
}

void Work::write_vm_status(string_view soft_reason) {
  Array patch = vm.take_patch({"status"});
  if (patch.empty()) return;
  pass.add({.verb = Verb::patch_status,
            .resource = kinds::vm,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .identity = Identity::own(),
            .document = Value(std::move(patch)),
            .soft_reason = std::string(soft_reason)});
}

void Work::write_vmi(string_view soft_reason) {
  Array patch = vmi ? vmi->take_patch({"metadata", "spec", "status"}) : Array(storage());
  vmi_part.clear();
  if (patch.empty()) return;
  pass.add({.verb = Verb::patch,
            .resource = kinds::vmi,
            .ns = turn.key.ns,
            .name = turn.key.name,
            .identity = identity(),
            .document = Value(std::move(patch)),
            .soft_reason = std::string(soft_reason)});
}

}  // namespace vg::controllers::vm
