#include <array>
#include <limits>

#include "objects/core_kinds/pod.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::array<std::string_view, 3> profile_types = {"Localhost", "RuntimeDefault", "Unconfined"};
constexpr std::array<std::string_view, 2> proc_mounts = {"Default", "Unmasked"};
constexpr std::array<std::string_view, 2> group_change_policies = {"Always", "OnRootMismatch"};
constexpr std::array<std::string_view, 2> group_policies = {"Merge", "Strict"};
constexpr std::array<std::string_view, 2> selinux_policies = {"MountOption", "Recursive"};

void check_id(FieldCauses& causes, const Place& at, const json::Value* id) {
  const auto number = json::as_int(id);
  if (number && (*number < 0 || *number > std::numeric_limits<std::int32_t>::max()))
    causes.invalid(at, "must be from 0 to 2147483647");
}

void check_ids(FieldCauses& causes, const Place& at, const json::Object& context,
               std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) check_id(causes, at.field(name), json::find(context, name));
}

// seccompProfile and appArmorProfile: a file or profile of the node goes with Localhost and with nothing else.
void check_profile(FieldCauses& causes, const Place& context_place, const json::Object& context,
                   std::string_view name) {
  if (!has(context, name)) return;
  const json::Object& profile = members(context, name);
  const Place at = context_place.field(name);
  const std::string_view type = text(profile, "type");
  const Place local = at.field("localhostProfile");
  check_choice(causes, at.field("type"), type, profile_types);
  if (type != "Localhost") {
    if (has(profile, "localhostProfile")) causes.invalid(local, "supported only with type Localhost");
  } else if (!has(profile, "localhostProfile")) {
    causes.required(local, "type Localhost requires the name of the profile on the node");
  } else if (name == "seccompProfile") {
    check_descending_path(causes, local, text(profile, "localhostProfile"));
  } else if (text(profile, "localhostProfile").empty()) {
    causes.required(local, "type Localhost requires the name of the profile on the node");
  }
}

void check_policy(FieldCauses& causes, const Place& at, const json::Object& context, std::string_view name,
                  Supported values) {
  if (has(context, name)) check_supported(causes, at.field(name), text(context, name), values);
}

}  // namespace

void check_container_security(FieldCauses& causes, const Place& at, const json::Object& context) {
  check_ids(causes, at, context, {"runAsUser", "runAsGroup"});
  check_policy(causes, at, context, "procMount", proc_mounts);
  check_profile(causes, at, context, "seccompProfile");
  if (!json::get_bool_or(context, "allowPrivilegeEscalation", true)) {
    if (json::get_bool_or(context, "privileged", false))
      causes.invalid(at, "allowPrivilegeEscalation: false is mutually exclusive with privileged");
    if (contains_text(items(members(context, "capabilities"), "add"), "CAP_SYS_ADMIN"))
      causes.invalid(at, "allowPrivilegeEscalation: false is mutually exclusive with CAP_SYS_ADMIN");
  }
  check_profile(causes, at, context, "appArmorProfile");
}

void check_pod_security(FieldCauses& causes, const Place& at, const json::Object& spec) {
  const json::Object& context = members(spec, "securityContext");
  check_ids(causes, at, context, {"fsGroup", "runAsUser", "runAsGroup"});
  const json::Array& groups = items(context, "supplementalGroups");
  const Place list = at.field("supplementalGroups");
  for (std::size_t i = 0; i < groups.size(); ++i) check_id(causes, list.item(i), &groups[i]);
  if (json::get_bool_or(spec, "hostPID", false) && json::get_bool_or(spec, "shareProcessNamespace", false))
    causes.invalid(at.field("shareProcessNamespace"), "shareProcessNamespace is mutually exclusive with hostPID");
  check_policy(causes, at, context, "fsGroupChangePolicy", group_change_policies);
  check_profile(causes, at, context, "seccompProfile");
  check_profile(causes, at, context, "appArmorProfile");
  check_policy(causes, at, context, "supplementalGroupsPolicy", group_policies);
  check_policy(causes, at, context, "seLinuxChangePolicy", selinux_policies);
}

}  // namespace vg::resources::core_kinds
