// A bearer token among the subprotocols of a WebSocket, as Kubernetes takes it from browsers.
#pragma once

#include <string>

#include "base/status.h"
#include "http/exchange.h"

namespace vg::auth {

// Empty: there is none, or it is no WebSocket that is asked for. 401: there is one, but not as it must be. Beside it
// there must be a real subprotocol: a browser drops a connection whose server chose none of those it offered, and the
// token itself is never chosen.
Result<std::string> websocket_token(const http::Headers& headers);

}  // namespace vg::auth
