// The abstract side of "the node that runs a machine": its handler, reached over mutual TLS.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/stream.h"
#include "base/task.h"

namespace vg {

class Core;

struct NodeAddress {
  std::string host;  // an address without brackets
  std::uint16_t port = 0;
};

// What is asked of a handler.
struct NodeRequest {
  std::string_view method = "GET";
  std::string_view target;  // "/v1/namespaces/NS/virtualmachineinstances/NAME/pause"
  std::string_view body = {};
  bool accept_json = false;
  std::chrono::milliseconds timeout;
};

struct NodeAnswer {
  int status = 0;
  std::string phrase;  // after the code
  std::string body;
};

// What became of a stream that was asked for.
struct NodeStream {
  std::unique_ptr<Stream> stream;  // after a 101, with every byte that came behind it
  NodeAnswer refusal;              // without a stream: what the handler said, the beginning of its body
};

class NodeLink {
 public:
  virtual ~NodeLink() = default;
  // The handler of that node. 400 when there is none, or more than one.
  virtual Task<Result<NodeAddress>> find(Core& core, std::string_view node) = 0;
  // The whole answer, whatever its status. An error means that there was none.
  virtual Task<Result<NodeAnswer>> call(Core& core, const NodeAddress& address, NodeRequest request) = 0;
  // Whether guests of that node are nowhere on a network, so that their ports are streams of the node, too.
  virtual bool has_guest_ports(std::string_view node) const {
    (void)node;
    return false;
  }
  // A WebSocket on a connection of its own, no frame exchanged yet.
  virtual Task<Result<NodeStream>> open(Core& core, const NodeAddress& address, std::string_view target) = 0;
};

}  // namespace vg
