// Keys for frames that a client sends. They come from the strong generator, because a server's answer to a frame whose
// bytes on the wire somebody could foresee may fool proxies on the way (RFC 6455 10.3).
#pragma once

#include <openssl/rand.h>

#include <stdexcept>

#include "http/websocket_frame.h"

namespace vg::http::ws {

inline MaskKey random_mask() {
  MaskKey key;
  if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1)
    throw std::runtime_error("the random number generator failed");
  return key;
}

}  // namespace vg::http::ws
