// Nobody gives away more than they have: the checks before a role or a binding is written.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "auth/policy_rule.h"
#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "ports/authorizer.h"

namespace vg::auth {

// A write to one of the four RBAC resources.
struct RbacWrite {
  std::string_view resource = {};      // "roles", "clusterroles", "rolebindings" or "clusterrolebindings"
  std::string_view ns = {};            // of the request; empty for the cluster's
  std::string_view request_name = {};  // of the request's path; empty for a create
  const json::Object* object = nullptr;
  const json::Object* old = nullptr;  // null for a create
  std::size_t bytes = 0;              // of the object: large ones are compared off the loop
};

// The refusal, if there is one: 403 when the role holds, or the binding gives, what the user does not hold and the user
// has neither the verb "escalate" on the role nor "bind" on the role referred to; 404 when a binding refers to a role
// that does not exist and so cannot be compared; the authorizer's own error when it knows no answer. Members of
// system:masters may do everything. To be asked after the write itself was authorized; nothing for every other
// resource.
Task<std::optional<Status>> check_rbac_write(Core& core, const User& user, RbacWrite write, Authorizer& authorizer,
                                             const RuleResolver& rules);

// The pure parts of it.
// 403 unless `owned` covers `wanted`.
std::optional<Status> check_role_rules(const User& user, std::string_view resource, std::string_view name,
                                       std::span<const PolicyRule> owned, std::span<const PolicyRule> wanted);
// True when an update changes nothing but what lets the object be collected: such a change is always fine.
bool changes_only_ownership(const json::Object& object, const json::Object& old);

}  // namespace vg::auth
