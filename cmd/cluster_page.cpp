#include "cluster_page.h"

#include <algorithm>
#include <utility>

#include "auth/headers.h"
#include "auth/session.h"
#include "base/ui_limits.h"
#include "server/fairness.h"
#include "ui/api_questions.h"
#include "ui/proxied.h"
#include "ui/session_keeper.h"

namespace vg::cmd {
namespace {

kube::Client::Parts client_parts(kube::Credentials& credentials, kube::RateLimiter& limiter) {
  return {.credentials = credentials,
          .limiter = limiter,
          .metrics = nullptr,
          .user_agent = "virtgate-ui/" VIRTGATE_VERSION,
          .headers = {}};
}

// Who signs in is who acts. Dropping such a field without a word would do it as somebody else than was asked for.
bool impersonates(const http::Headers& headers) {
  return std::ranges::any_of(headers.fields(), [](const http::HeaderField& field) {
    return auth::starts_with_fold(field.name, "impersonate-");
  });
}

}  // namespace

ClusterPage::ClusterPage(const Parts& parts)
    : nobody_(kube::without_identity(parts.access), parts.clock),
      review_limiter_(parts.clock,
                      {.per_second = limits::ui_token_reviews_per_second, .burst = limits::ui_token_reviews_burst}),
      user_limiter_(parts.clock, {.per_second = limits::ui_requests_per_second, .burst = limits::ui_requests_burst}),
      review_client_(client_parts(parts.own, review_limiter_)),
      user_client_(client_parts(nobody_, user_limiter_)),
      reviews_(review_client_),
      sessions_({.age_max = parts.session_age_max, .recheck_interval = limits::ui_cluster_recheck_interval},
                parts.clock),
      check_([this](Core& core, std::string_view token, std::string_view asker) {
        return reviews_.check(core, token, asker);
      }),
      service_({.sessions = sessions_,
                .identify = [this](server::Call& call) { return identify(call); },
                .check_token = check_,
                .mode = "cluster",
                .clock = parts.clock,
                .api_prefix = ui::proxied_prefix,
                .codes = false}),
      proxy_({.client = user_client_,
              .sessions = sessions_,
              .identify = [this](server::Call& call) { return identify(call); },
              .check_token = check_,
              .ping_interval = parts.ping_interval}) {
  ui::add_api_questions(service_,
                        {.client = user_client_, .sessions = sessions_, .config = parts.config, .clock = parts.clock});
}

void ClusterPage::add_routes(server::Router& router) {
  service_.add_routes(router);
  proxy_.add_routes(router);
}

void ClusterPage::start(Core& core) {
  core.post([this, &core] {
    keeping_ = Background(keep_running(core, "ending sessions of the page",
                                       [this, &core] { return ui::keep_sessions(core, sessions_, check_); }));
  });
}

void ClusterPage::doubt_connections() {
  review_client_.doubt_connections();
  user_client_.doubt_connections();
}

void ClusterPage::stop() {
  keeping_ = Background();
  proxy_.stop();
  review_client_.close();
  user_client_.close();
}

Task<Result<User>> ClusterPage::identify(server::Call& call) {
  const auto id = auth::shown_session(call.request());
  if (!id) co_return fail(Status::unauthorized("nobody is signed in; sign in with a token of the cluster"));
  const auto credential = sessions_.find(*id);
  if (!credential) co_return fail(call.failed_login(Status::unauthorized("the session has ended; sign in again")));
  if (impersonates(call.request().headers))
    co_return fail(Status::bad_request("the page does not act as somebody else; sign in as them"));
  const User& user = credential->user;
  call.set_user_name(user.name);
  call.good_login(user);
  auto seat = co_await call.turn(user, server::fair::with_body(server::fair::Kind::waits, call.request()));
  if (!seat) co_return fail(std::move(seat.error()));
  call.sit(std::move(*seat));
  call.charge_to(user.name);
  if (sessions_.recheck_due(*id))
    if (auto good = co_await recheck(call, *id, *credential); !good) co_return fail(std::move(good.error()));
  co_return user;
}

Task<Result<void>> ClusterPage::recheck(server::Call& call, std::string_view id, const ui::Credential& credential) {
  const auto user = co_await reviews_.check(call.core(), credential.token, credential.user.name);
  if (user && user->name == credential.user.name) co_return Result<void>();
  if (!user && user.error().code != 401) co_return fail(user.error());
  sessions_.close(id);
  co_return fail(Status::unauthorized("the token of this session is not valid any more; sign in again"));
}

}  // namespace vg::cmd
