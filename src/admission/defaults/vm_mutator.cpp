// /virtualmachines-mutate (spec vm-instancetype 2).
#include <utility>

#include "admission/defaults/completion.h"
#include "admission/defaults/edit.h"
#include "admission/defaults/infer.h"
#include "admission/defaults/instancetype_lookup.h"
#include "admission/defaults/vm_defaults.h"

namespace vg::admission {
namespace {

using json::Object;
using std::string_view;

// Everything that other objects have to say.
struct Known {
  Result<Inference> instancetype;
  Result<Inference> preference = Inference();
  const Object* preference_spec = nullptr;
  std::string architecture = {};
};

// Step 8: whatever fails here fails for whoever starts the machine (K13).
const Object* find_preference(const Object& vm, const Inference& inference, const Context& context) {
  const auto found = inference.changes
                         ? find_spec(vm, inference.matcher ? &*inference.matcher : nullptr, preference_family, context)
                         : find_named_spec(vm, preference_family, context);
  return found ? *found : nullptr;
}

Known look_up(const Object& vm, const Context& context) {
  Known known{.instancetype = infer_matcher(vm, instancetype_family, context)};
  // What is refused needs no more. But where something is missing, all that may be needed is asked for at once.
  const auto ends = [&](bool good) { return !good && !context.lookups.missed(); };
  if (ends(known.instancetype.has_value())) return known;
  known.preference = infer_matcher(vm, preference_family, context);
  if (ends(known.preference && edit::descend(vm, {"spec", "template"}))) return known;
  if (known.preference) known.preference_spec = find_preference(vm, *known.preference, context);
  known.architecture = find_data_source_architecture(vm, known.preference_spec, context);
  return known;
}

bool is_being_deleted(const Object& vm) {
  const Object* metadata = edit::child(&vm, "metadata");
  return metadata && edit::has(*metadata, "deletionTimestamp");
}

}  // namespace

Verdict complete_vm(const Case& judged) {
  Object& vm = judged.object->get_object();
  if (is_being_deleted(vm)) return {};
  // Before anything is changed: whoever is asked again, with more known, finds the VM as it was.
  Known known = look_up(vm, judged.context);
  if (judged.context.lookups.missed()) return {};
  for (const auto* inferred : {&known.instancetype, &known.preference})
    if (!*inferred) return Verdict::refuse(inferred->error());
  apply_inference(vm, instancetype_family, std::move(*known.instancetype));
  apply_inference(vm, preference_family, std::move(*known.preference));
  if (!edit::descend(vm, {"spec", "template"})) return Verdict::error("spec.template is required");
  VmTarget target{.vm = vm,
                  .preference = known.preference_spec,
                  .data_source_architecture = std::move(known.architecture),
                  .context = judged.context};
  for (const VmDefault& row : vm_defaults())
    if (judged.create() || !row.on_create_only) row.apply(target);
  return replace_members(judged, {"/spec", "/metadata"});
}

}  // namespace vg::admission
