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

const Family* const families[] = {&instancetype_family, &preference_family};

// Step 8: whatever fails here fails for whoever starts the machine (K13).
const Object* find_preference(const Object& vm, const Context& context) {
  auto found = find_named_spec(vm, preference_family, context);
  return found ? *found : nullptr;
}

bool is_being_deleted(const Object& vm) {
  const Object* metadata = edit::child(&vm, "metadata");
  return metadata && edit::has(*metadata, "deletionTimestamp");
}

}  // namespace

Verdict complete_vm(const Case& about) {
  Object& vm = about.object->get_object();
  if (is_being_deleted(vm)) return {};
  for (const Family* family : families)
    if (auto good = infer_matcher(vm, *family, about.context); !good) return Verdict::refuse(std::move(good.error()));
  if (!edit::descend(vm, {"spec", "template"})) return Verdict::error("spec.template is required");
  VmTarget target{.vm = vm, .preference = find_preference(vm, about.context), .context = about.context};
  for (const VmDefault& row : vm_defaults())
    if (about.create() || !row.on_create_only) row.apply(target);
  return replace_members(about, {"/spec", "/metadata"});
}

}  // namespace vg::admission
