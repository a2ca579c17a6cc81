// The journal as an API: get, list and watch requests.trace.virtgate.io. Whoever may read the object that a request is
// about may read the request.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "catalog/request_info.h"
#include "journal/follow.h"
#include "journal/journal.h"
#include "json/value.h"
#include "ports/authorizer.h"
#include "ports/object_store.h"
#include "server/router.h"

namespace vg::journal {

// What became of a request, asked where the objects are. The entry outlives the task.
using Follow = std::function<Task<Outcome>(Core& core, const Entry& entry, Depth depth)>;
Follow follow_in(const ObjectStore& store, const Clock& clock);

// What other replicas have, each shown to the user as if it had been asked itself (cmd/cluster_peers.h).
struct OfOthers {
  json::Array items;                      // Requests, or rows of a table, of all replicas that answered
  std::vector<std::string> missing = {};  // why others did not
};
// A list of one replica for another: what stands behind a place in the order.
inline constexpr std::string_view since_parameter = "since";
class Others {
 public:
  virtual ~Others() = default;
  // Asks them for what stands behind that place in the order; the answer lives in `storage`.
  virtual Task<OfOthers> list(server::Call& call, const User& user, std::uint64_t after,
                              const json::StoragePtr& storage) = 0;
  // The answer of whoever has it.
  virtual Task<std::optional<http::Response>> get(server::Call& call, const User& user) = 0;
  // A place among the watches that ask others, for as long as it lives; null: there are too many.
  virtual std::shared_ptr<void> begin_watch() = 0;
};

class Service {
 public:
  struct Parts {
    Journal& journal;
    Follow follow;
    Authorizer& authorizer;
    const Clock& clock;
    Others* others = nullptr;  // null: there are none
  };
  // Everything in the parts outlives this; this outlives the requests.
  explicit Service(Parts parts) : parts_(std::move(parts)) {}

  // After it was made sure who asks, and that they may use this group at all.
  Task<void> serve(server::Call& call, const resources::RequestInfo& info, const User& user) const;
  // The same for another replica that asks for this user: what this one has.
  Task<void> serve_replica(server::Call& call, const resources::RequestInfo& info, const User& user) const;

 private:
  Task<void> serve(server::Call& call, const resources::RequestInfo& info, const User& user, Others* others) const;

  Parts parts_;
};

}  // namespace vg::journal
