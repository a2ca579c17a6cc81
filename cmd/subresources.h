// Actions on machines in the standalone mode: their objects are in the store, their nodes are found by pods in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "actions/service.h"
#include "actions/stream_ledger.h"
#include "base/limits.h"
#include "base/metrics.h"
#include "node/handler_link.h"
#include "node/pod_link.h"
#include "profile/process_profiler.h"
#include "resources/own_objects.h"
#include "server/router.h"
#include "simulated/link.h"
#include "standalone_api.h"

namespace vg::cmd {

struct NodeOptions {
  std::int64_t console_server_port = 8186;  // 0: what virt-api takes then, 8185
  std::string handler_cert_file = "/etc/virt-handler/clientcertificates/tls.crt";
  std::string handler_key_file = "/etc/virt-handler/clientcertificates/tls.key";
  std::int64_t stream_ping_seconds = std::chrono::seconds(limits::websocket_ping_interval).count();
  std::string guest_networks = {};  // as base/guest_address.h reads them
  resources::CdiAccess cdi = resources::CdiAccess::forbidden;
  bool guest_ports = false, verify_address = false;  // node::HandlerLinkOptions
  bool marks = false;                                // actions::Parts
  bool simulated = false;                            // there are nodes whose guests are made up
};

std::uint16_t handler_port(const NodeOptions& options);

class Subresources {
 public:
  // Takes over the group of the API, which outlives this.
  Subresources(StandaloneApi& api, const NodeOptions& options, metrics::Registry& metrics);
  Subresources(const Subresources&) = delete;
  Subresources& operator=(const Subresources&) = delete;

  // As actions and controllers reach them: simulated ones too, where there are any.
  NodeLink& nodes() { return reached_; }

  void add_routes(server::Router& router);
  // After the cores have stopped, before they are destroyed.
  void stop() {
    streams_.tasks().clear();
    nodes_.close();
  }

 private:
  StandaloneApi& api_;
  resources::OwnObjects objects_;
  node::HandlerLink nodes_;
  simulated::SimulatedLink simulated_;
  NodeLink& reached_;
  node::PodLink components_;
  profile::ProcessProfiler profiler_;
  actions::StreamLedger streams_;
  actions::Service service_;
};

}  // namespace vg::cmd
