// Whether a DataVolume may be made or changed (spec storage 2), where this server is its CDI: that is, where its own
// StorageClass is.
#pragma once

#include <optional>

#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "objects/object_request.h"

namespace vg::resources {

inline constexpr std::string_view data_volumes_key = "cdi.kubevirt.io/datavolumes";

// DV-01..17, then what is not supported on one machine (2.3). Pure: the first rule that is broken, if any.
std::optional<StatusCause> find_data_volume_defect(const json::Object& data_volume);

// DV-19: `claim` has the name that the DataVolume is to have.
std::optional<StatusCause> find_taken_name(std::string_view name, const json::Object& data_volume,
                                           const json::Object& claim);
// DV-20
std::optional<StatusCause> find_changed_spec(const json::Object& old, const json::Object& wanted);

// The same, and what other objects and roles say (DV-19, DV-25). Who asked for data of another namespace is written
// down in it (clone_asker.h).
Task<Result<void>> check_new_data_volume(ObjectRequest& request, std::string_view name, json::Object& object);
// DV-25 where the data is to move: whether this user may have what a namespace has. Null: nobody, who may not.
Task<Result<void>> may_clone_from(Authorizer& authorizer, Core& core, const User* asker, std::string_view ns);
// DV-25 alone: whether the user may have the data that a DataVolume like this names.
Task<Result<void>> may_clone(ObjectRequest& request, const json::Object& object);
Result<void> check_changed_data_volume(const ObjectRequest& request, const json::Object& old,
                                       const json::Object& wanted);

}  // namespace vg::resources
