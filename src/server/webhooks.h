// The webhook paths: HTTP around admission (spec server 5.4 and 5.5).
#pragma once

#include <functional>
#include <optional>

#include "admission/admit.h"
#include "admission/carry_out.h"
#include "base/metrics.h"
#include "server/router.h"

namespace vg::server {

// Why the caller may not; nothing when they may.
using RefuseCaller = std::function<std::optional<Status>(const http::Request&)>;
// Where everybody may call whom the route lets in.
inline RefuseCaller refuse_nobody() { return {}; }

// Is told of reviews when they are decided: of every refusal, and of one in so many of the others
// (limits::journal_webhook_sample).
struct ObservedReview {
  const admission::Webhook& webhook;
  const admission::Review& review;
  const admission::Verdict& verdict;
};
using ObserveReview = std::function<void(Call&, const ObservedReview&)>;

// Adds a route for every row of admission::webhooks(). In a cluster anyone may call them, as the API server does so
// without credentials; a standalone server keeps them for its administrators. The environment outlives the router.
// `carry_out` does what rules want done to other objects; an empty one refuses whatever wants anything done.
// `refuse_caller` is asked before anything is read.
void add_webhook_routes(Router& router, Access access, metrics::Registry& metrics,
                        const admission::Environment& environment, admission::CarryOut carry_out,
                        RefuseCaller refuse_caller, ObserveReview observe = {});

}  // namespace vg::server
