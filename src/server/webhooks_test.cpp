#include "server/webhooks.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admission/defaults/testing.h"
#include "admission/testing.h"
#include "admission/webhook.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/access.h"
#include "json/document.h"
#include "server/testing/fake_exchange.h"

namespace vg::server {
namespace {

using testing::FakeExchange;
using ::testing::HasSubstr;

struct WebhooksTest : ::testing::Test {
  auth::Identifier identifier{"secret", "admin", {"system:masters"}};
  SystemClock clock;
  metrics::Registry metrics, own_metrics;
  Router router{
      {.identifier = identifier, .clock = clock, .metrics = metrics, .fairness = TurnKeeper::everybody_at_once()}};
  log::Capture captured;
  WebhooksTest() {
    add_webhook_routes(router, Access::administrators, metrics, admission::offline_environment(), {}, refuse_nobody());
  }

  FakeExchange post(std::string path, std::string body, std::string type = "application/json") {
    FakeExchange exchange("POST", std::move(path), std::move(body));
    exchange.header("Authorization", "Bearer secret");
    if (!type.empty()) exchange.header("Content-Type", std::move(type));
    return std::move(exchange.run(router));
  }
  static std::string review(std::string_view request) {
    return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":)" + std::string(request) + "}";
  }
};

TEST_F(WebhooksTest, EveryPathAnswersWithTheUid) {
  for (const auto& webhook : admission::webhooks()) {
    auto answer = post(std::string(webhook.path), review(R"({"uid":"u-7","operation":"CREATE"})"));
    EXPECT_EQ(answer.status(), 200) << webhook.path;
    EXPECT_EQ(answer.response().content_type, "application/json");
    EXPECT_TRUE(answer.body().starts_with(
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u-7","allowed":)"))
        << webhook.path << answer.body();
  }
}

TEST_F(WebhooksTest, Allows) {
  const auto answer = post("/virtualmachinesnapshots-validate", review(R"({"uid":"u-7","operation":"CREATE",
      "resource":{"group":"snapshot.kubevirt.io","resource":"virtualmachinesnapshots"},
      "object":{"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"x"}}}})"));
  EXPECT_EQ(answer.body(),
            R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u-7","allowed":true}})");
}

TEST_F(WebhooksTest, IsForAdministrators) {
  FakeExchange nobody("POST", "/virtualmachines-validate", review("{}"));
  EXPECT_EQ(nobody.header("Content-Type", "application/json").run(router).status(), 401);
  FakeExchange jane("POST", "/virtualmachines-validate", review("{}"));
  EXPECT_EQ(jane.certificate("jane", {"dev"}).run(router).status(), 403);
}

TEST_F(WebhooksTest, CallersMayBeRefusedBeforeAnythingIsRead) {
  int reviewed = 0;
  Router guarded{
      {.identifier = identifier, .clock = clock, .metrics = own_metrics, .fairness = TurnKeeper::everybody_at_once()}};
  add_webhook_routes(
      guarded, Access::anyone, own_metrics, admission::offline_environment(),
      [&](Core&, const admission::SideEffect&) -> Task<Result<void>> {
        ++reviewed;
        co_return Result<void>();
      },
      [](const http::Request& request) -> std::optional<Status> {
        if (request.peer && request.peer->certificate) return std::nullopt;
        return Status::unauthorized("who are you?");
      });
  for (const auto& webhook : admission::webhooks()) {
    FakeExchange stranger("POST", std::string(webhook.path), "no JSON");
    EXPECT_EQ(stranger.header("Content-Type", "application/json").run(guarded).status(), 401) << webhook.path;
    FakeExchange known("POST", std::string(webhook.path), review(R"({"uid":"u"})"));
    known.header("Content-Type", "application/json").certificate("kube-apiserver", {});
    EXPECT_EQ(known.run(guarded).status(), 200) << webhook.path;
  }
  EXPECT_EQ(reviewed, 0);
}

TEST_F(WebhooksTest, RefusesWhatItCannotReadWithoutABody) {
  const std::string good = review(R"({"uid":"u"})");
  for (std::string type :
       {"", "application/json; charset=utf-8", "text/plain", "application/yaml", "Application/JSON"}) {
    auto answer = post("/virtualmachines-validate", good, type);
    EXPECT_EQ(answer.status(), 400) << type;
    EXPECT_EQ(answer.body(), "") << type;
  }
  for (std::string body : {"", "{", "nonsense", "[]", "{} x", R"({"request":{"uid":1}})"}) {
    auto answer = post("/virtualmachines-validate", body);
    EXPECT_EQ(answer.status(), 400) << body;
    EXPECT_EQ(answer.body(), "") << body;
    EXPECT_TRUE(answer.response().content_type.empty());
  }
  EXPECT_THAT(
      metrics.expose(),
      HasSubstr(R"(virtgate_admission_reviews_total{webhook="/virtualmachines-validate",outcome="unreadable"} 11)"));
}

TEST_F(WebhooksTest, ExplainsAMissingRequest) {
  for (std::string body : {"{}", "null", R"({"request":null})"}) {
    auto answer = post("/virtualmachines-mutate", body);
    EXPECT_EQ(answer.status(), 400) << body;
    auto document = json::Document::parse(answer.body());
    ASSERT_TRUE(document) << body;
    EXPECT_EQ(json::get_string(document->root(), "reason"), "BadRequest");
    EXPECT_THAT(std::string(json::get_string_or(document->root(), "message")), HasSubstr("no \"request\""));
  }
}

// --- look-ups that have to be fetched

constexpr std::string_view migration = R"({"uid":"u-7","operation":"CREATE","namespace":"n","name":"g",
    "resource":{"group":"kubevirt.io","version":"v1","resource":"virtualmachineinstancemigrations"},
    "object":{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceMigration",
      "metadata":{"name":"g","namespace":"n"},"spec":{"vmiName":"m"}}})";

struct FetchingTest : WebhooksTest, admission::LookupSource {
  using Session = admission::testing::HesitantSession;
  admission::testing::KnownObjects known;
  std::function<void(Session&)> prepare = [](Session&) {};
  mutable std::vector<std::string> askers;
  mutable int rounds = 0;

  const admission::Environment& offline = admission::offline_environment();
  const admission::Environment environment{.config = offline.config, .lookups = *this, .clock = offline.clock};
  Router fetching{
      {.identifier = identifier, .clock = clock, .metrics = own_metrics, .fairness = TurnKeeper::everybody_at_once()}};

  FetchingTest() {
    add_webhook_routes(fetching, Access::anyone, own_metrics, environment, {}, refuse_nobody());
    known.add_text(R"({"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"m",
        "namespace":"n"},"status":{"phase":"Running","conditions":[{"type":"LiveMigratable","status":"True"}]}})");
  }
  std::unique_ptr<admission::LookupSession> open(std::string_view asker) const override {
    askers.emplace_back(asker);
    auto session = std::make_unique<Session>(known, Session::Fetches::one_at_a_time);
    session->on_fetch = [this] { ++rounds; };
    prepare(*session);
    return session;
  }
  FakeExchange exchange(std::string_view request) {
    FakeExchange made("POST", "/migration-validate-create", review(request));
    made.header("Content-Type", "application/json");
    return made;
  }
};

TEST_F(FetchingTest, RulesAreAskedUntilNothingIsMissing) {
  FakeExchange allowed = exchange(migration);
  EXPECT_THAT(allowed.run(fetching).body(), HasSubstr(R"("allowed":true)"));
  EXPECT_EQ(rounds, 2) << "the VMI, and its other migrations";
  EXPECT_THAT(askers, ::testing::ElementsAre("192.0.2.1")) << "one session for all of it";

  known = admission::testing::KnownObjects();
  FakeExchange refused = exchange(migration);
  EXPECT_THAT(refused.run(fetching).body(), ::testing::AllOf(HasSubstr(R"("allowed":false)"), HasSubstr("not found")));
}

TEST_F(FetchingTest, TheBodyIsReadOnce) {
  FakeExchange asked = exchange(migration);
  prepare = [&](Session& session) {
    session.on_fetch = [&] {
      ++rounds;
      asked.spoil_body();
    };
  };
  EXPECT_THAT(asked.run(fetching).body(), ::testing::AllOf(HasSubstr(R"("allowed":true)"), HasSubstr("u-7")));
  EXPECT_EQ(rounds, 2);
}

TEST_F(WebhooksTest, BoundsTheBody) {
  auto answer = post("/virtualmachines-validate", std::string(limits::body_bytes_max + 1, ' '));
  EXPECT_EQ(answer.status(), 413);
  EXPECT_THAT(answer.body(), HasSubstr("RequestEntityTooLarge"));
}

TEST_F(WebhooksTest, BoundsTheDepth) {
  std::string deep = R"({"request":{"object":)" + std::string(5000, '[') + std::string(5000, ']') + "}}";
  EXPECT_EQ(post("/virtualmachines-validate", deep).status(), 400);
}

TEST_F(WebhooksTest, AnObjectOfTheWrongShapeIsRefusedInTheReview) {
  auto answer = post("/virtualmachines-validate", review(R"({"uid":"u","object":{"spec":{"running":"yes"}}})"));
  EXPECT_EQ(answer.status(), 200);
  auto document = json::Document::parse(answer.body()).value();
  EXPECT_EQ(json::get_bool(*json::find(document.root(), "response"), "allowed"), false);
  EXPECT_EQ(json::as_int(json::find_path(document.root(), {"response", "status", "code"})), 400);
  EXPECT_EQ(json::find_path(document.root(), {"response", "status", "reason"}), nullptr);
  ASSERT_EQ(captured.lines().size(), 1u);
  EXPECT_THAT(captured.lines()[0], HasSubstr("\"level\":\"error\""));
}

TEST_F(WebhooksTest, TheOldObjectMattersOnlyForUpdates) {
  const auto ask = [this](std::string operation) {
    return post("/virtualmachinesnapshots-validate", review(R"({"uid":"u","operation":")" + operation + R"(",
        "resource":{"group":"snapshot.kubevirt.io","resource":"virtualmachinesnapshots"},
        "object":{"spec":{"source":{"apiGroup":"kubevirt.io","kind":"VirtualMachine","name":"x"}}},
        "oldObject":{"spec":"x"}})"));
  };
  EXPECT_THAT(ask("CREATE").body(), HasSubstr("\"allowed\":true"));
  EXPECT_THAT(ask("UPDATE").body(), HasSubstr("\"allowed\":false"));
}

TEST_F(WebhooksTest, EchoesTheVersionOfValidatingReviewsOnly) {
  const std::string body = R"({"apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"u"}})";
  EXPECT_THAT(post("/virtualmachines-validate", body).body(), HasSubstr("admission.k8s.io/v1beta1"));
  EXPECT_THAT(post("/virtualmachines-mutate", body).body(), HasSubstr("\"admission.k8s.io/v1\""));
}

}  // namespace
}  // namespace vg::server
