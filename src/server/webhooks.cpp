#include "server/webhooks.h"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "admission/admit.h"
#include "admission/lookup_allowance.h"
#include "admission/review.h"
#include "admission/review_values.h"
#include "admission/webhook.h"
#include "base/budgets.h"
#include "base/journal_limits.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/media_types.h"
#include "base/off_loop.h"
#include "json/arena_pool.h"
#include "json/parse.h"
#include "server/trace.h"

namespace vg::server {
namespace {

using admission::Webhook;

// What goes on beside the reviews.
struct Counters {
  std::shared_ptr<metrics::Counter> allowed, refused, unreadable;
  metrics::Family<metrics::Counter>* created = nullptr;  // of the webhook that sees machines come, by namespace
  ObserveReview observe = {};
  std::shared_ptr<std::atomic<std::uint64_t>> reviews = {};  // of all webhooks, where somebody observes
};

// Whether this review is told of whatever comes of it; then with what it looks up.
bool sample(Call& call, admission::Judgement& judgement, const Counters& counters) {
  if (!counters.observe ||
      counters.reviews->fetch_add(1, std::memory_order_relaxed) % limits::journal_webhook_sample != 0)
    return false;
  call.expect_record();
  judgement.tell_lookups(&call.details()->seen);
  return true;
}

void count(const Counters& counters, const admission::Review& review, bool allowed) {
  (allowed ? counters.allowed : counters.refused)->add();
  if (counters.created && allowed && !review.dry_run && review.operation() == admission::Operation::create)
    counters.created->with({review.name_space})->add();
}

// As upstream: what cannot be read at all is told by the code alone.
void refuse_unreadable(Call& call, const Counters& counters) {
  counters.unreadable->add();
  call.respond({.status = 400});
}

void refuse_review(Call& call, admission::ReviewError error, const Webhook& webhook, const Counters& counters) {
  if (error == admission::ReviewError::malformed) return refuse_unreadable(call, counters);
  counters.unreadable->add();
  call.refuse(
      Status::bad_request(fmt::format("the review sent to {} has no \"request\"; send an "
                                      "AdmissionReview of admission.k8s.io/v1 with a request",
                                      webhook.path)));
}

void log_refusal(const Call& call, const Webhook& webhook, const admission::Review& review,
                 const admission::Verdict& verdict) {
  if (!call.may_log(review.user.username)) return;
  const Status& refusal = verdict.refusal();
  const std::string rules = verdict.rule_ids();
  const log::Fields fields = {{"requestId", call.request().id},
                              {"webhook", webhook.path},
                              {"uid", review.uid},
                              {"namespace", review.name_space},
                              {"name", review.name},
                              {"reason", refusal.message},
                              {"rules", rules}};
  if (refusal.code == 400 || refusal.code >= 500)
    log::error("a review could not be validated", fields);
  else
    log::info("a review was denied", fields);
}

constexpr json::ParseOptions review_options{.values_max = budgets::review_values_max};

// Until the rules know everything they ask for: what is missing is fetched, and they are asked again.
Task<Result<void>> judge(Call& call, std::size_t bytes, admission::Judgement& judgement,
                         admission::LookupSession& session) {
  const tracing::Span span = span_of(call).child("admission");
  const auto work_on = [&call](std::size_t large) { return call.work_on(large); };
  for (;;) {
    auto asked = co_await admission::off_loop_with_lookups(call.core(), bytes, work_on, [&judgement] {
      judgement.ask();
      return Result<void>();
    });
    if (!asked || !session.lookups().missed()) co_return asked;
    const tracing::HandOver trace(span.context());
    co_await session.fetch(call.core());
  }
}

Task<void> serve(Call& call, const Webhook& webhook, const admission::Environment& environment,
                 const admission::CarryOut& carry_out, const Counters& counters) {
  if (call.request().headers.find("content-type") != json_media_type) {
    refuse_unreadable(call, counters);
    co_return;
  }
  span_of(call).rename(webhook.path);
  const auto body = co_await call.read_body(limits::body_bytes_max);
  if (!body) {
    counters.unreadable->add();
    call.refuse(body.error());
    co_return;
  }
  json::LeasedArena arena;
  arena.expect(body->size());
  auto document =
      co_await off_loop(call.core(), body->size(), [&] { return json::parse(*body, arena.storage(), review_options); });
  if (!document) {
    // No worker for it at present, or too much for one.
    if (document.error().code == 429 || document.error().code == 413) co_return call.refuse(document.error());
    refuse_unreadable(call, counters);
    co_return;
  }
  auto review = admission::read_review(*document);
  if (!review) co_return refuse_review(call, review.error(), webhook, counters);
  // A member or element takes two bytes at least.
  if (body->size() / 2 > budgets::object_values_max)
    if (auto fits =
            co_await off_loop(call.core(), body->size(), [&] { return admission::check_review_values(*review); });
        !fits)
      co_return call.refuse(fits.error());
  const auto session = environment.lookups.open(call.source());
  admission::Judgement judgement(webhook, *review, environment, session->lookups(), arena.storage());
  const bool sampled = sample(call, judgement, counters);
  if (auto judged = co_await judge(call, body->size(), judgement, *session); !judged)
    co_return call.refuse(judged.error());
  admission::Verdict& verdict = judgement.verdict();
  if (!verdict.effects.empty())
    if (auto undone = co_await admission::carry_out_all(verdict.effects, call.core(), carry_out))
      verdict = admission::Verdict::refuse(std::move(*undone));
  count(counters, *review, verdict.allowed);
  if (!verdict.allowed) log_refusal(call, webhook, *review, verdict);

  http::Response response{.status = 200, .content_type = json_media_type};
  admission::write_answer(response.body, webhook.mutating(), *review, verdict);
  call.respond(std::move(response));
  if (sampled || (!verdict.allowed && counters.observe))
    counters.observe(call, {.webhook = webhook, .review = *review, .verdict = verdict});
}

Task<void> serve_if_known(Call& call, const RefuseCaller& refuse_caller, const Webhook& webhook,
                          const admission::Environment& environment, const admission::CarryOut& carry_out,
                          const Counters& counters) {
  if (const auto refusal = refuse_caller(call.request())) co_return call.refuse(*refusal);
  co_await serve(call, webhook, environment, carry_out, counters);
}

}  // namespace

void add_webhook_routes(Router& router, Access access, metrics::Registry& metrics,
                        const admission::Environment& environment, admission::CarryOut carry_out,
                        RefuseCaller refuse_caller, ObserveReview observe) {
  const auto sequence = std::make_shared<std::atomic<std::uint64_t>>(0);
  auto& reviews =
      metrics.counters("virtgate_admission_reviews_total",
                       "Reviews by webhook and outcome: allowed, refused, or unreadable.", {"webhook", "outcome"});
  auto& created = metrics.counters("kubevirt_vm_created_by_pod_total",
                                   "Deprecated. VMs whose creation was allowed by this server.", {"namespace"});
  for (const Webhook& webhook : admission::webhooks()) {
    const Counters counters{.allowed = reviews.with({webhook.path, "allowed"}),
                            .refused = reviews.with({webhook.path, "refused"}),
                            .unreadable = reviews.with({webhook.path, "unreadable"}),
                            .created = webhook.path == "/virtualmachines-validate" ? &created : nullptr,
                            .observe = observe,
                            .reviews = sequence};
    // Upstream does not look at the method.
    router.add(access, Router::any_method, std::string(webhook.path), RouteClass::webhook,
               [&webhook, &environment, carry_out, refuse_caller, counters](Call& call) {
                 return refuse_caller ? serve_if_known(call, refuse_caller, webhook, environment, carry_out, counters)
                                      : serve(call, webhook, environment, carry_out, counters);
               });
  }
}

}  // namespace vg::server
