#include "journal/recording.h"

#include <algorithm>
#include <chrono>

#include "auth/identify.h"
#include "base/journal_limits.h"

namespace vg::journal {

std::string_view credential_of(const http::Request& request) {
  if (request.headers.find("authorization")) return "token";
  if (!request.peer || !request.peer->certificate)
    return auth::shown_session(request) ? auth::session_credential : std::string_view();
  return request.peer->certificate->authority == auth::front_proxy_authority ? "front proxy" : "certificate";
}

Entry entry_of(const server::Call& call, const Served& served, const Clock& clock) {
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(clock.steady_now() - served.began);
  Entry entry;
  const server::RequestNotes* notes = call.notes();
  if (notes) static_cast<record::Details&>(entry) = notes->details;
  entry.id = call.request().id;
  entry.time = Timestamp::from(clock.wall_now());
  entry.microseconds = static_cast<std::uint64_t>(took.count());
  entry.user = served.user;
  entry.impersonated_by = served.impersonated_by;
  entry.credential = credential_of(call.request());
  // That they are authenticated is true of all of them.
  std::ranges::copy_if(served.groups, std::back_inserter(entry.groups),
                       [](const std::string& group) { return group != auth::authenticated_group; });
  if (entry.groups.size() > limits::journal_groups_max) entry.groups.resize(limits::journal_groups_max);
  entry.agent = call.request().headers.find("user-agent").value_or("");
  entry.verb = served.verb;
  entry.group = served.group;
  entry.version = served.version;
  entry.resource = served.resource;
  entry.subresource = served.subresource;
  entry.ns = served.ns;
  entry.name = served.name;
  entry.allowed = served.allowed;
  entry.allowed_by = served.allowed_by;
  entry.code = call.status();
  if (notes) entry.reason = notes->reason;
  if (notes && served.allowed) entry.message = notes->message;
  return entry;
}

}  // namespace vg::journal
