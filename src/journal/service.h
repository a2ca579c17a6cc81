// The journal as an API: get, list and watch requests.trace.virtgate.io. Whoever may read the object that a request is
// about may read the request.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/task.h"
#include "catalog/request_info.h"
#include "journal/follow.h"
#include "journal/journal.h"
#include "ports/authorizer.h"
#include "ports/object_store.h"
#include "server/router.h"

namespace vg::journal {

// What became of a request, asked where the objects are. The entry outlives the task.
using Follow = std::function<Task<Outcome>(Core& core, const Entry& entry, Depth depth)>;
Follow follow_in(const ObjectStore& store, const Clock& clock);

class Service {
 public:
  struct Parts {
    Journal& journal;
    Follow follow;
    Authorizer& authorizer;
    const Clock& clock;
  };
  // Everything in the parts outlives this; this outlives the requests.
  explicit Service(Parts parts) : parts_(std::move(parts)) {}

  // After it was made sure who asks, and that they may use this group at all.
  Task<void> serve(server::Call& call, const resources::RequestInfo& info, const User& user) const;

 private:
  Parts parts_;
};

}  // namespace vg::journal
