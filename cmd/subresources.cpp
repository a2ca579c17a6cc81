#include "subresources.h"

#include <utility>
#include <vector>

#include "actions/action.h"
#include "actions/profiler.h"
#include "base/guest_address.h"
#include "base/limits.h"
#include "housekeeping/first_start.h"
#include "json/access.h"
#include "json/arena.h"
#include "objects/draft.h"

namespace vg::cmd {
namespace {

constexpr std::uint16_t port_without_a_flag = 8185;

// The authorities of the nodes' certificates, as ConfigMap kubevirt-ca has them now.
Result<std::string> node_authorities(const ObjectStore& store) {
  const ObjectPtr map = store.get("configmaps", resources::kubevirt_namespace, "kubevirt-ca");
  if (!map)
    return fail(
        Status::unavailable("ConfigMap kubevirt/kubevirt-ca not found, so no node can be trusted; create it with "
                            "the CAs of the nodes under ca-bundle"));
  json::Arena arena;
  const json::Value document = resources::load_object(*map, arena.storage());
  return std::string(json::as_string(json::find_path(document, {"data", "ca-bundle"})).value_or(""));
}

node::HandlerLinkOptions link_options(const NodeOptions& options, const ObjectStore& store) {
  return {.ns = std::string(resources::kubevirt_namespace),
          .port = handler_port(options),
          .certificate_file = options.handler_cert_file,
          .key_file = options.handler_key_file,
          .authorities = [&store] { return node_authorities(store); },
          .verify_address = options.verify_address,
          .guest_ports = options.guest_ports};
}

}  // namespace

std::uint16_t handler_port(const NodeOptions& options) {
  return options.console_server_port == 0 ? port_without_a_flag
                                          : static_cast<std::uint16_t>(options.console_server_port);
}

Subresources::Subresources(StandaloneApi& api, const NodeOptions& options, metrics::Registry& metrics)
    : api_(api),
      objects_(api.api().backend(), resources::kubevirt_namespace, options.cdi),
      nodes_(objects_, link_options(options, api.store())),
      simulated_(api.api().backend(), nodes_),
      reached_(options.simulated ? static_cast<NodeLink&>(simulated_) : nodes_),
      profiler_(api.admission().clock),
      streams_(metrics, api.admission().clock),
      service_({.objects = objects_,
                .nodes = reached_,
                .environment = api.admission(),
                .streams = {.ledger = streams_,
                            .ping_interval = std::chrono::seconds(options.stream_ping_seconds),
                            .guest_networks = parse_networks(options.guest_networks).value_or(std::vector<Cidr>())},
                .components = components_,
                .marks = options.marks}) {
  api.api().add_group(std::string(actions::group), [this](resources::SpecialRequest& request) {
    const resources::RequestInfo& info = request.info;
    return service_.serve(request.call, {.version = info.version,
                                         .ns = info.ns,
                                         .resource = info.resource,
                                         .name = info.name,
                                         .subresource = info.subresource});
  });
}

// Nobody scrapes profiles of a single machine without a name, as in a cluster.
void Subresources::add_routes(server::Router& router) {
  actions::add_profiler_routes(router, server::Access::administrators, api_.config(), profiler_);
}

}  // namespace vg::cmd
