#include "auth/session.h"

#include <algorithm>
#include <cstdint>

#include "auth/headers.h"
#include "http/websocket_handshake.h"

namespace vg::auth {
namespace {

constexpr std::string_view own_scheme = "https://";

bool equal_fold(std::string_view a, std::string_view b) { return a.size() == b.size() && starts_with_fold(a, b); }

// The value of a field that may be there once; `ambiguous` when it is there more often.
struct Single {
  std::optional<std::string_view> value;
  bool ambiguous = false;
};

Single single(const http::Headers& headers, std::string_view name) {
  Single found;
  for (const http::HeaderField& field : headers.fields()) {
    if (!equal_fold(field.name, name)) continue;
    found.ambiguous = found.value.has_value();
    found.value = field.value;
    if (found.ambiguous) break;
  }
  return found;
}

enum class Origin : std::uint8_t { unsaid, own, other };

Origin origin_of(const http::Request& request) {
  const Single origin = single(request.headers, "origin"), host = single(request.headers, "host");
  if (!origin.value) return Origin::unsaid;
  if (origin.ambiguous || host.ambiguous || !host.value || host.value->empty()) return Origin::other;
  const bool own =
      starts_with_fold(*origin.value, own_scheme) && equal_fold(origin.value->substr(own_scheme.size()), *host.value);
  return own ? Origin::own : Origin::other;
}

bool is_from_own_site(const http::Request& request) {
  const Single site = single(request.headers, "sec-fetch-site");
  return !site.ambiguous && site.value.value_or("same-origin") == "same-origin";
}

std::string_view trimmed_blanks(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

bool brings_other_credentials(const http::Request& request) {
  if (request.peer && request.peer->certificate) return true;
  if (request.headers.find("authorization")) return true;
  return std::ranges::any_of(http::offered_subprotocols(request.headers), [](std::string_view protocol) {
    return protocol.starts_with(http::bearer_subprotocol_prefix);
  });
}

}  // namespace

bool is_from_own_origin(const http::Request& request) {
  return origin_of(request) != Origin::other && is_from_own_site(request);
}

bool is_from_other_site(const http::Request& request) {
  if (origin_of(request) == Origin::other) return true;
  const Single site = single(request.headers, "sec-fetch-site");
  // "none": the user typed the address, or opened a bookmark.
  return site.ambiguous || (site.value && *site.value != "same-origin" && *site.value != "none");
}

bool is_from_own_page(const http::Request& request) {
  if (!is_from_own_site(request)) return false;
  const Origin origin = origin_of(request);
  if (http::asks_for_websocket(request.headers)) return origin == Origin::own;
  const Single header = single(request.headers, page_header);
  return origin != Origin::other && !header.ambiguous && header.value == "1";
}

std::optional<std::string_view> session_cookie(const http::Headers& headers) {
  std::optional<std::string_view> found;
  for (const http::HeaderField& field : headers.fields()) {
    if (!equal_fold(field.name, "cookie")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::string_view pair = trimmed_blanks(rest.substr(0, rest.find(';')));
      rest.remove_prefix(std::min(rest.find(';'), rest.size() - 1) + 1);
      const std::size_t equals = pair.find('=');
      if (equals == pair.npos || pair.substr(0, equals) != session_cookie_name) continue;
      if (found) return std::nullopt;  // whose are they?
      found = pair.substr(equals + 1);
    }
  }
  return found;
}

std::optional<std::string_view> shown_session(const http::Request& request) {
  const auto cookie = session_cookie(request.headers);
  if (!cookie || brings_other_credentials(request) || !is_from_own_page(request)) return std::nullopt;
  return cookie;
}

std::optional<std::string_view> shown_secret(const http::Request& request) {
  if (const auto authorization = request.headers.find("authorization")) return authorization;
  return shown_session(request);
}

}  // namespace vg::auth
