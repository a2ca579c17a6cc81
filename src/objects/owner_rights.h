// Whose an object may say that it is. Controllers act on what is their object's own, so that a user who could name any
// owner would have them act for it: a VMI that says it is a VM's, or has the name by which the VM adopts it, is that VM
// as far as anybody can see. Whoever may change the owner may say what is its own.
#pragma once

#include <optional>

#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "objects/object_request.h"
#include "ports/object_store.h"

namespace vg::resources {

// A refusal if the user gives the object a controller, one of ours, that they must not update. `old` is null for a new
// object. Of the requests of our own controllers there is nothing to ask.
Task<std::optional<Status>> find_foreign_owner(ObjectRequest& request, std::string_view name,
                                               const json::Object& object, const json::Object* old);

// No controller takes an object for an owner that is on its way out, or that is not the one it saw: what the owner was
// released of would be taken again and go with it. Part of the write itself. True if there are such owners: one that
// goes does not come back, so whoever names it has to look again instead of waiting.
bool hold_owners(const ObjectRequest& request, const json::Object& object, const json::Object& old,
                 Transaction& transaction);

}  // namespace vg::resources
