// The journal as an API: get, list and watch requests.trace.virtgate.io. Whoever may read the object that a request is
// about may read the request.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/task.h"
#include "catalog/request_info.h"
#include "journal/journal.h"
#include "ports/authorizer.h"
#include "ports/object_store.h"
#include "server/router.h"

namespace vg::journal {

class Service {
 public:
  struct Parts {
    const Journal& journal;
    const ObjectStore& store;
    Authorizer& authorizer;
    const Clock& clock;
  };
  // Everything in the parts outlives this; this outlives the requests.
  explicit Service(Parts parts) : parts_(parts) {}

  // After it was made sure who asks, and that they may use this group at all.
  Task<void> serve(server::Call& call, const resources::RequestInfo& info, const User& user) const;

 private:
  Parts parts_;
};

}  // namespace vg::journal
