// What a deletion does to an object, decided from the object alone: go now, be marked and wait, or nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "catalog/catalog.h"
#include "json/value.h"
#include "objects/write_options.h"
#include "ports/object_store.h"

namespace vg::resources {

enum class Removal : std::uint8_t {
  remove,  // nothing holds it
  mark,    // something must be done first: it stays, with a deletion timestamp
  keep,    // it waits already, and nothing changes
};

struct DeletionPlan {
  Removal removal = Removal::remove;
  ObjectDraft marked = {};  // for mark: the new version; for a pod that goes: its last state
};

// 409 when a precondition does not hold, 403 for what may never go. `now_seconds` is since 1970.
Result<DeletionPlan> plan_deletion(const StoredObject& object, const Resource& resource, const DeleteOptions& options,
                                   std::int64_t now_seconds, const json::StoragePtr& storage);

// The write that carries the plan out; it holds only for exactly this version of the object.
Transaction deletion_transaction(const StoredObject& object, DeletionPlan plan);

// True when an object that is marked for deletion has nothing left to wait for: the update that made it so removes it.
bool deletion_completes(const json::Object& object, const Resource& resource);

}  // namespace vg::resources
