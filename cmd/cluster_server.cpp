#include "cluster_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "actions/action.h"
#include "actions/service.h"
#include "actions/stream_ledger.h"
#include "admission/admit.h"
#include "auth/identify.h"
#include "base/background.h"
#include "base/budgets.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/guest_address.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "cluster_journal.h"
#include "cluster_page.h"
#include "housekeeping/first_start.h"
#include "http/certificates.h"
#include "http/descriptors.h"
#include "http/server.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/parse.h"
#include "kube/access_reviews.h"
#include "kube/aggregated_api.h"
#include "kube/api_server_health.h"
#include "kube/client.h"
#include "kube/cluster_access.h"
#include "kube/credentials.h"
#include "kube/front_proxy.h"
#include "kube/live_config.h"
#include "kube/lookups.h"
#include "kube/object_api.h"
#include "kube/proxy_choice.h"
#include "kube/rate_limiter.h"
#include "kube/reflector.h"
#include "kube/tls_settings.h"
#include "kube/webhook_client.h"
#include "memory.h"
#include "node/handler_link.h"
#include "node/pod_link.h"
#include "otlp/exporter.h"
#include "profile/process_profiler.h"
#include "server/fairness.h"
#include "server/health.h"
#include "server/process_metrics.h"
#include "server/router.h"
#include "server/webhooks.h"
#include "signals.h"
#include "ui_session.h"

namespace vg::cmd {
namespace {

constexpr std::uint16_t handler_port_without_a_flag = 8185;
// Balancers and kube-apiserver need a moment to learn that this pod goes; until then it serves as before (spec server
// Q8).
constexpr std::chrono::seconds farewell{5};
// Together with the farewell within the 30 s that a pod has.
constexpr std::chrono::seconds drain{20};
constexpr std::chrono::seconds waiting_note_interval{10};
// Whether the API server answers is asked apart from everything else: who waits for his turn is not ill.
constexpr kube::Rate health_rate{.per_second = 5, .burst = 10};
constexpr std::chrono::milliseconds look_interval{20};
constexpr std::string_view presets = "virtualmachineinstancepresets", restores = "virtualmachinerestores",
                           backups = "virtualmachinebackups";

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

// A core for what goes on beside requests: the copies of objects follow the API server on it.
class BackgroundCore {
 public:
  BackgroundCore() : loop_(http::EventLoop::create(1000)) {}
  ~BackgroundCore() { stop(); }
  Core& core() { return *loop_; }
  void start() {
    thread_ = std::thread([this] { loop_->run(); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    loop_->stop();
    thread_.join();
  }

 private:
  std::unique_ptr<http::EventLoop> loop_;
  std::thread thread_;
};

kube::Rate rate_of(const config::RateLimit& limit) { return {.per_second = limit.qps, .burst = limit.burst}; }

// The unspecified address means every address of both families (spec server Q1).
std::string listen_host(const ClusterOptions& options) {
  return options.listen == "0.0.0.0" || options.listen == "::" ? std::string() : options.listen;
}

class ClusterServer {
 public:
  ClusterServer(const ClusterOptions& options, kube::ClusterAccess access, std::string own_namespace,
                otlp::Settings tracing);
  ~ClusterServer();

  // `bound`: see http::ServerConfig.
  Result<void> run(int bound);

 private:
  using Reflectors = std::vector<std::unique_ptr<kube::Reflector>>;

  kube::Client::Parts client_parts(kube::RateLimiter& limiter, metrics::Registry* counted);
  kube::Reflector& follow(kube::Reflector::Options options);
  void follow_all();
  using ObserveAction = std::function<void(const server::Call&, const kube::ObservedAction&)>;
  ObserveAction observe_actions();
  void doubt_all();
  void refresh_all();
  void wait_for_copies();
  void configure();
  void read_front_proxy();
  void set_tls_settings(kube::TlsSettings settings);
  Result<void> update_tls();
  Result<void> load_webhook_client();
  Result<std::string> node_authorities();
  node::HandlerLinkOptions link_options(const ClusterOptions& options);
  void make_page(const kube::ClusterAccess& access);
  ClusterPeers::Parts peer_parts(const ClusterOptions& options);
  std::optional<http::ClientAuthority> peer_authority();
  kube::KubeLookups::Copies copies() const;
  void add_routes();
  Result<void> start_server(int bound);
  void on_signal(int signal);
  static Task<void> drain_later(Core& core, http::Server& server);

  const ClusterOptions options_;
  const std::string own_namespace_;
  const otlp::Settings tracing_;
  const std::string host_ = host_name();
  ProcessSignals signals_;
  SystemClock clock_;
  metrics::Registry metrics_;
  metrics::Gauge& ready_ =
      metrics_.gauge("kubevirt_virt_api_ready_status", "1 while this server serves requests, else 0.");
  server::HealthRegistry health_;
  server::Fairness fairness_{{.clock = clock_,
                              .metrics = metrics_,
                              .cores = allowed_cpus(),
                              .options = server::fair::default_options(allowed_cpus(), budgets::aggregated_user_seats),
                              .own_namespace = own_namespace_,
                              .holds_max = {limits::watches_max, limits::streams_max}}};
  BackgroundCore background_;
  kube::Credentials credentials_;
  kube::RateLimiter api_limiter_, review_limiter_, health_limiter_;
  kube::Client client_, review_client_, health_client_;
  // Filled before the background core starts, and only read from then on.
  Reflectors reflectors_;
  kube::Reflector *kubevirts_ = nullptr, *proxy_map_ = nullptr, *node_ca_ = nullptr, *presets_ = nullptr,
                  *restores_ = nullptr, *backups_ = nullptr;
  kube::LiveConfig config_;
  std::optional<kube::KubeLookups> lookups_;
  std::optional<admission::Environment> environment_;
  kube::KubeObjects objects_;
  std::optional<node::HandlerLink> nodes_;
  node::PodLink components_;
  profile::ProcessProfiler profiler_{clock_};
  std::optional<actions::StreamLedger> streams_;
  std::optional<actions::Service> service_;
  kube::AccessReviews reviews_;
  kube::ApiServerHealth api_health_;
  ReplicaProof replica_proof_{credentials_, review_client_, clock_};
  std::optional<ClusterPeers> peers_;  // none: there are no certificates to ask them with
  std::optional<ClusterJournal> journal_;
  std::optional<kube::AggregatedApi> api_;
  std::optional<ClusterPage> page_;  // none without --ui
  auth::Identifier identifier_{std::vector<std::shared_ptr<const auth::TokenVerifier>>()};
  std::unique_ptr<server::Router> router_;
  std::unique_ptr<http::Server> server_;
  // These live on a core of the server, so they go first.
  std::optional<http::CertificateWatcher> certificates_;
  std::optional<http::BundleWatcher> webhook_client_file_;

  // What TLS is made of; changes come from several threads.
  std::mutex tls_mutex_;
  std::string certificate_pem_, key_pem_;
  kube::TlsSettings tls_settings_;
  std::optional<http::ClientAuthority> webhook_client_;  // none: nobody asks who calls webhooks
  std::atomic<std::shared_ptr<const kube::FrontProxy>> front_proxy_;

  std::atomic<kube::Reflector::ObjectPtr> last_node_ca_;

  std::atomic<bool> serving_{false}, stopping_{false};
  Background draining_, probing_, recording_;  // on the background core
};

ClusterServer::ClusterServer(const ClusterOptions& options, kube::ClusterAccess access, std::string own_namespace,
                             otlp::Settings tracing)
    : options_(options),
      own_namespace_(std::move(own_namespace)),
      tracing_(std::move(tracing)),
      credentials_(access, clock_),
      api_limiter_(clock_, {}),
      review_limiter_(clock_, {}),
      health_limiter_(clock_, health_rate),
      client_(client_parts(api_limiter_, &metrics_)),
      review_client_(client_parts(review_limiter_, nullptr)),
      health_client_(client_parts(health_limiter_, &metrics_)),
      config_(own_namespace_, resources::machine_architecture()),
      objects_(client_),
      reviews_(review_client_, clock_, {.remember = std::chrono::seconds(options.allow_cache_seconds)}),
      api_health_(health_client_, config_, clock_, {}) {
  follow_all();
  lookups_.emplace(client_, copies());
  environment_.emplace(admission::Environment{
      .config = config_, .lookups = *lookups_, .clock = clock_, .own_namespace = own_namespace_});
  nodes_.emplace(objects_, link_options(options));
  streams_.emplace(metrics_, clock_);
  service_.emplace(
      actions::Parts{.objects = objects_,
                     .nodes = *nodes_,
                     .environment = *environment_,
                     .streams = {.ledger = *streams_,
                                 .ping_interval = std::chrono::seconds(options.stream_ping_seconds),
                                 .guest_networks = parse_networks(options.guest_networks).value_or(std::vector<Cidr>()),
                                 .guests_have_pods = options.guest_networks.empty()},
                     .components = components_,
                     .marks = options.marks});
  if (!options.handler_cert_file.empty() && options.journal == "on") peers_.emplace(peer_parts(options));
  journal_.emplace(ClusterJournal::Parts{.client = client_,
                                         .authorizer = reviews_,
                                         .clock = clock_,
                                         .metrics = metrics_,
                                         .records = options.journal == "on",
                                         .others = peers_ ? &*peers_ : nullptr});
  api_.emplace(kube::AggregatedApi::Parts{.actions = *service_,
                                          .authorizer = reviews_,
                                          .health = api_health_,
                                          .config = config_,
                                          .profiler = profiler_,
                                          .front_proxy = [this] { return front_proxy_.load(); },
                                          .observe = observe_actions(),
                                          .clock = &clock_});
  if (options.ui) make_page(access);
}

void ClusterServer::make_page(const kube::ClusterAccess& access) {
  page_.emplace(ClusterPage::Parts{.own = credentials_,
                                   .access = access,
                                   .config = config_,
                                   .clock = clock_,
                                   .session_age_max = *parse_ui_session(options_.ui_session),
                                   .ping_interval = std::chrono::seconds(options_.stream_ping_seconds)});
}

ClusterServer::ObserveAction ClusterServer::observe_actions() {
  if (!journal_->records()) return {};
  return [this](const server::Call& call, const kube::ObservedAction& action) { journal_->observe(call, action); };
}

// Nothing runs any more when members go: their order is that of their making, reversed.
ClusterServer::~ClusterServer() { background_.stop(); }

// Who is counted, and who waits for whom, is upstream's choice (spec server 1.3).
kube::Client::Parts ClusterServer::client_parts(kube::RateLimiter& limiter, metrics::Registry* counted) {
  return {.credentials = credentials_,
          .limiter = limiter,
          .metrics = counted,
          .user_agent = "virt-api/virtgate-" VIRTGATE_VERSION};
}

kube::Reflector& ClusterServer::follow(kube::Reflector::Options options) {
  const std::string name = options.name;
  auto& made =
      *reflectors_.emplace_back(std::make_unique<kube::Reflector>(client_, std::move(options), metrics_, clock_));
  health_.add("cache-" + name, server::HealthScope::readiness, [&made] { return made.problem(); });
  return made;
}

void ClusterServer::follow_all() {
  kubevirts_ = &follow({.name = "kubevirts", .group = "kubevirt.io", .version = "v1", .plural = "kubevirts"});
  proxy_map_ = &follow({.name = "front-proxy",
                        .group = "",
                        .version = "v1",
                        .plural = "configmaps",
                        .ns = std::string(kube::front_proxy_namespace),
                        .field_selector = fmt::format("metadata.name={}", kube::front_proxy_config_map)});
  node_ca_ = &follow({.name = "node-authorities",
                      .group = "",
                      .version = "v1",
                      .plural = "configmaps",
                      .ns = own_namespace_,
                      .field_selector = fmt::format("metadata.name={}", options_.ca_configmap_name)});
  presets_ =
      &follow({.name = std::string(presets), .group = "kubevirt.io", .version = "v1", .plural = std::string(presets)});
  restores_ = &follow({.name = std::string(restores),
                       .group = "snapshot.kubevirt.io",
                       .version = "v1beta1",
                       .plural = std::string(restores)});
  backups_ = &follow({.name = std::string(backups),
                      .group = "backup.kubevirt.io",
                      .version = "v1alpha1",
                      .plural = std::string(backups)});
  kubevirts_->on_change([this] { configure(); });
  kubevirts_->on_trouble([this] { api_health_.forget(); });
  proxy_map_->on_change([this] { read_front_proxy(); });
  node_ca_->on_change([this] {
    if (auto updated = update_tls(); !updated)
      log::error("the CA of replicas is not valid; the previous one stays in use",
                 {{"reason", updated.error().message}});
  });
}

// The API server does not answer: connections to it that are kept may be as dead.
void ClusterServer::doubt_all() {
  client_.doubt_connections();
  review_client_.doubt_connections();
  health_client_.doubt_connections();
  if (page_) page_->doubt_connections();
}

// The API server is back: watches that it does not know any more wait for nothing.
void ClusterServer::refresh_all() {
  for (const auto& reflector : reflectors_) reflector->refresh();
}

kube::KubeLookups::Copies ClusterServer::copies() const {
  kube::KubeLookups::Copies copies;
  copies.emplace(fmt::format("kubevirt.io/{}", presets), presets_);
  copies.emplace(fmt::format("snapshot.kubevirt.io/{}", restores), restores_);
  copies.emplace(fmt::format("backup.kubevirt.io/{}", backups), backups_);
  return copies;
}

// On the background core: what of the configuration is not read when it is used.
void ClusterServer::configure() {
  set_tls_settings(kube::tls_settings(*kubevirts_, own_namespace_));
  if (!config_.update(*kubevirts_)) return;
  const auto config = config_.current();
  log::set_verbosity(static_cast<int>(std::clamp<std::int64_t>(config->verbosity(host_), 0, 100)));
  api_limiter_.set(rate_of(config->api_rate_limit()));
  review_limiter_.set(rate_of(config->webhook_rate_limit()));
}

void ClusterServer::set_tls_settings(kube::TlsSettings settings) {
  {
    const std::scoped_lock lock(tls_mutex_);
    if (settings == tls_settings_) return;
    tls_settings_ = std::move(settings);
  }
  if (auto updated = update_tls(); !updated)
    log::error("the TLS settings of the KubeVirt object are not valid; the previous ones stay in use",
               {{"reason", updated.error().message}});
}

// On the background core. Who cannot be told apart any more is not believed: without a usable ConfigMap no certificate
// is taken. One that is gone, though, says nothing new.
void ClusterServer::read_front_proxy() {
  const auto map = proxy_map_->find(kube::front_proxy_namespace, kube::front_proxy_config_map);
  if (!map) return;
  std::shared_ptr<const kube::FrontProxy> found;
  if (auto read = kube::read_front_proxy(map->json); read)
    found = std::make_shared<const kube::FrontProxy>(std::move(*read));
  else
    log::error(
        "front-proxy CA not loaded (ConfigMap kube-system/extension-apiserver-authentication): all aggregated requests "
        "are refused with 401 until it is",
        {{"reason", read.error().message}});
  const auto before = front_proxy_.exchange(found);
  if (before == found || (before && found && *before == *found)) return;
  if (auto updated = update_tls(); !updated)
    log::error("the front-proxy CA is not valid; the previous one stays in use", {{"reason", updated.error().message}});
}

// From any thread.
Result<void> ClusterServer::update_tls() {
  const std::scoped_lock lock(tls_mutex_);
  if (!server_ || certificate_pem_.empty()) return {};
  http::TlsServerConfig tls;
  tls.certificate_pem = certificate_pem_;
  tls.key_pem = key_pem_;
  tls.min_version = tls_settings_.min_version;
  tls.ciphers = tls_settings_.ciphers;
  const auto proxy = front_proxy_.load();
  if (auto authority = proxy ? proxy->authority() : std::nullopt)
    tls.client_authorities.push_back(std::move(*authority));
  if (webhook_client_) tls.client_authorities.push_back(*webhook_client_);
  if (auto replicas = peer_authority()) tls.client_authorities.push_back(std::move(*replicas));
  return server_->set_tls(tls);
}

// Whoever asked that strangers be kept out is not served without that: a file that cannot be used ends the start.
Result<void> ClusterServer::load_webhook_client() {
  if (options_.webhook_client_ca_file.empty()) {
    log::warning(
        "webhooks can be called without a client certificate; use --webhook-client-ca-file to require that "
        "of kube-apiserver");
    return {};
  }
  const auto load = [this](const std::string& pem) -> Result<void> {
    {
      const std::scoped_lock lock(tls_mutex_);
      webhook_client_ = kube::webhook_client_authority(pem, options_.webhook_allowed_names);
    }
    return update_tls();
  };
  webhook_client_file_.emplace(server_->core(0), "CAs of webhook clients", options_.webhook_client_ca_file,
                               http::WatchTimes(), load);
  return webhook_client_file_->load();
}

// From any thread. The ConfigMap that was there last counts.
Result<std::string> ClusterServer::node_authorities() {
  const auto found = node_ca_->find(own_namespace_, options_.ca_configmap_name);
  if (found) last_node_ca_.store(found);
  const auto map = found ? found : last_node_ca_.load();
  if (!map)
    return fail(Status::unavailable(fmt::format("ConfigMap {}/{} not found, so no node can be trusted", own_namespace_,
                                                options_.ca_configmap_name)));
  json::Arena arena;
  const auto document = json::parse(map->json, arena.storage());
  const json::Value* bundle = document ? json::find_path(*document, {"data", "ca-bundle"}) : nullptr;
  return std::string(json::as_string(bundle).value_or(""));
}

node::HandlerLinkOptions ClusterServer::link_options(const ClusterOptions& options) {
  return {.ns = own_namespace_,
          .port = options.console_server_port == 0 ? handler_port_without_a_flag
                                                   : static_cast<std::uint16_t>(options.console_server_port),
          .certificate_file = options.handler_cert_file,
          .key_file = options.handler_key_file,
          .authorities = [this] { return node_authorities(); },
          .externally_managed = options.externally_managed};
}

ClusterPeers::Parts ClusterServer::peer_parts(const ClusterOptions& options) {
  return {.objects = objects_,
          .clock = clock_,
          .ns = own_namespace_,
          .port = static_cast<std::uint16_t>(options.port),
          .own_name = host_,
          .certificate_file = options.handler_cert_file,
          .key_file = options.handler_key_file,
          .authorities = [this] { return node_authorities(); },
          .externally_managed = options.externally_managed,
          .proof = replica_proof_};
}

// By which other replicas are known. One that cannot be read must not keep the front proxy out.
std::optional<http::ClientAuthority> ClusterServer::peer_authority() {
  if (!peers_) return std::nullopt;
  auto pem = node_authorities();
  if (!pem || !http::read_bundle(*pem)) return std::nullopt;
  http::ClientAuthority authority{
      .name = std::string(replica_authority), .certificates_pem = std::move(*pem), .common_names = {}};
  if (!options_.externally_managed) authority.common_names.emplace_back(replica_common_name);
  return authority;
}

void ClusterServer::add_routes() {
  router_ = std::make_unique<server::Router>(server::Router::Parts{.identifier = identifier_,
                                                                   .clock = clock_,
                                                                   .metrics = metrics_,
                                                                   .request_verbosity = log::verbosity_default,
                                                                   .fairness = fairness_});
  health_.add("event-loops", server::HealthScope::both, [this] { return server_->stall(); });
  health_.add("serving-certificate", server::HealthScope::readiness, [this]() -> std::optional<std::string> {
    if (certificates_->is_valid_at(clock_.wall_now())) return std::nullopt;
    return "there is no valid serving certificate";
  });
  health_.add("api-server", server::HealthScope::readiness, [this] { return api_health_.problem(); });
  health_.add("front-proxy", server::HealthScope::readiness, [this]() -> std::optional<std::string> {
    if (front_proxy_.load()) return std::nullopt;
    return "the front-proxy CA is not loaded";
  });
  server::add_check_routes(*router_, health_);
  server::add_metrics_route(*router_, server::Access::anyone, metrics_);
  // kube-apiserver calls webhooks without credentials unless it is told to show some (spec server Q19).
  server::add_webhook_routes(
      *router_, server::Access::anyone, metrics_, *environment_, kube::effects_through(client_),
      options_.webhook_client_ca_file.empty() ? server::refuse_nobody() : server::RefuseCaller(kube::refuse_stranger),
      journal_->records()
          ? server::ObserveReview([this](const server::Call& call, const server::ObservedReview& observed) {
              journal_->observe(call, observed);
            })
          : server::ObserveReview());
  journal_->add_routes(*router_, *api_);
  if (page_) page_->add_routes(*router_);
  api_->add_routes(*router_);
}

Result<void> ClusterServer::start_server(int bound) {
  add_routes();
  http::ServerConfig config;
  config.host = listen_host(options_);
  config.port = static_cast<std::uint16_t>(options_.port);
  config.bound = bound;
  config.metrics = &metrics_;
  auto server = http::Server::create(std::move(config), *router_);
  if (!server) return fail(std::move(server.error()));
  {
    const std::scoped_lock lock(tls_mutex_);
    server_ = std::move(*server);
  }
  if (auto loaded = load_webhook_client(); !loaded) return loaded;
  certificates_.emplace(server_->core(0),
                        http::CertificateWatcher::Options{.name = "serving",
                                                          .certificate_path = options_.tls_cert_file,
                                                          .key_path = options_.tls_key_file,
                                                          .metrics = &metrics_},
                        [this](const http::CertificateWatcher::Pair& pair) {
                          {
                            const std::scoped_lock lock(tls_mutex_);
                            certificate_pem_ = pair.certificate_pem;
                            key_pem_ = pair.key_pem;
                          }
                          return update_tls();
                        });
  if (auto loaded = certificates_->load(); !loaded)
    log::error("there is no serving certificate yet; TLS handshakes fail until there is one",
               {{"reason", loaded.error().message}});
  return server_->listen();
}

// Nobody is answered before everything is known that answers depend on.
void ClusterServer::wait_for_copies() {
  const auto waits_for = [this]() -> std::string {
    std::string names;
    for (const auto& reflector : reflectors_)
      if (!reflector->synced()) names += (names.empty() ? "" : ", ") + reflector->name();
    if (names.empty() && !front_proxy_.load())
      names = fmt::format("a ConfigMap {}/{} with the front-proxy CA", kube::front_proxy_namespace,
                          kube::front_proxy_config_map);
    return names;
  };
  auto noted = std::chrono::steady_clock::now();
  for (std::string names = waits_for(); !names.empty(); names = waits_for()) {
    std::this_thread::sleep_for(look_interval);
    if (std::chrono::steady_clock::now() - noted < waiting_note_interval) continue;
    noted = std::chrono::steady_clock::now();
    log::warning("still waiting for the API server; requests are not served yet", {{"for", names}});
  }
}

Result<void> ClusterServer::run(int bound) {
  const auto spans = otlp::Exporter::start(tracing_, metrics_);
  ProcessSignals::Watch watch(signals_, std::chrono::hours(1), [this](int signal) { on_signal(signal); }, [] {});
  background_.core().post([this] {
    for (const auto& reflector : reflectors_) reflector->start(background_.core());
    Core& core = background_.core();
    recording_ = Background(keep_running(core, "keeping the journal", [this, &core] { return journal_->keep(core); }));
    probing_ = Background(keep_running(core, "asking for the API server's health", [this, &core] {
      return api_health_.keep_asking(core, [this] { doubt_all(); }, [this] { refresh_all(); });
    }));
  });
  if (page_) page_->start(background_.core());
  background_.start();
  wait_for_copies();
  if (auto started = start_server(bound); !started) return started;
  certificates_->start();
  if (webhook_client_file_) webhook_client_file_->start();
  serving_ = true;
  ready_.set(1);
  log::info("serving", {{"port", options_.port}, {"namespace", own_namespace_}});
  return_start_up_memory();
  server_->run();
  ready_.set(0);
  background_.stop();
  fairness_.stop();
  streams_->tasks().clear();
  if (page_) page_->stop();
  nodes_->close();
  client_.close();
  review_client_.close();
  health_client_.close();
  return {};
}

Task<void> ClusterServer::drain_later(Core& core, http::Server& server) {
  co_await core.sleep(farewell);
  server.drain(drain);
}

void ClusterServer::on_signal(int signal) {
  if (!serving_) {
    log::info("stopping before requests were served");
    std::_Exit(128 + signal);
  }
  if (stopping_.exchange(true)) {
    log::info("stopping immediately");
    server_->stop();
    return;
  }
  log::info("stopping: serving for a moment longer, then completing the running requests");
  health_.begin_shutdown();
  ready_.set(0);
  background_.core().post([this] { draining_ = Background(drain_later(background_.core(), *server_)); });
}

// The kubeconfig's own proxy comes before the environment's.
Result<void> find_proxy(const kube::Environment& environment, kube::ClusterAccess& access) {
  if (!access.proxy) {
    auto choice = kube::choose_proxy(environment, access.origin);
    if (!choice) return fail(std::move(choice.error()));
    if (!choice->warning.empty()) log::warning(choice->warning);
    access.proxy = std::move(choice->proxy);
  }
  if (access.proxy) log::info("the API server is reached through a proxy", {{"proxy", access.proxy->shown()}});
  return {};
}

// The files that are read again while the server runs.
sandbox::Needs needs_of(const ClusterOptions& options, const kube::ClusterAccess& access) {
  return {.read_files = {options.tls_cert_file, options.tls_key_file, options.handler_cert_file,
                         options.handler_key_file, access.authorities.file, access.certificate.file, access.key.file,
                         access.token.file, options.webhook_client_ca_file},
          .listen_port = static_cast<std::uint16_t>(options.port)};
}

}  // namespace

Result<void> serve_cluster(const ClusterOptions& options) {
  log::set_component("virt-api");
  log::set_verbosity(static_cast<int>(std::clamp<std::int64_t>(options.verbosity, 0, 100)));
  return_large_blocks();
  keep_memory_private();
  if (const auto enough = http::allow_descriptors(limits::connections_max); !enough) return fail(enough.error());
  const auto environment = kube::process_environment();
  auto access = kube::find_cluster(options.kubeconfig, options.master, environment);
  if (!access) return fail(std::move(access.error()));
  if (auto found = find_proxy(environment, *access); !found) return fail(std::move(found.error()));
  auto own_namespace = kube::own_namespace();
  if (!own_namespace) return fail(std::move(own_namespace.error()));
  const auto bound = bind_privileged(listen_host(options), options.port);
  if (!bound) return fail(bound.error());
  auto tracing = otlp::read_process_settings("virt-api");
  if (!tracing) return fail(std::move(tracing.error()));
  if (auto confined = confine(options.confine, needs_of(options, *access)); !confined) return confined;
  return ClusterServer(options, std::move(*access), std::move(*own_namespace), std::move(*tracing)).run(*bound);
}

}  // namespace vg::cmd
