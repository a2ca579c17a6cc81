// What an object becomes: as the server would store it, and the instance that a VM becomes when it starts.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "offline/judge.h"

namespace vg::offline {

// The object of an answer in the version that its file speaks, without what is new in every object that is made:
// uid, times, who owns its fields.
json::Value rendered(const ObjectPtr& object, const resources::Resource& resource, std::string_view api_version,
                     const json::StoragePtr& storage);

// The VirtualMachineInstance of a VM, as its controller makes it (spec vm-controller 6) and the server completes it.
// `vm` is as rendered() gives it. Objects that other objects refer to by uid get the uid `stand_in_uid`.
Result<json::Value> instance_of(const json::Value& vm, const World& world, const json::StoragePtr& storage);
inline constexpr std::string_view stand_in_uid = "00000000-0000-0000-0000-000000000000";
// What is random in every object, always the same: whoever renders a file twice sees the same twice.
const admission::Randomness& no_randomness();

// How one document differs from another, field by field.
struct FieldChange {
  std::string path;
  const json::Value* before = nullptr;  // null: it was not there
  const json::Value* after = nullptr;   // null: it is gone
};
std::vector<FieldChange> find_changes(const json::Value& before, const json::Value& after);
// A line each, as a patch marks them: "+ spec.architecture: amd64".
std::string print_changes(const std::vector<FieldChange>& changes);

}  // namespace vg::offline
