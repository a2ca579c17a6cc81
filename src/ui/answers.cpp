#include "ui/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "auth/headers.h"
#include "auth/identify.h"
#include "base/media_types.h"
#include "json/write.h"

namespace vg::ui {
namespace {

constexpr std::array security_fields = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"Content-Security-Policy", content_security_policy},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
});

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Calls `fn` with each part of a list with commas until it returns true.
template <class Fn>
bool any_part(std::string_view list, Fn fn) {
  while (true) {
    const std::size_t comma = list.find(',');
    if (fn(trimmed(list.substr(0, comma)))) return true;
    if (comma == list.npos) return false;
    list.remove_prefix(comma + 1);
  }
}

bool has_weight(std::string_view parameters) {
  const std::size_t at = parameters.find("q=");
  if (at == parameters.npos) return true;
  double weight = 0;
  const std::string_view number = parameters.substr(at + 2);
  std::from_chars(number.data(), number.data() + number.size(), weight);
  return weight > 0;
}

}  // namespace

void add_page_fields(http::Response& response) {
  for (const auto& [name, value] : security_fields) response.headers.emplace_back(name, value);
  // What belongs to a user is in no cache; files say so themselves.
  if (std::ranges::find(response.headers, "Cache-Control", [](const auto& field) { return field.first; }) ==
      response.headers.end())
    response.headers.emplace_back("Cache-Control", "no-store");
}

void respond(server::Call& call, http::Response response) {
  add_page_fields(response);
  call.respond(std::move(response));
}

void respond_json(server::Call& call, int status, const json::Value& document) {
  respond(call, {.status = status, .content_type = json_media_type, .body = json::to_text(document)});
}

void refuse(server::Call& call, const Status& status) {
  call.note_refusal(status);
  http::Response response{.status = status.code, .content_type = json_media_type, .body = to_json(status)};
  // No WWW-Authenticate with 401: a browser would ask for a password by itself.
  if (status.details.retry_after_seconds > 0)
    response.headers.emplace_back("Retry-After", std::to_string(status.details.retry_after_seconds));
  respond(call, std::move(response));
}

bool takes_gzip(const http::Headers& headers) {
  return any_part(headers.find("accept-encoding").value_or(""), [](std::string_view part) {
    const std::size_t end = part.find(';');
    const std::string_view coding = trimmed(part.substr(0, end));
    const bool fits = coding == "*" || (coding.size() == 4 && auth::starts_with_fold(coding, "gzip"));
    return fits && (end == part.npos || has_weight(part.substr(end)));
  });
}

bool has_already(const http::Headers& headers, std::string_view etag) {
  return any_part(headers.find("if-none-match").value_or(""), [&](std::string_view part) {
    if (part.starts_with("W/")) part.remove_prefix(2);
    return part == "*" || part == etag;
  });
}

Task<void> serve_asset(server::Call& call, const Asset& asset) {
  const http::Headers& headers = call.request().headers;
  const bool packed = takes_gzip(headers);
  const std::string etag = fmt::format("\"{}{}\"", asset.digest, packed ? "-gzip" : "");
  http::Response response{.status = 200, .content_type = asset.media_type};
  // Asked for again each time, and answered in a few bytes: a new server has new files under the same names.
  response.headers = {{"ETag", etag}, {"Cache-Control", "no-cache"}, {"Vary", "Accept-Encoding"}};
  if (has_already(headers, etag)) {
    response.status = 304;
    response.content_type = {};
    co_return respond(call, std::move(response));
  }
  if (packed) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.body = asset.packed;
    co_return respond(call, std::move(response));
  }
  // It takes milliseconds, and anybody may ask for it.
  const User nobody{
      .name = call.source(), .uid = {}, .groups = {std::string(auth::unauthenticated_group)}, .extra = {}};
  auto seat = co_await call.turn(nobody, server::fair::Kind::waits);
  if (!seat) co_return refuse(call, seat.error());
  call.sit(std::move(*seat));
  auto plain = unpack(asset);
  if (!plain) co_return refuse(call, plain.error());
  response.body = std::move(*plain);
  respond(call, std::move(response));
}

}  // namespace vg::ui
