#include "ui/session_keeper.h"

#include "base/ui_limits.h"

namespace vg::ui {
namespace {

// Only who is asked and says no ends it: one who cannot be asked now says nothing.
bool holds(const Result<User>& now, const User& then) { return now ? now->name == then.name : now.error().code != 401; }

}  // namespace

Task<void> look_after_sessions(Core& core, const Sessions& sessions, const UiService::CheckToken& check) {
  for (const Sessions::Due& due : sessions.sweep()) {
    if (due.credential->token.empty()) continue;  // a certificate, which ends at its time
    const auto user = co_await check(core, due.credential->token, due.credential->user.name);
    if (!holds(user, due.credential->user)) sessions.end(due.key);
  }
}

Task<void> keep_sessions(Core& core, const Sessions& sessions, const UiService::CheckToken& check) {
  while (true) {
    co_await core.sleep(limits::ui_sweep_interval);
    co_await look_after_sessions(core, sessions, check);
  }
}

}  // namespace vg::ui
