// How a VM names its instance type and preference (spec vm-instancetype 2.3). Asked before the VM is completed, because
// what is inferred must not be given too.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "admission/defaults/edit.h"
#include "admission/defaults/instancetype_lookup.h"
#include "admission/rule.h"
#include "json/access.h"

namespace vg::admission {
namespace {

using json::Object;
using std::string_view;

// Null where the VM names none.
const Object* matcher_of(const json::Value* vm, const Family& family) {
  const Object* members = vm ? vm->if_object() : nullptr;
  return members ? edit::descend(*members, {"spec", family.matcher}) : nullptr;
}

std::string field_of(const Family& family, string_view member) {
  return fmt::format("spec.{}.{}", family.matcher, member);
}

bool infers(const Object& matcher) { return !json::get_string_or(matcher, "inferFromVolume").empty(); }

// A revision belongs to one object. K16: the kind is not looked at.
template <const Family& family>
void revision_is_of_the_named(const Case& judged, Causes& causes) {
  const Object *now = matcher_of(judged.object, family), *before = matcher_of(judged.old_object, family);
  if (!now || !before) return;
  const string_view revision = json::get_string_or(*now, "revisionName");
  if (revision.empty() || revision != json::get_string_or(*before, "revisionName")) return;
  if (json::get_string_or(*now, "name") == json::get_string_or(*before, "name")) return;
  causes.invalid(field_of(family, "revisionName"),
                 fmt::format("the revision {} is of another {}; remove revisionName when you change the name", revision,
                             family.matcher));
}

template <const Family& family>
void is_named_or_inferred(const Case& judged, Causes& causes) {
  const Object* matcher = matcher_of(judged.object, family);
  if (!matcher || infers(*matcher) || !json::get_string_or(*matcher, "name").empty()) return;
  causes.not_found(fmt::format("spec.{}", family.matcher),
                   fmt::format("spec.{} requires name or inferFromVolume", family.matcher));
}

void not_beside_inference(const Case& judged, const Family& family, string_view member, Causes& causes) {
  const Object* matcher = matcher_of(judged.object, family);
  if (!matcher || !infers(*matcher) || json::get_string_or(*matcher, member).empty()) return;
  causes.not_supported(
      field_of(family, member),
      fmt::format("{} is inferred from a volume; {} is mutually exclusive with inferFromVolume", member, member));
}
template <const Family& family>
void inferred_has_no_name(const Case& judged, Causes& causes) {
  not_beside_inference(judged, family, "name", causes);
}
template <const Family& family>
void inferred_has_no_kind(const Case& judged, Causes& causes) {
  not_beside_inference(judged, family, "kind", causes);
}

template <const Family& family>
void failure_policy_is_known(const Case& judged, Causes& causes) {
  const Object* matcher = matcher_of(judged.object, family);
  const auto policy = matcher ? json::get_string(*matcher, "inferFromVolumeFailurePolicy") : std::nullopt;
  if (!policy || *policy == "Reject" || *policy == "Ignore") return;
  causes.invalid(field_of(family, "inferFromVolumeFailurePolicy"),
                 fmt::format("{}: supported values: Reject, Ignore", *policy));
}

constexpr string_view type_field = "spec.instancetype", preference_field = "spec.preference";

// The causes of one matcher are told together, and those of the instance type alone.
const Rule vm_matchers_rows[] = {
    Rule{"M01", "revisionName must be of the named instance type", "spec.instancetype.revisionName",
         revision_is_of_the_named<instancetype_family>}
        .on(When::update)
        .stops(),
    Rule{"M02", "revisionName must be of the named preference", "spec.preference.revisionName",
         revision_is_of_the_named<preference_family>}
        .on(When::update)
        .stops(),
    Rule{"M03", "an instance type must be named or inferred", type_field, is_named_or_inferred<instancetype_family>},
    Rule{"M04", "an inferred instance type must not be named", "spec.instancetype.name",
         inferred_has_no_name<instancetype_family>},
    Rule{"M05", "an inferred instance type must not have a kind", "spec.instancetype.kind",
         inferred_has_no_kind<instancetype_family>},
    Rule{"M06", "inferFromVolumeFailurePolicy must be Reject or Ignore",
         "spec.instancetype.inferFromVolumeFailurePolicy", failure_policy_is_known<instancetype_family>}
        .stops(),
    Rule{"M07", "a preference must be named or inferred", preference_field, is_named_or_inferred<preference_family>},
    Rule{"M08", "an inferred preference must not be named", "spec.preference.name",
         inferred_has_no_name<preference_family>},
    Rule{"M09", "an inferred preference must not have a kind", "spec.preference.kind",
         inferred_has_no_kind<preference_family>},
    Rule{"M10", "inferFromVolumeFailurePolicy must be Reject or Ignore", "spec.preference.inferFromVolumeFailurePolicy",
         failure_policy_is_known<preference_family>},
};

}  // namespace

std::span<const Rule> vm_matcher_rules() { return vm_matchers_rows; }

}  // namespace vg::admission
