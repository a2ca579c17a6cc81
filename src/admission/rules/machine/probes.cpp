// Probes of a machine (spec vmi-compute 2.17): first the shape of both, then what both need of the network.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admission/rules/machine/families.h"
#include "api/views/vmi_network.h"
#include "base/joined.h"

namespace vg::admission {
namespace {

using std::string_view;

constexpr std::array<string_view, 4> handlers = {"httpGet", "tcpSocket", "exec", "guestAgentPing"};

struct ProbeAt {
  api::kubevirt::Probe probe;
  const Place& place;

  bool has(string_view handler) const { return static_cast<bool>(api::View(probe.get(handler))); }
  auto count() const {
    return std::ranges::count_if(handlers, [this](string_view handler) { return has(handler); });
  }
};

void has_at_most_one_handler(const ProbeAt& at, Causes& causes) {
  if (at.count() > 1)
    causes.invalid(at.place, fmt::format("the handlers of a probe are mutually exclusive: keep one of {}",
                                         joined(handlers, ", ")));
}

void has_a_handler(const ProbeAt& at, Causes& causes) {
  if (at.count() == 0) causes.required(at.place, fmt::format("one of {}", joined(handlers, ", ")));
}

void check_reachable(const ProbeAt& at, string_view handler, Causes& causes) {
  if (at.has(handler))
    causes.invalid(at.place.field(handler),
                   fmt::format("{} requires the pod network, and the VM has none; add a network with "
                               "pod, or use exec or guestAgentPing",
                               handler));
}

void http_is_reachable(const ProbeAt& at, Causes& causes) { check_reachable(at, "httpGet", causes); }
void tcp_is_reachable(const ProbeAt& at, Causes& causes) { check_reachable(at, "tcpSocket", causes); }

constexpr RuleOn<ProbeAt> shape_rows[] = {
    {"PRB-01", "a probe must have at most one handler", "readinessProbe, livenessProbe", has_at_most_one_handler},
    {"PRB-02", "a probe must have a handler", "readinessProbe, livenessProbe", has_a_handler},
};
constexpr RuleOn<ProbeAt> off_network_rows[] = {
    {"PRB-03", "an HTTP probe requires the pod network", "readinessProbe.httpGet, livenessProbe.httpGet",
     http_is_reachable},
    {"PRB-04", "a TCP probe requires the pod network", "readinessProbe.tcpSocket, livenessProbe.tcpSocket",
     tcp_is_reachable},
};

bool has_pod_network(const Machine& machine) {
  const auto networks = machine.spec.networks();
  return std::ranges::any_of(networks.begin(), networks.end(),
                             [](const api::kubevirt::Network& network) { return static_cast<bool>(network.pod()); });
}

template <auto& rows>
void check_both(const Machine& machine, Causes& causes) {
  for (const string_view name : {string_view("readinessProbe"), string_view("livenessProbe")}) {
    const Place place = machine.place.field(name);
    if (const ProbeAt at{.probe = api::kubevirt::Probe(machine.spec.get(name)), .place = place}; at.probe)
      ask_all<rows>(at, causes);
  }
}

void check_probes(const Machine& machine, Causes& causes) {
  if (!machine.spec.readiness_probe() && !machine.spec.liveness_probe()) return;
  check_both<shape_rows>(machine, causes);
  if (!has_pod_network(machine)) check_both<off_network_rows>(machine, causes);
}

}  // namespace

const MachineFamily probe_family = {.check = check_probes, .list = list_rows<shape_rows, off_network_rows>};

}  // namespace vg::admission
