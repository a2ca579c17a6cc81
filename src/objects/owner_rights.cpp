#include "objects/owner_rights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "admission/trusted_accounts.h"
#include "catalog/catalog.h"
#include "json/access.h"
#include "objects/owner_kinds.h"

namespace vg::resources {
namespace {

constexpr std::string_view owned_vmis = "kubevirt.io/virtualmachineinstances",
                           owning_vms = "kubevirt.io/virtualmachines";

struct NamedOwner {
  std::string_view key, name, uid;
};

const json::Array* owner_references(const json::Object* object) {
  const json::Object* metadata = object ? json::get_object(*object, "metadata") : nullptr;
  return metadata ? json::get_array(*metadata, "ownerReferences") : nullptr;
}

bool names_controller(const json::Object* old, const json::Value& reference) {
  const json::Array* references = owner_references(old);
  return references && std::ranges::any_of(*references, [&](const json::Value& one) {
           return json::get_bool_or(one, "controller", false) &&
                  std::ranges::all_of(std::array{"kind", "name", "uid"}, [&](std::string_view member) {
                    return json::get_string_or(one, member) == json::get_string_or(reference, member);
                  });
         });
}

// The controllers that the object did not have before, of our kinds.
std::vector<NamedOwner> new_controllers(const json::Object& object, const json::Object* old) {
  std::vector<NamedOwner> found;
  const json::Array* references = owner_references(&object);
  for (std::size_t i = 0; references && i < references->size(); ++i) {
    const json::Value& reference = (*references)[i];
    const std::string_view key = owner_key(json::get_string_or(reference, "kind"));
    if (key.empty() || !json::get_bool_or(reference, "controller", false) || names_controller(old, reference)) continue;
    found.push_back(
        {.key = key, .name = json::get_string_or(reference, "name"), .uid = json::get_string_or(reference, "uid")});
  }
  return found;
}

Task<Result<bool>> may_update(ObjectRequest& request, const NamedOwner& owner) {
  const Resource& resource = *find_resource(owner.key);
  const AccessAttributes attributes{.verb = "update",
                                    .path = {},
                                    .group = resource.group(),
                                    .version = {},
                                    .resource = resource.plural(),
                                    .subresource = {},
                                    .ns = request.ns,
                                    .name = owner.name};
  const auto decision = co_await request.backend.authorizer.authorize(request.core, request.user, attributes);
  if (!decision) co_return fail(decision.error());
  co_return decision->allowed;
}

}  // namespace

Task<std::optional<Status>> find_foreign_owner(ObjectRequest& request, std::string_view name,
                                               const json::Object& object, const json::Object* old) {
  if (request.own || !request.resource.kind->namespaced ||
      admission::is_trusted_account(request.backend.admission.own_namespace, request.user.name))
    co_return std::nullopt;
  std::vector<NamedOwner> owners = new_controllers(object, old);
  if (!old && request.resource.key == owned_vmis) owners.push_back({.key = owning_vms, .name = name, .uid = {}});
  for (const NamedOwner& owner : owners) {
    const auto allowed = co_await may_update(request, owner);
    if (!allowed) co_return allowed.error();
    if (*allowed) continue;
    const ObjectPtr stored = request.backend.store.get(owner.key, request.ns, owner.name);
    if (!stored || (!owner.uid.empty() && stored->uid() != owner.uid)) continue;  // it is nobody's
    const Resource& resource = *find_resource(owner.key);
    co_return Status::forbidden(
        std::string(request.group()), std::string(request.plural()), std::string(name),
        fmt::format("it would be taken for that of {} \"{}\", which user \"{}\" may not update; {}",
                    resource.kind->kind, owner.name, request.user.name,
                    owner.uid.empty() ? "choose another name" : "remove it from metadata.ownerReferences"));
  }
  co_return std::nullopt;
}

bool hold_owners(const ObjectRequest& request, const json::Object& object, const json::Object& old,
                 Transaction& transaction) {
  if (!request.own || !request.resource.kind->namespaced) return false;
  for (const NamedOwner& owner : new_controllers(object, &old))
    transaction.preconditions.push_back(
        {.key = {std::string(owner.key), std::string(request.ns), std::string(owner.name)},
         .uid = std::string(owner.uid),
         .not_deleting = true});
  return !transaction.preconditions.empty();
}

}  // namespace vg::resources
