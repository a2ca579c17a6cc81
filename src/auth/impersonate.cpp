#include "auth/impersonate.h"

#include <algorithm>
#include <string>
#include <vector>

#include "auth/forbidden.h"
#include "auth/headers.h"
#include "auth/identify.h"
#include "auth/service_account.h"

namespace vg::auth {
namespace {

constexpr std::string_view authentication_group = "authentication.k8s.io";

// One thing that must be allowed. It owns its words: the names come from headers and from each other.
struct Part {
  std::string group, resource, subresource, ns, name;
};

struct Wanted {
  User user;
  std::vector<Part> parts;
};

Wanted read_wanted(const http::Headers& headers, std::string_view name) {
  Wanted wanted;
  wanted.user.name = name;
  wanted.user.groups = header_values(headers, "impersonate-group");
  wanted.user.uid = headers.find("impersonate-uid").value_or("");
  wanted.user.extra = extra_headers(headers, "impersonate-extra-");
  const bool groups_given = !wanted.user.groups.empty();

  if (const auto account = split_service_account_user(name)) {
    wanted.parts.push_back({"", "serviceaccounts", "", std::string(account->ns), std::string(account->name)});
    if (!groups_given) wanted.user.groups = service_account_groups(account->ns);
  } else {
    wanted.parts.push_back({"", "users", "", "", std::string(name)});
  }
  if (groups_given)
    for (const std::string& group : wanted.user.groups) wanted.parts.push_back({"", "groups", "", "", group});
  for (const auto& [key, values] : wanted.user.extra)
    for (const std::string& value : values)
      wanted.parts.push_back({std::string(authentication_group), "userextras", key, "", value});
  if (!wanted.user.uid.empty())
    wanted.parts.push_back({std::string(authentication_group), "uids", "", "", wanted.user.uid});

  const std::string_view implied = name == anonymous_user ? unauthenticated_group : authenticated_group;
  if (!wanted.user.in_group(implied) && !wanted.user.in_group(unauthenticated_group))
    wanted.user.groups.emplace_back(implied);
  return wanted;
}

bool asks_for_anything(const http::Headers& headers) {
  return std::ranges::any_of(headers.fields(), [](const http::HeaderField& field) {
    return !field.value.empty() &&
           (starts_with_fold(field.name, "impersonate-user") || starts_with_fold(field.name, "impersonate-group") ||
            starts_with_fold(field.name, "impersonate-uid") || starts_with_fold(field.name, "impersonate-extra-"));
  });
}

Result<std::optional<Wanted>> find_wanted(const http::Headers& headers) {
  if (!asks_for_anything(headers)) return std::nullopt;
  const auto name = headers.find("impersonate-user");
  if (!name || name->empty())
    return fail(
        Status::bad_request("Impersonate-Group, Impersonate-Uid and Impersonate-Extra require a user; "
                            "add the header Impersonate-User"));
  return read_wanted(headers, *name);
}

}  // namespace

Result<std::optional<User>> impersonated_by_administrator(const http::Headers& headers) {
  auto wanted = find_wanted(headers);
  if (!wanted) return fail(std::move(wanted.error()));
  if (!*wanted) return std::nullopt;
  return std::move((*wanted)->user);
}

Task<Result<std::optional<User>>> impersonated(Core& core, const User& asking, const http::Headers& headers,
                                               Authorizer& authorizer) {
  auto wanted = find_wanted(headers);
  if (!wanted) co_return fail(std::move(wanted.error()));
  if (!*wanted) co_return std::nullopt;
  for (const Part& part : (*wanted)->parts) {
    const AccessAttributes attributes{.verb = "impersonate",
                                      .resource_request = true,
                                      .path = {},
                                      .group = part.group,
                                      .version = "v1",
                                      .resource = part.resource,
                                      .subresource = part.subresource,
                                      .ns = part.ns,
                                      .name = part.name};
    auto decision = co_await authorizer.authorize(core, asking, attributes);
    if (!decision) co_return fail(std::move(decision.error()));
    if (!decision->allowed) co_return fail(forbidden(asking, attributes, decision->reason));
  }
  co_return std::move((*wanted)->user);
}

}  // namespace vg::auth
