// What of the API server the page may ask for in the name of its user: pure decisions. It is what the page needs and no
// more, so that nothing a page could be talked into reaches further (Secrets, tokens, pods and their proxies).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/exchange.h"

namespace vg::ui {

// Where the API of the cluster is for the page.
inline constexpr std::string_view proxied_prefix = "/ui/cluster";

enum class Passage : std::uint8_t {
  answer,  // one that ends
  watch,   // one that goes on
  stream,  // a WebSocket
};

struct Proxied {
  Passage passage = Passage::answer;
  std::string target;         // path and query, as the API server gets them
  std::string_view resource;  // for metrics; a view of a table
};

// 404 for what the page does not need, 405 for what it does not do with it, 400 for a path that could be read in two
// ways.
Result<Proxied> read_proxied(const http::Request& request);

// The media type of a body, as it is sent on; 415 for one that the page does not send.
Result<std::string_view> proxied_body_type(const http::Headers& headers);
// As it is told to the browser: one that no browser runs or shows as a page.
std::string_view told_media_type(std::string_view given);

}  // namespace vg::ui
