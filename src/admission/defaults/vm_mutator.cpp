// /virtualmachines-mutate (spec vm-instancetype 2).
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "admission/defaults/completion.h"
#include "admission/defaults/edit.h"
#include "admission/defaults/infer.h"
#include "admission/defaults/instancetype_lookup.h"
#include "admission/defaults/vm_defaults.h"

namespace vg::admission {
namespace {

using json::Object;
using std::string_view;

const Object* matcher_of(const Object& vm, const Family& family) { return edit::descend(vm, {"spec", family.matcher}); }

std::string field_of(const Family& family, string_view member) {
  return fmt::format("spec.{}{}{}", family.matcher, member.empty() ? "" : ".", member);
}

using Causes = std::vector<StatusCause>;

// M01 and M02: a revision belongs to one object. K16: the kind is not looked at.
Causes matcher_change_causes(const Object& vm, const Object& old_vm, const Family& family) {
  const Object *now = matcher_of(vm, family), *before = matcher_of(old_vm, family);
  if (!now || !before) return {};
  const string_view revision = json::get_string_or(*now, "revisionName");
  if (revision.empty() || revision != json::get_string_or(*before, "revisionName")) return {};
  if (json::get_string_or(*now, "name") == json::get_string_or(*before, "name")) return {};
  return {{.reason = "FieldValueInvalid",
           .message = fmt::format("the revision {} is of another {}; remove revisionName when you change "
                                  "the name",
                                  revision, family.matcher),
           .field = field_of(family, "revisionName")}};
}

// M04 and M05: what is inferred cannot be given too.
void add_inference_causes(const Object& matcher, const Family& family, Causes& causes) {
  for (const string_view member : {"name", "kind"})
    if (!json::get_string_or(matcher, member).empty())
      causes.push_back(
          {.reason = "FieldValueNotSupported",
           .message = fmt::format("{} is inferred from a volume; {} is mutually exclusive with inferFromVolume", member,
                                  member),
           .field = field_of(family, member)});
}

// M03 to M06 and M07 to M10
Causes matcher_causes(const Object& vm, const Family& family) {
  const Object* matcher = matcher_of(vm, family);
  if (!matcher) return {};
  Causes causes;
  const bool infers = !json::get_string_or(*matcher, "inferFromVolume").empty();
  if (!infers && json::get_string_or(*matcher, "name").empty())
    causes.push_back({.reason = "FieldValueNotFound",
                      .message = fmt::format("spec.{} requires name or inferFromVolume", family.matcher),
                      .field = field_of(family, "")});
  if (infers) add_inference_causes(*matcher, family, causes);
  const auto policy = json::get_string(*matcher, "inferFromVolumeFailurePolicy");
  if (policy && *policy != "Reject" && *policy != "Ignore")
    causes.push_back({.reason = "FieldValueInvalid",
                      .message = fmt::format("{}: supported values: Reject, Ignore", *policy),
                      .field = field_of(family, "inferFromVolumeFailurePolicy")});
  return causes;
}

const Family* const families[] = {&instancetype_family, &preference_family};

// Steps 5 and 6: the first matcher with causes ends it.
Causes first_matcher_causes(const Case& about, const Object& vm) {
  const Object* old_vm = about.update() && about.old_object ? about.old_object->if_object() : nullptr;
  if (old_vm)
    for (const Family* family : families)
      if (Causes causes = matcher_change_causes(vm, *old_vm, *family); !causes.empty()) return causes;
  for (const Family* family : families)
    if (Causes causes = matcher_causes(vm, *family); !causes.empty()) return causes;
  return {};
}

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
  if (Causes causes = first_matcher_causes(about, vm); !causes.empty()) return Verdict::invalid(std::move(causes));
  for (const Family* family : families)
    if (auto good = infer_matcher(vm, *family, about.context); !good) return Verdict::refuse(std::move(good.error()));
  if (!edit::descend(vm, {"spec", "template"})) return Verdict::error("spec.template is required");
  VmTarget target{.vm = vm, .preference = find_preference(vm, about.context), .context = about.context};
  for (const VmDefault& row : vm_defaults())
    if (about.create() || !row.on_create_only) row.apply(target);
  return replace_members(about, {"/spec", "/metadata"});
}

}  // namespace vg::admission
