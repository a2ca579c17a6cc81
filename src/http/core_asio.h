// The event loop as the network library's own files see it. Only files named *asio* and core.cpp include this.
#pragma once

#include <boost/asio/io_context.hpp>

#include "http/core.h"

namespace vg::http {

// The reactor below a core that came from EventLoop::create.
boost::asio::io_context& reactor_of(Core& core);

}  // namespace vg::http
