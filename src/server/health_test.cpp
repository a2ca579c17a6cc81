#include "server/health.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <thread>

#include "json/access.h"
#include "json/document.h"
#include "server/process_metrics.h"
#include "server/testing/fake_exchange.h"
#include "server/version.h"
#include "upstream_release.h"

namespace vg::server {
namespace {

using ::testing::AllOf;
using testing::FakeExchange;
using ::testing::HasSubstr;

struct HealthTest : ::testing::Test {
  auth::Identifier identifier{"secret", "admin", {"system:masters"}};
  SystemClock clock;
  metrics::Registry metrics;
  Router router{
      {.identifier = identifier, .clock = clock, .metrics = metrics, .fairness = TurnKeeper::everybody_at_once()}};
  HealthRegistry health;
  std::string config_version = "17";
  std::optional<std::string> problem;

  HealthTest() {
    health.add("certificate", HealthScope::readiness, [this] { return problem; });
    add_health_routes(router, health, [this] { return config_version; });
    add_version_routes(router, [](Call&) -> Task<bool> { co_return true; });
    add_metrics_route(router, Access::administrators, metrics);
  }
  FakeExchange get(std::string target) { return std::move(FakeExchange("GET", std::move(target)).run(router)); }
};

TEST_F(HealthTest, SaysOkWhenAllIsWell) {
  for (std::string target : {"/livez", "/readyz", "/readyz/ping", "/readyz/certificate", "/livez/ping"}) {
    auto answer = get(target);
    EXPECT_EQ(answer.status(), 200) << target;
    EXPECT_EQ(answer.body(), "ok") << target;
    EXPECT_EQ(answer.response().content_type, "text/plain; charset=utf-8");
  }
  EXPECT_EQ(get("/readyz?verbose").body(), "[+]ping ok\n[+]shutdown ok\n[+]certificate ok\nreadyz check passed\n");
  EXPECT_EQ(get("/livez?verbose=").body(), "[+]ping ok\nlivez check passed\n");
  EXPECT_TRUE(health.ready());
}

TEST_F(HealthTest, WhatOnlyDegradesIsShownAndServed) {
  std::optional<std::string> worry;
  health.add("audit", HealthScope::degraded, [&] { return worry; });
  auto& shown = metrics.gauges("degraded", "Test.", {"check"});
  EXPECT_EQ(get("/readyz").body(), "ok");
  health.show_degraded(shown);
  EXPECT_EQ(shown.with({"audit"})->value(), 0);
  worry = "the disk is full";
  EXPECT_EQ(get("/readyz").status(), 200);
  EXPECT_EQ(get("/readyz").body(), "ok\n[~]audit degraded: the disk is full\n");
  EXPECT_THAT(get("/readyz?verbose").body(), HasSubstr("[~]audit degraded: the disk is full\nreadyz check passed\n"));
  EXPECT_EQ(get("/readyz/audit").status(), 200);
  EXPECT_THAT(get("/readyz/audit").body(), HasSubstr("the disk is full"));
  EXPECT_EQ(get("/livez").body(), "ok");
  EXPECT_EQ(get("/livez/audit").status(), 404);
  EXPECT_TRUE(health.ready());
  health.show_degraded(shown);
  EXPECT_EQ(shown.with({"audit"})->value(), 1);
  problem = "it expired";
  EXPECT_EQ(get("/readyz").status(), 500) << "red stays red";
}

TEST_F(HealthTest, WhatIsShownEverywhereCountsWhereItDid) {
  std::optional<std::string> worry;
  health.add("etcd", HealthScope::readiness, [&] { return worry; }, HealthShown::everywhere);
  for (const char* path : {"/livez?verbose", "/readyz?verbose", "/healthz?verbose"})
    EXPECT_THAT(get(path).body(), HasSubstr("[+]etcd ok\n")) << path;
  EXPECT_EQ(get("/healthz/etcd").body(), "ok");
  worry = "the disk is full";
  EXPECT_EQ(get("/readyz").status(), 500);
  EXPECT_EQ(get("/readyz/etcd").status(), 500);
  for (const char* path : {"/livez?verbose", "/healthz?verbose"}) {
    EXPECT_EQ(get(path).status(), 200) << path;
    EXPECT_THAT(get(path).body(), HasSubstr("[~]etcd degraded: the disk is full\n")) << path;
  }
  EXPECT_EQ(get("/livez/etcd").status(), 200);
}

TEST_F(HealthTest, SaysWhatIsWrong) {
  problem = "it expired";
  auto answer = get("/readyz");
  EXPECT_EQ(answer.status(), 500);
  EXPECT_EQ(answer.body(), "[+]ping ok\n[+]shutdown ok\n[-]certificate failed: it expired\nreadyz check failed\n");
  EXPECT_EQ(get("/readyz/certificate").status(), 500);
  EXPECT_EQ(get("/livez").status(), 200);
  EXPECT_EQ(get("/readyz?exclude=certificate").body(), "ok");
  EXPECT_THAT(get("/readyz?exclude=certificate&verbose").body(), HasSubstr("[+]certificate excluded: ok\n"));
  EXPECT_FALSE(health.ready());
}

TEST_F(HealthTest, AStoppingServerIsAliveButNotReady) {
  health.begin_shutdown();
  EXPECT_EQ(get("/readyz").status(), 500);
  EXPECT_THAT(get("/readyz").body(), HasSubstr("[-]shutdown failed: the server is stopping"));
  EXPECT_EQ(get("/livez").status(), 200);
  EXPECT_EQ(get("/healthz").status(), 200);
}

TEST_F(HealthTest, KnowsItsChecks) {
  EXPECT_EQ(get("/readyz/nonsense").status(), 404);
  EXPECT_THAT(get("/readyz/nonsense").body(), AllOf(HasSubstr(R"("details":{})"), HasSubstr("/readyz?verbose")));
  EXPECT_EQ(get("/livez/certificate").status(), 404);  // not a check of liveness
  EXPECT_EQ(get("/healthz/certificate").status(), 404);
  EXPECT_THROW(health.add("ping", HealthScope::both, [] { return std::nullopt; }), std::logic_error);
}

TEST_F(HealthTest, WhatIsNoCheckCannotBeExcluded) {
  EXPECT_EQ(get("/readyz?exclude=certficate").body(), "ok");
  EXPECT_THAT(get("/livez?exclude=certificate&exclude=x&verbose").body(),
              HasSubstr("cannot be excluded: no matches for \"certificate\", \"x\"\nlivez check passed\n"));
  problem = "it expired";
  EXPECT_THAT(get("/readyz?exclude=certficate").body(), HasSubstr("no matches for \"certficate\""));
}

TEST_F(HealthTest, HealthzSaysOkToWhoeverReadsText) {
  for (const char* accept : {"*/*", "application/json, */*", "text/plain", "text/html,text/*;q=0.5"}) {
    FakeExchange asked("GET", "/healthz");
    asked.header("Accept", accept).run(router);
    EXPECT_EQ(asked.status(), 200) << accept;
    EXPECT_EQ(asked.body(), "ok") << accept;
  }
  FakeExchange program("GET", "/healthz");
  program.header("Accept", "application/json").run(router);
  EXPECT_THAT(program.body(), ::testing::StartsWith("{"));
  EXPECT_EQ(get("/healthz/ping").body(), "ok");
  EXPECT_EQ(get("/healthz?verbose").body(), "[+]ping ok\nhealthz check passed\n");
  for (const char* path : {"/healthz", "/readyz", "/livez/ping", "/version/"})
    EXPECT_EQ(FakeExchange("HEAD", path).run(router).status(), 200) << path;
}

TEST_F(HealthTest, HealthzHasUpstreamsShape) {
  auto answer = get("/healthz");
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.response().content_type, "application/json");
  EXPECT_EQ(answer.response_header("X-Content-Type-Options"), "nosniff");
  auto document = json::Document::parse(answer.body()).value();
  EXPECT_EQ(json::get_string(*json::find(document.root(), "apiserver"), "connectivity"), "ok");
  EXPECT_EQ(json::as_string(json::find_path(document.root(), {"apiserver", "version", "minor"})),
            upstream::kubernetes_minor);
  EXPECT_EQ(json::get_string(document.root(), "config-resource-version"), "17");
  EXPECT_EQ(document.root().as_object().size(), 2u);
}

TEST_F(HealthTest, TellsItsVersion) {
  EXPECT_EQ(get("/version/").body(), get("/version").body());
  EXPECT_EQ(get("/version?timeout=5s").status(), 200);
  EXPECT_EQ(get("/version?timeout=invalid").status(), 400);
  auto document = json::Document::parse(get("/version").body()).value();
  EXPECT_EQ(json::get_string(document.root(), "major"), upstream::kubernetes_major);
  EXPECT_EQ(json::get_string(document.root(), "minor"), upstream::kubernetes_minor);
  EXPECT_EQ(std::stoi(std::string(json::get_string_or(document.root(), "minCompatibilityMinor"))) + 1,
            std::stoi(std::string(upstream::kubernetes_minor)));
  EXPECT_THAT(std::string(json::get_string_or(document.root(), "gitVersion")),
              ::testing::StartsWith(std::string(upstream::kubernetes_release) + "+virtgate-"));
  EXPECT_THAT(std::string(json::get_string_or(document.root(), "platform")), ::testing::StartsWith("linux/"));
}

TEST_F(HealthTest, TellsAdministratorsItsMetrics) {
  EXPECT_EQ(get("/metrics").status(), 401);
  FakeExchange admin("GET", "/metrics");
  admin.header("Authorization", "Bearer secret").run(router);
  EXPECT_EQ(admin.status(), 200);
  EXPECT_EQ(admin.response().content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(admin.body(), AllOf(HasSubstr("# TYPE process_resident_memory_bytes gauge\n"),
                                  HasSubstr("process_open_fds "), HasSubstr("process_start_time_seconds "),
                                  HasSubstr("virtgate_http_requests_total{class=\"metrics\",code=\"401\"} 1\n")));
}

TEST(ProcessMetricsTest, AreOfThisProcess) {
  std::string text;
  append_process_metrics(text);
  const auto value = [&](const std::string& name) {
    const auto at = text.find("\n" + name + " ");
    return at == text.npos ? -1.0 : std::stod(text.substr(at + name.size() + 2));
  };
  const double now = double(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  EXPECT_GE(value("process_open_fds"), 3);
  EXPECT_GE(value("process_max_fds"), value("process_open_fds"));
  EXPECT_GE(value("process_cpu_seconds_total"), 0);
  EXPECT_NEAR(value("process_start_time_seconds"), now, 120);
}

TEST(HealthRegistryTest, ChecksMayComeWhileOthersAsk) {
  HealthRegistry health;
  std::jthread adder([&] {
    for (int i = 0; i < 100; ++i)
      health.add("check-" + std::to_string(i), HealthScope::both, [] { return std::nullopt; });
  });
  while (health.checks()->size() < 102) EXPECT_TRUE(health.ready());
}

}  // namespace
}  // namespace vg::server
