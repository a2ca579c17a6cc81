#include "handler/sync/access_credentials.h"

#include <map>
#include <utility>

#include "base/handler_limits.h"
#include "base/node_limits.h"
#include "json/document.h"

namespace vg::handler {

Task<Result<std::vector<std::string>>> CredentialKeeper::wanted(const Work& work,
                                                                const std::vector<std::string>& names) {
  json::Document document;
  std::map<std::string, json::Value, std::less<>> secrets;
  for (const std::string& name : names) {
    auto found = co_await parts_.api.get(parts_.core, {secret_resource, work.key.ns, name}, document.storage());
    if (!found && found.error().code != 404) co_return fail(std::move(found.error()));
    if (found) secrets.emplace(name, std::move(*found));
  }
  co_return guests::credential_commands(work.vmi.get_object(), [&](std::string_view name) -> const json::Object* {
    const auto found = secrets.find(name);
    return found == secrets.end() ? nullptr : found->second.if_object();
  });
}

Task<guests::CredentialResult> CredentialKeeper::tell(const Work& work, KeptCredentials& kept) {
  auto commands = co_await wanted(work, guests::agent_secrets(work.vmi.get_object()));
  if (!commands) co_return guests::CredentialResult{.message = commands.error().message};
  const auto now = parts_.clock.steady_now();
  const bool is_known = kept.told_at && *commands == kept.told && now - *kept.told_at < limits::credential_resync;
  if (is_known) co_return guests::CredentialResult{.succeeded = true};
  for (const std::string& command : *commands) {
    const auto done =
        co_await parts_.hypervisor.ask_agent(parts_.core, work.domain, command, limits::agent_answer_deadline);
    if (!done) co_return guests::CredentialResult{.message = done.error().message};
  }
  kept.told = std::move(*commands);
  kept.told_at = now;
  co_return guests::CredentialResult{.succeeded = true};
}

// RUN-ACC-02, RUN-ACC-03
Task<void> CredentialKeeper::keep(const Work& work, const guests::Case& one, KeptCredentials& kept, Outcome& outcome) {
  if (guests::agent_secrets(work.vmi.get_object()).empty()) co_return;
  outcome.look_again(limits::credential_look);
  if (!one.domain || !one.domain->agent_connected) {
    kept = {.result = guests::CredentialResult{.message = "Guest agent is offline"}};
    co_return;
  }
  const auto now = parts_.clock.steady_now();
  if (kept.looked && now - *kept.looked < limits::credential_look) co_return;
  kept.looked = now;
  kept.result = co_await tell(work, kept);
}

}  // namespace vg::handler
