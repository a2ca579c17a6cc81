// Who asks, for whom, and may they: what every request to the Kubernetes API passes before anything else happens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "auth/identify.h"
#include "base/status.h"
#include "base/task.h"
#include "catalog/request_info.h"
#include "flowcontrol/table.h"
#include "ports/authorizer.h"
#include "server/router.h"

namespace vg::resources {

struct Asker {
  User user;                    // who is taken to ask
  std::string impersonated_by;  // who really asks, when that is somebody else
  std::string reason;           // the authorizer's words
};

// What is asked of who asks.
enum class Question : std::uint8_t {
  who_may,  // who they are, and whether they may
  who,      // who they are, which may be nobody in particular: what they want is for everybody
};

class Gate {
 public:
  // All outlive this.
  Gate(const auth::Identifier& identifier, Authorizer& authorizer, const flowcontrol::Classification& flows)
      : identifier_(identifier), authorizer_(authorizer), flows_(flows) {}

  // Waits until it is this user's turn. The answer to give instead: 429 for who has too many requests waiting, 401
  // without good credentials (anonymous is nobody), 403 for who may not, the authorizer's own error when it knows no
  // answer. Whatever the answer is, it will say by which flow schema the request was classified, from when it is known
  // for whom it is.
  Task<Result<Asker>> pass(server::Call& call, const RequestInfo& info, Question question = Question::who_may) const;

 private:
  const auth::Identifier& identifier_;
  Authorizer& authorizer_;
  const flowcontrol::Classification& flows_;
};

server::fair::Kind kind_of(const RequestInfo& info);

AccessAttributes access_attributes(const RequestInfo& info);

}  // namespace vg::resources
