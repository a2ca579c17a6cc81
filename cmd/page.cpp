#include "page.h"

#include <utility>

#include "base/ui_limits.h"
#include "ui/questions.h"
#include "ui/session_keeper.h"

namespace vg::cmd {
namespace {

Result<User> user_of_token(const auth::Identifier& identifier, std::string_view token) {
  auto identity = identifier.identify_token(token);
  if (!identity) return fail(std::move(identity.error()));
  return std::move(identity->user);
}

}  // namespace

Page::Page(StandaloneApi& api, std::chrono::seconds session_age_max, const Clock& clock)
    : api_(api),
      sessions_({.age_max = session_age_max,
                 .recheck_interval = limits::ui_own_recheck_interval,
                 .check = [&identifier =
                               api.identifier()](std::string_view token) { return user_of_token(identifier, token); }},
                clock),
      check_([&identifier = api.identifier()](Core&, std::string_view token, std::string_view) -> Task<Result<User>> {
        co_return user_of_token(identifier, token);
      }),
      service_({.sessions = sessions_,
                .identify = [&api](server::Call& call) { return api.api().identify(call); },
                .check_token = check_,
                .mode = "standalone",
                .clock = clock}) {
  api.let_sessions_in(sessions_);
  ui::add_questions(service_,
                    {.store = api.store(), .authorizer = api.authorizer(), .config = api.config(), .clock = clock});
}

void Page::add_routes(server::Router& router, NodeLink& nodes) {
  ui::add_stats_question(service_, {.store = api_.store(), .authorizer = api_.authorizer(), .nodes = nodes});
  service_.add_routes(router);
}

void Page::start(Core& core) {
  core.post([this, &core] {
    keeping_ = Background(keep_running(core, "ending sessions of the page",
                                       [this, &core] { return ui::keep_sessions(core, sessions_, check_); }));
  });
}

}  // namespace vg::cmd
