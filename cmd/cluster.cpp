#include "cluster.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "flags.h"

namespace vg::cmd {
namespace {

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

  std::vector<Flag> flags() {
    return {
        {"listen", '\0', &listen, "ADDRESS", "address to listen on; the unspecified one means all, of both families"},
        {"port", '\0', &port, "PORT", "port to listen on"},
        {"v", 'v', &verbosity, "LEVEL", "how much to log, until the KubeVirt object says otherwise"},
        {"kubeconfig", '\0', &kubeconfig, "FILE", "how to reach Kubernetes; not needed inside a cluster"},
        {"master", '\0', &master, "URL", "address of Kubernetes, in place of the one in the kubeconfig"},
        {"subresources-only", '\0', &subresources_only, "", "accepted because the operator passes it; without effect"},
        {"console-server-port", '\0', &console_server_port, "PORT", "port of virt-handler on the nodes"},
        {"ca-configmap-name", '\0', &ca_configmap_name, "NAME", "ConfigMap with the authority that signs virt-handler"},
        {"tls-cert-file", '\0', &tls_cert_file, "FILE", "serving certificate"},
        {"tls-key-file", '\0', &tls_key_file, "FILE", "its key"},
        {"handler-cert-file", '\0', &handler_cert_file, "FILE", "client certificate shown to virt-handler"},
        {"handler-key-file", '\0', &handler_key_file, "FILE", "its key"},
        {"externally-managed", '\0', &externally_managed, "",
         "virt-handler's certificates come from elsewhere: take intermediates and any common name"},
    };
  }
};

}  // namespace

int run_cluster(std::string_view program, std::span<const std::string_view> arguments, Output output) {
  ClusterOptions options;
  const auto flags = options.flags();
  const std::string usage = fmt::format("usage: {} [FLAGS]\n\n{}", program, describe_flags(flags));
  const auto parsed = parse_flags(flags, arguments);
  if (!parsed) {
    fmt::print(output.err, "{}: {}\n\n{}", program, parsed.error(), usage);
    return exit_usage;
  }
  if (parsed->help) {
    fmt::print(output.out, "{}", usage);
    return exit_ok;
  }
  fmt::print(output.err,
             "{}: serving inside a Kubernetes cluster is not built yet; `virtgate serve` runs the API without one\n",
             program);
  return exit_failed;
}

}  // namespace vg::cmd
