#include "node.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "../memory.h"
#include "../runtime_folder.h"
#include "../signals.h"
#include "base/background.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/handler_limits.h"
#include "base/helper_limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "handler/place.h"
#include "handler/server/service.h"
#include "helpers/heartbeat.h"
#include "http/certificates.h"
#include "http/server.h"
#include "kube/client.h"
#include "kube/cluster_access.h"
#include "kube/credentials.h"
#include "kube/rate_limiter.h"
#include "otlp/exporter.h"
#include "parts.h"

namespace vg::cmd {
namespace {

// One follows the VMIs, the other has streams beside it: a guest that floods its console delays no other guest.
constexpr unsigned cores = 2;
constexpr std::chrono::hours nothing_is_due{24};
constexpr std::string_view link_authority = "handler-clients";
constexpr std::string_view client_common_name = "kubevirt.io:system:client:virt-handler";

Result<handler::NodePlace> place_of(const NodeProgramOptions& options) {
  auto sockets = make_runtime_folder(options.state, options.node);
  if (!sockets) return fail(sockets.error());
  return handler::NodePlace{.name = options.node,
                            .state = fmt::format("{}/nodes/{}", options.state, options.node),
                            .sockets = std::move(*sockets),
                            .disks = options.state + "/disks",
                            .images = options.state + "/images",
                            .handler_address = {},
                            .nodes = static_cast<unsigned>(std::max<std::int64_t>(options.nodes, 1))};
}

Result<kube::ClusterAccess> access_of(const NodeProgramOptions& options, const handler::NodePlace& place) {
  auto access = kube::parse_server_url(options.server);
  if (!access) return access;
  access->authorities.file = place.state + "/pki/ca.crt";
  access->certificate.file = place.state + "/pki/api.crt";
  access->key.file = place.state + "/pki/api.key";
  return access;
}

// What a guest is shown that wants TLS on its vsock (spec subresources 3.6). Its own certificate is nobody's business
// but its user's. Read each time: the server renews the files.
Result<std::shared_ptr<const http::TlsClientContext>> vsock_tls(const std::string& pki) {
  auto certificate = read_file(pki + "/vsock.crt", limits::config_file_bytes_max);
  if (!certificate) return fail(std::move(certificate.error()));
  auto key = read_file(pki + "/vsock.key", limits::config_file_bytes_max);
  if (!key) return fail(std::move(key.error()));
  http::TlsClientConfig config;
  config.certificate_pem = std::move(*certificate);
  config.key_pem = std::move(*key);
  config.verify = false;
  config.min_version = http::TlsVersion::tls1_3;
  return http::TlsClientContext::create(config);
}

// The composition root of a node.
class Node {
 public:
  static Result<std::unique_ptr<Node>> create(const NodeProgramOptions& options);
  void run();

 private:
  Node(handler::NodePlace place, kube::ClusterAccess access, otlp::Settings tracing)
      : place_(std::move(place)), tracing_(std::move(tracing)), credentials_(std::move(access), clock_) {}
  Result<void> listen(int listener);
  Result<void> load_certificates();
  void on_signal();

  ProcessSignals signals_;
  SystemClock clock_;
  const handler::NodePlace place_;
  const otlp::Settings tracing_;
  metrics::Registry metrics_;
  kube::Credentials credentials_;
  kube::RateLimiter limiter_{clock_, {}};
  kube::Client api_{
      {.credentials = credentials_, .limiter = limiter_, .metrics = &metrics_, .user_agent = "virtgate-node"}};
  std::unique_ptr<NodeParts> parts_;
  std::unique_ptr<handler::Service> service_;
  std::unique_ptr<http::Server> server_;
  std::optional<http::CertificateWatcher> certificates_;  // lives on a core of the server, so it goes first
  std::optional<helpers::Heartbeat> heartbeat_;
  Background beating_;  // likewise
  std::atomic<bool> stopping_{false};
};

// A node whose loop stands still is replaced by whoever looks after it; guests do not notice.
Task<void> beat(Core& core, helpers::Heartbeat& heartbeat) {
  while (true) {
    heartbeat.beat();
    co_await core.sleep(limits::helper_beat_interval);
  }
}

Result<std::unique_ptr<Node>> Node::create(const NodeProgramOptions& options) {
  // Ours, and of no program that we start.
  for (const std::int64_t inherited : {options.listener, options.heartbeat})
    ::fcntl(static_cast<int>(inherited), F_SETFD, FD_CLOEXEC);
  auto place = place_of(options);
  if (!place) return fail(place.error());
  auto access = access_of(options, *place);
  if (!access) return fail(access.error());
  auto tracing = otlp::read_process_settings("virtgate-node");
  if (!tracing) return fail(tracing.error());
  tracing->resource.emplace_back("k8s.node.name", options.node);
  // What may be in it is for the collector alone, and not for the programs that a node starts.
  for (const char* name : {"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"})
    ::unsetenv(name);  // NOLINT(concurrency-mt-unsafe): before the first thread
  std::unique_ptr<Node> node(new Node(std::move(*place), std::move(*access), std::move(*tracing)));
  auto parts = NodeParts::open({.place = node->place_,
                                .libvirt = options.libvirt,
                                .state = options.state,
                                .sandbox = options.sandbox,
                                .blocked = options.blocked});
  if (!parts) return fail(parts.error());
  node->parts_ = std::move(*parts);
  node->service_ = std::make_unique<handler::Service>(
      handler::Service::Parts{.hypervisor = node->parts_->hypervisor(),
                              .place = node->place_,
                              .metrics = node->metrics_,
                              .hooks = node->parts_->hooks(),
                              .problem = [parts = node->parts_.get()] { return parts->problem(); },
                              .vsock_tls = [pki = node->place_.state + "/pki"] { return vsock_tls(pki); }});
  if (options.heartbeat >= 0)
    node->heartbeat_ = helpers::Heartbeat::open(Descriptor(static_cast<int>(options.heartbeat)));
  if (auto listening = node->listen(static_cast<int>(options.listener)); !listening) return fail(listening.error());
  node->parts_->follow(
      {.core = node->server_->core(0), .api = node->api_, .clock = node->clock_, .metrics = node->metrics_});
  return node;
}

Result<void> Node::listen(int listener) {
  http::ServerConfig config;
  config.bound = listener;
  config.cores = cores;
  config.connections_max = limits::handler_connections_max;
  config.metrics = &metrics_;
  auto server = http::Server::create(std::move(config), *service_);
  if (!server) return fail(server.error());
  server_ = std::move(*server);
  if (auto loaded = load_certificates(); !loaded) return loaded;
  return server_->listen();
}

// Only the server has the other side's certificate; its authority signs those of users as well.
Result<void> Node::load_certificates() {
  certificates_.emplace(server_->core(0),
                        http::CertificateWatcher::Options{.name = "handler",
                                                          .certificate_path = place_.state + "/pki/handler.crt",
                                                          .key_path = place_.state + "/pki/handler.key",
                                                          .metrics = &metrics_},
                        [this](const http::CertificateWatcher::Pair& pair) -> Result<void> {
                          auto authority = read_file(place_.state + "/pki/ca.crt", limits::config_file_bytes_max);
                          if (!authority) return fail(authority.error());
                          http::TlsServerConfig tls;
                          tls.certificate_pem = pair.certificate_pem;
                          tls.key_pem = pair.key_pem;
                          tls.client_authorities.push_back({.name = std::string(link_authority),
                                                            .certificates_pem = std::move(*authority),
                                                            .common_names = {std::string(client_common_name)}});
                          return server_->set_tls(tls);
                        });
  return certificates_->load();
}

void Node::run() {
  const auto spans = otlp::Exporter::start(tracing_, metrics_);
  certificates_->start();
  log::info("the node runs", {{"node", place_.name}, {"sockets", place_.sockets}});
  return_start_up_memory();
  ProcessSignals::Watch watch(signals_, nothing_is_due, [this](int) { on_signal(); }, [] {});
  if (heartbeat_) server_->core(0).post([this] { beating_ = Background(beat(server_->core(0), *heartbeat_)); });
  server_->run();
  service_->stop();
  parts_->stop();
  api_.close();
}

void Node::on_signal() {
  if (stopping_.exchange(true)) return server_->stop();
  log::info("the node stops; its guests run on", {{"node", place_.name}});
  server_->drain(limits::node_drain_deadline);
}

}  // namespace

Result<void> run_node(const NodeProgramOptions& options) {
  auto node = Node::create(options);
  if (!node) return fail(node.error());
  (*node)->run();
  return {};
}

}  // namespace vg::cmd
