// The HTTP part of a WebSocket: from the upgrade request to the 101 (RFC 6455 4), for both sides.
#pragma once

#include <array>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "http/exchange.h"

namespace vg::http {

// Browsers cannot set an Authorization header on a WebSocket, so Kubernetes lets them send a bearer token as a
// subprotocol with this prefix and the token in unpadded base64url behind it. It names a credential, never a protocol.
inline constexpr std::string_view bearer_subprotocol_prefix = "base64url.bearer.authorization.k8s.io.";

// The subprotocols a client offers, over all header fields, in its order. Empty elements are left out.
std::vector<std::string_view> offered_subprotocols(const Headers& headers);

// Whether a request wants to become a WebSocket, however well it asks.
bool asks_for_websocket(const Headers& headers);

// An answer other than 101, as the caller shall give it: still plain HTTP.
struct UpgradeRefusal {
  Status status;  // its code is the HTTP code
  std::vector<std::pair<std::string, std::string>> headers;
};

struct UpgradeAnswer {
  Response head;                 // for Exchange::upgrade
  std::string_view subprotocol;  // the chosen one of `known`, or empty
};

// Checks an upgrade request and makes the answer. `known` is what we speak, best first; a client that offers none of it
// still gets its stream, without a subprotocol, as upstream does it.
std::expected<UpgradeAnswer, UpgradeRefusal> answer_upgrade(const Request& request,
                                                            std::span<const std::string_view> known);

// The answer to a key (RFC 6455 4.2.2, step 5.4).
std::string accept_value(std::string_view key);

// The client's side: what to send, and whether the answer belongs to it.
class UpgradeOffer {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  // With a random key.
  explicit UpgradeOffer(std::vector<std::string> subprotocols);
  UpgradeOffer(std::vector<std::string> subprotocols, std::array<unsigned char, 16> key);

  // Every header field of the request that belongs to the handshake.
  Fields headers() const;
  // The subprotocol the server chose (empty for none), or what is wrong with its 101.
  std::expected<std::string, std::string> check(const Fields& answer) const;

 private:
  std::vector<std::string> subprotocols_;
  std::string key_;
};

}  // namespace vg::http
