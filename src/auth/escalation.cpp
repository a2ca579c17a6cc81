#include "auth/escalation.h"

#include <fmt/format.h>

#include <string>

#include "auth/identify.h"
#include "base/off_loop.h"
#include "json/access.h"

namespace vg::auth {
namespace {

bool is_role(std::string_view resource) { return resource == "roles" || resource == "clusterroles"; }
bool is_binding(std::string_view resource) { return resource == "rolebindings" || resource == "clusterrolebindings"; }

std::string_view object_name(const json::Object& object) {
  const json::Object* metadata = json::get_object(object, "metadata");
  return metadata ? json::get_string_or(*metadata, "name") : std::string_view();
}

bool aggregates(const json::Object* role) {
  const json::Object* rule = role ? json::get_object(*role, "aggregationRule") : nullptr;
  const json::Array* selectors = rule ? json::get_array(*rule, "clusterRoleSelectors") : nullptr;
  return selectors && !selectors->empty();
}

const std::vector<PolicyRule>& everything() {
  static const std::vector<PolicyRule> rules = {{.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}},
                                                {.verbs = {"*"}, .non_resource_urls = {"*"}}};
  return rules;
}

Task<Result<bool>> may(Core& core, const User& user, std::string_view verb, std::string_view resource,
                       std::string_view ns, std::string_view name, Authorizer& authorizer) {
  const AccessAttributes attributes{.verb = verb,
                                    .resource_request = true,
                                    .path = {},
                                    .group = rbac_group,
                                    .version = "*",
                                    .resource = resource,
                                    .subresource = {},
                                    .ns = ns,
                                    .name = name};
  auto decision = co_await authorizer.authorize(core, user, attributes);
  if (!decision) co_return fail(std::move(decision.error()));
  co_return decision->allowed;
}

std::optional<Status> compare_role(const User& user, RbacWrite write, const RuleResolver& rules) {
  const std::vector<PolicyRule> owned = rules.rules_for(user, write.ns);
  const std::vector<PolicyRule> wanted = policy_rules_of(*write.object);
  const std::string_view name = object_name(*write.object);
  if (auto refused = check_role_rules(user, write.resource, name, owned, wanted)) return refused;
  // An aggregation rule gathers whatever anybody labels later, so only who holds everything may write one.
  if ((aggregates(write.object) || aggregates(write.old)) && !uncovered_rules(owned, everything()).pieces.empty())
    return Status::forbidden(std::string(rbac_group), std::string(write.resource), std::string(name),
                             fmt::format("user \"{}\" cannot set an aggregationRule, which can collect any rule; it "
                                         "requires all permissions, as cluster-admin has them",
                                         user.name));
  return std::nullopt;
}

Task<std::optional<Status>> check_role(Core& core, const User& user, RbacWrite write, Authorizer& authorizer,
                                       const RuleResolver& rules) {
  auto escalates = co_await may(core, user, "escalate", write.resource, write.ns, write.request_name, authorizer);
  if (!escalates) co_return std::move(escalates.error());
  if (*escalates) co_return std::nullopt;
  // Both sides may be as long as an object can be.
  const std::size_t bytes = write.bytes + rules.bytes_for(user, write.ns);
  auto checked = co_await off_loop(core, bytes, [&]() -> Result<void> {
    auto refused = compare_role(user, write, rules);
    if (refused) return fail(std::move(*refused));
    return {};
  });
  if (!checked) co_return std::move(checked.error());
  co_return std::nullopt;
}

Task<std::optional<Status>> check_binding(Core& core, const User& user, RbacWrite write, Authorizer& authorizer,
                                          const RuleResolver& rules) {
  const json::Object* reference = json::get_object(*write.object, "roleRef");
  const std::string_view kind = reference ? json::get_string_or(*reference, "kind") : std::string_view();
  const std::string_view role = reference ? json::get_string_or(*reference, "name") : std::string_view();
  if (kind != "Role" && kind != "ClusterRole") co_return std::nullopt;  // validation refuses it with the field's name
  const std::string_view resource = kind == "Role" ? "roles" : "clusterroles";
  auto binds = co_await may(core, user, "bind", resource, write.ns, role, authorizer);
  if (!binds) co_return std::move(binds.error());
  if (*binds) co_return std::nullopt;
  const std::size_t bytes = rules.bytes_for(user, write.ns) + rules.bytes_of_role(kind, role, write.ns);
  auto checked = co_await off_loop(core, bytes, [&]() -> Result<void> {
    const auto wanted = rules.rules_of_role(kind, role, write.ns);
    if (!wanted) return fail(wanted.error());
    auto missing =
        check_role_rules(user, write.resource, object_name(*write.object), rules.rules_for(user, write.ns), *wanted);
    if (missing) return fail(std::move(*missing));
    return {};
  });
  if (!checked) co_return std::move(checked.error());
  co_return std::nullopt;
}

// Equal but for the members that `ignored` names.
bool equal_without(const json::Object& a, const json::Object& b, std::initializer_list<std::string_view> ignored) {
  const auto skipped = [&](std::string_view key) {
    for (const std::string_view name : ignored)
      if (name == key) return true;
    return false;
  };
  const auto contains_all = [&](const json::Object& in, const json::Object& of) {
    for (const auto& [key, value] : of) {
      if (skipped(key)) continue;
      const json::Value* other = json::find(in, key);
      if (!other || *other != value) return false;
    }
    return true;
  };
  return contains_all(a, b) && contains_all(b, a);
}

}  // namespace

std::optional<Status> check_role_rules(const User& user, std::string_view resource, std::string_view name,
                                       std::span<const PolicyRule> owned, std::span<const PolicyRule> wanted) {
  const Uncovered missing = uncovered_rules(owned, wanted);
  if (missing.pieces.empty() && !missing.too_complex) return std::nullopt;
  std::string message;
  if (missing.pieces.empty()) {
    message = fmt::format(
        "user \"{}\" cannot grant these rules: they have too many combinations of groups, resources, verbs and names "
        "to compare; split the role",
        user.name);
  } else {
    message = fmt::format("user \"{}\" cannot grant permissions that the user does not have: ", user.name);
    for (std::size_t i = 0; i < missing.pieces.size(); ++i)
      message += fmt::format("{}{}", i == 0 ? "" : "; ", describe(missing.pieces[i]));
    if (missing.more) message += "; and more";
  }
  return Status::forbidden(std::string(rbac_group), std::string(resource), std::string(name), std::move(message));
}

bool changes_only_ownership(const json::Object& object, const json::Object& old) {
  static const json::Object none;
  const json::Object* metadata = json::get_object(object, "metadata");
  const json::Object* old_metadata = json::get_object(old, "metadata");
  return equal_without(object, old, {"metadata"}) &&
         equal_without(metadata ? *metadata : none, old_metadata ? *old_metadata : none,
                       {"ownerReferences", "finalizers", "managedFields", "resourceVersion"});
}

Task<std::optional<Status>> check_rbac_write(Core& core, const User& user, RbacWrite write, Authorizer& authorizer,
                                             const RuleResolver& rules) {
  if (!is_role(write.resource) && !is_binding(write.resource)) co_return std::nullopt;
  if (user.in_group(administrators_group)) co_return std::nullopt;
  if (write.old && changes_only_ownership(*write.object, *write.old)) co_return std::nullopt;
  if (is_role(write.resource)) co_return co_await check_role(core, user, write, authorizer, rules);
  co_return co_await check_binding(core, user, write, authorizer, rules);
}

}  // namespace vg::auth
