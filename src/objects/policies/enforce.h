// Asks the admission policies about a write, where nothing but validating rules comes after it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "objects/object_request.h"

namespace vg::resources {

// What is written. `object` is null for a deletion, `old_object` for a creation.
struct PolicyQuestion {
  std::string_view operation;  // CREATE, UPDATE, DELETE
  std::string_view ns, name;
  const json::Value* object = nullptr;
  const json::Value* old_object = nullptr;
  // Of the body, where it is not the object itself.
  std::string_view body_group = {}, body_version = {}, body_kind = {};
};

// The refusal, if there is one. Warnings and what belongs into the audit log are left in the request. `bytes` is how
// much the object has; what is made for the question lies in `storage`.
Task<std::optional<Status>> find_policy_problem(ObjectRequest& request, PolicyQuestion question,
                                                json::StoragePtr storage, std::size_t bytes);
// Of deleting the object.
Task<std::optional<Status>> find_deletion_problem(ObjectRequest& request, ObjectPtr current);
// The refusal of a policy or binding whose parameters its writer may not read.
Task<std::optional<Status>> find_parameter_problem(ObjectRequest& request, const json::Object& object);

}  // namespace vg::resources
