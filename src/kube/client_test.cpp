#include "kube/client.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/background.h"
#include "base/files.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/parse.h"
#include "kube/access_reviews.h"
#include "kube/api_server_health.h"
#include "kube/object_api.h"
#include "kube/testing.h"

namespace vg::kube {
namespace {

using testing::Bench;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace std::chrono_literals;

constexpr ResourceName vms{"kubevirt.io", "v1", "virtualmachines"};
constexpr std::string_view vm_path = "/apis/kubevirt.io/v1/namespaces/ns/virtualmachines";

TEST(KubeClientTest, ReadsObjectsAndTypedErrors) {
  Bench bench;
  bench.api.answer(fmt::format("GET {}/a", vm_path), {.body = R"({"metadata":{"name":"a"}})"});
  json::Arena arena;
  const auto found = bench.run(bench.client.get(*bench.loop, {vms, "ns", "a"}, arena.storage()));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(json::as_string(json::find_path(*found, {"metadata", "name"})), "a");
  const auto missing = bench.run(bench.client.get(*bench.loop, {vms, "ns", "b"}, arena.storage()));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, 404);
  EXPECT_EQ(missing.error().reason, "NotFound");
  EXPECT_THAT(bench.metrics.expose(),
              HasSubstr("kubevirt_rest_client_requests_total{code=\"404\",method=\"GET\",host=\"127.0.0.1:"));
  // One series for all machines.
  EXPECT_THAT(
      bench.metrics.expose(),
      ContainsRegex("kubevirt_rest_client_request_latency_seconds_count\\{verb=\"GET\",url=\"https?://127.0.0.1:[0-9]+"
                    "/apis/kubevirt.io/v1/namespaces/%7Bnamespace%7D/virtualmachines/%7Bname%7D\"\\} 2"));
}

TEST(KubeClientTest, WritesAreRepeatedOnlyWhenTurnedAway) {
  Bench bench;
  const std::string put = fmt::format("PUT {}/a/status?dryRun=All", vm_path);
  bench.api.answer(put, {.status = 429, .body = "", .headers = {{"Retry-After", "0"}}});
  bench.api.answer(put, {.status = 200, .body = "{}"});
  json::Arena arena;
  const json::Value object(json::Object{});
  EXPECT_TRUE(bench.run(bench.client.update(*bench.loop, {vms, "ns", "a"}, "status", object, true, arena.storage())));
  EXPECT_THAT(bench.api.asked(), SizeIs(2));
  bench.api.answer(fmt::format("POST {}", vm_path), {.status = 503, .body = "away"});
  const auto refused = bench.run(bench.client.create(*bench.loop, vms, "ns", "{}", false, arena.storage()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 503);
  EXPECT_THAT(bench.api.asked(), SizeIs(3));
  bench.api.answer(fmt::format("DELETE {}/a", vm_path), {.status = 200, .body = "{}"});
  EXPECT_TRUE(bench.run(bench.client.remove(*bench.loop, {vms, "ns", "a"}, false)));
}

TEST(KubeClientTest, ReadsAreRepeatedWhileTheServerIsAway) {
  Bench bench;
  const std::string get = fmt::format("GET {}/a", vm_path);
  bench.api.answer(get, {.status = 503, .body = ""});
  bench.api.answer(get, {.status = 200, .body = R"({"metadata":{"name":"a"}})"});
  json::Arena arena;
  EXPECT_TRUE(bench.run(bench.client.get(*bench.loop, {vms, "ns", "a"}, arena.storage())));
  EXPECT_THAT(bench.api.asked(), SizeIs(2));
}

TEST(KubeClientTest, ARotatedTokenIsReadAgain) {
  const std::string file = fmt::format("{}/token-{}", ::testing::TempDir(), ::getpid());
  ASSERT_TRUE(write_file(file, "first\n", 0600));
  ClusterAccess access;
  access.token.file = file;
  Bench bench(access);
  const std::string get = fmt::format("GET {}/a", vm_path);
  bench.api.answer(get, {.status = 200, .body = R"({"metadata":{"name":"a"}})"});
  bench.api.answer(get, {.status = 401, .body = "{}"});
  bench.api.answer(get, {.status = 200, .body = R"({"metadata":{"name":"a"}})"});
  json::Arena arena;
  EXPECT_TRUE(bench.run(bench.client.get(*bench.loop, {vms, "ns", "a"}, arena.storage())));
  ASSERT_TRUE(write_file(file, "second\n", 0600));
  EXPECT_TRUE(bench.run(bench.client.get(*bench.loop, {vms, "ns", "a"}, arena.storage())));
  EXPECT_THAT(bench.api.asked(),
              ElementsAre(HasSubstr("Bearer first"), HasSubstr("Bearer first"), HasSubstr("Bearer second")));
  ::unlink(file.c_str());
}

TEST(KubeClientTest, NobodyWaitsLongerForATurnThanForTheAnswer) {
  Bench bench;
  bench.limiter.set({.per_second = 0.001, .burst = 1});
  bench.api.answer("GET /version", {.body = "{}"});
  EXPECT_TRUE(bench.run(bench.client.ask(*bench.loop, {.target = "/version"})));
  const auto refused = bench.run(bench.client.ask(*bench.loop, {.target = "/version"}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 429);
}

TEST(KubeObjectsTest, ListsBySelectorsAndPatches) {
  Bench bench;
  KubeObjects objects(bench.client);
  bench.api.answer("GET /api/v1/namespaces/kubevirt/pods?labelSelector=a%3Db&fieldSelector=c%3Dd",
                   {.body = R"({"items":[{"metadata":{"name":"x"}},{"metadata":{"name":"y"}}]})"});
  json::Arena arena;
  const auto listed = bench.run(
      objects.list(*bench.loop, {"", "v1", "pods"}, "kubevirt", {.labels = "a=b", .fields = "c=d"}, arena.storage()));
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_THAT(*listed, SizeIs(2));
  bench.api.answer(
      fmt::format("PATCH {}/a/status", vm_path),
      {.status = 422, .body = R"({"kind":"Status","code":422,"reason":"Invalid","message":"test failed"})"});
  const auto patched =
      bench.run(objects.patch(*bench.loop, {vms, "ns", "a"}, "status", json::Array{json::Object{}}, false));
  ASSERT_FALSE(patched);
  EXPECT_TRUE(is_failed_patch(patched.error()));
  bench.api.answer(fmt::format("POST {}?dryRun=All", vm_path),
                   {.status = 201, .body = R"({"metadata":{"name":"made"}})"});
  EXPECT_EQ(bench.run(objects.create(*bench.loop, vms, "ns", json::Value(json::Object{}), true)).value().name, "made");
}

TEST(KubeObjectsTest, ResourcesOfRules) {
  const auto types = resource_of_key("instancetype.kubevirt.io/virtualmachineinstancetypes");
  ASSERT_TRUE(types);
  EXPECT_EQ(types->version, "v1beta1");
  EXPECT_EQ(resource_of_key("pods")->group, "");
  EXPECT_FALSE(resource_of_key("unicorns"));
}

// --- what connections are made with ----------------------------------------------------------------------------------

TEST(CredentialsTest, FilesThatAreBeingReplacedChangeNothing) {
  const std::string file = fmt::format("{}/material-{}", ::testing::TempDir(), ::getpid());
  const auto authority = http::test::make_certificate({.common_name = "first", .authority = true});
  ClusterAccess access;
  access.authorities.file = access.token.file = file;
  ManualClock clock;
  Credentials credentials(access, clock);
  EXPECT_FALSE(credentials.tls()) << "there is no file yet";
  EXPECT_FALSE(credentials.authorization());
  ASSERT_TRUE(write_file(file, "", 0600));
  EXPECT_FALSE(credentials.tls()) << "an empty bundle does not mean the system's authorities";
  EXPECT_FALSE(credentials.authorization());
  ASSERT_TRUE(write_file(file, authority.certificate, 0600));
  const auto first = credentials.tls();
  const auto token = credentials.authorization();
  ASSERT_TRUE(first && token);
  for (const std::string_view broken : {"", "half a bund"}) {
    ASSERT_TRUE(write_file(file, broken, 0600));
    EXPECT_EQ(credentials.tls().value(), *first);
  }
  ASSERT_TRUE(write_file(file, "", 0600));
  clock.advance(1min);
  EXPECT_EQ(credentials.authorization().value(), *token);
  const auto next = http::test::make_certificate({.common_name = "next", .authority = true});
  ASSERT_TRUE(write_file(file, next.certificate, 0600));
  EXPECT_NE(credentials.tls().value(), *first);
  ::unlink(file.c_str());
  EXPECT_TRUE(credentials.tls());
}

// --- access reviews ------------------------------------------------------------------------------------------------

struct Reviewing {
  Bench bench;
  ManualClock clock;
  User user{.name = "zoe", .uid = {}, .groups = {"dev"}, .extra = {}};
  AccessAttributes attributes;
  Reviewing() {
    attributes.verb = "get";
    attributes.ns = "ns";
  }
  Result<AccessDecision> ask(AccessReviews& reviews) {
    return bench.run(reviews.authorize(*bench.loop, user, attributes));
  }
};
constexpr const char* reviews_line = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews";

TEST(AccessReviewsTest, AllowsAreRememberedForAMoment) {
  Reviewing test;
  AccessReviews reviews(test.bench.client, test.clock, {.remember = 2000ms});
  test.bench.api.answer(reviews_line, {.status = 201, .body = R"({"status":{"allowed":true,"reason":"a role"}})"});
  EXPECT_EQ(test.ask(reviews)->reason, "a role");
  test.clock.advance(1999ms);
  EXPECT_TRUE(test.ask(reviews)->allowed);
  EXPECT_EQ(test.ask(reviews)->reason, "a role") << "the same words";
  EXPECT_THAT(test.bench.api.asked(), SizeIs(1));
  test.clock.advance(1ms);
  EXPECT_TRUE(test.ask(reviews)->allowed);
  EXPECT_THAT(test.bench.api.asked(), SizeIs(2));
  test.user.groups.push_back("ops");
  EXPECT_TRUE(test.ask(reviews)->allowed);
  EXPECT_THAT(test.bench.api.asked(), SizeIs(3)) << "another user is another question";
}

TEST(AccessReviewsTest, RefusalsAndFailuresAreNot) {
  Reviewing test;
  AccessReviews reviews(test.bench.client, test.clock, {});
  test.bench.api.answer(reviews_line, {.status = 201, .body = R"({"status":{"allowed":false,"reason":"no role"}})"});
  EXPECT_EQ(test.ask(reviews)->reason, "no role");
  EXPECT_FALSE(test.ask(reviews)->allowed);
  EXPECT_THAT(test.bench.api.asked(), SizeIs(2));
  test.bench.api.answer(reviews_line, {.status = 403, .body = "{}"});
  (void)test.ask(reviews);
  EXPECT_FALSE(test.ask(reviews)) << "not knowing is no allow";
}

TEST(AccessReviewsTest, PathsAreAskedForAsPaths) {
  Reviewing test;
  test.attributes = {};
  test.attributes.verb = "get";
  test.attributes.resource_request = false;
  test.attributes.path = "/metrics";
  EXPECT_EQ(review_spec(test.user, test.attributes),
            R"({"nonResourceAttributes":{"path":"/metrics","verb":"get"},"user":"zoe","groups":["dev"]})");
}

TEST(AccessReviewsTest, TheMemoryCanBeSwitchedOff) {
  Reviewing test;
  AccessReviews reviews(test.bench.client, test.clock, {.remember = 0ms});
  test.bench.api.answer(reviews_line, {.status = 201, .body = R"({"status":{"allowed":true}})"});
  EXPECT_TRUE(test.ask(reviews)->allowed);
  EXPECT_TRUE(test.ask(reviews)->allowed);
  EXPECT_THAT(test.bench.api.asked(), SizeIs(2));
}

// --- health --------------------------------------------------------------------------------------------------------

TEST(ApiServerHealthTest, AsksOnceUntilSomethingGoesWrong) {
  Bench bench;
  const config::FixedConfig config(config::ClusterConfig::defaults("amd64"));
  ManualClock clock;
  ApiServerHealth health(bench.client, config, clock, {});
  bench.api.answer("GET /version", {.body = R"({"major":"1"})"});
  bench.api.answer("GET /version", {.status = 500, .body = "broken"});
  const auto good = bench.run(health.answer(*bench.loop));
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(
      good.body,
      "{\"apiserver\":{\"connectivity\":\"ok\",\"version\":{\"major\":\"1\"}},\"config-resource-version\":\"\"}\n");
  EXPECT_EQ(bench.run(health.answer(*bench.loop)).status, 200);
  EXPECT_THAT(bench.api.asked(), SizeIs(1));
  health.forget();
  const auto bad = bench.run(health.answer(*bench.loop));
  EXPECT_EQ(bad.status, 500);
  EXPECT_THAT(bad.body, HasSubstr(R"("connectivity":"failed")"));
  EXPECT_EQ(bench.run(health.answer(*bench.loop)).status, 500);
  EXPECT_THAT(bench.api.asked(), SizeIs(2)) << "what just failed is not tried for everybody who asks";
  clock.advance(4s);
  EXPECT_EQ(bench.run(health.answer(*bench.loop)).status, 500);
  EXPECT_THAT(bench.api.asked(), SizeIs(3));
}

TEST(ApiServerHealthTest, NoticesThatNobodyAnswers) {
  Bench bench;
  const config::FixedConfig config(config::ClusterConfig::defaults("amd64"));
  ManualClock clock;
  ApiServerHealth health(bench.client, config, clock, {.good = 1ms, .bad = 1ms, .lost_after = 10s});
  for (const int status : {200, 500, 200}) bench.api.answer("GET /version", {.status = status, .body = "{}"});
  http::test::Event in_vain, returned;
  Background asking;
  bench.loop->post(
      [&] { asking = Background(health.keep_asking(*bench.loop, [&] { in_vain.set(); }, [&] { returned.set(); })); });
  EXPECT_TRUE(in_vain.wait());
  EXPECT_TRUE(returned.wait());
  EXPECT_EQ(health.problem(), std::nullopt);
  bench.stop();
  asking = {};
  clock.advance(10s);
  EXPECT_NE(health.problem(), std::nullopt);
}

}  // namespace
}  // namespace vg::kube
