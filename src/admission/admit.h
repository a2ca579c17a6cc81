// The decision about a review: the one seam between whoever asks (a webhook, a standalone write, a command that works
// on files) and the rules.
#pragma once

#include <string>

#include "admission/context.h"
#include "admission/lookup_session.h"
#include "admission/review.h"
#include "admission/webhook.h"
#include "base/clock.h"
#include "config/cluster_config.h"
#include "json/value.h"

namespace vg::admission {

// What stands behind every decision. Everything outlives it.
struct Environment {
  const config::ConfigSource& config;
  const Lookups& lookups;
  const Clock& clock;
  const Randomness& randomness = system_randomness();
  std::string own_namespace = "kubevirt";
  // Where objects have to be fetched: used for each request in place of `lookups`. Null: `lookups` has the answers.
  const LookupSource* sessions = nullptr;
};

// The default configuration and no other objects.
const Environment& offline_environment();

// New values are made in `storage`, which lives as long as the request. Objects are brought into canonical form where
// they lie.
Verdict admit(const Webhook& webhook, const Review& review, const Environment& environment,
              const json::StoragePtr& storage);
// The same with other look-ups than those of the environment.
Verdict admit(const Webhook& webhook, const Review& review, const Environment& environment, const Lookups& lookups,
              const json::StoragePtr& storage);

}  // namespace vg::admission
