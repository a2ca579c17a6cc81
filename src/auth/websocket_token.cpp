#include "auth/websocket_token.h"

#include <algorithm>
#include <vector>

#include "base/base64.h"
#include "http/websocket_frame.h"
#include "http/websocket_handshake.h"

namespace vg::auth {
namespace {

bool is_utf8(std::string_view text) {
  http::ws::Utf8Check check;
  return check.feed(text) && check.complete();
}

}  // namespace

Result<std::string> websocket_token(const http::Headers& headers) {
  if (!http::asks_for_websocket(headers)) return std::string();
  const std::vector<std::string_view> offered = http::offered_subprotocols(headers);
  const auto is_token = [](std::string_view name) { return name.starts_with(http::bearer_subprotocol_prefix); };
  const auto first = std::ranges::find_if(offered, is_token);
  if (first == offered.end()) return std::string();
  if (std::ranges::count_if(offered, is_token) > 1)
    return fail(Status::unauthorized("the subprotocols have more than one bearer token; send one"));
  auto token = base64_decode(first->substr(http::bearer_subprotocol_prefix.size()), Base64::url_raw);
  if (!token || token->empty() || !is_utf8(*token))
    return fail(Status::unauthorized("the bearer token in the subprotocols is not base64url without padding"));
  if (offered.size() == 1)
    return fail(
        Status::unauthorized("a second subprotocol is required besides the bearer token, for example "
                             "plain.kubevirt.io"));
  return std::move(*token);
}

}  // namespace vg::auth
