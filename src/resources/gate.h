// Who asks, for whom, and may they: what every request to the Kubernetes API passes before anything else happens.
#pragma once

#include <optional>
#include <string>

#include "auth/identify.h"
#include "base/status.h"
#include "base/task.h"
#include "catalog/request_info.h"
#include "ports/authorizer.h"
#include "server/router.h"

namespace vg::resources {

struct Asker {
  User user;                    // who is taken to ask
  std::string impersonated_by;  // who really asks, when that is somebody else
  std::string reason;           // the authorizer's words
};

class Gate {
 public:
  // Both outlive this.
  Gate(const auth::Identifier& identifier, Authorizer& authorizer) : identifier_(identifier), authorizer_(authorizer) {}

  // Waits until it is this user's turn. The answer to give instead: 429 for who has too many requests waiting, 401
  // without good credentials (anonymous is nobody), 403 for who may not, the authorizer's own error when it knows no
  // answer.
  Task<Result<Asker>> pass(server::Call& call, const RequestInfo& info) const;

 private:
  const auth::Identifier& identifier_;
  Authorizer& authorizer_;
};

server::fair::Kind kind_of(const RequestInfo& info);

AccessAttributes access_attributes(const RequestInfo& info);

}  // namespace vg::resources
