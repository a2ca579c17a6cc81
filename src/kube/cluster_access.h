// Where the API server is and how we prove who we are: inside a cluster from the pod's own files, elsewhere from a
// kubeconfig (spec server 1.2 to 1.4).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/client.h"

namespace vg::kube {

// Something that stands in the configuration itself, or in a file that may change while we run.
struct Material {
  std::string text = {};
  std::string file = {};  // used when text is empty
  bool empty() const { return text.empty() && file.empty(); }
  bool operator==(const Material&) const = default;
};

struct ClusterAccess {
  http::Origin origin;
  std::string path_prefix;  // of the server's URL, without a slash at its end
  Material authorities;     // empty: the system's
  Material certificate, key;
  Material token;
  std::string basic;  // "user:password"; empty: none
  bool verify = true;
  http::ProxyPtr proxy = nullptr;  // of the kubeconfig, else of the environment (proxy_choice.h)
};

// The same server without anything that says who asks: for requests that bring a token of their own. A certificate of
// ours on their connection would make them ours.
ClusterAccess without_identity(ClusterAccess access);

// A variable of the environment.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

// "https://host:port/prefix", also with http.
Result<ClusterAccess> parse_server_url(std::string_view url);

// The current context of a kubeconfig. Relative paths in it are relative to `folder`. `master` replaces its server when
// not empty. Exec plugins and auth providers are refused: a server has no terminal to log in from.
Result<ClusterAccess> read_kubeconfig(std::string_view text, const std::string& folder, std::string_view master);

inline constexpr std::string_view service_account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";
Result<ClusterAccess> in_cluster_access(const Environment& environment, const std::string& folder);

// As virt-api finds it: without both flags inside the cluster, else by the flags.
Result<ClusterAccess> find_cluster(const std::string& kubeconfig_file, std::string_view master,
                                   const Environment& environment,
                                   const std::string& account_folder = std::string(service_account_folder));

// The namespace that we run in; "kubevirt" outside of a pod.
Result<std::string> own_namespace(const std::string& account_folder = std::string(service_account_folder));

}  // namespace vg::kube
