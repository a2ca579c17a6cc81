#include "page.h"

#include <fmt/format.h>

#include <utility>

#include "base/duration.h"
#include "base/ui_limits.h"
#include "ui/questions.h"

namespace vg::cmd {
namespace {

Result<User> user_of_token(const auth::Identifier& identifier, std::string_view token) {
  auto identity = identifier.identify_token(token);
  if (!identity) return fail(std::move(identity.error()));
  return std::move(identity->user);
}

}  // namespace

Parsed<std::chrono::seconds> parse_ui_session(std::string_view text) {
  const auto parsed = parse_duration(text);
  if (!parsed) return not_parsed(parsed.error());
  if (*parsed < limits::ui_session_age_min || *parsed > limits::ui_session_age_max)
    return not_parsed(fmt::format("must be from {} to {}", print_duration(limits::ui_session_age_min),
                                  print_duration(limits::ui_session_age_max)));
  return std::chrono::floor<std::chrono::seconds>(*parsed);
}

Page::Page(StandaloneApi& api, std::chrono::seconds session_age_max, const Clock& clock)
    : api_(api),
      sessions_(
          session_age_max,
          [&identifier = api.identifier()](std::string_view token) { return user_of_token(identifier, token); }, clock),
      service_({.sessions = sessions_,
                .identify = [&api](server::Call& call) { return api.api().identify(call); },
                .check_token = [&identifier = api.identifier()](Core&, std::string_view token) -> Task<Result<User>> {
                  co_return user_of_token(identifier, token);
                },
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

}  // namespace vg::cmd
