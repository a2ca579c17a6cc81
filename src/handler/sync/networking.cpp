#include "handler/sync/networking.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/handler_limits.h"
#include "base/log.h"
#include "base/node_limits.h"
#include "guests/hotplug.h"
#include "json/access.h"

namespace vg::handler {
namespace {

using controllers::EventType;

constexpr ResourceName attachment_resource{"k8s.cni.cncf.io", "v1", "network-attachment-definitions"};
constexpr std::uint16_t first_port_of_everybody = 1024;

// UNET-13
std::string cannot_forward(const std::vector<guests::DeclaredPort>& ports, std::string_view address) {
  std::vector<std::string> names;
  bool is_low = false;
  for (const guests::DeclaredPort& one : ports) {
    names.push_back(fmt::format("{}/{}", one.port, one.protocol));
    is_low = is_low || one.port < first_port_of_everybody;
  }
  return fmt::format(
      "ports of the guest that cannot be reached at {}: {}. {}`virtctl port-forward` and `virtctl ssh` "
      "reach them all the same",
      address, fmt::join(names, ", "),
      is_low ? "Ports below 1024 need root or the setting net.ipv4.ip_unprivileged_port_start; " : "");
}

bool is_open(const std::vector<hypervisor::ForwardedPort>& open, const guests::DeclaredPort& port) {
  return std::ranges::any_of(open, [&](const hypervisor::ForwardedPort& one) {
    return one.port == port.port && one.guest_port == port.port && one.protocol == port.protocol;
  });
}

}  // namespace

Task<Result<std::string>> Networking::bridge(const Work& work, guests::SecondaryNetwork network) {
  const auto refused = [&](std::string_view why) {
    return fail(Status::bad_request(fmt::format("network {}: NetworkAttachmentDefinition {}/{}: {}", network.network,
                                                network.ns, network.name, why)));
  };
  auto found = co_await parts_.api.get(parts_.core, {attachment_resource, network.ns, network.name}, work.storage);
  if (!found && found.error().code == 404) co_return refused("it does not exist");
  if (!found) co_return fail(std::move(found.error()));
  const json::Value* config = json::find_path(*found, {"spec", "config"});
  auto bridge = guests::bridge_of(json::as_string(config).value_or(""));
  if (!bridge) co_return refused(bridge.error().message);
  const std::string problem = parts_.host.bridge_problem ? parts_.host.bridge_problem(*bridge) : std::string();
  if (!problem.empty()) co_return refused(problem);
  co_return bridge;
}

Task<Result<guests::Bridges>> Networking::bridges(const Work& work) {
  guests::Bridges bridges;
  auto networks = guests::secondary_networks(work.vmi.get_object(), work.key.ns);
  if (!networks) co_return fail(std::move(networks.error()));
  for (const guests::SecondaryNetwork& network : *networks) {
    auto found = co_await bridge(work, network);
    if (!found) co_return fail(std::move(found.error()));
    bridges.emplace(network.network, std::move(*found));
  }
  co_return bridges;
}

Task<void> Networking::forward_ports(const Work& work, Outcome& outcome) {
  std::vector<guests::DeclaredPort> failed;
  const bool again = attempts_.contains(work.uid);
  std::vector<hypervisor::ForwardedPort> open;
  if (again)
    if (auto found = co_await parts_.hypervisor.forwarded_ports(parts_.core, work.domain)) open = std::move(*found);
  for (const guests::DeclaredPort& one : guests::declared_ports(work.vmi.get_object())) {
    if (is_open(open, one)) continue;
    const auto done =
        co_await parts_.hypervisor.forward_port(parts_.core, work.domain, fmt::format("ua-{}", one.network),
                                                one.protocol, work.remembered.address, one.port, one.port);
    if (!done) failed.push_back(one);
  }
  const bool may_come =
      std::ranges::any_of(failed, [](const auto& one) { return one.port >= first_port_of_everybody; });
  if (may_come && ++attempts_[work.uid] < limits::port_attempts_max) {  // after a migration the other node has them
    work.remembered.ports_forwarded = false;
    outcome.look_again(limits::guest_look_again);
    co_return;
  }
  attempts_.erase(work.uid);
  if (!failed.empty())
    outcome.tell(EventType::warning, "PortsNotForwarded", cannot_forward(failed, work.remembered.address));
  work.remembered.ports_forwarded = work.remembered.ports_tidied = true;
}

Task<void> Networking::tidy_ports(const Work& work) {
  work.remembered.ports_tidied = true;
  const auto ports = guests::declared_ports(work.vmi.get_object());
  const auto open = co_await parts_.hypervisor.forwarded_ports(parts_.core, work.domain);
  if (!open) co_return;
  for (const hypervisor::ForwardedPort& one : *open) {
    const bool is_declared = one.port == one.guest_port && std::ranges::any_of(ports, [&](const auto& port) {
                               return port.port == one.port && port.protocol == one.protocol;
                             });
    if (is_declared) continue;
    for (const std::string& network : guests::pod_networks(work.vmi.get_object()))
      (void)co_await parts_.hypervisor.stop_forwarding(parts_.core, work.domain, fmt::format("ua-{}", network),
                                                       one.protocol, one.address, one.port);
  }
}

Task<Result<void>> Networking::change_nics(const Work& work, const guests::DomainFacts& live, const Build& build,
                                           Outcome& outcome) {
  const json::Object& vmi = work.vmi.get_object();
  if (guests::has_nics_to_plug(live, vmi)) {
    const auto known = co_await bridges(work);
    if (!known) co_return fail(known.error());
    const auto built = build(*known);
    if (!built) co_return fail(built.error());
    for (const auto& change : guests::plugged_nics(live, vmi, built->document)) {
      auto done = co_await parts_.hypervisor.change_device(parts_.core, work.domain, change.change, change.xml);
      if (!done) co_return done;
    }
  }
  // The guest lets go of a NIC when it likes to, and may be asked again meanwhile.
  for (const auto& change : guests::unplugged_nics(live, vmi))
    if (auto done = co_await parts_.hypervisor.change_device(parts_.core, work.domain, change.change, change.xml);
        !done)
      log::warning("a NIC was not unplugged",
                   {{"domain", work.domain}, {"network", change.name}, {"reason", done.error().message}});
  for (const auto& change : guests::link_changes(live, vmi)) {
    auto done = co_await parts_.hypervisor.change_device(parts_.core, work.domain, change.change, change.xml);
    if (!done) outcome.tell(EventType::warning, "NicHotplug", done.error().message);
  }
  co_return Result<void>();
}

}  // namespace vg::handler
