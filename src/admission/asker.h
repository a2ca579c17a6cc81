// Who asked for data of another namespace, as the server has written it down on the object that it is copied for: a
// DataVolume, a DataImportCron, a claim. Nobody else writes this: what anybody sends under its name is dropped, and
// what an object has stays (objects/clone_asker.h). It is no permission. Whoever moves the data asks whether they have
// it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"
#include "ports/authorizer.h"

namespace vg::admission {

inline constexpr std::string_view asker_annotation = "virtgate.io/clone-asker";

// `from`: the claim that they asked for, as namespace and name ("ns/name"); empty: the object's spec says it, which
// never changes.
std::string print_asker(const User& user, std::string_view from);

// Nothing when nobody is written down, or they asked for another claim.
std::optional<User> asker_of(const json::Object& object, std::string_view from);

}  // namespace vg::admission
