#include "kube/cluster_access.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/base64.h"
#include "base/files.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/trimmed.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/yaml.h"
#include "kube/proxy_choice.h"

namespace vg::kube {
namespace {

constexpr std::string_view default_namespace = "kubevirt";

// "host", "host:port", "[::1]:port".
Result<void> read_authority(std::string_view authority, http::Origin& origin) {
  const bool bracketed = authority.starts_with('[');
  const auto end = bracketed ? authority.find(']') : authority.find(':');
  const std::string_view host = bracketed ? authority.substr(1, end - 1) : authority.substr(0, end);
  std::string_view rest = end == authority.npos ? std::string_view() : authority.substr(bracketed ? end + 1 : end);
  origin.host = host;
  origin.port = origin.tls ? 443 : 80;
  if (rest.starts_with(':')) {
    rest.remove_prefix(1);
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), origin.port);
    if (read.ec != std::errc() || read.ptr != rest.data() + rest.size() || origin.port == 0)
      return fail(Status::bad_request(fmt::format("\"{}\" is not a port; use a number from 1 to 65535", rest)));
  }
  if (host.empty() || (bracketed && end == authority.npos))
    return fail(Status::bad_request(fmt::format("\"{}\" has no host name of an API server", authority)));
  return {};
}

// The entry of that name in a list of {name, CONTENT: {...}}.
const json::Object* named(const json::Value& config, std::string_view list, std::string_view name,
                          std::string_view content) {
  const json::Array* entries = json::get_array(config, list);
  if (!entries) return nullptr;
  for (const json::Value& entry : *entries)
    if (json::get_string_or(entry, "name") == name) return json::get_object(entry, content);
  return nullptr;
}

std::string absolute(std::string_view file, const std::string& folder) {
  if (file.empty() || file.starts_with('/') || folder.empty()) return std::string(file);
  return fmt::format("{}/{}", folder, file);
}

// KEY-data in base64 wins over the file named by KEY.
Result<Material> read_material(const json::Object* in, std::string_view key, const std::string& folder) {
  Material material;
  if (!in) return material;
  if (const auto data = json::get_string_or(*in, fmt::format("{}-data", key)); !data.empty()) {
    auto decoded = base64_decode_lenient(data);
    if (!decoded) return fail(Status::bad_request(fmt::format("{}-data of the kubeconfig is not base64", key)));
    material.text = std::move(*decoded);
  }
  material.file = absolute(json::get_string_or(*in, key), folder);
  return material;
}

Result<void> read_user(const json::Object& user, const std::string& folder, ClusterAccess& access) {
  auto certificate = read_material(&user, "client-certificate", folder);
  if (!certificate) return fail(std::move(certificate.error()));
  auto key = read_material(&user, "client-key", folder);
  if (!key) return fail(std::move(key.error()));
  access.certificate = std::move(*certificate);
  access.key = std::move(*key);
  access.token = {.text = std::string(json::get_string_or(user, "token")),
                  .file = absolute(json::get_string_or(user, "tokenFile"), folder)};
  if (!access.token.file.empty()) access.token.text.clear();  // the file is the one that rotates
  if (const auto name = json::get_string_or(user, "username"); !name.empty())
    access.basic = fmt::format("{}:{}", name, json::get_string_or(user, "password"));
  const bool proves = !access.certificate.empty() || !access.token.empty() || !access.basic.empty();
  if (!proves && (json::find(user, "exec") || json::find(user, "auth-provider")))
    return fail(
        Status::bad_request("the kubeconfig uses an exec plugin or auth provider, which is not supported; use a "
                            "client certificate or a token file"));
  return {};
}

Result<void> read_cluster(const json::Object* cluster, const std::string& folder, ClusterAccess& access) {
  if (!cluster) return {};
  auto authorities = read_material(cluster, "certificate-authority", folder);
  if (!authorities) return fail(std::move(authorities.error()));
  access.authorities = std::move(*authorities);
  access.verify = !json::get_bool_or(*cluster, "insecure-skip-tls-verify", false);
  access.origin.server_name = json::get_string_or(*cluster, "tls-server-name");
  if (const auto url = json::get_string_or(*cluster, "proxy-url"); !url.empty()) {
    auto proxy = parse_proxy_url(url);
    if (!proxy) return fail(std::move(proxy.error()));
    access.proxy = std::move(*proxy);
  }
  return {};
}

}  // namespace

ClusterAccess without_identity(ClusterAccess access) {
  access.certificate = access.key = access.token = {};
  access.basic.clear();
  return access;
}

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

Result<ClusterAccess> parse_server_url(std::string_view url) {
  ClusterAccess access;
  std::string_view rest = trimmed(url);
  if (rest.starts_with("http://"))
    access.origin.tls = false;
  else if (!rest.starts_with("https://") && rest.contains("://"))
    return fail(Status::bad_request(fmt::format("\"{}\" is not an https URL of an API server", url)));
  if (const auto scheme = rest.find("://"); scheme != rest.npos) rest.remove_prefix(scheme + 3);
  const auto slash = rest.find('/');
  if (auto read = read_authority(rest.substr(0, slash), access.origin); !read) return fail(std::move(read.error()));
  if (slash != rest.npos) access.path_prefix = rest.substr(slash);
  while (access.path_prefix.ends_with('/')) access.path_prefix.pop_back();
  return access;
}

Result<ClusterAccess> read_kubeconfig(std::string_view text, const std::string& folder, std::string_view master) {
  json::Arena arena;
  auto config = trimmed(text).empty() ? Result<json::Value>(json::Value(arena.storage()))
                                      : json::parse_yaml(text, arena.storage());
  if (!config) return fail(Status::bad_request("the kubeconfig cannot be read: " + config.error().message));
  const json::Object* context = named(*config, "contexts", json::get_string_or(*config, "current-context"), "context");
  const json::Object* cluster =
      context ? named(*config, "clusters", json::get_string_or(*context, "cluster"), "cluster") : nullptr;
  const json::Object* user = context ? named(*config, "users", json::get_string_or(*context, "user"), "user") : nullptr;
  const std::string_view server = !master.empty() ? master
                                  : cluster       ? json::get_string_or(*cluster, "server")
                                                  : std::string_view();
  if (server.empty())
    return fail(
        Status::bad_request("the address of the API server is required: the current context of the kubeconfig has no "
                            "cluster with a server, and --master is not set"));
  auto access = parse_server_url(server);
  if (!access) return access;
  if (auto read = read_cluster(cluster, folder, *access); !read) return fail(std::move(read.error()));
  if (!master.empty()) access->origin.server_name.clear();  // it was the name of the server that --master replaces
  if (user)
    if (auto read = read_user(*user, folder, *access); !read) return fail(std::move(read.error()));
  return access;
}

Result<ClusterAccess> in_cluster_access(const Environment& environment, const std::string& folder) {
  const auto host = environment("KUBERNETES_SERVICE_HOST");
  const auto port = environment("KUBERNETES_SERVICE_PORT");
  if (!host || host->empty() || !port || port->empty())
    return fail(Status::bad_request(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, this is not a pod; use --kubeconfig"));
  const bool bare_v6 = host->contains(':') && !host->starts_with('[');
  auto access = parse_server_url(bare_v6 ? fmt::format("https://[{}]:{}", *host, *port)
                                         : fmt::format("https://{}:{}", *host, *port));
  if (!access) return access;
  access->token.file = folder + "/token";
  if (auto token = read_file(access->token.file, limits::config_file_bytes_max); !token)
    return fail(std::move(token.error()));
  const std::string authorities = folder + "/ca.crt";
  if (auto readable = read_file(authorities, limits::config_file_bytes_max); readable)
    access->authorities.file = authorities;
  else
    log::warning("the CA of the cluster cannot be read; the CAs of the system are used instead",
                 {{"reason", readable.error().message}});
  return access;
}

Result<ClusterAccess> find_cluster(const std::string& kubeconfig_file, std::string_view master,
                                   const Environment& environment, const std::string& account_folder) {
  if (kubeconfig_file.empty() && master.empty()) return in_cluster_access(environment, account_folder);
  if (kubeconfig_file.empty()) return read_kubeconfig("", "", master);
  auto text = read_file(kubeconfig_file, limits::config_file_bytes_max);
  if (!text) return fail(std::move(text.error()));
  const auto slash = kubeconfig_file.rfind('/');
  return read_kubeconfig(*text, slash == std::string::npos ? "." : kubeconfig_file.substr(0, slash), master);
}

Result<std::string> own_namespace(const std::string& account_folder) {
  auto text = read_file(account_folder + "/namespace", limits::config_file_bytes_max);
  if (!text && text.error().code != 404) return text;
  const std::string_view name = text ? trimmed(*text) : std::string_view();
  return std::string(name.empty() ? default_namespace : name);
}

}  // namespace vg::kube
