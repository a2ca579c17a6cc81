#include "controllers/vm/revisions.h"

#include <fmt/format.h>

#include <charconv>

#include "api/canonical.h"
#include "api/schema.h"
#include "controllers/common/owners.h"
#include "json/access.h"

namespace vg::controllers::vm {
namespace {

std::string name_prefix(const Object& vm) { return fmt::format("revision-start-vm-{}", metadata_text(vm, "uid")); }

std::optional<std::int64_t> integer(string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(number)
                                                                                   : std::nullopt;
}

std::optional<std::int64_t> number_of(string_view revision_name) {
  const std::size_t dash = revision_name.rfind('-');
  return dash == string_view::npos ? std::nullopt : integer(revision_name.substr(dash + 1));
}

// VMC-72
Value revision_spec(const Object& vm, const json::StoragePtr& storage) {
  const Value* stored = json::find(vm, "spec");
  Value spec = stored ? Value(*stored, storage) : Value(boost::json::object_kind, storage);
  for (const auto& [matcher, reference] : {std::pair<string_view, string_view>{"instancetype", "instancetypeRef"},
                                           std::pair<string_view, string_view>{"preference", "preferenceRef"}}) {
    Object* named = json::get_object(spec, matcher);
    const Object* used = at(&vm, {"status", reference, "controllerRevisionRef"});
    if (named && used) edit::set_text(*named, "revisionName", json::get_string_or(*used, "name"));
  }
  return spec;
}

std::vector<const Object*> start_revisions(const World& world, const Object& vm) {
  std::vector<const Object*> found;
  const std::string prefix = name_prefix(vm);
  for (const Object* revision :
       world.owned_by(kinds::revision, metadata_text(vm, "namespace"), metadata_text(vm, "uid")))
    if (metadata_text(*revision, "name").find(prefix) != string_view::npos) found.push_back(revision);
  return found;
}

// The revision that the VMI was made from.
const Object* revision_of(const World& world, const Object& vmi) {
  const Object* status = status_of(vmi);
  const string_view name = status ? json::get_string_or(*status, "virtualMachineRevisionName") : string_view();
  return name.empty() ? nullptr : world.get(kinds::revision, metadata_text(vmi, "namespace"), name);
}

Value held_spec(const Object& revision, const json::StoragePtr& storage) {
  const Value* spec = value_at(&revision, {"data", "spec"});
  Value vm(boost::json::object_kind, storage);
  if (spec) vm.get_object()["spec"] = *spec;
  return vm;
}

// False when it is no VM's: then it is as canonical as it can be.
bool make_canonical(Value& vm) {
  return api::canonicalize(vm, *api::find_kind("kubevirt.io", "", "VirtualMachine")->type).has_value();
}

}  // namespace

Value spec_of_revision(const Object& revision, const json::StoragePtr& storage) {
  Value vm = held_spec(revision, storage);
  (void)make_canonical(vm);
  return vm;
}

std::string start_revision_name(const Object& vm) { return fmt::format("{}-{}", name_prefix(vm), generation_of(vm)); }

std::string store_start_revision(Work& work) {
  const Object& vm = work.vm_object();
  const json::StoragePtr& storage = work.storage();
  bool there = false;
  for (const Object* revision : start_revisions(work.world(), vm)) {
    if (json::get_int_or(*revision, "revision", 0) == generation_of(vm)) {
      there = true;
      continue;
    }
    work.pass.add({.verb = Verb::remove,
                   .resource = kinds::revision,
                   .ns = work.turn.key.ns,
                   .name = std::string(metadata_text(*revision, "name")),
                   .identity = Identity::own(),
                   .soft_reason = "FailedCreate",
                   .already_done_is_fine = true});
  }
  std::string name = start_revision_name(vm);
  if (there) return name;
  Value document({{"apiVersion", "apps/v1"},
                  {"kind", "ControllerRevision"},
                  {"metadata",
                   {{"name", name},
                    {"namespace", work.turn.key.ns},
                    {"ownerReferences", Array({controller_reference_to(owner_of(vm), storage)}, storage)}}},
                  {"data", {{"spec", revision_spec(vm, storage)}}},
                  {"revision", generation_of(vm)}},
                 storage);
  work.pass.add({.verb = Verb::create,
                 .resource = kinds::revision,
                 .ns = work.turn.key.ns,
                 .name = name,
                 .identity = work.identity(),
                 .document = std::move(document),
                 .soft_reason = "FailedCreate"});
  return name;
}

std::optional<Value> last_start(const Work& work) {
  const Object* last = nullptr;
  std::int64_t highest = -1;
  for (const Object* revision : start_revisions(work.world(), work.stored_vm)) {
    const std::int64_t number = number_of(metadata_text(*revision, "name")).value_or(-1);
    if (number < highest) continue;
    highest = number;
    last = revision;
  }
  if (!last) return std::nullopt;
  Value vm = held_spec(*last, work.storage());
  if (!make_canonical(vm)) return std::nullopt;
  return vm;
}

void bump_generation(Work& work) {
  if (!work.vmi) return;
  const Object& vm = work.vm_object();
  const std::string generation = fmt::to_string(generation_of(vm));
  if (annotation_of(*work.vmi_object(), generation_annotation) == generation) return;
  const Object* revision = revision_of(work.world(), *work.vmi_object());
  if (!revision) return;
  const Value started = spec_of_revision(*revision, work.storage());
  if (!same_at(Type::vm, {"spec", "template"}, started.get_object(), vm)) return;
  Object& annotations = json::ensure_path(work.edit_vmi(""), {"metadata", "annotations"});
  edit::set_text(annotations, generation_annotation, generation);
}

Generations observed_generation(const World& world, const Object& vmi) {
  if (const auto number = integer(annotation_of(vmi, generation_annotation))) return {.observed = number};
  const Object* revision = revision_of(world, vmi);
  const auto number = revision ? number_of(metadata_text(*revision, "name")) : std::nullopt;
  return {.observed = number, .annotate = number.has_value()};
}

}  // namespace vg::controllers::vm
