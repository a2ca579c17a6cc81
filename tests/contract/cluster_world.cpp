// A cluster: the ports over HTTPS, under virt-api's own account.
#include <condition_variable>
#include <map>
#include <mutex>

#include "api_server.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/limits.h"
#include "base/metrics.h"
#include "cores.h"
#include "kube/access_reviews.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/live_config.h"
#include "kube/lookups.h"
#include "kube/object_api.h"
#include "kube/rate_limiter.h"
#include "kube/reflector.h"
#include "world.h"

namespace vg::contract {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view presets = "virtualmachineinstancepresets";
constexpr std::string_view account_path = "/api/v1/namespaces/kubevirt/serviceaccounts/kubevirt-apiserver";

kube::ClusterAccess access_to(std::uint16_t port, std::string authorities_file, std::string token) {
  return {.origin = {.host = "127.0.0.1", .port = port, .tls = true, .server_name = {}},
          .path_prefix = {},
          .authorities = {.text = {}, .file = std::move(authorities_file)},
          .certificate = {},
          .key = {},
          .token = {.text = std::move(token), .file = {}},
          .basic = {}};
}

// A client with everything it needs.
struct Caller {
  Caller(kube::ClusterAccess access, const Clock& clock)
      : limiter(clock, {.per_second = 1e6, .burst = 1000000}), credentials(std::move(access), clock) {}
  kube::RateLimiter limiter;
  kube::Credentials credentials;
  kube::Client client{{.credentials = credentials, .limiter = limiter, .metrics = nullptr, .user_agent = "contract"}};
};

// A copy of objects, and what it knew when it was last looked at.
class Followed {
 public:
  using Versions = std::map<std::pair<std::string, std::string>, std::string>;

  // `look` is called on the core whenever the copy has changed.
  Followed(kube::Client& client, kube::Reflector::Options options, metrics::Registry& metrics, const Clock& clock,
           Core& core, std::function<void(const kube::Reflector&)> look = {})
      : core_(core), reflector_(std::make_unique<kube::Reflector>(client, std::move(options), metrics, clock)) {
    reflector_->on_change([this, look = std::move(look)] {
      if (look) look(*reflector_);
      note();
    });
    core_.post([this] { reflector_->start(core_); });
    await([this] { return noted_; });
  }
  ~Followed() {
    http::test::run_on(core_, [](std::unique_ptr<kube::Reflector>& gone) -> Task<void> {
      gone.reset();
      co_return;
    }(reflector_));
  }
  Followed(const Followed&) = delete;
  Followed& operator=(const Followed&) = delete;

  const kube::Reflector& copy() const { return *reflector_; }
  void await_seen(std::string_view ns, std::string_view name, std::string_view version) {
    await([&, key = std::pair(std::string(ns), std::string(name))] {
      const auto found = versions_.find(key);
      return found == versions_.end() ? version.empty() : found->second == version;
    });
  }

 private:
  void note() {
    Versions versions;
    for (const auto& object : reflector_->list({}))
      versions.emplace(std::pair(object->ns, object->name), object->resource_version);
    {
      const std::lock_guard lock(mutex_);
      versions_ = std::move(versions);
      noted_ = true;
    }
    changed_.notify_all();
  }
  void await(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 20s, holds)) << "the copy of " << reflector_->name() << " does not follow";
  }

  Core& core_;
  std::unique_ptr<kube::Reflector> reflector_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Versions versions_;
  bool noted_ = false;
};

class LiveConfigUnderTest final : public ConfigUnderTest {
 public:
  LiveConfigUnderTest(kube::Client& client, metrics::Registry& metrics, const Clock& clock, Core& core,
                      std::string own_namespace)
      : ns_(std::move(own_namespace)),
        config_(ns_, "amd64"),
        kubevirts_(client, {.name = "kubevirts", .group = "kubevirt.io", .version = "v1", .plural = "kubevirts"},
                   metrics, clock, core, [this](const kube::Reflector& copy) { config_.update(copy); }) {}
  const config::ConfigSource& source() const override { return config_; }
  void await_seen(std::string_view name, std::string_view version) override {
    kubevirts_.await_seen(ns_, name, version);
  }

 private:
  const std::string ns_;
  kube::LiveConfig config_;
  Followed kubevirts_;
};

std::string read_token(const std::string& file) {
  const auto text = read_file(file, limits::config_file_bytes_max);
  EXPECT_TRUE(text) << text.error().message;
  return text ? text->substr(0, text->find('\n')) : std::string();
}

class ClusterWorld final : public World {
 public:
  ClusterWorld()
      : admin_(access_to(server_.port(), server_.pki("ca.crt"), read_token(server_.pki("admin.token"))), clock_),
        own_(access_to(server_.port(), server_.pki("ca.crt"), own_token()), clock_),
        lost_(access_to(free_port(), server_.pki("ca.crt"), "none"), clock_),
        objects_(own_.client),
        lost_objects_(lost_.client),
        reviews_(own_.client, clock_, {.remember = 0ms}),
        lost_reviews_(lost_.client, clock_, {.remember = 0ms}),
        presets_(std::make_unique<Followed>(
            own_.client,
            kube::Reflector::Options{
                .name = "presets", .group = "kubevirt.io", .version = "v1", .plural = std::string(presets)},
            metrics_, clock_, cores_[0])),
        lookups_(own_.client, {{fmt::format("kubevirt.io/{}", presets), &presets_->copy()}}),
        lost_lookups_(lost_.client, {}, lost_time) {}
  ~ClusterWorld() override {
    presets_.reset();
    cores_.stop();
    adopted_.clear();
    for (Caller* caller : {&admin_, &own_, &lost_}) caller->client.close();
  }

  ObjectApi& objects() override { return objects_; }
  Authorizer& authorizer() override { return reviews_; }
  ObjectApi* lost_objects() override { return &lost_objects_; }
  Authorizer& lost_authorizer() override { return lost_reviews_; }
  const admission::LookupSource& lookups() override { return lookups_; }
  const admission::LookupSource& lost_lookups() override { return lost_lookups_; }
  std::unique_ptr<ConfigUnderTest> configuration(std::string own_namespace) override {
    return std::make_unique<LiveConfigUnderTest>(own_.client, metrics_, clock_, cores_[0], std::move(own_namespace));
  }
  void await_copy(std::string_view resource, std::string_view ns, std::string_view name,
                  std::string_view version) override {
    if (resource.ends_with(presets)) presets_->await_seen(ns, name, version);
  }
  Core& core(std::size_t index) override { return cores_[index]; }

  Reply ask(std::string_view method, std::string target, std::string body, std::string_view content_type) override {
    kube::Question question{.method = method, .target = std::move(target), .content_type = content_type, .body = body};
    const auto answer = http::test::run_on(cores_[0], admin_.client.ask(cores_[0], std::move(question)));
    Reply reply{.status = answer ? answer->head.status : answer.error().code, .body = json::Document()};
    if (auto parsed = json::Document::parse(answer ? answer->body : to_json(answer.error())))
      reply.body = std::move(*parsed);
    return reply;
  }

 private:
  // What a port does is the question here, not what the account's roles let it do.
  std::string own_token() {
    ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        R"({"metadata":{"name":"contract"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",)"
        R"("name":"cluster-admin"},"subjects":[{"kind":"ServiceAccount","name":"kubevirt-apiserver",)"
        R"("namespace":"kubevirt"}]})",
        "application/json");
    const Reply made = ask("POST", fmt::format("{}/token", account_path), R"({"spec":{}})", "application/json");
    EXPECT_EQ(made.status, 201) << json::to_text(made.body.root());
    return made.at({"status", "token"});
  }

  ApiServer server_;
  SystemClock clock_;
  metrics::Registry metrics_;
  Cores cores_;
  Caller admin_, own_, lost_;
  kube::KubeObjects objects_, lost_objects_;
  kube::AccessReviews reviews_, lost_reviews_;
  std::unique_ptr<Followed> presets_;
  kube::KubeLookups lookups_, lost_lookups_;
};

}  // namespace

std::unique_ptr<World> make_cluster_world() { return std::make_unique<ClusterWorld>(); }

}  // namespace vg::contract
