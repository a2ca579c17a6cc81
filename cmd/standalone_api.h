// The Kubernetes API of the standalone mode: the store, who may do what, and the resources, put together.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/admit.h"
#include "admission/store_lookups.h"
#include "auth/identify.h"
#include "auth/reviews.h"
#include "auth/static_tokens.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/status.h"
#include "config/stored_config.h"
#include "engine/elsewhere.h"
#include "engine/engine.h"
#include "engine/event_sink.h"
#include "housekeeping/controllers.h"
#include "housekeeping/storage_objects.h"
#include "housekeeping/system_controller.h"
#include "http/core.h"
#include "journal/journal.h"
#include "journal/service.h"
#include "local/node_authorizer.h"
#include "local/rbac.h"
#include "local/service_account_tokens.h"
#include "objects/quota_keeper.h"
#include "ports/node_link.h"
#include "resources/api.h"
#include "resources/audit.h"
#include "server/health.h"
#include "server/router.h"
#include "simulated/simulated.h"
#include "store/embedded_store.h"

namespace vg::cmd {

struct StandaloneApiOptions {
  std::filesystem::path state;  // the folder that holds everything
  std::string admin_token;      // for tests; empty: what pki/admin.token holds, now and whenever it changes
  std::string authority_pem;    // trusted by and for the nodes
  std::string server_url;       // under which this server is known
  // What a control plane keeps, as far as this server is the one that does; absent: none of it.
  std::optional<resources::SystemFacts> system = std::nullopt;
  bool default_instancetypes = false;
  std::optional<resources::StorageFacts> storage = std::nullopt;  // absent: no disks are kept here
  std::size_t audit_bytes_max = resources::AuditLog::bytes_max_default;
  bool audit_required = false;  // refuse changes that cannot be recorded
  std::optional<resources::AuditPolicy> audit_policy = {};
  resources::AuditRotation audit_rotation = {};
  bool journal = true;                                         // of requests
  bool marks = false;                                          // resources::Backend
  metrics::Registry* metrics = nullptr;                        // outlives the API; null: not counted
  std::shared_ptr<const store::ValueCipher> cipher = nullptr;  // for Secrets in the store's file
  resources::QuotaKeeper::Usages quota_usages = resources::QuotaKeeper::Usages::kept;
  std::vector<std::string> local_nodes = {};                    // that will report, with controllers
  std::vector<std::string> leaving_nodes = {};                  // of these, which take no guests any more
  std::optional<simulated::NodesOptions> simulated_nodes = {};  // with controllers; absent: others are the nodes
};

// What goes on by itself.
enum class Runs : std::uint8_t {
  nothing,       // others are the controllers
  housekeeping,  // deletion, and what a control plane keeps
  controllers,   // also those of VMs
};

// What controllers reach beside objects. What is null is not there.
struct Machine {
  DiskAgent* disks = nullptr;
  NodeLink* nodes = nullptr;
  controllers::ServerPlace place = {};
  const GuestProcesses* guests = nullptr;
};

class StandaloneApi {
 public:
  // Opens the store and brings it to what a first start needs. The clock outlives this.
  static Result<std::unique_ptr<StandaloneApi>> open(const StandaloneApiOptions& options, const Clock& clock);
  ~StandaloneApi();

  const auth::Identifier& identifier() const { return identifier_; }
  // Before the first request.
  void let_sessions_in(const auth::SessionVerifier& sessions) { identifier_.let_sessions_in(sessions); }
  ObjectStore& store() { return *store_; }
  Authorizer& authorizer() { return authorizer_; }
  resources::ResourceApi& api() { return *api_; }
  const config::ConfigSource& config() const { return config_; }
  const admission::Environment& admission() const { return admission_; }
  void add_routes(server::Router& router, server::HealthRegistry& health);

  // On the core, before it runs: what goes on in the background. System objects are kept if the options say what they
  // are. Events are written on `event_core`.
  void start(Core& core, Core& event_core, Runs runs, Machine machine = {});
  // After the cores have stopped, before they are destroyed: waits until the store has answered everything.
  void stop();

 private:
  StandaloneApi(std::unique_ptr<resources::QuotaKeeper> quotas, std::unique_ptr<store::EmbeddedStore> store,
                std::unique_ptr<resources::AuditLog> audit, std::unique_ptr<journal::Journal> journal,
                std::unique_ptr<local::ServiceAccountTokens> tokens,
                std::vector<std::shared_ptr<const auth::TokenVerifier>> verifiers,
                const resources::ContinueTokens& continue_tokens, const Clock& clock);
  Task<void> keep_showing_health(Core& core);
  Task<void> run_controllers(Core& core);
  void add_token_documents(std::string_view server_url);

  const Clock& clock_;
  std::unique_ptr<resources::QuotaKeeper> quotas_;  // the store's guard
  std::unique_ptr<store::EmbeddedStore> store_;
  resources::Commits commits_;
  config::StoredConfig config_;
  admission::StoreLookups stored_;
  admission::ReadyLookups lookups_;
  admission::Environment admission_;
  std::unique_ptr<resources::AuditLog> audit_;
  std::unique_ptr<journal::Journal> journal_;
  std::vector<std::shared_ptr<const auth::TokenFile>> token_files_;
  metrics::Registry* metrics_ = nullptr;
  const server::HealthRegistry* health_ = nullptr;
  std::unique_ptr<local::ServiceAccountTokens> tokens_;
  auth::Identifier identifier_;
  local::Rbac rbac_;
  local::NodeAuthorizer authorizer_;
  auth::ReviewParts reviews_;
  journal::Service requests_;
  std::unique_ptr<resources::ResourceApi> api_;
  std::optional<resources::SystemFacts> system_;
  std::vector<std::unique_ptr<resources::Controller>> controllers_;
  std::optional<simulated::NodesOptions> simulated_nodes_;
  std::vector<std::string> local_nodes_, leaving_nodes_;
  std::vector<controllers::Controller> rows_;  // those of the engine
  std::shared_ptr<engine::EventSink> events_;
  std::unique_ptr<engine::Elsewhere> elsewhere_;
  std::unique_ptr<engine::Engine> engine_;
  std::atomic<const engine::Engine*> running_engine_ = nullptr;  // for those on other threads who ask how it goes
  std::vector<Background> tasks_;
};

}  // namespace vg::cmd
