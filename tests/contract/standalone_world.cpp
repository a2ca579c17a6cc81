// One machine: the ports over the embedded store, as cmd/ puts them together, without a network.
#include <filesystem>

#include "admission/store_lookups.h"
#include "config/stored_config.h"
#include "cores.h"
#include "housekeeping/first_start.h"
#include "local/rbac.h"
#include "resources/api_test_support.h"
#include "resources/own_objects.h"
#include "standalone_api.h"
#include "store/testing.h"
#include "world.h"

namespace vg::contract {
namespace {

constexpr const char* admin_token = "secret";

// The store of somebody whose disk is gone.
class UnreadableStore final : public ObjectStore {
 public:
  void submit(Transaction, Completion done) override { done(fail(gone())); }
  Revision revision() const override { return 1; }
  ObjectPtr get(std::string_view, std::string_view, std::string_view) const override { return nullptr; }
  Result<ListPage> list(const ListQuery&) const override { return fail(gone()); }
  ObjectList owned_by(std::string_view) const override { return {}; }
  std::vector<std::string> resources() const override { return {}; }
  std::size_t count(std::string_view) const override { return 0; }
  Revision oldest_revision(std::string_view) const override { return 0; }
  Result<std::unique_ptr<Watch>> watch(WatchQuery, Waker) override { return fail(gone()); }
  StoreHealth health() const override { return {.ok = false, .message = "gone"}; }

 private:
  static Status gone() { return Status::unavailable("the disk is gone"); }
};

class StoredConfigUnderTest final : public ConfigUnderTest {
 public:
  StoredConfigUnderTest(const ObjectStore& store, std::string own_namespace)
      : config_(store, std::move(own_namespace), "amd64") {}
  const config::ConfigSource& source() const override { return config_; }
  void await_seen(std::string_view, std::string_view) override {}

 private:
  config::StoredConfig config_;
};

std::unique_ptr<cmd::StandaloneApi> open_api(const std::string& state, const Clock& clock) {
  std::filesystem::create_directories(state + "/pki");
  cmd::StandaloneApiOptions options;
  options.state = state;
  options.admin_token = admin_token;
  options.authority_pem = "CA";
  options.server_url = "https://127.0.0.1";
  auto api = cmd::StandaloneApi::open(options, clock);
  if (!api) {
    ADD_FAILURE() << api.error().message;
    std::abort();
  }
  return std::move(*api);
}

class StandaloneWorld final : public World {
 public:
  StandaloneWorld()
      : api_(open_api(folder_.file("state"), clock_)),
        objects_(api_->api().backend(), resources::kubevirt_namespace),
        rbac_(api_->store()),
        stored_(api_->store()),
        router_({.identifier = api_->identifier(),
                 .clock = clock_,
                 .metrics = metrics_,
                 .fairness = server::TurnKeeper::everybody_at_once()}) {
    api_->add_routes(router_, health_);
    api_->start(cores_[0], cores_[0], cmd::Runs::nothing);
  }
  ~StandaloneWorld() override {
    cores_.stop();
    adopted_.clear();
    api_->stop();
  }

  ObjectApi& objects() override { return objects_; }
  Authorizer& authorizer() override { return rbac_; }
  ObjectApi* lost_objects() override { return nullptr; }
  Authorizer& lost_authorizer() override { return lost_; }
  const admission::LookupSource& lookups() override { return lookups_; }
  const admission::LookupSource& lost_lookups() override { return lost_lookups_; }
  std::unique_ptr<ConfigUnderTest> configuration(std::string own_namespace) override {
    return std::make_unique<StoredConfigUnderTest>(api_->store(), std::move(own_namespace));
  }
  void await_copy(std::string_view, std::string_view, std::string_view, std::string_view) override {}
  Core& core(std::size_t index) override { return cores_[index]; }

  Reply ask(std::string_view method, std::string target, std::string body, std::string_view content_type) override {
    std::vector<resources::testing::Header> headers{{"Authorization", fmt::format("Bearer {}", admin_token)}};
    if (!content_type.empty()) headers.emplace_back("Content-Type", content_type);
    resources::testing::TestExchange exchange(cores_[0], std::string(method), std::move(target), std::move(body),
                                              std::move(headers));
    http::test::run_on(cores_[0], router_.handle(exchange));
    Reply reply{.status = exchange.response().status, .body = json::Document()};
    if (auto parsed = json::Document::parse(exchange.response().body)) reply.body = std::move(*parsed);
    return reply;
  }

 private:
  store::TemporaryFolder folder_;
  SystemClock clock_;
  metrics::Registry metrics_;
  server::HealthRegistry health_;
  Cores cores_;
  std::unique_ptr<cmd::StandaloneApi> api_;
  resources::OwnObjects objects_;
  local::Rbac rbac_;
  UnreadableStore unreadable_;
  local::Rbac lost_{unreadable_};
  admission::StoreLookups stored_, unreadable_lookups_{unreadable_};
  admission::ReadyLookups lookups_{stored_}, lost_lookups_{unreadable_lookups_};
  server::Router router_;
};

}  // namespace

std::unique_ptr<World> make_standalone_world() { return std::make_unique<StandaloneWorld>(); }

}  // namespace vg::contract
