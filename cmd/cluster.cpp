#include "cluster.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guest_address.h"
#include "cluster_page.h"
#include "cluster_server.h"
#include "command.h"
#include "flags.h"
#include "log_format.h"
#include "ui_session.h"

namespace vg::cmd {
namespace {

std::vector<Flag> flags_of(ClusterOptions& options) {
  return {
      {"listen", '\0', &options.listen, "ADDRESS",
       "address to listen on; the unspecified one means all, of both families"},
      {"port", '\0', &options.port, "PORT", "port to listen on"},
      {"v", 'v', &options.verbosity, "LEVEL", "how much to log, until the KubeVirt object says otherwise"},
      {"kubeconfig", '\0', &options.kubeconfig, "FILE", "how to reach Kubernetes; not needed inside a cluster"},
      {"master", '\0', &options.master, "URL", "address of Kubernetes, in place of the one in the kubeconfig"},
      {"subresources-only", '\0', &options.subresources_only, "",
       "accepted because the operator passes it; without effect"},
      {"console-server-port", '\0', &options.console_server_port, "PORT", "port of virt-handler on the nodes"},
      {"ca-configmap-name", '\0', &options.ca_configmap_name, "NAME",
       "ConfigMap with the authority that signs virt-handler"},
      {"tls-cert-file", '\0', &options.tls_cert_file, "FILE", "serving certificate"},
      {"tls-key-file", '\0', &options.tls_key_file, "FILE", "its key"},
      {"handler-cert-file", '\0', &options.handler_cert_file, "FILE", "client certificate shown to virt-handler"},
      {"handler-key-file", '\0', &options.handler_key_file, "FILE", "its key"},
      {"externally-managed", '\0', &options.externally_managed, "",
       "virt-handler's certificates come from elsewhere: take intermediates and any common name"},
      {"allow-cache-seconds", '\0', &options.allow_cache_seconds, "SECONDS",
       "how long an allowed access review is remembered; 0 asks Kubernetes every time"},
      {"stream-ping-seconds", '\0', &options.stream_ping_seconds, "SECONDS",
       "how long a console or display may be silent before it is pinged, so that nothing on the way cuts it; 0: never"},
      {"guest-networks", '\0', &options.guest_networks, "NETWORKS",
       "networks that guests are in, such as 10.0.0.0/8,fd00::/8: ports are forwarded to these and to no others "
       "(default any address that a guest can have, so neither loopback nor this pod's own)"},
      {"webhook-client-ca-file", '\0', &options.webhook_client_ca_file, "FILE",
       "authorities of the client certificate that kube-apiserver shows to webhooks; without one of theirs nobody may "
       "call them (default: anybody may)"},
      {"webhook-allowed-names", '\0', &options.webhook_allowed_names, "NAMES",
       "common names of that certificate, separated by commas (default any)"},
      {"journal", '\0', &options.journal, "on|off", "keep a journal of requests: requests.trace.virtgate.io"},
      {"mark-objects", '\0', &options.marks, "",
       "what actions create names the request and the user that it comes from, in annotations of trace.virtgate.io/"},
      {"ui", '\0', &options.ui, "", cluster_ui_help},
      {"ui-session", '\0', &options.ui_session, "DURATION", ui_session_help},
      {"sandbox", '\0', &options.confine.sandbox, "on|off|required", sandbox_help},
      {"log-format", '\0', &options.log_format, "json|text", log_format_help},
  };
}

// What is wrong with the values of flags.
std::optional<std::string> check(const ClusterOptions& options) {
  const auto is_port = [](std::int64_t port) { return port >= 0 && port <= 65535; };
  if (!is_port(options.port)) return "--port must be from 0 to 65535";
  if (!is_port(options.console_server_port)) return "--console-server-port must be from 0 to 65535";
  if (options.allow_cache_seconds < 0 || options.allow_cache_seconds > 300)
    return "--allow-cache-seconds must be from 0 to 300";
  if (options.stream_ping_seconds < 0 || options.stream_ping_seconds > 86400)
    return "--stream-ping-seconds must be from 0 to 86400";
  if (const auto networks = parse_networks(options.guest_networks); !networks)
    return "--guest-networks: " + networks.error();
  if (options.webhook_client_ca_file.empty() && !options.webhook_allowed_names.empty())
    return "--webhook-allowed-names requires --webhook-client-ca-file";
  if (options.journal != "on" && options.journal != "off") return "--journal must be on or off";
  if (const auto age = parse_ui_session(options.ui_session); !age) return "--ui-session: " + age.error();
  if (const auto problem = options.confine.problem()) return std::string(*problem);
  return std::nullopt;
}

}  // namespace

int run_cluster(std::string_view program, std::span<const std::string_view> arguments, Output output) {
  ClusterOptions options;
  // KubeVirt's operator starts it by the name virt-api, which has no commands.
  const CommandLine command{
      .name = program == "virt-api" ? std::string_view() : "cluster",
      .synopsis = "[flags]",
      .description =
          "Serves what virt-api serves in a Kubernetes cluster: webhooks and the aggregated API. It takes the flags "
          "of virt-api; see deploy/README.md.",
      .examples = program == "virt-api" ? std::string_view()
                                        : "virtgate cluster --kubeconfig ~/.kube/config --port 8443 --tls-cert-file "
                                          "tls.crt --tls-key-file tls.key",
      .arguments_max = SIZE_MAX,  // upstream ignores them
      .program = program};
  const auto flags = flags_of(options);
  const auto read = read_command(command, flags, arguments, output);
  if (!read) return read.error();
  if (const auto problem = check(options)) return refuse_usage(command, *problem, output);
  set_log_format(options.log_format, output.err);
  if (const auto served = serve_cluster(options); !served) {
    fmt::print(output.err, "{}: {}\n", command.title(), served.error().message);
    return exit_failed;
  }
  return exit_ok;
}

}  // namespace vg::cmd
