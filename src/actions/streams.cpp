// Which streams may be opened, and where they lead (spec subresources 2.18 to 2.22).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "actions/decisions.h"
#include "actions/node_calls.h"
#include "api/views/k8s_meta.h"
#include "api/views/vmi_devices.h"
#include "api/views/vmi_domain.h"
#include "base/net.h"
#include "base/phrases.h"
#include "json/access.h"
#include "server/path.h"

namespace vg::actions {
namespace {

std::string query_value(const ActionCase& asked, std::string_view name) {
  for (auto& parameter : server::read_query(asked.raw_query))
    if (parameter.name == name) return std::move(parameter.value);
  return {};
}

// As Go's ParseBool. Anything else counts as no.
bool is_true_word(std::string_view word) {
  static constexpr std::array<std::string_view, 6> words{"1", "t", "T", "TRUE", "true", "True"};
  return std::ranges::find(words, word) != words.end();
}

api::kubevirt::Devices devices(const ActionCase& asked) { return asked.vmi().spec().domain().devices(); }

Status no_stream_yet(const ActionCase& asked, std::string_view what) {
  return Status::bad_request(fmt::format("no {2}: VMI \"{0}\" is not running (phase {1}); wait for phase Running",
                                         asked.name, printed_phase(asked.phase()), what));
}

Decision node_stream(const ActionCase& asked, std::string_view suffix) {
  if (auto unreachable = find_unreachable(asked)) return fail(std::move(*unreachable));
  return effects(OpenStream{.kind = OpenStream::Kind::node,
                            .node = std::string(asked.vmi().status().node_name()),
                            .target = node_target(asked, suffix)});
}

}  // namespace

// Clients try again while they get 400, and give up at 409 (spec subresources Q26).
Decision decide_console(const ActionCase& asked) {
  if (devices(asked).autoattach_serial_console() == false)
    return fail(Status::bad_request(fmt::format(
        "VMI \"{}\" has no serial console: spec.domain.devices.autoattachSerialConsole is false", asked.name)));
  if (asked.phase() == "Failed")
    return fail(
        instance_conflict(asked, fmt::format("no console: the VMI failed; see `kubectl describe vmi {}`", asked.name)));
  if (asked.phase() != "Running") return fail(no_stream_yet(asked, "console"));
  return node_stream(asked, "console");
}

Decision decide_vnc(const ActionCase& asked) {
  if (auto missing = find_no_display(asked)) return fail(std::move(*missing));
  if (asked.phase() != "Running") return fail(no_stream_yet(asked, "display"));
  const bool preserve = is_true_word(query_value(asked, "preserveSession"));
  // Our own: to look beside others. A node that does not know it goes by the other parameter alone.
  const bool shared = is_true_word(query_value(asked, "shared"));
  return node_stream(asked, fmt::format("vnc?preserveSession={}{}", preserve, shared ? "&shared=true" : ""));
}

Decision decide_usbredir(const ActionCase& asked) {
  if (asked.vmi().spec().architecture() == "s390x")
    return fail(instance_conflict(asked, "USB redirection is not supported on s390x"));
  if (!devices(asked).client_passthrough())
    return fail(
        instance_conflict(asked,
                          "USB redirection is not enabled; set spec.domain.devices.clientPassthrough, and restart the "
                          "VM"));
  if (asked.phase() != "Running") return fail(no_stream_yet(asked, "USB"));
  return node_stream(asked, "usbredir");
}

Decision decide_vsock(const ActionCase& asked) {
  if (devices(asked).autoattach_vsock() != true)
    return fail(Status::bad_request(fmt::format(
        "VMI \"{}\" has no vsock; set spec.domain.devices.autoattachVSOCK, and restart the VM", asked.name)));
  const std::string tls = query_value(asked, "tls");
  // What they are worth the node decides; escaped, they cannot say anything else to it (spec subresources Q21).
  return node_stream(asked, fmt::format("vsock?port={}&tls={}", server::percent_encode(query_value(asked, "port")),
                                        tls.empty() ? "true" : server::percent_encode(tls)));
}

namespace {

// The pod that the guest runs in: where there are several, one is left by a migration or waits for one.
const json::Value* launcher(const ActionCase& asked) {
  const std::string_view uid = asked.vmi().metadata().uid(), node = asked.vmi().status().node_name();
  for (const json::Value* pod : asked.pods) {
    if (json::as_string(json::find_path(*pod, {"spec", "nodeName"})) != node ||
        json::as_string(json::find_path(*pod, {"status", "phase"})) != "Running")
      continue;
    const json::Array* owners = json::as_array(json::find_path(*pod, {"metadata", "ownerReferences"}));
    if (owners && std::ranges::any_of(
                      *owners, [&](const json::Value& owner) { return json::get_string_or(owner, "uid") == uid; }))
      return pod;
  }
  return nullptr;
}

bool has_address(const json::Value& pod, const std::optional<IpAddress>& address) {
  const json::Array* all = json::as_array(json::find_path(pod, {"status", "podIPs"}));
  return address && all && std::ranges::any_of(*all, [&](const json::Value& one) {
           return parse_ip(json::get_string_or(one, "ip")) == address;
         });
}

// What an interface says comes from the guest's agent, too. Where the guest has a pod, its ports are the pod's: an
// address that the pod does not have is one that somebody in the guest chose.
std::string_view guest_address(const ActionCase& asked, std::string_view shown) {
  const json::Value* pod = launcher(asked);
  if (!pod || has_address(*pod, parse_ip(shown))) return shown;
  return json::as_string(json::find_path(*pod, {"status", "podIP"})).value_or("");
}

}  // namespace

Decision decide_port_forward(const ActionCase& asked) {
  if (has_condition(asked.vmi(), "Paused"))
    return fail(
        instance_conflict(asked, fmt::format("{} and does not answer; resume it first with `virtctl unpause vmi {}`",
                                             phrases::vmi_paused, asked.name)));
  const auto interfaces = asked.vmi().status().interfaces();
  if (interfaces.empty())
    return fail(Status::bad_request(fmt::format("VMI \"{}\" has no network interface in its status", asked.name)));
  // As upstream answers when nobody listens there: in a recording that is where it ends.
  if (asked.guests_have_pods && !launcher(asked))
    return fail(Status::internal_error(
        fmt::format("no virt-launcher pod of VMI \"{}\" runs on its node, so there is no address to forward to; if "
                    "guests have addresses of their own, start the server with --guest-networks",
                    asked.name)));
  const std::string_view address = guest_address(asked, interfaces[0].ip_address());
  // Without an address this program would dial itself (spec subresources Q20).
  const auto parsed = parse_ip(address);
  if (!parsed || *parsed == IpAddress() || *parsed == parse_ip("0.0.0.0"))
    return fail(
        Status::bad_request(fmt::format("the first interface of VMI \"{}\" has no IP address yet", asked.name)));
  const std::string_view protocol = asked.protocol.empty() ? "tcp" : asked.protocol;
  if (protocol != "tcp" && protocol != "udp")
    return fail(Status::internal_error(fmt::format("the protocol must be tcp or udp, not \"{}\"", protocol)));
  return effects(OpenStream{
      .kind = OpenStream::Kind::guest,
      .node = std::string(asked.vmi().status().node_name()),
      .target = node_target(asked, fmt::format("portforward/{}/{}", server::percent_encode(asked.port), protocol)),
      .address = std::string(address),
      .port = std::string(asked.port),
      .protocol = std::string(protocol)});
}

}  // namespace vg::actions
