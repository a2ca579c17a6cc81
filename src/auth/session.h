// Sessions of a browser at this server: by which requests one may be used, and who says whose it is.
//
// A browser sends its cookies with every request to this server, whichever page made it do so. So the cookie counts
// only together with what a page of another site cannot make a browser send.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "http/exchange.h"
#include "ports/authorizer.h"

namespace vg::auth {

// Browsers take a cookie of this name only over TLS, for one host and for all of its paths.
inline constexpr std::string_view session_cookie_name = "__Host-virtgate-session";
// A request that has it is none that a form, a picture or a link of another site makes.
inline constexpr std::string_view page_header = "X-Virtgate-UI";

// How the journal and the audit log call it.
inline constexpr std::string_view session_credential = "ui session";

// Whether a request is from a page of this server, as far as the browser says: it has page_header, or is a WebSocket
// that names its origin, and whatever it says of where it comes from is this server (the Host it was sent to).
bool is_from_own_page(const http::Request& request);
// The same without page_header, for programs: what it says of where it comes from, if anything, is this server.
bool is_from_own_origin(const http::Request& request);

// Whether a page of another origin made a browser send it, as far as the browser says. A browser shows its client
// certificate with every request to this server as it does cookies, and nothing else of such a request can be told from
// one that the user wanted.
bool is_from_other_site(const http::Request& request);

// The id of the session that the request may use. Nothing: it shows none, more than one, is from a page elsewhere, or
// brings other credentials, which then count alone.
std::optional<std::string_view> shown_session(const http::Request& request);
// The cookie's value, whoever made the browser send it.
std::optional<std::string_view> session_cookie(const http::Headers& headers);

// What a request shows that may be guessed: its Authorization header, else its session.
std::optional<std::string_view> shown_secret(const http::Request& request);

// What goes on for long ends with the session that began it. Dropping this says that it has ended by itself.
class SessionBond {
 public:
  virtual ~SessionBond() = default;
};

class SessionVerifier {
 public:
  virtual ~SessionVerifier() = default;
  // Whose session it is, with all implied groups; 401 when there is none, or what it was made from holds no longer.
  // Called on every request that uses one, from any thread.
  virtual Result<User> verify(std::string_view id) const = 0;
  // `ended` is called once, from any thread, when the session is over; it must return soon, and may still be called
  // while the bond is dropped on another thread. 401 when it is over already, 429 when it has too many.
  virtual Result<std::unique_ptr<SessionBond>> bind(std::string_view id, std::function<void()> ended) const = 0;
};

}  // namespace vg::auth
