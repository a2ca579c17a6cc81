#include "serve.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "audit_flags.h"
#include "base/clock.h"
#include "base/controller_limits.h"
#include "base/cpus.h"
#include "base/files.h"
#include "base/guest_address.h"
#include "base/handler_limits.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "command.h"
#include "confine.h"
#include "default_node.h"
#include "disks/agent.h"
#include "disks/worker.h"
#include "exports/service.h"
#include "flags.h"
#include "housekeeping/first_start.h"
#include "http/certificates.h"
#include "http/descriptors.h"
#include "http/server.h"
#include "listen_address.h"
#include "local/pki.h"
#include "local/state_folder.h"
#include "local_guests.h"
#include "local_nodes.h"
#include "log_format.h"
#include "memory.h"
#include "otlp/exporter.h"
#include "page.h"
#include "server/fairness.h"
#include "server/health.h"
#include "server/process_metrics.h"
#include "server/router.h"
#include "server/version.h"
#include "server/webhooks.h"
#include "signals.h"
#include "standalone_api.h"
#include "store/state_files.h"
#include "store/value_cipher.h"
#include "subresources.h"
#include "ui_session.h"
#include "uploads/service.h"

namespace vg::cmd {
namespace {

// How often it is looked whether a certificate has to be renewed: a host that was suspended for weeks, or whose clock
// was set, has one that has ended already. After a failure the next attempt is later, so that the log stays readable.
constexpr std::chrono::seconds renewal_look{1};
constexpr std::chrono::minutes renewal_retry{1};
constexpr std::string_view disks_folder = "disks";  // of the state folder

struct ServeOptions {
  std::string state;  // empty = the default place
  std::string listen = "127.0.0.1:6443";
  bool api_only = false;
  std::string node_kind = {};              // empty: not told; later: there is no node, and no controllers of VMs
  std::string why_no_node = {};            // where this host should have run guests
  std::int64_t nodes = 1;                  // of this machine, or simulated ones
  std::string libvirt = {};                // URI; empty: each node has a libvirt of its own
  std::string default_instancetypes = {};  // "true", "false", or empty: true unless api_only
  // Where clouds tell their machines secrets.
  std::string import_blocked_networks{metadata_word};
  NodeOptions node;
  ConfineOptions confine;
  std::string secrets_key_file;  // empty: Secrets are stored as they are
  std::string requestheader_client_ca_file;
  std::string requestheader_allowed_names;
  AuditFlags audit;
  bool ui = true;
  std::string ui_session = "12h";
  std::string journal = "on";
  std::int64_t verbosity = log::verbosity_default;
  std::string log_format = {};  // empty: text on a terminal, else JSON

  std::vector<Flag> flags() {
    return {
        {"state", '\0', &state, "DIR",
         "where keys and objects are kept (default $XDG_STATE_HOME/virtgate, else ~/.local/state/virtgate)"},
        {"listen", '\0', &listen, "HOST:PORT", "where to listen"},
        {"sandbox", '\0', &confine.sandbox, "on|off|required", sandbox_help},
        {"user", '\0', &confine.user, "NAME",
         "user to run as when started as root (default virtgate, if it owns the state folder)"},
        {"secrets-key-file", '\0', &secrets_key_file, "FILE",
         "seal Secrets in the store with the first key of this file (base64, 32 bytes, a line each); the others open "
         "what they sealed"},
        {"api-only", '\0', &api_only, "", "runs no controllers and no node: objects change only by requests"},
        {"node", '\0', &node_kind, "libvirt|external|simulated|none",
         "what runs VMs; libvirt: this host, with QEMU (default where it can); external: whoever writes Node objects "
         "and the status of VMIs; simulated: nodes whose guests are made up; none: nothing, and no controllers of VMs"},
        {"nodes", '\0', &nodes, "N", "how many nodes there are, with libvirt or simulated"},
        {"libvirt", '\0', &libvirt, "URI", "libvirt that --node libvirt uses (default one that it starts for itself)"},
        {"default-instancetypes", '\0', &default_instancetypes, "true|false",
         "create the common cluster instance types and preferences once; those that are deleted or changed later stay "
         "so (default true; false with --api-only)"},
        {"console-server-port", '\0', &node.console_server_port, "PORT", "port of the handlers on the nodes"},
        {"handler-cert-file", '\0', &node.handler_cert_file, "FILE", "client certificate shown to the handlers"},
        {"handler-key-file", '\0', &node.handler_key_file, "FILE", "its key"},
        {"stream-ping-seconds", '\0', &node.stream_ping_seconds, "SECONDS",
         "how long a console or display may be silent before it is pinged, so that nothing on the way cuts it; 0: "
         "never"},
        {"guest-networks", '\0', &node.guest_networks, "NETWORKS",
         "networks that guests are in, such as 10.0.0.0/8,fd00::/8: ports are forwarded to these and to no others "
         "(default any address that a guest can have, so neither loopback nor this host's own)"},
        {"import-blocked-networks", '\0', &import_blocked_networks, "NETWORKS",
         "networks that images are never imported or pulled from, such as metadata,127.0.0.0/8; metadata: link-local "
         "addresses and those where clouds tell their hosts secrets; empty: none"},
        {"requestheader-client-ca-file", '\0', &requestheader_client_ca_file, "FILE",
         "authorities of front proxies: whom they name in X-Remote-User and X-Remote-Group is believed"},
        {"requestheader-allowed-names", '\0', &requestheader_allowed_names, "NAMES",
         "common names of front proxies' certificates, separated by commas (default any)"},
        {"audit-log-mib", '\0', &audit.log_mib, "MIB",
         "room for the audit log, of which changes, reads of Secrets and refused requests have a share each"},
        {"audit-required", '\0', &audit.required, "",
         "refuse changes (503) while the audit log cannot be written; a change is recorded before it is answered"},
        {"audit-policy-file", '\0', &audit.policy_file, "FILE",
         "a Policy of audit.k8s.io/v1: which requests the audit log records, and how much of each (default changes, "
         "sensitive reads and refusals, at the level Metadata)"},
        {"audit-log-maxsize", '\0', &audit.file_mib, "MIB",
         "size at which a file of the audit log is full (default by --audit-log-mib)"},
        {"audit-log-maxbackup", '\0', &audit.backups, "N", "full files that are kept of each log (default 7)"},
        {"audit-log-maxage", '\0', &audit.age_days, "DAYS", "days after which a full file is removed (default never)"},
        {"journal", '\0', &journal, "on|off", "keep a journal of requests: requests.trace.virtgate.io"},
        {"mark-objects", '\0', &node.marks, "",
         "VMIs, migrations and other work objects name the request and the user that they come from, in annotations of "
         "trace.virtgate.io/"},
        {"ui", '\0', &ui, "", "serve the page for browsers at /ui; virtgate ui prints a link that signs in"},
        {"ui-session", '\0', &ui_session, "DURATION", ui_session_help},
        {"v", 'v', &verbosity, "LEVEL", "how much to log: 3 adds a line a request, 4 also webhooks"},
        {"log-format", '\0', &log_format, "json|text", log_format_help},
    };
  }
};

local::Time now(const Clock& clock) { return std::chrono::floor<std::chrono::seconds>(clock.wall_now()); }

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

std::string numeric_address(const sockaddr* address) {
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, NI_MAXHOST> text{};
  const int failed = ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return failed ? std::string() : std::string(text.data());
}

// Everything by which a client may name this machine, for the serving certificate.
std::vector<std::string> served_hosts(const ListenAddress& listen) {
  std::vector<std::string> hosts;
  const auto add = [&](std::string host) {
    if (!host.empty() && std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(std::move(host));
  };
  // A name that no client could use would never be covered, and the certificate be renewed without end.
  if (std::string name = host_name(); is_host_name(name)) add(std::move(name));
  if (!listen.is_wildcard()) {
    add(listen.host);
    return hosts;
  }
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return hosts;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6)) continue;
    const std::string address = numeric_address(one->ifa_addr);
    if (!address.contains('%')) add(address);  // an address of one link only means something together with the link
  }
  ::freeifaddrs(all);
  return hosts;
}

// The server listens on addresses; a name is looked up once, here.
Result<std::string> resolve(const std::string& host) {
  if (local::is_ip_address(host)) return host;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &found))
    return fail({.code = 500,
                 .reason = "InternalError",
                 .message = fmt::format("cannot find the address of {}: {}", host, ::gai_strerror(failed)),
                 .details = {}});
  std::string address = numeric_address(found->ai_addr);
  ::freeaddrinfo(found);
  return address;
}

// Who may speak for others.
struct FrontProxies {
  std::string authority_file;  // empty: nobody
  std::vector<std::string> common_names;
};

FrontProxies front_proxies(const ServeOptions& options) {
  FrontProxies proxies{.authority_file = options.requestheader_client_ca_file, .common_names = {}};
  std::string_view rest = options.requestheader_allowed_names;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (!name.empty()) proxies.common_names.emplace_back(name);
  }
  return proxies;
}

// Read each time, so that new authorities count as soon as certificates are loaded again.
Result<http::ClientAuthority> front_proxy_authority(const FrontProxies& proxies, const local::Pki& pki) {
  auto certificates = read_file(proxies.authority_file, limits::config_file_bytes_max);
  if (!certificates) return fail(std::move(certificates.error()));
  // Otherwise every user with a certificate could speak for every other one.
  if (proxies.common_names.empty() && certificates->contains(pki.authority_pem()))
    return fail(Status::bad_request(
        fmt::format("{} has the CA of this server, which signs user certificates; use another CA for front proxies, "
                    "or name them with --requestheader-allowed-names",
                    proxies.authority_file)));
  return http::ClientAuthority{.name = std::string(auth::front_proxy_authority),
                               .certificates_pem = std::move(*certificates),
                               .common_names = proxies.common_names};
}

// The address under which others find a server that listens on all: the first that is not for this machine alone.
std::string own_address(const ListenAddress& listen, const std::string& resolved) {
  if (!listen.is_wildcard()) return resolved;
  std::string loopback = listen.is_ipv6() ? "::1" : "127.0.0.1";
  for (const std::string& host : served_hosts(listen))
    if (local::is_ip_address(host) && host.contains(':') == listen.is_ipv6() && !host.starts_with("127.") &&
        host != loopback)
      return host;
  return loopback;
}

// Under which this machine's own processes reach the server; the certificate is for it in any case.
std::string local_url(const ListenAddress& listen, const std::string& resolved) {
  const std::string host = !listen.is_wildcard() ? resolved : listen.is_ipv6() ? "::1" : "127.0.0.1";
  return host.contains(':') ? fmt::format("https://[{}]:{}", host, listen.port)
                            : fmt::format("https://{}:{}", host, listen.port);
}

// What the control plane keeps that this server is by itself.
Result<resources::SystemFacts> system_facts(const FrontProxies& proxies, const local::Pki& pki, std::string address,
                                            std::uint16_t port) {
  resources::SystemFacts facts{.ca_bundle = pki.authority_pem(), .address = std::move(address), .port = port};
  if (proxies.authority_file.empty()) return facts;
  auto authority = front_proxy_authority(proxies, pki);
  if (!authority) return fail(std::move(authority.error()));
  facts.proxy_ca_bundle = std::move(authority->certificates_pem);
  facts.proxy_names = std::move(authority->common_names);
  return facts;
}

// Clients show certificates of the authority that also signed the server's; front proxies those of another one.
Result<http::TlsServerConfig> tls_config(const local::Pki& pki, const FrontProxies& proxies,
                                         std::string certificate_pem, std::string key_pem) {
  http::TlsServerConfig tls;
  tls.certificate_pem = std::move(certificate_pem);
  tls.key_pem = std::move(key_pem);
  if (!proxies.authority_file.empty()) {
    auto authority = front_proxy_authority(proxies, pki);
    if (!authority) return fail(std::move(authority.error()));
    tls.client_authorities.push_back(std::move(*authority));
  }
  tls.client_authorities.push_back(
      {.name = std::string(auth::client_authority), .certificates_pem = pki.authority_pem(), .common_names = {}});
  return tls;
}

// A path for pasting into a shell.
std::string quoted(const std::filesystem::path& path) {
  const std::string& text = path.native();
  const bool plain = std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+,@").contains(c);
  });
  if (plain) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// What becomes of a VM that is started.
std::string_view running_text(const ServeOptions& options) {
  if (options.api_only) return ", without controllers and node";
  if (options.node_kind == "libvirt") return " (VMs run on this host)";
  if (options.node_kind == "simulated") return " (VMs run on simulated nodes: their guests are made up)";
  if (options.node_kind == "external") return " (controllers run; nodes are whoever writes the status of VMIs)";
  return " (VMs are stored and validated, but nothing runs them; see --node)";
}

std::string first_steps(const ServeOptions& options) {
  const std::string given =
      options.state.empty() ? std::string() : fmt::format("--state {} ", quoted(std::filesystem::path(options.state)));
  std::string steps;
  if (options.node_kind.empty())
    steps += fmt::format("  virtgate simulate {}--all --watch      # VMs that are started seem to run\n", given);
  if (options.ui)
    steps += fmt::format("In a browser (the link signs in, once):\n  virtgate ui{}{}\n", given.empty() ? "" : " ",
                         given.substr(0, given.size() - (given.empty() ? 0 : 1)));
  return steps;
}

void print_welcome(std::FILE* out, const ServeOptions& options, const ListenAddress& listen, const local::Pki& pki) {
  fmt::print(out,
             "{}\n"
             "serving the KubeVirt API at {}{}\n"
             "\n"
             "In another terminal:\n"
             "  export KUBECONFIG={}\n"
             "  kubectl get vms --all-namespaces\n"
             "{}"
             "Without kubectl:\n"
             "  curl --cacert {} -H \"Authorization: Bearer $(cat {})\" {}/healthz\n"
             "\n"
             "Ctrl-C stops it.\n",
             server::version_line(), listen.url(), running_text(options), quoted(pki.kubeconfig()),
             first_steps(options), quoted(pki.file("ca.crt")), quoted(pki.file("admin.token")), listen.url());
  std::fflush(out);
}

// The composition root of the standalone mode: everything that exists is made here, and lives until the server ends.
class Standalone {
 public:
  // Gives up the privileges of the process first.
  static Result<std::unique_ptr<Standalone>> create(const ServeOptions& options, const ListenAddress& listen);

  const local::Pki& pki() const { return *pki_; }
  Result<void> listen();
  // Until a signal. `started` is called when the start is over and has been logged.
  void run(std::function<void()> started);

 private:
  Standalone(local::StateFolder folder, std::unique_ptr<local::Pki> pki, const ServeOptions& options);
  Result<void> open_api(const ServeOptions& options, const ListenAddress& listen, const std::string& address,
                        std::shared_ptr<const store::ValueCipher> cipher);
  void add_routes();
  Result<void> load_certificates();
  Result<void> set_tls(std::string certificate_pem, std::string key_pem);
  void on_signal(int signal);
  void renew();
  void reload_tls();
  void show_expiry();

  ProcessSignals signals_;
  log::Deferred log_;  // behind the signals, which no thread may get, and before all that have something to say
  SystemClock clock_;
  local::StateFolder folder_;
  std::unique_ptr<local::Pki> pki_;
  const bool api_only_;
  const Runs runs_;
  const FrontProxies front_proxies_;
  metrics::Registry metrics_;
  metrics::Gauge& ready_ =
      metrics_.gauge("kubevirt_virt_api_ready_status", "1 while this server serves requests, else 0.");
  metrics::Family<metrics::Gauge>& expiry_ =
      metrics_.gauges("virtgate_certificate_expiration_timestamp_seconds",
                      "When a certificate of this server ends, in seconds since 1970.", {"certificate"});
  server::HealthRegistry health_;
  server::Fairness fairness_{{.clock = clock_,
                              .metrics = metrics_,
                              .cores = allowed_cpus(),
                              .options = server::fair::default_options(allowed_cpus()),
                              .own_namespace = std::string(resources::kubevirt_namespace),
                              .holds_max = {limits::watches_max, limits::streams_max}}};
  std::unique_ptr<LocalNodes> nodes_;  // null without --node libvirt
  const LocalGuests guests_;
  std::unique_ptr<disks::WorkerAgent> disks_;  // null with --api-only
  std::unique_ptr<StandaloneApi> api_;
  std::unique_ptr<Subresources> subresources_;
  std::unique_ptr<uploads::UploadService> uploads_;  // null with --api-only
  controllers::ServerPlace place_;
  std::unique_ptr<exports::ExportService> exports_;  // likewise
  std::unique_ptr<Page> page_;                       // null with --ui=false
  std::unique_ptr<server::Router> router_;
  std::unique_ptr<http::Server> server_;
  std::optional<http::CertificateWatcher> certificates_;  // lives on a core of the server, so it goes first
  otlp::Settings tracing_;
  std::string node_url_;  // under which nodes of this machine reach the server
  std::atomic<bool> stopping_{false};
  Clock::Steady next_renewal_ = {};  // on the thread of the signals
};

bool is_below(const std::filesystem::path& file, const std::filesystem::path& folder) {
  std::error_code ignored;
  const auto from_folder = std::filesystem::proximate(file, folder, ignored);
  return !from_folder.empty() && *from_folder.begin() != "..";
}

// The files and folders that the server opens while it runs.
sandbox::Needs needs_of(const ServeOptions& options, const ListenAddress& listen, const std::filesystem::path& state) {
  sandbox::Needs needs{.write_folders = {state.native()},
                       .read_files = {options.node.handler_cert_file, options.node.handler_key_file,
                                      options.requestheader_client_ca_file},
                       .listen_port = listen.port};
  for (const std::string& folder : LocalGuests(state.native(), false).folders())
    needs.read_files.push_back(folder + "/any");
  return needs;
}

// Before the server gives up what the worker needs: it starts programs.
Result<std::optional<disks::WorkerLink>> start_disk_worker(const ServeOptions& options,
                                                           const std::filesystem::path& state) {
  if (options.api_only) return std::nullopt;
  auto worker = disks::start_worker("virtgate", (state / disks_folder).native());
  if (!worker) return fail(Status::internal_error(worker.error().message));
  return std::move(*worker);
}

// Likewise: guests need more than the server.
Result<std::unique_ptr<LocalNodes>> start_nodes(const ServeOptions& options, const std::filesystem::path& state,
                                                disks::Descriptor program) {
  if (!program) return nullptr;
  return LocalNodes::start({.state = state.native(),
                            .count = options.nodes,
                            .port = handler_port(options.node),
                            .libvirt = options.libvirt,
                            .verbosity = options.verbosity,
                            .log_format = options.log_format,
                            .sandbox = options.confine.sandbox,
                            .blocked = options.import_blocked_networks},
                           std::move(program));
}

// The link between the server and its own nodes is made here, and so are its keys.
NodeOptions node_options(const ServeOptions& options, const local::Pki& pki) {
  NodeOptions node = options.node;
  if (options.node_kind != "libvirt") return node;
  node.guest_ports = node.verify_address = true;
  node.handler_cert_file = pki.file(fmt::format("{}.crt", handler_client_name)).native();
  node.handler_key_file = pki.file(fmt::format("{}.key", handler_client_name)).native();
  return node;
}

// Where nodes are others, their storage may be others' too: `local` is there for who names it.
std::optional<resources::StorageFacts> storage_facts(const ServeOptions& options, const ListenAddress& listen,
                                                     const local::Pki& pki) {
  if (options.api_only) return std::nullopt;
  return resources::StorageFacts{.is_default = options.node_kind != "external",
                                 .upload_url = listen.url(),
                                 .upload_authority = pki.authority_pem()};
}

Standalone::Standalone(local::StateFolder folder, std::unique_ptr<local::Pki> pki, const ServeOptions& options)
    : folder_(std::move(folder)),
      pki_(std::move(pki)),
      api_only_(options.api_only),
      runs_(options.api_only            ? Runs::nothing
            : options.node_kind.empty() ? Runs::housekeeping
                                        : Runs::controllers),
      front_proxies_(front_proxies(options)),
      guests_(folder_.path().native(), !options.libvirt.empty()) {}

Result<std::unique_ptr<Standalone>> Standalone::create(const ServeOptions& options, const ListenAddress& listen) {
  auto address = resolve(listen.host);
  if (!address) return fail(address.error());
  // While we may be root: the file need not be within reach of the server.
  std::shared_ptr<const store::ValueCipher> cipher;
  if (!options.secrets_key_file.empty()) {
    auto read = store::ValueCipher::read(options.secrets_key_file);
    if (!read) return fail(read.error());
    cipher = std::move(*read);
  }
  auto tracing = otlp::read_process_settings("virtgate");
  if (!tracing) return fail(tracing.error());
  const auto bound = bind_privileged(*address, listen.port);
  if (!bound) return fail(bound.error());
  auto program = options.node_kind == "libvirt" ? open_node_program() : Result<disks::Descriptor>();
  if (!program) return fail(program.error());
  const auto state = settle_user(options.confine, options.state);
  if (!state) return fail(state.error());
  auto folder = local::StateFolder::open(*state);
  if (!folder) return fail(folder.error());
  if (cipher && is_below(options.secrets_key_file, folder->path()))
    log::warning("the key of Secrets is in the state folder, next to what it encrypts; store it elsewhere",
                 {{"file", options.secrets_key_file}});
  auto nodes = start_nodes(options, folder->path(), std::move(*program));
  if (!nodes) return fail(nodes.error());
  auto worker = start_disk_worker(options, folder->path());
  if (!worker) return fail(worker.error());
  if (auto confined = confine(options.confine, needs_of(options, listen, folder->path())); !confined)
    return fail(confined.error());
  if (auto may = store::check_state(folder->path()); !may) return fail(may.error());
  local::PkiOptions pki_options{.state = folder->path(), .hosts = served_hosts(listen), .server_url = listen.url()};
  auto pki = local::Pki::open(std::move(pki_options), now(SystemClock()));
  if (!pki) return fail(pki.error());

  std::unique_ptr<Standalone> made(new Standalone(std::move(*folder), std::move(*pki), options));
  made->tracing_ = std::move(*tracing);
  made->nodes_ = std::move(*nodes);
  if (made->nodes_)
    if (auto kept = made->nodes_->keep_certificates(*made->pki_, now(made->clock_)); !kept) return fail(kept.error());
  if (*worker)
    made->disks_ =
        std::make_unique<disks::WorkerAgent>(std::move(**worker), made->clock_, options.import_blocked_networks);
  made->node_url_ = local_url(listen, *address);
  made->place_ = {.url = listen.url(), .authority = std::string(made->pki_->authority_pem())};
  if (auto opened = made->open_api(options, listen, *address, std::move(cipher)); !opened) return fail(opened.error());
  made->subresources_ = std::make_unique<Subresources>(*made->api_, node_options(options, *made->pki_), made->metrics_);
  made->add_routes();
  made->show_expiry();
  http::ServerConfig config;
  config.host = std::move(*address);
  config.port = listen.port;
  config.bound = *bound;
  config.metrics = &made->metrics_;
  auto server = http::Server::create(std::move(config), *made->router_);
  if (!server) return fail(server.error());
  made->server_ = std::move(*server);
  if (auto loaded = made->load_certificates(); !loaded) return fail(loaded.error());
  return made;
}

std::optional<simulated::NodesOptions> simulated_nodes(const ServeOptions& options) {
  if (options.node_kind != "simulated") return std::nullopt;
  return simulated::NodesOptions{.count = options.nodes, .architecture = resources::machine_architecture()};
}

Result<void> Standalone::open_api(const ServeOptions& options, const ListenAddress& listen, const std::string& address,
                                  std::shared_ptr<const store::ValueCipher> cipher) {
  auto system = system_facts(front_proxies_, *pki_, own_address(listen, address), listen.port);
  if (!system) return fail(std::move(system.error()));
  // Behind --api-only may be a kube-controller-manager, which is not to be fought with.
  system->own_place_only = options.api_only;
  if (nodes_) system->handlers = nodes_->handlers();
  auto api = StandaloneApi::open(
      {.state = folder_.path(),
       .admin_token = {},
       .authority_pem = pki_->authority_pem(),
       .server_url = listen.url(),
       .system = std::move(*system),
       .default_instancetypes = options.default_instancetypes == "true",
       .storage = storage_facts(options, listen, *pki_),
       .audit_bytes_max = options.audit.bytes_max(),
       .audit_required = options.audit.required,
       .audit_policy = options.audit.policy,
       .audit_rotation = options.audit.rotation(),
       .journal = options.journal == "on",
       .marks = options.node.marks,
       .metrics = &metrics_,
       .cipher = std::move(cipher),
       // Where others are the controllers, theirs counts.
       .quota_usages = api_only_ ? resources::QuotaKeeper::Usages::reported : resources::QuotaKeeper::Usages::kept,
       .local_nodes = nodes_ ? nodes_->names() : std::vector<std::string>(),
       .leaving_nodes = nodes_ ? nodes_->leaving() : std::vector<std::string>(),
       .simulated_nodes = simulated_nodes(options)},
      clock_);
  if (!api) return fail(std::move(api.error()));
  api_ = std::move(*api);
  router_ = std::make_unique<server::Router>(server::Router::Parts{
      .identifier = api_->identifier(), .clock = clock_, .metrics = metrics_, .fairness = fairness_});
  if (options.ui) page_ = std::make_unique<Page>(*api_, *parse_ui_session(options.ui_session), clock_);
  return {};
}

void Standalone::add_routes() {
  health_.add("event-loops", server::HealthScope::both, [this] { return server_->stall(); });
  health_.add("serving-certificate", server::HealthScope::readiness, [this]() -> std::optional<std::string> {
    if (certificates_->is_valid_at(clock_.wall_now())) return std::nullopt;
    return "the serving certificate is not valid now";
  });
  health_.add("certificates", server::HealthScope::readiness, [this] { return pki_->problem(); });
  if (nodes_) health_.add("nodes", server::HealthScope::degraded, [this] { return nodes_->problem(); });
  if (disks_) health_.add("disks", server::HealthScope::degraded, [this] { return disks_->problem(); });
  server::add_health_routes(*router_, health_, [this] {
    return std::string(api_->config().current()->resource_version());  // never ahead of what rules go by
  });
  server::add_version_routes(*router_, [this](server::Call& call) { return api_->api().meet(call); });
  // For whom a role allows it, as kube-apiserver has it: monitoring needs no administrator's credentials.
  api_->api().add_document("/metrics", {.content_type = metrics::exposition_content_type,
                                        .body = [this] { return server::metrics_text(metrics_); },
                                        .cache_control = "no-cache, private",
                                        .route_class = server::RouteClass::metrics});
  server::add_webhook_routes(*router_, server::Access::administrators, metrics_, api_->admission(),
                             api_->api().effects(), server::refuse_nobody());
  api_->add_routes(*router_, health_);
  subresources_->add_routes(*router_);
  if (page_) page_->add_routes(*router_, subresources_->nodes());
  if (!disks_) return;
  uploads_ = std::make_unique<uploads::UploadService>(
      uploads::UploadService::Parts{.store = api_->store(),
                                    .authorizer = api_->authorizer(),
                                    .disks = *disks_,
                                    .clock = clock_,
                                    .folder = (folder_.path() / disks_folder).native()});
  uploads_->add_routes(*router_);
  exports_ = std::make_unique<exports::ExportService>(
      exports::ExportService::Parts{.store = api_->store(),
                                    .environment = api_->admission(),
                                    .place = place_,
                                    .folder = (folder_.path() / disks_folder).native()});
  exports_->add_routes(*router_);
}

Result<void> Standalone::load_certificates() {
  certificates_.emplace(
      server_->core(0),
      http::CertificateWatcher::Options{.name = "serving",
                                        .certificate_path = pki_->file("server.crt"),
                                        .key_path = pki_->file("server.key"),
                                        .metrics = &metrics_},
      [this](const http::CertificateWatcher::Pair& pair) { return set_tls(pair.certificate_pem, pair.key_pem); });
  return certificates_->load();
}

Result<void> Standalone::set_tls(std::string certificate_pem, std::string key_pem) {
  auto config = tls_config(*pki_, front_proxies_, std::move(certificate_pem), std::move(key_pem));
  if (!config) return fail(std::move(config.error()));
  return server_->set_tls(*config);
}

Result<void> Standalone::listen() {
  auto listening = server_->listen();
  if (listening) ready_.set(1);
  return listening;
}

void Standalone::run(std::function<void()> started) {
  const auto spans = otlp::Exporter::start(std::move(tracing_), metrics_);
  const std::jthread syncing([this] {
    if (auto synced = pki_->sync(); !synced) log::error("new keys may be lost", {{"reason", synced.error().message}});
  });
  certificates_->start();
  if (disks_) disks_->start_listening();
  api_->start(server_->core(0), server_->core(allowed_cpus() - 1), runs_,
              {.disks = disks_.get(), .nodes = &subresources_->nodes(), .place = place_, .guests = &guests_});
  if (page_) page_->start(server_->core(0));
  server_->core(0).post(std::move(started));  // behind what the parts have posted
  if (nodes_) nodes_->begin(node_url_);
  ProcessSignals::Watch watch(signals_, renewal_look, [this](int signal) { on_signal(signal); }, [this] { renew(); });
  server_->run();
  fairness_.stop();
  if (page_) page_->stop();
  subresources_->stop();
  api_->stop();
  ready_.set(0);
}

void Standalone::on_signal(int signal) {
  if (signal == SIGHUP) {
    reload_tls();
  } else if (!stopping_.exchange(true)) {
    log::info("stopping: completing the running requests; a second signal stops immediately");
    health_.begin_shutdown();
    ready_.set(0);
    server_->drain(limits::drain_deadline);
  } else {
    log::info("stopping immediately");
    server_->stop();
  }
}

void Standalone::renew() {
  const auto time = now(clock_);
  if (!pki_->is_due(time) || clock_.steady_now() < next_renewal_) return;
  auto renewed = pki_->renew(time);
  // Also where the present one is kept since the new one could not be written.
  if (pki_->is_due(time)) next_renewal_ = clock_.steady_now() + renewal_retry;
  if (!renewed) {
    log::error("certificates could not be renewed; the next attempt is in a minute",
               {{"reason", renewed.error().message}});
    return;
  }
  for (const std::string& name : *renewed) log::info("a certificate was renewed", {{"file", name}});
  show_expiry();
}

// The watcher sees new files by itself; a signal is for those who do not want to wait for it, or want to be told.
void Standalone::reload_tls() {
  auto certificate = read_file(pki_->file("server.crt").native(), limits::config_file_bytes_max);
  auto key = read_file(pki_->file("server.key").native(), limits::config_file_bytes_max);
  Result<void> done;
  if (!certificate || !key)
    done = fail(!certificate ? certificate.error() : key.error());
  else
    done = set_tls(std::move(*certificate), std::move(*key));
  if (done)
    log::info("certificates were loaded");
  else
    log::error("certificates could not be loaded; the previous ones stay in use", {{"reason", done.error().message}});
}

void Standalone::show_expiry() {
  const auto seconds = [](local::Time time) { return static_cast<double>(time.time_since_epoch().count()); };
  expiry_.with({"ca"})->set(seconds(pki_->authority_expires()));
  expiry_.with({"server"})->set(seconds(pki_->server_expires()));
  expiry_.with({"admin"})->set(seconds(pki_->admin_expires()));
}

int serve(const ServeOptions& options, const ListenAddress& listen, Output output) {
  const auto failed = [&](const Status& status) {
    // The words around an internal error speak of a request, and here is none: its cause is the message.
    const auto& causes = status.details.causes;
    const bool internal = status.reason == "InternalError" && !causes.empty();
    fmt::print(output.err, "virtgate serve: {}\n", internal ? causes.front().message : status.message);
    return exit_failed;
  };
  // What is written below is for the user who runs the server, unless its code says otherwise.
  ::umask(077);
  log::set_verbosity(static_cast<int>(std::clamp<std::int64_t>(options.verbosity, 0, 100)));
  return_large_blocks();
  keep_memory_private();
  if (const auto enough = http::allow_descriptors(limits::connections_max); !enough) return failed(enough.error());
  auto server = Standalone::create(options, listen);
  if (!server) return failed(server.error());
  if (auto listening = (*server)->listen(); !listening) return failed(listening.error());
  log::info("serving", {{"address", listen.text()}, {"apiOnly", options.api_only}});
  if (!options.why_no_node.empty())
    log::warning("VMs are stored and nothing runs them: this host cannot run guests; see --node",
                 {{"reason", options.why_no_node}});
  return_start_up_memory();
  (*server)->run([&] { print_welcome(output.out, options, listen, (*server)->pki()); });
  return exit_ok;
}

void settle_node(ServeOptions& options) {
  const bool is_told = options.api_only || !options.node_kind.empty();
  if (options.node_kind == "none") options.node_kind.clear();
  if (is_told) return;
  if (auto why = why_no_guests(options.confine, options.state, options.libvirt))
    options.why_no_node = std::move(*why);
  else
    options.node_kind = "libvirt";
}

}  // namespace

int run_serve(std::span<const std::string_view> arguments, Output output) {
  ServeOptions options;
  const auto flags = options.flags();
  const CommandLine command{
      .name = "serve",
      .synopsis = "[flags]",
      .description =
          "Serves the KubeVirt API on this host, without Kubernetes: kubectl and virtctl talk to it directly. The "
          "first start makes the state folder with keys, certificates and admin.kubeconfig.",
      .examples =
          "virtgate serve\n"
          "virtgate serve --listen 0.0.0.0:6443 --state /var/lib/virtgate\n"
          "virtgate serve --api-only --listen 127.0.0.1:16443 --state \"$(mktemp -d)\"      # for a test"};
  const auto read = read_command(command, flags, arguments, output);
  if (!read) return read.error();
  const auto refuse = [&](std::string_view why) { return refuse_usage(command, why, output); };
  if (options.node.console_server_port < 0 || options.node.console_server_port > 65535)
    return refuse("--console-server-port must be from 0 to 65535");
  if (const auto networks = parse_networks(options.node.guest_networks); !networks)
    return refuse("--guest-networks: " + networks.error());
  if (const auto problem = options.audit.settle()) return refuse(*problem);
  if (options.journal != "on" && options.journal != "off") return refuse("--journal must be on or off");
  if (const auto problem = options.confine.problem()) return refuse(*problem);
  if (const auto age = parse_ui_session(options.ui_session); !age) return refuse("--ui-session: " + age.error());
  if (!parse_networks(options.import_blocked_networks))
    return refuse("--import-blocked-networks must be networks, such as 169.254.0.0/16,fe80::/10");
  settle_node(options);
  const bool on_this_host = options.node_kind == "libvirt";
  if (!options.node_kind.empty() && !on_this_host && options.node_kind != "external" &&
      options.node_kind != "simulated")
    return refuse("--node must be libvirt, external, simulated or none");
  const std::int64_t nodes_max = on_this_host ? limits::local_nodes_max : limits::simulated_nodes_max;
  if (options.nodes < 1 || options.nodes > nodes_max)
    return refuse(fmt::format("--nodes must be from 1 to {}", nodes_max));
  if (!options.libvirt.empty() && !on_this_host) return refuse("--libvirt requires --node libvirt");
  options.confine.runs_guests = on_this_host;
  if (!options.node_kind.empty() && options.api_only) return refuse("--node is mutually exclusive with --api-only");
  const auto listen = parse_listen_address(options.listen);
  if (!listen) return refuse(listen.error());
  set_log_format(options.log_format, output.err);
  if (options.default_instancetypes.empty()) options.default_instancetypes = options.api_only ? "false" : "true";
  // Alone on its host, this server has all that there is of CDI. Behind --api-only may be a whole cluster.
  options.node.simulated = options.node_kind == "simulated";
  if (!options.api_only) options.node.cdi = resources::CdiAccess::granted;
  return serve(options, *listen, output);
}

}  // namespace vg::cmd
