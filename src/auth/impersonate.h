// Acting as somebody else: the headers Impersonate-User, -Group, -Uid and -Extra-*.
#pragma once

#include <optional>

#include "base/status.h"
#include "base/task.h"
#include "http/exchange.h"
#include "ports/authorizer.h"

namespace vg::auth {

// The user that the request is to be taken for; nothing when it asks for no other. Everything that is asked for (the
// name, each group, the uid, each extra value) needs the verb "impersonate" of its own: 403 for the first that the
// asking user lacks, the authorizer's own error when it knows no answer, 400 for headers that make no sense without
// Impersonate-User.
//
// A service account brings its groups along, unless groups are given. Whoever is impersonated is authenticated, except
// system:anonymous and who is put into system:unauthenticated. Nothing of the asking user stays.
Task<Result<std::optional<User>>> impersonated(Core& core, const User& asking, const http::Headers& headers,
                                               Authorizer& authorizer);

// The same for a request of an administrator, who may act as anybody: nobody needs to be asked.
Result<std::optional<User>> impersonated_by_administrator(const http::Headers& headers);

}  // namespace vg::auth
