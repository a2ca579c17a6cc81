// A console that echoes: the node's end of a WebSocket, without a node.
#pragma once

#include <memory>
#include <string>

#include "base/core.h"
#include "base/stream.h"

namespace vg::simulated {

// Past its handshake. Says `greeting` first, then what it is sent.
std::unique_ptr<Stream> open_console(Core& core, std::string_view greeting);

}  // namespace vg::simulated
