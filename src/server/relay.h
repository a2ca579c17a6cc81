// A client's WebSocket and one that this program has opened for it, tied together.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "base/stream.h"
#include "base/task.h"
#include "http/splice.h"
#include "server/tenure.h"

namespace vg::server {

inline constexpr std::string_view session_over_message = "the session has ended; sign in again";

struct RelayOptions {
  std::string_view other_end;  // what it is, for people: "node"
  std::chrono::milliseconds ping_interval{0};
};

// Frames pass unread. Beside them this program pings both sides, and tells the client what it could not know: that the
// other connection broke, that the server stops, or that the session is over, after which nothing more passes. The
// tenure outlives the task.
Task<http::SpliceEnd> relay(std::unique_ptr<Stream> client, std::unique_ptr<Stream> other, RelayOptions options,
                            Tenure& tenure);

}  // namespace vg::server
