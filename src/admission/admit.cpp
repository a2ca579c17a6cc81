#include "admission/admit.h"

#include <utility>

#include "admission/store_lookups.h"

namespace vg::admission {

const Environment& offline_environment() {
  static const config::FixedConfig config(config::ClusterConfig::defaults("amd64"));
  static const NoLookups none;
  static const ReadyLookups lookups(none);
  static const SystemClock clock;
  static const Environment environment{.config = config, .lookups = lookups, .clock = clock};
  return environment;
}

Judgement::Judgement(const Webhook& webhook, const Review& review, const Environment& environment,
                     const Lookups& lookups, const json::StoragePtr& storage)
    : config_(environment.config.current()),
      watched_(lookups),
      context_{.config = *config_,
               .lookups = watched_,
               .randomness = environment.randomness,
               .own_namespace = environment.own_namespace,
               .now = environment.clock.wall_now(),
               .storage = storage},
      course_{.webhook = webhook, .review = review, .context = context_, .object = review.object} {}

const Verdict& Judgement::ask() {
  watched_.begin_again();
  verdict_ = watched_.settle(run_steps(course_), course_.webhook);
  return verdict_;
}

Verdict admit(const Webhook& webhook, const Review& review, const Environment& environment, const Lookups& lookups,
              const json::StoragePtr& storage) {
  Judgement judgement(webhook, review, environment, lookups, storage);
  judgement.ask();
  return std::move(judgement.verdict());
}

Verdict admit(const Webhook& webhook, const Review& review, const Environment& environment,
              const json::StoragePtr& storage, std::vector<record::Seen>* seen) {
  const auto session = environment.lookups.open(review.user.username);
  Judgement judgement(webhook, review, environment, session->lookups(), storage);
  judgement.tell_lookups(seen);
  judgement.ask();
  return std::move(judgement.verdict());
}

}  // namespace vg::admission
