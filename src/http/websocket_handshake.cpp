#include "http/websocket_handshake.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <stdexcept>

#include "base/joined.h"
#include "base/trimmed.h"
#include "http/request_parser.h"

namespace vg::http {

namespace {

// Calls `each` for every non-empty element of a comma-separated list, until it returns true.
template <class Each>
bool any_element(std::string_view list, Each each) {
  for (;;) {
    const std::size_t comma = list.find(',');
    const std::string_view element = trimmed(list.substr(0, comma), header_blanks);
    if (!element.empty() && each(element)) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

// Whether any field of that name has the token in its list.
bool has_token(const Headers& headers, std::string_view name, std::string_view token) {
  return std::ranges::any_of(headers.fields(), [&](const HeaderField& field) {
    return equal_ignoring_case(field.name, name) &&
           any_element(field.value, [&](std::string_view element) { return equal_ignoring_case(element, token); });
  });
}

bool has_token(const UpgradeOffer::Fields& fields, std::string_view name, std::string_view token) {
  return std::ranges::any_of(fields, [&](const auto& field) {
    return equal_ignoring_case(field.first, name) &&
           any_element(field.second, [&](std::string_view element) { return equal_ignoring_case(element, token); });
  });
}

std::string_view value_of(const Headers& headers, std::string_view name) {
  for (const HeaderField& field : headers.fields()) {
    if (equal_ignoring_case(field.name, name)) return trimmed(field.value, header_blanks);
  }
  return {};
}

std::string base64(std::span<const unsigned char> bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // the encoder ends with a zero byte
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// Base64 of exactly 16 bytes.
bool is_key(std::string_view key) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return key.size() == 24 && key.ends_with("==") &&
         key.substr(0, 22).find_first_not_of(alphabet) == std::string_view::npos;
}

std::unexpected<UpgradeRefusal> refuse(int code, std::string_view reason, std::string message) {
  UpgradeRefusal refusal{.status = Status::bad_request(std::move(message)),
                         .headers = {{"Sec-WebSocket-Version", "13"}}};
  refusal.status.code = code;
  if (!reason.empty()) refusal.status.reason = reason;
  if (code == 426) refusal.headers.emplace_back("Upgrade", "websocket");
  if (code == 405) refusal.headers.emplace_back("Allow", "GET");
  return std::unexpected(std::move(refusal));
}

std::string random_key() {
  std::array<unsigned char, 16> key;
  if (RAND_bytes(key.data(), key.size()) != 1) throw std::runtime_error("the random number generator failed");
  return base64(key);
}

}  // namespace

std::vector<std::string_view> offered_subprotocols(const Headers& headers) {
  std::vector<std::string_view> offered;
  for (const HeaderField& field : headers.fields()) {
    if (!equal_ignoring_case(field.name, "Sec-WebSocket-Protocol")) continue;
    any_element(field.value, [&](std::string_view element) {
      offered.push_back(element);
      return false;
    });
  }
  return offered;
}

bool asks_for_websocket(const Headers& headers) {
  return has_token(headers, "Connection", "upgrade") && has_token(headers, "Upgrade", "websocket");
}

std::string accept_value(std::string_view key) {
  std::string text(key);
  text += "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // the constant of RFC 6455 1.3
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) {
    throw std::runtime_error("SHA-1 is not available");
  }
  return base64(std::span(digest).first(size));
}

std::expected<UpgradeAnswer, UpgradeRefusal> answer_upgrade(const Request& request,
                                                            std::span<const std::string_view> known) {
  const Headers& headers = request.headers;
  // The order and the codes are upstream's.
  if (!has_token(headers, "Connection", "upgrade")) {
    return refuse(400, {}, "this is a stream: the header \"Connection: Upgrade\" is required");
  }
  if (!has_token(headers, "Upgrade", "websocket")) {
    return refuse(426, "UpgradeRequired", "this is a stream: the header \"Upgrade: websocket\" is required");
  }
  if (request.method != "GET") {
    return refuse(405, "MethodNotAllowed", "a WebSocket must start with a GET request");
  }
  if (!has_token(headers, "Sec-WebSocket-Version", "13")) {
    return refuse(400, {}, "only WebSocket version 13 is supported; send \"Sec-WebSocket-Version: 13\"");
  }
  const std::string_view key = value_of(headers, "Sec-WebSocket-Key");
  if (!is_key(key)) return refuse(400, {}, "Sec-WebSocket-Key must be 16 bytes in base64");

  UpgradeAnswer answer;
  const std::vector<std::string_view> offered = offered_subprotocols(headers);
  for (const std::string_view candidate : known) {
    if (candidate.starts_with(bearer_subprotocol_prefix)) continue;
    if (std::ranges::find(offered, candidate) != offered.end()) {
      answer.subprotocol = candidate;
      break;
    }
  }
  answer.head.status = 101;
  answer.head.headers = {
      {"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Accept", accept_value(key)}};
  if (!answer.subprotocol.empty()) answer.head.headers.emplace_back("Sec-WebSocket-Protocol", answer.subprotocol);
  return answer;
}

UpgradeOffer::UpgradeOffer(std::vector<std::string> subprotocols)
    : subprotocols_(std::move(subprotocols)), key_(random_key()) {}

UpgradeOffer::UpgradeOffer(std::vector<std::string> subprotocols, std::array<unsigned char, 16> key)
    : subprotocols_(std::move(subprotocols)), key_(base64(key)) {}

UpgradeOffer::Fields UpgradeOffer::headers() const {
  Fields fields{{"Upgrade", "websocket"},
                {"Connection", "Upgrade"},
                {"Sec-WebSocket-Key", key_},
                {"Sec-WebSocket-Version", "13"}};
  if (!subprotocols_.empty()) fields.emplace_back("Sec-WebSocket-Protocol", joined(subprotocols_, ", "));
  return fields;
}

std::expected<std::string, std::string> UpgradeOffer::check(const Fields& answer) const {
  if (!has_token(answer, "Upgrade", "websocket")) return std::unexpected("the answer does not upgrade to websocket");
  if (!has_token(answer, "Connection", "upgrade")) return std::unexpected("the answer's Connection lacks upgrade");
  std::string accept;
  std::string chosen;
  for (const auto& [name, value] : answer) {
    if (equal_ignoring_case(name, "Sec-WebSocket-Accept")) accept = trimmed(value, header_blanks);
    if (equal_ignoring_case(name, "Sec-WebSocket-Protocol")) chosen = trimmed(value, header_blanks);
    if (equal_ignoring_case(name, "Sec-WebSocket-Extensions") && !trimmed(value, header_blanks).empty()) {
      return std::unexpected("the answer has an extension that was not requested");
    }
  }
  if (accept != accept_value(key_)) return std::unexpected("the answer does not belong to this request's key");
  if (!chosen.empty() && std::ranges::find(subprotocols_, chosen) == subprotocols_.end()) {
    return std::unexpected("the answer names a subprotocol that was not offered");
  }
  return chosen;
}

}  // namespace vg::http
