#include "ui/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "auth/identify.h"
#include "auth/session.h"
#include "base/log.h"
#include "base/phrases.h"
#include "base/time_rfc3339.h"
#include "base/ui_limits.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "server/version.h"
#include "ui/answers.h"
#include "ui/assets.h"

namespace vg::ui {
namespace {

using server::Call;
using std::string_view;

constexpr string_view page_path = "/ui/", api_prefix = "/ui/api/";

bool is_read(string_view method) { return method == "GET" || method == "HEAD"; }

void refuse_method(Call& call, string_view allowed) {
  const Status status{.code = 405,
                      .reason = "MethodNotAllowed",
                      .message = fmt::format("{}: use {}", phrases::method_not_allowed, allowed),
                      .details = {}};
  http::Response response{.status = 405, .content_type = "application/json", .body = to_json(status)};
  response.headers.emplace_back("Allow", allowed);
  respond(call, std::move(response));
}

void refuse_path(Call& call) {
  refuse(call, {.code = 404,
                .reason = "NotFound",
                .message = fmt::format("{}; {} is not served", phrases::path_not_served, call.path()),
                .details = {}});
}

Status from_elsewhere() {
  return Status::forbidden("", "", "",
                           fmt::format("the request must come from the page of this server: send {}: 1, and no origin "
                                       "of another site",
                                       auth::page_header));
}

std::string cookie_text(string_view value) {
  return fmt::format("{}={}; Path=/; Secure; HttpOnly; SameSite=Strict", auth::session_cookie_name, value);
}

std::string cleared_cookie() { return cookie_text("") + "; Max-Age=0"; }

// It becomes the value of a header field.
bool may_be_token(string_view token) {
  return std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
}

// What a code is made of: the credential of who asks for it, which must be one that can be asked again.
Result<Credential> credential_of(const Call& call, const User& user) {
  const auto refused = [](string_view why) { return fail(Status::forbidden("", "", "", std::string(why))); };
  const http::Request& request = call.request();
  if (request.headers.find("impersonate-user")) return refused("a sign-in code cannot be made for somebody else");
  if (request.peer && request.peer->certificate) {
    const http::PeerCertificate& certificate = *request.peer->certificate;
    if (certificate.authority == auth::client_authority && certificate.common_name == user.name)
      return Credential{.token = {}, .user = user, .ends = certificate.not_after};
    if (certificate.authority == auth::client_authority || certificate.authority == auth::front_proxy_authority)
      return refused("a sign-in code is made for users with a certificate or a token of their own");
  }
  constexpr string_view scheme = "bearer ";
  const string_view authorization = request.headers.find("authorization").value_or("");
  if (authorization.size() <= scheme.size())
    return refused("a sign-in code is made for a certificate or a token, not for a session");
  string_view token = authorization.substr(scheme.size());
  while (token.starts_with(' ')) token.remove_prefix(1);
  while (token.ends_with(' ')) token.remove_suffix(1);
  if (token.size() > limits::ui_token_bytes_max) return refused("the token is too long for a session");
  return Credential{.token = std::string(token), .user = user};
}

}  // namespace

void UiService::add_question(std::string method, std::string name, Handler handler) {
  const bool added =
      questions_.try_emplace(std::move(name), Question{.method = std::move(method), .handler = std::move(handler)})
          .second;
  if (!added) throw std::logic_error("a question of the page was added twice");
}

void UiService::add_routes(server::Router& router) {
  const auto add = [&](bool prefix, std::string path, auto member) {
    const auto handler = [this, member](Call& call) { return (this->*member)(call); };
    // Nobody is asked who they are before it is known what they want: files are for everybody.
    if (prefix)
      router.add_prefix(server::Access::anyone, server::Router::any_method, std::move(path), server::RouteClass::page,
                        handler);
    else
      router.add(server::Access::anyone, server::Router::any_method, std::move(path), server::RouteClass::page,
                 handler);
  };
  router.add(server::Access::anyone, server::Router::any_method, "/ui", server::RouteClass::page,
             [](Call& call) -> Task<void> {
               http::Response response{.status = 308};
               response.headers.emplace_back("Location", page_path);
               respond(call, std::move(response));
               co_return;
             });
  router.end_with_sessions(parts_.sessions);
  add(true, std::string(page_path), &UiService::serve_file);
  add(false, "/ui/session", &UiService::serve_session);
  add(false, "/ui/sign-in", &UiService::show_ways);
  if (parts_.codes) add(false, "/ui/codes", &UiService::serve_codes);
  add(true, std::string(api_prefix), &UiService::serve_question);
}

Task<void> UiService::serve_file(Call& call) const {
  if (!is_read(call.request().method)) co_return refuse_method(call, "GET, HEAD");
  const Asset* asset = find_asset(call.rest().empty() ? "index.html" : call.rest());
  if (!asset) co_return refuse_path(call);
  co_await serve_asset(call, *asset);
}

// --- sessions --------------------------------------------------------------------------------------------------------

Task<void> UiService::serve_session(Call& call) {
  const string_view method = call.request().method;
  if (method == "GET") co_return co_await show_session(call);
  if (method == "POST") co_return co_await sign_in(call);
  if (method == "DELETE") co_return sign_out(call);
  refuse_method(call, "GET, POST, DELETE");
}

// Token and code are secrets: no answer repeats any of it.
Task<Result<Credential>> UiService::read_credential(Call& call) {
  const auto body = co_await call.read_body(limits::ui_session_body_bytes_max);
  if (!body) co_return fail(body.error());
  const auto document = json::Document::parse(*body);
  if (!document) co_return fail(Status::bad_request("the body must be a JSON object with either token or code"));
  const string_view token = json::get_string_or(document->root(), "token"),
                    code = json::get_string_or(document->root(), "code");
  if (token.empty() == code.empty())
    co_return fail(Status::bad_request("the body must be a JSON object with either token or code"));
  if (token.size() > limits::ui_token_bytes_max || !may_be_token(token))
    co_return fail(Status::unauthorized("invalid bearer token"));
  if (!token.empty()) {
    auto user = co_await parts_.check_token(call.core(), token, call.source());
    if (!user) co_return fail(std::move(user.error()));
    co_return Credential{.token = std::string(token), .user = std::move(*user)};
  }
  auto credential = parts_.sessions.redeem(code);
  if (!credential)
    co_return fail(
        Status::unauthorized("the sign-in code is invalid, was used already, or is older than five minutes; ask for a "
                             "new one with virtgate ui"));
  if (credential->token.empty()) co_return std::move(*credential);
  auto user = co_await parts_.check_token(call.core(), credential->token, call.source());
  if (!user) co_return fail(std::move(user.error()));
  if (user->name != credential->user.name)
    co_return fail(Status::unauthorized("the token of the sign-in code stands for somebody else now"));
  co_return std::move(*credential);
}

Task<void> UiService::sign_in(Call& call) {
  // No page of another site signs somebody in, not even as themselves.
  if (!auth::is_from_own_page(call.request())) co_return refuse(call, from_elsewhere());
  const User nobody{
      .name = call.source(), .uid = {}, .groups = {std::string(auth::unauthenticated_group)}, .extra = {}};
  auto seat = co_await call.turn(nobody, server::fair::with_body(server::fair::Kind::waits, call.request()));
  if (!seat) co_return refuse(call, seat.error());
  call.sit(std::move(*seat));
  auto credential = co_await read_credential(call);
  if (!credential) {
    Status& status = credential.error();
    co_return refuse(call, status.code == 401 ? call.failed_login(std::move(status)) : std::move(status));
  }
  const User user = credential->user;
  call.set_user_name(user.name);
  const auto issued = parts_.sessions.open(std::move(*credential));
  if (!issued) co_return refuse(call, issued.error());
  // The browser has one at a time, and never one whose id was known before it signed in.
  if (const auto before = auth::session_cookie(call.request().headers)) parts_.sessions.close(*before);
  log::info("a user signed in to the page", {{"username", user.name}, {"remoteAddress", call.source()}});
  http::Response response{.status = 201,
                          .content_type = "application/json",
                          .body = json::to_text(session_document(user, issued->expires))};
  response.headers.emplace_back("Set-Cookie", cookie_text(issued->secret));
  respond(call, std::move(response));
}

json::Value UiService::session_document(const User& user, std::optional<Clock::Wall> expires) const {
  json::Array groups, questions;
  for (const std::string& group : user.groups) groups.emplace_back(group);
  for (const auto& [name, question] : questions_) questions.emplace_back(name.substr(0, name.find('/')));
  json::Object document{{"user", user.name}, {"groups", std::move(groups)}};
  if (expires) document["expires"] = print_rfc3339(Timestamp::from(*expires));
  document["mode"] = parts_.mode;
  document["version"] = VIRTGATE_VERSION;
  document["api"] = parts_.api_prefix;
  document["questions"] = std::move(questions);
  return document;
}

Task<void> UiService::show_ways(Call& call) const {
  if (!is_read(call.request().method)) co_return refuse_method(call, "GET, HEAD");
  json::Array ways{"token"};
  if (parts_.codes) ways.emplace_back("link");
  respond_json(call, 200, json::Object{{"mode", parts_.mode}, {"ways", std::move(ways)}});
}

Task<void> UiService::show_session(Call& call) const {
  const auto user = co_await parts_.identify(call);
  if (!user) co_return refuse(call, user.error());
  const auto id = auth::shown_session(call.request());
  respond_json(call, 200, session_document(*user, id ? parts_.sessions.expires(*id) : std::nullopt));
}

void UiService::sign_out(Call& call) {
  if (!auth::is_from_own_page(call.request())) return refuse(call, from_elsewhere());
  if (const auto id = auth::session_cookie(call.request().headers)) parts_.sessions.close(*id);
  http::Response response{.status = 204};
  response.headers.emplace_back("Set-Cookie", cleared_cookie());
  respond(call, std::move(response));
}

Task<void> UiService::serve_codes(Call& call) {
  if (call.request().method != "POST") co_return refuse_method(call, "POST");
  if (!auth::is_from_own_origin(call.request())) co_return refuse(call, from_elsewhere());
  const auto user = co_await parts_.identify(call);
  if (!user) co_return refuse(call, user.error());
  auto credential = credential_of(call, *user);
  if (!credential) co_return refuse(call, credential.error());
  if (credential->ends <= parts_.clock.wall_now())
    co_return refuse(call, Status::forbidden("", "", "", "the certificate has expired"));
  const auto issued = parts_.sessions.make_code(std::move(*credential));
  if (!issued) co_return refuse(call, issued.error());
  respond_json(call, 201,
               json::Object{{"code", issued->secret}, {"expires", print_rfc3339(Timestamp::from(issued->expires))}});
}

// --- questions -------------------------------------------------------------------------------------------------------

Task<void> UiService::serve_question(Call& call) const {
  const string_view rest = call.rest();
  const std::size_t slash = rest.find('/');
  const string_view name = slash == rest.npos ? rest : rest.substr(0, slash + 1);
  const auto found = questions_.find(name);
  // Nobody learns what there is before it is known who they are.
  const auto user = co_await parts_.identify(call);
  if (!user) co_return refuse(call, user.error());
  if (found == questions_.end()) co_return refuse_path(call);
  if (call.request().method != found->second.method) co_return refuse_method(call, found->second.method);
  co_await found->second.handler(call, *user, rest.substr(name.size()));
}

}  // namespace vg::ui
