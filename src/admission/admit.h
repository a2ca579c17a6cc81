// The decision about a review: the one seam between whoever asks (a webhook, a standalone write, a command that works
// on files) and the rules.
#pragma once

#include <string>

#include "admission/context.h"
#include "admission/lookup_failure.h"
#include "admission/lookup_session.h"
#include "admission/review.h"
#include "admission/webhook.h"
#include "admission/webhook_steps.h"
#include "base/clock.h"
#include "config/cluster_config.h"
#include "json/value.h"

namespace vg::admission {

// What stands behind every decision. Everything outlives it.
struct Environment {
  const config::ConfigSource& config;
  const LookupSource& lookups;  // a session for each request
  const Clock& clock;
  const Randomness& randomness = system_randomness();
  std::string own_namespace = "kubevirt";
};

// The default configuration and no other objects.
const Environment& offline_environment();

// One review and what is decided about it. Everything that is given to it outlives it.
class Judgement {
 public:
  // New values are made in `storage`, which lives as long as the request. Objects are brought into canonical form where
  // they lie.
  Judgement(const Webhook& webhook, const Review& review, const Environment& environment, const Lookups& lookups,
            const json::StoragePtr& storage);
  Judgement(const Judgement&) = delete;
  Judgement& operator=(const Judgement&) = delete;

  // May be asked again: where look-ups were missed, once they were fetched; where they were too many for where it was
  // asked (lookup_allowance.h), elsewhere. What needs none is done once.
  const Verdict& ask();
  // What rules look up is written down there; null: nobody wants to know.
  void tell_lookups(std::vector<record::Seen>* seen) { watched_.tell_in(seen); }
  // Of the last time.
  Verdict& verdict() { return verdict_; }

 private:
  const config::ConfigPtr config_;  // one snapshot to the end: a change meanwhile is for the next review
  WatchedLookups watched_;
  const Context context_;
  Course course_;
  Verdict verdict_;
};

// The verdict of who has everything at hand; elsewhere what was missed is refused.
Verdict admit(const Webhook& webhook, const Review& review, const Environment& environment, const Lookups& lookups,
              const json::StoragePtr& storage);
// The same in a session of its own. `seen` receives what was looked up.
Verdict admit(const Webhook& webhook, const Review& review, const Environment& environment,
              const json::StoragePtr& storage, std::vector<record::Seen>* seen = nullptr);

}  // namespace vg::admission
