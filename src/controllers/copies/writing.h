// Writing what a pass over a snapshot, restore, clone or export comes to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controllers/common/conditions.h"
#include "controllers/pass.h"
#include "json/access.h"
#include "json/value.h"

namespace vg::controllers::copies {

// SET: the entry of the type is replaced when its status or reason differ. lastProbeTime is null.
bool set(json::Object& status, std::string_view type, bool value, std::string_view reason, Time now);

// A copy of the object's status, to be changed; empty when it has none.
json::Object status_copy(const json::Object& object, const json::StoragePtr& storage);

// Writes the status if it differs from what was read; nobody's change in between is overwritten.
Effect* write_status(Pass& pass, const Turn& turn, std::string_view resource, const json::Object& object,
                     const json::Object& status);
// One member of the status of another object; null takes it out.
void write_status_member(Pass& pass, const Turn& turn, std::string_view resource, const json::Object& object,
                         std::string_view member, const json::Value* value);
void add_finalizer(Pass& pass, const Turn& turn, std::string_view resource, const json::Object& object,
                   std::string_view finalizer);
void remove_finalizer(Pass& pass, const Turn& turn, std::string_view resource, const json::Object& object,
                      std::string_view finalizer);
// Of this very object; gone already is fine.
Effect& remove(Pass& pass, std::string_view resource, const json::Object& object);

// When the object was made; nothing when it does not say.
std::optional<Time> created(const json::Object& object);
// A time as an object has it, no later than what the clock can count.
std::optional<Time> read_time(std::string_view text);
// Looks again at that moment, if it is in the future.
void look_again_at(Pass& pass, const Turn& turn, Time when);

}  // namespace vg::controllers::copies
