#include <array>

#include "base/phrases.h"
#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::core_kinds {
namespace {

constexpr std::string_view rbac_group = "rbac.authorization.k8s.io";
constexpr std::array<std::string_view, 1> rbac_groups = {rbac_group};
constexpr std::array<std::string_view, 1> no_group = {""};
constexpr std::array<std::string_view, 3> subject_kinds = {"ServiceAccount", "User", "Group"};
constexpr std::array<std::string_view, 2> roles_of_namespaces = {"Role", "ClusterRole"};
constexpr std::array<std::string_view, 1> roles_of_clusters = {"ClusterRole"};

void default_role_binding(json::Object& object, const WriteContext& /*context*/) {
  default_text(json::ensure_object(object, "roleRef"), "apiGroup", rbac_group);
  for_each_object(object, "subjects", [](json::Object& subject) {
    const std::string_view kind = text(subject, "kind");
    if (kind == "User" || kind == "Group") default_text(subject, "apiGroup", rbac_group);
  });
}

void check_role_ref(FieldCauses& causes, const json::Object& ref, Supported kinds) {
  const Place at = top("roleRef");
  check_supported(causes, at.field("apiGroup"), text(ref, "apiGroup"), rbac_groups);
  check_supported(causes, at.field("kind"), text(ref, "kind"), kinds);
  const std::string_view name = text(ref, "name");
  if (name.empty())
    causes.required(at.field("name"), "the name of the role");
  else
    causes.defects(at.field("name"), name, path_segment_defects(name));
}

void check_service_account(FieldCauses& causes, const Place& at, const json::Object& subject, bool namespaced) {
  const std::string_view name = text(subject, "name");
  if (!name.empty()) causes.defects(at.field("name"), name, dns1123_subdomain_defects(name));
  if (!text(subject, "apiGroup").empty())
    causes.not_supported(at.field("apiGroup"), text(subject, "apiGroup"), no_group);
  if (!namespaced && text(subject, "namespace").empty())
    causes.required(at.field("namespace"), "the namespace of the service account");
}

void check_subject(FieldCauses& causes, const Place& at, const json::Object& subject, bool namespaced) {
  if (text(subject, "name").empty()) causes.required(at.field("name"), "the name of the subject");
  const std::string_view kind = text(subject, "kind");
  if (kind == "ServiceAccount")
    check_service_account(causes, at, subject, namespaced);
  else if (kind == "User" || kind == "Group")
    check_supported(causes, at.field("apiGroup"), text(subject, "apiGroup"), rbac_groups);
  else
    causes.not_supported(at.field("kind"), kind, subject_kinds);
}

void check_binding(FieldCauses& causes, const json::Object& object, const json::Object* old, bool namespaced) {
  const Supported kinds = namespaced ? Supported(roles_of_namespaces) : Supported(roles_of_clusters);
  check_role_ref(causes, members(object, "roleRef"), kinds);
  const json::Array& subjects = items(object, "subjects");
  const Place list = top("subjects");
  for (std::size_t i = 0; i < subjects.size(); ++i)
    check_subject(causes, list.item(i), members(subjects[i]), namespaced);
  // Who may change the subjects of a binding need not be who may hand out another role.
  if (old && !same_member(object, *old, "roleRef")) causes.invalid(top("roleRef"), phrases::role_ref_fixed);
}

void validate_role_binding(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                           std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  check_binding(causes, object, old, true);
}

void validate_cluster_role_binding(const json::Object& object, const json::Object* old, const WriteContext& /*context*/,
                                   std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  check_binding(causes, object, old, false);
}

}  // namespace

constinit const Strategy role_binding_strategy = {
    .group = rbac_group, .kind = "RoleBinding", .defaults = default_role_binding, .validate = validate_role_binding};
constinit const Strategy cluster_role_binding_strategy = {.group = rbac_group,
                                                          .kind = "ClusterRoleBinding",
                                                          .defaults = default_role_binding,
                                                          .validate = validate_cluster_role_binding};

}  // namespace vg::resources::core_kinds
