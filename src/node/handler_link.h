// The handlers of the nodes: found by their pods, reached over mutual TLS, with connections that are used again (spec
// subresources 3.4 and 3.5).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "http/client.h"
#include "http/tls.h"
#include "ports/node_link.h"
#include "ports/object_api.h"

namespace vg::node {

struct HandlerLinkOptions {
  std::string ns = "kubevirt";  // where the handlers' pods are
  std::uint16_t port = 8186;    // on which they listen
  // Ours, shown to the handlers. Looked at before each handshake, so new ones are used at once.
  std::string certificate_file = {};
  std::string key_file = {};
  // Who may have signed a handler's certificate, as PEM; asked before each handshake.
  std::function<Result<std::string>()> authorities = {};
  // Certificates that somebody else makes: intermediates count, and the common name says nothing.
  bool externally_managed = false;
  // Each handler has a certificate for its own address, which counts together with the name: no node can pose as
  // another one. Otherwise handlers are known by their common name, and not by where they are.
  bool verify_address = false;
  // Addresses of guests mean something on their nodes alone (NodeLink::has_guest_ports).
  bool guest_ports = false;
};

class HandlerLink final : public NodeLink {
 public:
  // The API outlives this; this outlives the cores' use.
  HandlerLink(ObjectApi& objects, HandlerLinkOptions options);
  ~HandlerLink() override;

  bool has_guest_ports(std::string_view) const override { return options_.guest_ports; }
  Task<Result<NodeAddress>> find(Core& core, std::string_view node) override;
  Task<Result<NodeAnswer>> call(Core& core, const NodeAddress& address, NodeRequest request) override;
  Task<Result<NodeStream>> open(Core& core, const NodeAddress& address, std::string_view target) override;

  // After the cores have stopped, before they are destroyed: lets go of every connection.
  void close();

 private:
  http::Client& client(Core& core);
  Result<std::shared_ptr<const http::TlsClientContext>> tls();

  ObjectApi& objects_;
  const HandlerLinkOptions options_;
  std::mutex mutex_;
  // One a core: a connection stays where it was dialled.
  std::map<Core*, std::unique_ptr<http::Client>> clients_;
  // What the present context was made of, so that it is made again only when that changes.
  struct Made {
    std::string certificate, key, authorities;
    bool operator==(const Made&) const = default;
  };
  Made made_;
  std::shared_ptr<const http::TlsClientContext> context_;
};

}  // namespace vg::node
