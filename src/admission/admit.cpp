#include "admission/admit.h"

#include "admission/lookup_failure.h"
#include "admission/store_lookups.h"
#include "admission/webhook_steps.h"

namespace vg::admission {

const Environment& offline_environment() {
  static const config::FixedConfig config(config::ClusterConfig::defaults("amd64"));
  static const NoLookups lookups;
  static const SystemClock clock;
  static const Environment environment{.config = config, .lookups = lookups, .clock = clock};
  return environment;
}

Verdict admit(const Webhook& webhook, const Review& review, const Environment& environment,
              const json::StoragePtr& storage) {
  return admit(webhook, review, environment, environment.lookups, storage);
}

Verdict admit(const Webhook& webhook, const Review& review, const Environment& environment, const Lookups& lookups,
              const json::StoragePtr& storage) {
  // One snapshot to the end: a change of the configuration meanwhile is for the next review.
  const config::ConfigPtr config = environment.config.current();
  WatchedLookups watched(lookups);
  const Context context{.config = *config,
                        .lookups = watched,
                        .randomness = environment.randomness,
                        .own_namespace = environment.own_namespace,
                        .now = environment.clock.wall_now(),
                        .storage = storage};
  return watched.settle(run_steps(webhook, review, context), webhook);
}

}  // namespace vg::admission
