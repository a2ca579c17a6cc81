// Nodes of this machine (`serve --node libvirt`): each is a process of its own, virtgate-node. They need more than the
// server may do (they start programs), so a small process looks after them that is started before the server gives up
// its rights: it starts a node, starts it again when it ends, and ends it when the server is gone. Guests go on
// whatever happens to any of these, and the next start finds them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "disks/outcome.h"
#include "helpers/channel.h"
#include "helpers/heartbeat.h"
#include "housekeeping/system_objects.h"
#include "local/pki.h"

namespace vg::cmd {

struct LocalNodesOptions {
  std::string state;  // of the server, absolute
  std::int64_t count = 1;
  std::uint16_t port = 0;  // of handlers
  std::string libvirt;     // URI of a libvirt that is there; empty: each node has one of its own
  std::int64_t verbosity = 0;
  std::string log_format;
  std::string sandbox = {};  // --sandbox
  std::string blocked = {};  // --import-blocked-networks
};

// virtgate-node, open to be executed: beside this program, else on the PATH; the error says what to do when it is
// nowhere. While we may be root: whoever the server becomes need not be able to reach it by its path.
Result<disks::Descriptor> open_node_program();

class LocalNodes {
 public:
  // Takes the addresses on which handlers will listen, and starts the process that looks after the nodes.
  static Result<std::unique_ptr<LocalNodes>> start(const LocalNodesOptions& options, disks::Descriptor program);
  // Tells that process to end the nodes, and waits until it has.
  ~LocalNodes();
  LocalNodes(const LocalNodes&) = delete;
  LocalNodes& operator=(const LocalNodes&) = delete;

  // Certificates of the nodes, and the one with which the server asks their handlers.
  Result<void> keep_certificates(local::Pki& pki, local::Time now) const;
  std::vector<resources::HandlerPlace> handlers() const;
  std::vector<std::string> names() const;
  // Those of them that an earlier start had and this one has not: kept for the guests that still run on them.
  const std::vector<std::string>& leaving() const { return leaving_; }
  // The server listens there: nodes may start.
  void begin(const std::string& url);
  // Why nodes are not looked after; nothing while they are.
  std::optional<std::string> problem() const;

 private:
  LocalNodes() = default;
  struct Node {
    std::string name, address;
    disks::Descriptor listener;
  };
  Result<void> take_addresses();
  Result<void> start_keeper(const disks::Descriptor& program);

  LocalNodesOptions options_;
  std::vector<Node> nodes_;
  std::vector<std::string> leaving_;
  std::optional<helpers::Heartbeat> heartbeat_;  // of the process that looks after them
  helpers::Channel keeper_;
};

// Where the files of the link between server and handlers are, in the server's pki folder.
inline constexpr std::string_view handler_client_name = "handler-client";

}  // namespace vg::cmd
