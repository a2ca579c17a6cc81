#include "journal/recording.h"

#include <algorithm>
#include <chrono>

#include "auth/identify.h"
#include "base/request_record.h"

namespace vg::journal {

std::string_view credential_of(const http::Request& request) {
  if (request.headers.find("authorization")) return "token";
  if (!request.peer || !request.peer->certificate)
    return auth::shown_session(request) ? auth::session_credential : std::string_view();
  return request.peer->certificate->authority == auth::front_proxy_authority ? "front proxy" : "certificate";
}

namespace {

// An action that is only tried tells what it would do in these words (actions/execute.cpp).
bool would_be(const record::Touched& touched) { return touched.what.starts_with("would "); }

}  // namespace

EntryView entry_of(const server::Call& call, const Served& served, const Clock& clock) {
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(clock.steady_now() - served.began);
  const server::RequestNotes* notes = call.notes();
  EntryView entry;
  entry.id = call.request().id;
  entry.time = Timestamp::from(clock.wall_now());
  entry.microseconds = static_cast<std::uint64_t>(took.count());
  entry.user = served.user;
  entry.impersonated_by = served.impersonated_by;
  entry.credential = credential_of(call.request());
  // That they are authenticated is true of all of them, and it is the last group that anybody is given.
  entry.groups = served.groups;
  if (!entry.groups.empty() && entry.groups.back() == auth::authenticated_group)
    entry.groups = entry.groups.first(entry.groups.size() - 1);
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
  if (notes) {
    entry.reason = notes->reason;
    entry.details = &notes->details;
    entry.dry_run = std::ranges::any_of(notes->details.touched, would_be);
    if (served.allowed) entry.message = notes->message;
  }
  return entry;
}

}  // namespace vg::journal
