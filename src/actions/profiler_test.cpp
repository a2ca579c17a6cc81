// The profilers of all components: what is decided, who is asked, and what their answers come to.
#include "actions/profiler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <deque>
#include <map>
#include <vector>

#include "actions/components.h"
#include "actions/service.h"
#include "actions/testing.h"
#include "base/base64.h"
#include "server/testing/fake_exchange.h"

namespace vg::actions {
namespace {

using server::testing::FakeExchange;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Given;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::parse;

constexpr std::string_view switched_on = R"({"developerConfiguration":{"clusterProfiler":true}})";

// --- decisions

TEST(DecideProfilers, AreForbiddenWhileTheSwitchIsOff) {
  for (const std::string_view name : {"start-cluster-profiler", "stop-cluster-profiler", "dump-cluster-profiler"}) {
    Given given("", name);
    given.component("virt-api-1", "10.0.0.1").body("not JSON");
    EXPECT_EQ(given.outcome(), "403") << name;
    EXPECT_THAT(given.message(), HasSubstr("clusterProfiler")) << name;
    // The feature gate of that name says nothing.
    given.configuration(R"({"developerConfiguration":{"featureGates":["ClusterProfiler"]}})");
    EXPECT_EQ(given.outcome(), "403") << name;
    given.configuration(R"({"developerConfiguration":{"clusterProfiler":false}})");
    EXPECT_EQ(given.outcome(), "403") << name;
  }
}

TEST(DecideProfilers, OrdersGoToAll) {
  for (const auto& [name, target] :
       {std::pair("start-cluster-profiler", "/start-profiler"), std::pair("stop-cluster-profiler", "/stop-profiler")}) {
    Given given("", name);
    given.configuration(switched_on);
    EXPECT_EQ(given.outcome(), "500") << name;
    given.component("virt-api-1", "10.0.0.1").component("virt-handler-2", "fd00::2");
    EXPECT_EQ(given.outcome(), fmt::format("order {} virt-api-1@10.0.0.1 virt-handler-2@fd00::2", target));
  }
}

TEST(DecideProfilers, ADumpIsAPage) {
  const auto dump = [](const std::vector<std::string>& names, std::string token) {
    Given given("", "dump-cluster-profiler");
    given.configuration(switched_on).body("{}").continued_at(std::move(token));
    for (const std::string& name : names) given.component(name, "10.0.0.1");
    return given.outcome();
  };
  EXPECT_EQ(dump({}, ""), "reply 204 null");
  EXPECT_EQ(dump({"virt-api-1"}, ""), "collect /dump-profiler virt-api-1@10.0.0.1");
  EXPECT_EQ(dump({"virt-api-1"}, "next"), "collect /dump-profiler virt-api-1@10.0.0.1 then next");
  // A page of other pods is not the end of all pages.
  EXPECT_EQ(dump({}, "next"), "collect /dump-profiler then next");
}

TEST(DecideProfilers, ADumpIsAskedForInJson) {
  const auto dump = [](std::string_view body) {
    return Given("", "dump-cluster-profiler").configuration(switched_on).body(body).outcome();
  };
  for (const std::string_view good :
       {"{}", "null", " {\"pageSize\":3} trailing", R"({"labelSelector":null,"continue":null,"pageSize":null})",
        R"j({"LABELSELECTOR":"a in (b,c)","other":[1]})j", R"({"pageSize":-9223372036854775808})"})
    EXPECT_EQ(dump(good), "reply 204 null") << good;
  for (const std::string_view bad :
       {"", "  \n", "x", "[]", "5", "\"a\"", "pageSize: 3", "{\"pageSize\":3", R"({"pageSize":"3"})",
        R"({"pageSize":1.5})", R"({"pageSize":9223372036854775808})", R"({"labelSelector":5})", R"({"continue":{}})",
        R"({"labelSelector":"a in"})", R"({"labelSelector":"=b"})"})
    EXPECT_EQ(dump(bad), "400") << bad;
}

// --- what is read

TEST(ProfilesRequest, HasAPageSizeWithinBounds) {
  const auto size = [](std::string_view text) { return read_profiles_request(parse(text))->page_size; };
  EXPECT_EQ(size("{}"), 10U);
  EXPECT_EQ(size(R"({"pageSize":0})"), 10U);
  EXPECT_EQ(size(R"({"pageSize":-5})"), 10U);
  EXPECT_EQ(size(R"({"pageSize":1})"), 1U);
  EXPECT_EQ(size(R"({"pageSize":20})"), 20U);
  EXPECT_EQ(size(R"({"pageSize":21})"), 20U);
  EXPECT_EQ(size(R"({"pageSize":9223372036854775807})"), 20U);
  EXPECT_EQ(size(R"({"pageSize":3,"PAGESIZE":4})"), 4U);
}

std::string pod(std::string_view name, std::string_view address, std::string_view phase = "Running",
                std::string_view ready = "True", std::string_view metadata = "") {
  return fmt::format(R"({{"metadata":{{"name":"{}"{}}},"status":{{"phase":"{}","podIP":"{}",)"
                     R"("conditions":[{{"type":"Initialized","status":"True"}},{{"type":"Ready","status":"{}"}}]}}}})",
                     name, metadata, phase, address, ready);
}

TEST(Components, ArePodsThatCanAnswer) {
  const auto found = [](std::string_view text) {
    const auto component = component_of(parse(text));
    return component ? fmt::format("{}@{}", component->name, component->address) : std::string("none");
  };
  for (const std::string_view name : {"virt-api-1", "virt-operator-1", "virt-handler-1", "virt-controller-1"})
    EXPECT_EQ(found(pod(name, "10.0.0.1")), fmt::format("{}@10.0.0.1", name));
  for (const std::string_view name : {"virt-launcher-1", "virt-api", "my-virt-api-1", "virt-exportproxy-1", ""})
    EXPECT_EQ(found(pod(name, "10.0.0.1")), "none") << name;
  for (const std::string_view phase : {"Pending", "Failed", "Succeeded", ""})
    EXPECT_EQ(found(pod("virt-api-1", "10.0.0.1", phase)), "none") << phase;
  for (const std::string_view ready : {"False", "Unknown", ""})
    EXPECT_EQ(found(pod("virt-api-1", "10.0.0.1", "Running", ready)), "none") << ready;
  EXPECT_EQ(found(pod("virt-api-1", "x", "Running", "True", R"(,"deletionTimestamp":"2024-01-01T00:00:00Z")")), "none");
  EXPECT_EQ(found(R"({"metadata":{"name":"virt-api-1"},"status":{"phase":"Running"}})"), "none");
  EXPECT_EQ(found("{}"), "none");
}

TEST(Profiles, AreTakenFromWhatAComponentSays) {
  const auto read = [](std::string_view text) {
    auto profiles = read_profiles(text);
    return profiles ? *profiles : "refused";
  };
  EXPECT_EQ(read(R"({"other":1,"pprofData":{"heap.pprof":"aGVhcA==","cpu.pprof":""}})"),
            R"({"pprofData":{"cpu.pprof":"","heap.pprof":"aGVhcA=="}})");
  EXPECT_EQ(read("{}"), R"({"pprofData":{}})");
  EXPECT_EQ(read(R"({"pprofData":null})"), R"({"pprofData":{}})");
  for (const std::string_view bad : {"", "null", "[]", "text", R"({"pprofData":[]})", R"({"pprofData":{"a":1}})",
                                     R"({"pprofData":{"a":"no base64!"}})", R"({"pprofData":{}} x)"})
    EXPECT_EQ(read(bad), "refused") << bad;
}

// --- carried out

class FakePods final : public ObjectApi {
 public:
  std::deque<std::vector<std::string>> pages;  // of which each is a list of pods
  std::vector<std::string> asked;
  std::optional<Status> refusal;

  Task<Result<ObjectPage>> list_page(Core&, ResourceName resource, std::string_view ns, PageRequest page,
                                     json::StoragePtr storage) override {
    asked.push_back(
        fmt::format("{} {} [{}] {} [{}]", ns, resource.plural, page.selectors.labels, page.limit, page.continue_token));
    if (refusal) co_return fail(*refusal);
    std::size_t number = 0;
    if (!page.continue_token.empty()) number = std::stoul(std::string(page.continue_token));
    ObjectPage made;
    for (const std::string& text : pages.at(number)) made.objects.push_back(*json::parse(text, storage));
    if (number + 1 < pages.size()) made.continue_token = std::to_string(number + 1);
    co_return made;
  }
  Task<Result<json::Value>> get(Core&, ObjectName, json::StoragePtr) override {
    co_return fail(Status::not_found("", "", ""));
  }
  Task<Result<std::vector<json::Value>>> list(Core&, ResourceName, std::string_view, Selectors,
                                              json::StoragePtr) override {
    co_return std::vector<json::Value>();
  }
  Task<Result<WrittenObject>> patch(Core&, ObjectName, std::string_view, const json::Array&, bool) override {
    co_return WrittenObject();
  }
  Task<Result<WrittenObject>> create(Core&, ResourceName, std::string_view, const json::Value&, bool) override {
    co_return WrittenObject();
  }
};

class FakeLink final : public ComponentLink {
 public:
  std::map<std::string, Result<NodeAnswer>> answers;  // by pod; 200 without a word for the others
  std::vector<std::string> asked;
  std::optional<Status> refusal;

  Task<Result<void>> ask_all(Core&, std::span<const Component> components, ComponentQuestion question,
                             Take take) override {
    if (refusal) co_return fail(*refusal);
    EXPECT_GT(question.answer_bytes_max, 0U);
    for (std::size_t i = 0; i < components.size(); ++i) {
      asked.push_back(fmt::format("{}{}", components[i].address, question.target));
      const auto known = answers.find(components[i].name);
      if (!take(i, known == answers.end() ? NodeAnswer{.status = 200, .phrase = "OK", .body = "{}"} : known->second))
        break;
    }
    co_return Result<void>();
  }
};

class NoNodes final : public NodeLink {
 public:
  Task<Result<NodeAddress>> find(Core&, std::string_view) override { co_return fail(Status::bad_request("no")); }
  Task<Result<NodeAnswer>> call(Core&, const NodeAddress&, NodeRequest) override {
    co_return fail(Status::bad_request("no"));
  }
  Task<Result<NodeStream>> open(Core&, const NodeAddress&, std::string_view) override {
    co_return fail(Status::bad_request("no"));
  }
};

class FixedConfig final : public config::ConfigSource {
 public:
  config::ConfigPtr value =
      *config::ClusterConfig::read(parse(fmt::format(R"({{"spec":{{"configuration":{}}}}})", switched_on)), "1");
  config::ConfigPtr current() const override { return value; }
};

class ClusterProfilerTest : public ::testing::Test, public http::Handler {
 public:
  FakePods pods;
  FakeLink link;
  NoNodes nodes;
  FixedConfig config;
  const admission::Environment& offline = admission::offline_environment();
  const admission::Environment environment{.config = config,
                                           .lookups = offline.lookups,
                                           .clock = offline.clock,
                                           .randomness = offline.randomness,
                                           .own_namespace = "kubevirt"};
  metrics::Registry metrics;
  StreamLedger streams{metrics, offline.clock};
  Service service{{.objects = pods,
                   .nodes = nodes,
                   .environment = environment,
                   .streams = {.ledger = streams},
                   .components = link}};
  std::string resource;

  Task<void> handle(http::Exchange& exchange) override {
    server::Call call(exchange, exchange.request().path);
    co_await service.serve(call, {.version = "v1", .ns = {}, .resource = resource, .name = {}, .subresource = {}});
  }
  FakeExchange ask(std::string_view action, std::string_view body = "") {
    resource = fmt::format("{}-cluster-profiler", action);
    FakeExchange exchange("GET", "/x", std::string(body));
    exchange.run(*this);
    return exchange;
  }
};

TEST_F(ClusterProfilerTest, StartsAndStopsThoseThatAreReady) {
  pods.pages = {{pod("virt-api-1", "10.0.0.1"), pod("virt-launcher-1", "10.0.0.9")},
                {pod("virt-launcher-2", "10.0.0.8")},
                {pod("virt-handler-1", "fd00::1"), pod("virt-handler-2", "10.0.0.3", "Pending")}};
  auto answer = ask("start");
  EXPECT_EQ(answer.status(), 200);
  EXPECT_THAT(answer.body(), IsEmpty());
  EXPECT_EQ(answer.response().content_type, "");
  EXPECT_THAT(link.asked, ElementsAre("10.0.0.1/start-profiler", "fd00::1/start-profiler"));
  EXPECT_THAT(pods.asked, ElementsAre("kubevirt pods [kubevirt.io] 250 []", "kubevirt pods [kubevirt.io] 250 [1]",
                                      "kubevirt pods [kubevirt.io] 250 [2]"));
  link.asked.clear();
  EXPECT_EQ(ask("stop").status(), 200);
  EXPECT_THAT(link.asked, ElementsAre("10.0.0.1/stop-profiler", "fd00::1/stop-profiler"));
}

TEST_F(ClusterProfilerTest, TellsInOneLineOfText) {
  pods.pages = {{pod("virt-launcher-1", "10.0.0.1")}};
  auto nobody = ask("start");
  EXPECT_EQ(nobody.status(), 500);
  EXPECT_EQ(nobody.response().content_type, "text/plain; charset=utf-8");
  EXPECT_THAT(nobody.body(), HasSubstr("kubevirt"));
  pods.refusal = Status::forbidden("", "pods", "", "no");
  EXPECT_EQ(ask("stop").status(), 500);
  EXPECT_EQ(ask("dump", "{}").status(), 400);
  EXPECT_THAT(link.asked, IsEmpty());
  config.value = config::ClusterConfig::defaults("amd64");
  pods.asked.clear();
  auto off = ask("start");
  EXPECT_EQ(off.status(), 403);
  EXPECT_THAT(off.body(), AllOf(HasSubstr("clusterProfiler"), Not(HasSubstr("{"))));
  EXPECT_EQ(ask("dump", "nonsense").status(), 403);
  EXPECT_THAT(pods.asked, IsEmpty());
}

TEST_F(ClusterProfilerTest, AnOrderGoesToTheOthersWhenOneFails) {
  pods.pages = {{pod("virt-api-1", "a"), pod("virt-api-2", "b"), pod("virt-api-3", "c")}};
  link.answers.emplace("virt-api-1", NodeAnswer{.status = 403, .phrase = "Forbidden", .body = "switched off here"});
  link.answers.emplace("virt-api-2", fail(Status::unavailable("nobody listens")));
  auto answer = ask("stop");
  EXPECT_EQ(answer.status(), 500);
  EXPECT_THAT(answer.body(), AllOf(HasSubstr("2 of 3"), HasSubstr("virt-api-1: code 403, switched off here"),
                                   HasSubstr("virt-api-2: nobody listens")));
  EXPECT_EQ(link.asked.size(), 3U);
  link.answers.clear();
  link.answers.emplace("virt-api-1", NodeAnswer{.status = 202, .phrase = "Accepted", .body = ""});
  EXPECT_EQ(ask("stop").status(), 500);  // 200 is the only good answer
  link.refusal = Status::too_many_requests("wait", 1);
  EXPECT_EQ(ask("stop").status(), 429);
}

TEST_F(ClusterProfilerTest, OnlySomeFailuresAreTold) {
  pods.pages.emplace_back();
  for (int i = 10; i < 20; ++i) {
    const std::string name = fmt::format("virt-handler-{}", i);
    pods.pages.back().push_back(pod(name, "x"));
    link.answers.emplace(name, NodeAnswer{.status = 500, .phrase = {}, .body = std::string(100000, 'z')});
  }
  auto answer = ask("start");
  EXPECT_EQ(answer.status(), 500);
  EXPECT_LT(answer.body().size(), 2000U);
  EXPECT_THAT(answer.body(),
              AllOf(HasSubstr("10 of 10"), HasSubstr("virt-handler-12"), Not(HasSubstr("virt-handler-13"))));
}

TEST_F(ClusterProfilerTest, TooManyPodsAreRefused) {
  const std::vector<std::string> page(250, R"({"metadata":{"name":"virt-launcher-1"}})");
  pods.pages.assign(100, page);
  EXPECT_EQ(ask("start").status(), 500);
  EXPECT_EQ(pods.asked.size(), 81U);
}

TEST_F(ClusterProfilerTest, DumpsPageByPage) {
  pods.pages = {{pod("virt-api-1", "a"), pod("virt-handler-1", "b")}, {pod("other", "x")}, {pod("virt-api-2", "c")}};
  link.answers.emplace("virt-api-1", NodeAnswer{.status = 200, .phrase = {}, .body = R"({"pprofData":{"h":"AA=="}})"});
  auto first = ask("dump", R"j({"labelSelector":"kubevirt.io in (a, b)","pageSize":2})j");
  EXPECT_EQ(first.status(), 200);
  EXPECT_EQ(first.response().content_type, "application/json");
  EXPECT_EQ(first.body(), R"({"componentResults":{"virt-api-1":{"pprofData":{"h":"AA=="}},)"
                          R"("virt-handler-1":{"pprofData":{}}},"continue":"1"})");
  EXPECT_EQ(ask("dump", R"({"continue":"1"})").body(), R"({"componentResults":{},"continue":"2"})");
  EXPECT_EQ(ask("dump", R"({"continue":"2"})").body(), R"({"componentResults":{"virt-api-2":{"pprofData":{}}}})");
  EXPECT_THAT(pods.asked, ElementsAre("kubevirt pods [kubevirt.io in (a, b)] 2 []", "kubevirt pods [] 10 [1]",
                                      "kubevirt pods [] 10 [2]"));
  pods.pages = {{pod("other", "x")}};
  auto nothing = ask("dump", "{}");
  EXPECT_EQ(nothing.status(), 204);
  EXPECT_THAT(nothing.body(), IsEmpty());
  EXPECT_EQ(ask("dump", "").status(), 400);
}

TEST_F(ClusterProfilerTest, ADumpIsWholeOrNone) {
  pods.pages = {{pod("virt-api-1", "a"), pod("virt-api-2", "b"), pod("virt-api-3", "c")}};
  link.answers.emplace("virt-api-2", NodeAnswer{.status = 200, .phrase = {}, .body = "no profiles"});
  auto answer = ask("dump", "{}");
  EXPECT_EQ(answer.status(), 500);
  EXPECT_THAT(answer.body(), HasSubstr("virt-api-2"));
  EXPECT_EQ(link.asked.size(), 2U);  // what the third says does not matter any more
}

TEST_F(ClusterProfilerTest, ADumpHasALimit) {
  const std::string large =
      fmt::format(R"({{"pprofData":{{"heap.pprof":"{}"}}}})", std::string(std::size_t{6} << 20, 'A'));
  pods.pages.emplace_back();
  for (int i = 10; i < 30; ++i) {
    const std::string name = fmt::format("virt-handler-{}", i);
    pods.pages.back().push_back(pod(name, "x"));
    link.answers.emplace(name, NodeAnswer{.status = 200, .phrase = {}, .body = large});
  }
  auto answer = ask("dump", R"({"pageSize":20})");
  EXPECT_EQ(answer.status(), 500);
  EXPECT_THAT(answer.body(), HasSubstr("pageSize"));
  EXPECT_EQ(link.asked.size(), 11U);  // 64 MiB
}

// --- of this process

TEST(OwnProfiler, StartsStopsAndDumps) {
  const SystemClock clock;
  profile::ProcessProfiler profiler(clock);
  const auto ask = [&](std::string_view path, const config::ClusterConfig& config) {
    return profiler_answer(path, config, profiler);
  };
  const auto off = config::ClusterConfig::defaults("amd64");
  const config::ConfigPtr on = FixedConfig().value;
  for (const std::string_view path : {"/start-profiler", "/stop-profiler", "/dump-profiler"}) {
    const auto refused = ask(path, *off);
    EXPECT_EQ(refused.status, 403) << path;
    EXPECT_EQ(refused.content_type, "text/plain; charset=utf-8");
  }
  const auto names = [&] {
    const auto dumped = ask("/dump-profiler", *on);
    EXPECT_EQ(dumped.status, 200);
    EXPECT_EQ(dumped.content_type, "application/json");
    const json::Value document = parse(dumped.body);
    std::vector<std::string> all;
    for (const auto& profile : document.at("pprofData").as_object()) {
      all.emplace_back(profile.key());
      EXPECT_TRUE(base64_decode(profile.value().as_string())) << all.back();
    }
    EXPECT_TRUE(read_profiles(dumped.body));
    return all;
  };
  EXPECT_THAT(names(), Not(::testing::Contains("cpu.pprof")));
  const auto started = ask("/start-profiler", *on);
  EXPECT_EQ(started.status, 200) << started.body;
  EXPECT_THAT(started.body, IsEmpty());
  EXPECT_EQ(ask("/stop-profiler", *on).status, 200);
  EXPECT_THAT(names(), ElementsAre("allocs.pprof", "block.pprof", "cpu.pprof", "goroutine.pprof", "heap.pprof",
                                   "mutex.pprof", "threadcreate.pprof"));
}

}  // namespace
}  // namespace vg::actions
