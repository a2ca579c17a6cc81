#include "ui/api_questions.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "auth/session.h"
#include "base/off_loop.h"
#include "base/ui_limits.h"
#include "json/write.h"
#include "kube/access_reviews.h"
#include "kube/story_facts.h"
#include "ui/answers.h"
#include "ui/questions.h"

namespace vg::ui {
namespace {

using server::Call;
using std::string_view;

// Of the session by which the request came; null when that ended meanwhile.
std::shared_ptr<const Credential> credential_of_session(const Call& call, const Sessions& sessions) {
  const auto id = auth::shown_session(call.request());
  return id ? sessions.find(*id) : nullptr;
}

Status session_over() { return Status::unauthorized("the session has ended; sign in again"); }

Task<void> answer_own_access(Call& call, const User& user, const ApiQuestionParts& parts) {
  const auto credential = credential_of_session(call, parts.sessions);
  if (!credential) co_return refuse(call, session_over());
  kube::SelfAccessReviews reviews(parts.client, {.name = user.name, .token = credential->token});
  co_await answer_access(call, user, reviews);
}

Task<void> answer_story(Call& call, const User& user, StoryTarget target, const ApiQuestionParts& parts) {
  const auto credential = credential_of_session(call, parts.sessions);
  if (!credential) co_return refuse(call, session_over());
  kube::StoryFacts facts(parts.client, {.name = user.name, .token = credential->token}, std::string(target.ns),
                         limits::ui_story_objects_max);
  if (auto there = co_await facts.gather(call.core(), target.subject, std::string(target.name)); !there)
    co_return refuse(call, there.error());
  std::vector<std::string> unread;
  for (const auto& [plural, why] : facts.unread()) unread.push_back(plural);
  if (auto seated = co_await call.work_on(off_loop_bytes_min); !seated) co_return refuse(call, seated.error());
  const auto now = Timestamp::from(parts.clock.wall_now());
  auto told = co_await off_loop(call.core(), off_loop_bytes_min, [&]() -> Result<std::string> {
    return json::to_text(tell_story(target.subject, facts.facts(), now, unread));
  });
  if (!told) co_return refuse(call, told.error());
  respond(call, {.status = 200, .content_type = "application/json", .body = std::move(*told)});
}

}  // namespace

void add_api_questions(UiService& service, const ApiQuestionParts& parts) {
  service.add_question("POST", "access", [parts](Call& call, const User& user, string_view) -> Task<void> {
    return answer_own_access(call, user, parts);
  });
  service.add_question("POST", "check", [parts](Call& call, const User&, string_view) -> Task<void> {
    return answer_check(call, parts.config, parts.clock);
  });
  service.add_question("GET", "story/", [parts](Call& call, const User& user, string_view rest) -> Task<void> {
    const auto target = read_story_target(rest);
    if (!target) co_return refuse(call, story_path_wanted());
    co_await answer_story(call, user, *target, parts);
  });
}

}  // namespace vg::ui
