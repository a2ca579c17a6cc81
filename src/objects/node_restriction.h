// What a node of this machine may write of the objects that it may write (which those are: local/node_authorizer.h).
//
// What a node may read follows from the VMIs on it, so it must not say what is in their specs or where they run; and
// what is placed on it follows from its Node, so it must not give itself labels by which others choose nodes. A node
// reports: it writes statuses, labels and annotations of its own, and events in its own name.
#pragma once

#include <optional>

#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "objects/object_request.h"

namespace vg::resources {

// The refusal of a write of a node, 403; nothing for everybody else. `old` is null for a new object.
std::optional<Status> find_node_overreach(const User& user, const Resource& resource, const json::Value& object,
                                          const json::Value* old);
// The same for what a new event is about, which has to be asked.
Task<std::optional<Status>> find_foreign_event(ObjectRequest& request, const json::Value& object);

// What a Node gets that a node of this machine makes of itself, and that it may not write.
void complete_own_node(const ObjectRequest& request, json::Object& object);

}  // namespace vg::resources
