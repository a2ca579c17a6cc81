// The composition root of the cluster mode: everything that stands in virt-api's place in a Kubernetes cluster.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/limits.h"
#include "base/status.h"
#include "confine.h"

namespace vg::cmd {

struct ClusterOptions {
  std::string listen = "0.0.0.0";
  std::int64_t port = 443;
  std::int64_t verbosity = 2;
  std::string kubeconfig, master;
  bool subresources_only = false;
  std::int64_t console_server_port = 8186;
  std::string ca_configmap_name = "kubevirt-ca";
  std::string tls_cert_file = "/etc/virt-api/certificates/tls.crt";
  std::string tls_key_file = "/etc/virt-api/certificates/tls.key";
  std::string handler_cert_file = "/etc/virt-handler/clientcertificates/tls.crt";
  std::string handler_key_file = "/etc/virt-handler/clientcertificates/tls.key";
  bool externally_managed = false;
  std::int64_t allow_cache_seconds = 2;
  std::int64_t stream_ping_seconds = std::chrono::seconds(limits::websocket_ping_interval).count();
  std::string guest_networks = {};  // as base/guest_address.h reads them
  // Who may call webhooks: whoever shows a certificate of these authorities, with one of these common names (separated
  // by commas, none: any). Without a file: anybody.
  std::string webhook_client_ca_file = {}, webhook_allowed_names = {};
  std::string journal = "on";
  bool marks = false;  // actions::Parts
  bool ui = false;
  std::string ui_session = "12h";  // as parse_ui_session reads it
  ConfineOptions confine;
  std::string log_format = {};  // empty: text on a terminal, else JSON
};

// Serves until a signal ends it. An error means that it could not begin.
Result<void> serve_cluster(const ClusterOptions& options);

}  // namespace vg::cmd
