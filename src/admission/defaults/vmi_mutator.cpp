// /virtualmachineinstances-mutate (spec work-objects 1).
#include <algorithm>
#include <string>
#include <utility>

#include "admission/defaults/completion.h"
#include "admission/defaults/edit.h"
#include "admission/defaults/presets.h"
#include "admission/defaults/spec_defaults.h"
#include "admission/defaults/vmi_defaults.h"
#include "admission/semantic_equal.h"
#include "base/time_rfc3339.h"

namespace vg::admission {
namespace {

using json::Object;
using json::Value;
using std::string_view;

constexpr string_view deletion_finalizer = "kubevirt.io/foregroundDeleteVirtualMachine";

// C7 to C9. Upstream does not look whether the finalizer is there already.
void begin_life(VmiTarget& target) {
  edit::append_text(json::ensure_array(target.metadata(), "finalizers"), deletion_finalizer);
  edit::set_text(target.status(), "phase", "Pending");
  Object& transition = edit::append_object(json::ensure_array(target.status(), "phaseTransitionTimestamps"));
  edit::set_text(transition, "phase", "Pending");
  edit::set_text(transition, "phaseTransitionTimestamp", print_rfc3339(Timestamp::from(target.context.now)));
}

// Wherever a patch is sent for a machine that a preset was applied to (1.4).
Verdict with_preset_warning(const Case& judged, Verdict completed) {
  if (completed.allowed && !completed.patch.empty() && carries_preset(judged.object->get_object()))
    completed.warnings.emplace_back(
        "VirtualMachineInstancePreset is deprecated; use an instance type and a preference");
  return completed;
}

// C1: requests that were sent empty are there while presets are merged.
Result<void> merge_presets(const Case& judged, Object& vmi) {
  if (judged.empty_requests) json::ensure_path(vmi, {"spec", "domain", "resources", "requests"});
  auto good = apply_presets(vmi, judged.context);
  if (judged.empty_requests) json::erase(json::ensure_path(vmi, {"spec", "domain", "resources"}), "requests");
  return good;
}

// Members of a status that decide whom this program and the nodes talk to: where ports are forwarded to, which guest
// has the vsock, and where a migration goes. A VMI is born without them.
constexpr string_view born_without[] = {"VSOCKCID", "interfaces", "migrationState"};

constexpr string_view administrators = "system:masters";

bool is_administrator(const UserInfo& user) {
  return user.groups && std::ranges::any_of(
                            *user.groups, [](const Value& group) { return json::as_string(&group) == administrators; });
}

// The kind has no status subresource, so a status comes along with a create. Upstream keeps it, whoever sends it: a
// user would choose the address that their ports are forwarded to. Administrators may act as a component anyway.
void forget_foreign_status(const Case& judged, Object& status) {
  const UserInfo& user = judged.review.user;
  if (status.empty() || is_trusted_account(judged.context, user.username) || is_administrator(user)) return;
  for (const string_view member : born_without) json::erase(status, member);
}

// 1.2
Verdict complete_new(const Case& judged) {
  Object& vmi = judged.object->get_object();
  // All three are there before a reference to one of them is taken.
  for (const string_view name : {"metadata", "spec", "status"}) json::ensure_object(vmi, name);
  forget_foreign_status(judged, json::ensure_object(vmi, "status"));
  if (auto good = merge_presets(judged, vmi); !good) return Verdict::refuse(std::move(good.error()));
  if (auto good = apply_spec_defaults(json::ensure_object(vmi, "spec"), judged.context.config); !good)
    return Verdict::refuse(std::move(good.error()));
  VmiTarget target{.vmi = vmi, .context = judged.context};
  for (const VmiDefault& row : vmi_defaults()) row.apply(target);
  begin_life(target);
  return replace_members(judged, {"/spec", "/metadata", "/status"});
}

// 1.6: the kind has no status subresource, so this alone keeps users from writing the status. Their change is undone
// without a word, and the rest of the update goes on.
Verdict complete_changed(const Case& judged) {
  if (!judged.old_object || is_trusted_account(judged.context, judged.review.user.username)) return {};
  if (unchanged(judged, {"status"})) return {};
  const Value* old_status = json::find(*judged.old_object, "status");
  if (old_status)
    edit::set_copy(judged.object->get_object(), "status", *old_status);
  else
    judged.object->get_object()["status"].emplace_object();
  return replace_members(judged, {"/status"});
}

}  // namespace

Verdict complete_vmi(const Case& judged) {
  if (judged.create()) return with_preset_warning(judged, complete_new(judged));
  if (judged.update()) return with_preset_warning(judged, complete_changed(judged));
  return {};
}

}  // namespace vg::admission
