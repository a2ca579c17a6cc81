// What a write asks of the ResourceQuotas of its namespace. They are enforced where the store settles the order of
// writes (quota_keeper.h); here is what has to be known before that, and after it.
#pragma once

#include <optional>

#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "ports/object_store.h"

namespace vg::resources {

class Quotas {
 public:
  virtual ~Quotas() = default;
  // Why the quotas as they are now would refuse this; for a dry run. `before` is null for a new object.
  virtual std::optional<Status> find_problem(const ObjectKey& key, const json::Object* before,
                                             const json::Object& after) const = 0;
  // Comes back when nothing of this quota has to be counted any more, or cannot be at present.
  virtual Task<void> counted(Core& core, ObjectKey quota) = 0;
};

}  // namespace vg::resources
