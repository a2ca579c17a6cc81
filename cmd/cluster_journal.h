// The journal of requests in a cluster: what this replica served, in its memory, and the group trace.virtgate.io.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/task.h"
#include "cluster_peers.h"
#include "journal/journal.h"
#include "journal/service.h"
#include "kube/aggregated_api.h"
#include "kube/client.h"
#include "ports/authorizer.h"
#include "server/router.h"
#include "server/webhooks.h"

namespace vg::cmd {

class ClusterJournal {
 public:
  struct Parts {
    kube::Client& client;  // for what became of requests
    Authorizer& authorizer;
    const Clock& clock;
    metrics::Registry& metrics;
    bool records = true;
    ClusterPeers* others = nullptr;  // null: there is this replica alone
  };
  // The parts outlive this.
  explicit ClusterJournal(Parts parts);

  bool records() const { return parts_.records; }
  // From any core.
  void observe(const server::Call& call, const kube::ObservedAction& action);
  void observe(const server::Call& call, const server::ObservedReview& observed);

  // `api` says who asks, and outlives the router's use of this.
  void add_routes(server::Router& router, const kube::AggregatedApi& api);
  Task<void> keep(Core& core) { return journal_->keep_flushing(core); }

 private:
  Task<void> serve(server::Call& call, const kube::AggregatedApi& api) const;
  Task<void> serve_replica(server::Call& call, const resources::RequestInfo& info,
                           const ReplicaQuestion& question) const;
  Task<journal::Outcome> follow(Core& core, const journal::Entry& entry, journal::Depth depth) const;

  const Parts parts_;
  std::unique_ptr<journal::Journal> journal_;
  journal::Service service_;
};

}  // namespace vg::cmd
