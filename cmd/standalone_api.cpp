#include "standalone_api.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/controller_limits.h"
#include "base/files.h"
#include "base/log.h"
#include "base/store_limits.h"
#include "base/time_rfc3339.h"
#include "catalog/catalog.h"
#include "controllers/all.h"
#include "housekeeping/event_expiry.h"
#include "housekeeping/first_start.h"
#include "housekeeping/flow_objects.h"
#include "journal/document.h"
#include "json/access.h"
#include "local/bootstrap_roles.h"
#include "local/pki.h"
#include "objects/draft.h"
#include "objects/own_writes.h"
#include "resources/tables/table_call.h"
#include "returning_nodes.h"
#include "server/kubernetes_checks.h"
#include "store/state_files.h"

namespace vg::cmd {
namespace {

constexpr std::chrono::seconds health_interval{1};

std::string_view manager_of(local::RoleWriter writer) {
  switch (writer) {
    case local::RoleWriter::kubernetes:
      return resources::own_writers::kube_apiserver;
    case local::RoleWriter::kubevirt:
      return resources::own_writers::virt_operator;
    case local::RoleWriter::aggregation:
      return resources::own_writers::role_aggregation;
  }
  return {};
}

ObjectDraft draft_role(const local::RoleDraft& wanted, const Clock& clock) {
  const resources::Resource& resource = *resources::find_resource(wanted.resource);
  const std::string now = print_rfc3339(Timestamp::from(clock.wall_now()));
  const resources::OwnWriter writer{.manager = manager_of(wanted.writer), .subresource = {}, .now = now};
  json::Value object(json::Object(wanted.object, wanted.object.storage()));
  if (!wanted.existing) {
    resources::note_own_write(object, nullptr, resource, writer);
  } else {
    json::Value old = resources::load_object(*wanted.existing, object.storage());
    if (wanted.writer == local::RoleWriter::aggregation) {
      const json::Value* rules = json::find(object.get_object(), "rules");
      resources::apply_own_fields(old, {{"rules", rules ? *rules : json::Value(json::Array())}}, resource, writer);
      object = std::move(old);
    } else {
      resources::note_own_write(object, &old, resource, writer);
    }
  }
  return resources::make_draft(object.get_object(), resource);
}

local::MakeDraft roles_drafted(const Clock& clock) {
  return [&clock](const local::RoleDraft& wanted) { return draft_role(wanted, clock); };
}

std::shared_ptr<const auth::TokenVerifier> fixed_administrator(const std::string& token) {
  std::vector<auth::StaticToken> fixed;
  fixed.push_back({.token = token,
                   .user = {.name = std::string(local::admin_user),
                            .uid = {},
                            .groups = {std::string(local::admin_group)},
                            .extra = {}}});
  return std::make_shared<auth::StaticTokens>(std::move(fixed));
}

auth::AuthenticationObserver recorded_in(resources::AuditLog& audit) {
  return [&audit](const auth::FailedAuthentication& failed) {
    const http::Request& request = failed.request;
    audit.write({.request_id = request.id,
                 .address = request.peer ? std::string_view(request.peer->address) : std::string_view("-"),
                 .credential = failed.credential,
                 .method = request.method,
                 .path = request.path,
                 .reason = failed.reason});
  };
}

}  // namespace

StandaloneApi::StandaloneApi(std::unique_ptr<resources::QuotaKeeper> quotas,
                             std::unique_ptr<store::EmbeddedStore> store, std::unique_ptr<resources::AuditLog> audit,
                             std::unique_ptr<journal::Journal> journal,
                             std::unique_ptr<local::ServiceAccountTokens> tokens,
                             std::vector<std::shared_ptr<const auth::TokenVerifier>> verifiers,
                             const resources::ContinueTokens& continue_tokens, const Clock& clock)
    : clock_(clock),
      quotas_(std::move(quotas)),
      store_(std::move(store)),
      commits_(*store_),
      config_(*store_, std::string(resources::kubevirt_namespace), resources::machine_architecture()),
      stored_(*store_),
      lookups_(stored_),
      admission_{.config = config_,
                 .lookups = lookups_,
                 .clock = clock_,
                 .own_namespace = std::string(resources::kubevirt_namespace)},
      audit_(std::move(audit)),
      journal_(std::move(journal)),
      tokens_(std::move(tokens)),
      identifier_(std::move(verifiers)),
      rbac_(*store_),
      authorizer_(rbac_, *store_),
      reviews_{.authorizer = authorizer_,
               .rules = rbac_,
               .identifier = identifier_,
               .issuer = *tokens_,
               .store = *store_,
               .clock = clock_},
      requests_(
          {.journal = *journal_, .follow = journal::follow_in(*store_, clock_), .authorizer = rbac_, .clock = clock_}) {
  identifier_.observe_failures(recorded_in(*audit_));
  identifier_.let_nodes_be(fmt::format("system:serviceaccount:{}:kubevirt-handler", resources::kubevirt_namespace));
  api_ = std::make_unique<resources::ResourceApi>(resources::ApiParts{.store = *store_,
                                                                      .commits = commits_,
                                                                      .authorizer = authorizer_,
                                                                      .identifier = identifier_,
                                                                      .clock = clock_,
                                                                      .rules = rbac_,
                                                                      .table = resources::make_table,
                                                                      .admission = admission_,
                                                                      .reviews = reviews_,
                                                                      .audit = *audit_,
                                                                      .journal = *journal_,
                                                                      .quotas = *quotas_,
                                                                      .continue_tokens = continue_tokens});
}

StandaloneApi::~StandaloneApi() { quotas_->stop(); }

namespace {

// Whether a start can go on without having written its own objects: the disk is full, and `resource` has those of an
// earlier start. What is stored can be read then, and there is a server with which something can be deleted.
bool can_wait(const Status& status, const ObjectStore& store, std::string_view resource) {
  if (status.code != 503 || store.count(resource) == 0) return false;
  log::warning("the server's own objects cannot be brought up to date; the next start tries again",
               {{"resource", resource}, {"reason", status.message}});
  return true;
}

Result<std::unique_ptr<store::EmbeddedStore>> open_store(const StandaloneApiOptions& options, CommitGuard& guard) {
  store::Options store_options;
  store_options.cipher = options.cipher;
  store_options.path = store::store_path(options.state);
  store_options.guard = &guard;
  store_options.health_changed = [](const StoreHealth& health) {
    if (health.ok)
      log::info("the store accepts writes again");
    else
      log::error("the store does not accept writes", {{"reason", health.message}});
  };
  return store::EmbeddedStore::open(std::move(store_options));
}

Result<std::unique_ptr<resources::AuditLog>> open_audit(const StandaloneApiOptions& options, const Clock& clock) {
  return resources::AuditLog::open({.folder = options.state.native(),
                                    .bytes_max = options.audit_bytes_max,
                                    .required = options.audit_required,
                                    .policy = options.audit_policy,
                                    .rotation = options.audit_rotation,
                                    .clock = clock,
                                    .metrics = options.metrics});
}

Result<std::unique_ptr<journal::Journal>> open_journal(const StandaloneApiOptions& options, const Clock& clock) {
  return journal::Journal::open({.records = options.journal,
                                 .folder = options.journal ? (options.state / "journal").native() : std::string(),
                                 .clock = clock,
                                 .metrics = options.metrics});
}

}  // namespace

Result<std::unique_ptr<StandaloneApi>> StandaloneApi::open(const StandaloneApiOptions& options, const Clock& clock) {
  auto quotas = std::make_unique<resources::QuotaKeeper>(options.quota_usages, clock);
  auto store = open_store(options, *quotas);
  if (!store) return fail(std::move(store.error()));
  quotas->attach(**store);
  const resources::FirstStart first{.ca_bundle = options.authority_pem,
                                    .architecture = resources::machine_architecture(),
                                    .system = options.system,
                                    .default_instancetypes = options.default_instancetypes,
                                    .storage = options.storage};
  const auto started = resources::first_start(**store, first, clock);
  if (!started && !can_wait(started.error(), **store, "namespaces")) return fail(started.error());
  const auto roles = local::bootstrap_roles(**store, clock, roles_drafted(clock));
  if (!roles && !can_wait(roles.error(), **store, "rbac.authorization.k8s.io/clusterroles")) return fail(roles.error());
  auto tokens = local::ServiceAccountTokens::open(options.state / "pki" / "service-account.key",
                                                  local::lookup_in(**store), clock);
  if (!tokens) return fail(std::move(tokens.error()));
  // Clients go on with their lists after a restart, so the key comes from a secret that stays.
  const auto secret =
      read_file((options.state / "pki" / "service-account.key").native(), store_limits::key_file_bytes_max);
  if (!secret) return fail(secret.error());
  const resources::ContinueTokens continue_tokens(*secret);
  auto audit = open_audit(options, clock);
  if (!audit) return fail(std::move(audit.error()));
  auto journal = open_journal(options, clock);
  if (!journal) return fail(std::move(journal.error()));

  const std::filesystem::path pki = options.state / "pki";
  std::vector<std::shared_ptr<const auth::TokenFile>> files;
  if (options.admin_token.empty())
    files.push_back(std::make_shared<auth::TokenFile>((pki / "admin.token").native(), clock, local::parse_admin_token));
  files.push_back(std::make_shared<auth::TokenFile>((pki / "tokens.csv").native(), clock));
  std::vector<std::shared_ptr<const auth::TokenVerifier>> verifiers(files.begin(), files.end());
  if (!options.admin_token.empty()) verifiers.push_back(fixed_administrator(options.admin_token));
  // Owned by the result, which also owns the identifier that asks it.
  verifiers.push_back(std::shared_ptr<const auth::TokenVerifier>(std::shared_ptr<void>(), tokens->get()));
  std::unique_ptr<StandaloneApi> made(new StandaloneApi(std::move(quotas), std::move(*store), std::move(*audit),
                                                        std::move(*journal), std::move(*tokens), std::move(verifiers),
                                                        continue_tokens, clock));
  made->token_files_ = std::move(files);
  made->metrics_ = options.metrics;
  made->system_ = options.system;
  made->simulated_nodes_ = options.simulated_nodes;
  made->local_nodes_ = options.local_nodes;
  made->leaving_nodes_ = options.leaving_nodes;
  made->api_->backend().marks = options.marks;
  made->api_->backend().fills_data_volumes = options.storage.has_value();
  made->add_token_documents(options.server_url);
  made->api_->add_group(std::string(journal::api_group),
                        [&requests = made->requests_](resources::SpecialRequest& asked) {
                          return requests.serve(asked.call, asked.info, asked.user);
                        });
  return made;
}

// How others check the tokens of service accounts.
void StandaloneApi::add_token_documents(std::string_view server_url) {
  api_->add_document(std::string(auth::openid_path),
                     {.content_type = "application/json",
                      .body = [text = local::ServiceAccountTokens::openid_configuration(server_url)] { return text; }});
  api_->add_document(std::string(auth::jwks_path),
                     {.content_type = "application/jwk-set+json", .body = [text = tokens_->jwks()] { return text; }});
}

void StandaloneApi::add_routes(server::Router& router, server::HealthRegistry& health) {
  api_->add_routes(router);
  const auto store = [this]() -> std::optional<std::string> {
    const StoreHealth now = store_->health();
    if (now.ok) return std::nullopt;
    return fmt::format("the store does not accept writes{}{}; see the log", now.shown.empty() ? "" : ": ", now.shown);
  };
  health.add("store", server::HealthScope::readiness, store);
  using enum server::HealthScope;
  health.add("audit", audit_->required() ? readiness : degraded, [this] { return audit_->problem(); });
  health.add("tokens", degraded, [this]() -> std::optional<std::string> {
    for (const auto& file : token_files_)
      if (auto problem = file->problem()) return problem;
    return std::nullopt;
  });
  health.add("controllers", degraded, [this]() -> std::optional<std::string> {
    const engine::Engine* engine = running_engine_.load(std::memory_order_acquire);
    return engine ? engine->problem() : std::nullopt;
  });
  server::add_kubernetes_checks(health, store);
  health_ = &health;
}

Task<void> StandaloneApi::keep_showing_health(Core& core) {
  auto& shown =
      metrics_->gauges("virtgate_health_degraded", "1 while a check of /readyz reports a degraded state.", {"check"});
  while (true) {
    health_->show_degraded(shown);
    co_await core.sleep(health_interval);
  }
}

// Nodes give a sign of life before anybody looks whether they are lost.
Task<void> StandaloneApi::run_controllers(Core& core) {
  if (simulated_nodes_) co_await simulated::start_nodes(api_->backend(), core, *simulated_nodes_);
  if (!local_nodes_.empty()) co_await expect_nodes(api_->backend(), core, local_nodes_, leaving_nodes_);
  co_await engine_->run();
}

void StandaloneApi::start(Core& core, Core& event_core, Runs runs, Machine machine) {
  quotas_->start();
  audit_->keep_flushing();
  core.post([this, &core, &event_core, runs, machine = std::move(machine)] {
    const auto keep = [this, &core](std::string what, std::function<Task<void>()> task) {
      tasks_.emplace_back(keep_running(core, std::move(what), std::move(task)));
    };
    keep("flushing the journal", [this, &core] { return journal_->keep_flushing(core); });
    if (metrics_ && health_) keep("showing health", [this, &core] { return keep_showing_health(core); });
    const resources::ControllerParts parts{.store = *store_, .commits = commits_, .core = core, .clock = clock_};
    const auto run = [this, keep](std::unique_ptr<resources::Controller> controller) {
      keep("housekeeping", [made = controllers_.emplace_back(std::move(controller)).get()] { return made->run(); });
    };
    run(resources::make_flow_controller(
        parts, {.classification = api_->flows(), .seats = metrics_ ? &resources::nominal_seats(*metrics_) : nullptr},
        runs == Runs::nothing ? resources::FlowWrites::none : resources::FlowWrites::all));
    if (runs == Runs::nothing) return;
    run(resources::make_deletion_controller(
        parts, [this] { return local::plan_aggregations(*store_, rbac_, roles_drafted(clock_)); }));
    run(resources::make_event_expiry(parts, limits::event_life, limits::event_expiry_interval));
    if (system_ && !system_->own_place_only) run(resources::make_system_controller(parts, *system_));
    if (runs != Runs::controllers && !machine.disks) return;
    const auto rows = runs == Runs::controllers ? controllers::all() : controllers::of_storage();
    rows_.assign(rows.begin(), rows.end());
    if (simulated_nodes_)
      for (const controllers::Controller& row : simulated::controllers()) rows_.push_back(row);
    if (&core != &event_core) {
      events_ = std::make_shared<engine::EventSink>(api_->backend(), event_core);
      elsewhere_ = std::make_unique<engine::Elsewhere>(event_core);
    }
    engine_ = std::make_unique<engine::Engine>(engine::Engine::Parts{.backend = api_->backend(),
                                                                     .core = core,
                                                                     .config = config_,
                                                                     .metrics = *metrics_,
                                                                     .controllers = rows_,
                                                                     .disks = machine.disks,
                                                                     .nodes = machine.nodes,
                                                                     .place = machine.place,
                                                                     .events = events_.get(),
                                                                     .guests = machine.guests,
                                                                     .elsewhere = elsewhere_.get()});
    keep("running controllers", [this, &core] { return run_controllers(core); });
    running_engine_.store(engine_.get(), std::memory_order_release);
  });
}

void StandaloneApi::stop() {
  tasks_.clear();
  controllers_.clear();
  running_engine_.store(nullptr, std::memory_order_release);
  if (elsewhere_) elsewhere_->stop();
  engine_ = nullptr;
  if (events_) events_->stop();
  quotas_->stop();
  commits_.wait_for_all();
  audit_->finish();
  journal_->flush();
}

}  // namespace vg::cmd
