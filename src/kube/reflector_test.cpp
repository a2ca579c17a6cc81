#include "kube/reflector.h"

#include <gmock/gmock.h>

#include <optional>

#include "json/access.h"
#include "json/arena.h"
#include "kube/live_config.h"
#include "kube/lookups.h"
#include "kube/testing.h"

namespace vg::kube {
namespace {

using testing::Bench;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Scripted;
using namespace std::chrono_literals;

constexpr std::string_view list_line = "GET /api/v1/configmaps?limit";
constexpr std::string_view watch_line = "GET /api/v1/configmaps?watch";

std::string object(std::string_view name, int version, std::string_view ns = "ns") {
  return fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}","resourceVersion":"{}"}}}})", name, ns, version);
}
std::string event(std::string_view type, const std::string& subject) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, subject);
}
Scripted list_of(int version, std::vector<std::string> items, std::string_view more = "") {
  return {.body = fmt::format(R"({{"metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})", version,
                              more, fmt::join(items, ","))};
}
Scripted silent_watch(std::string first = "") { return {.body = std::move(first), .goes_on = true}; }

// A reflector that a test waits for: until what it holds is what is expected.
class Followed {
 public:
  explicit Followed(Bench& bench, ReflectorTimes times = quick()) : bench_(bench) {
    reflector_.emplace(bench.client,
                       Reflector::Options{.name = "maps",
                                          .group = "",
                                          .version = "v1",
                                          .plural = "configmaps",
                                          .ns = "",
                                          .field_selector = "",
                                          .times = times},
                       bench.metrics, bench.clock);
    reflector_->on_change([this] { note(); });
    reflector_->on_trouble([this] { note(); });
  }
  ~Followed() {
    bench_.stop();
    reflector_.reset();
  }
  static ReflectorTimes quick() {
    ReflectorTimes times;
    times.first_pause = 1ms;
    times.longest_pause = 5ms;
    times.stale_after = 0ms;
    return times;
  }
  void start() {
    bench_.loop->post([this] { reflector_->start(*bench_.loop); });
  }
  Reflector& operator*() { return *reflector_; }
  Reflector* operator->() { return &*reflector_; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& held : reflector_->list("")) names.push_back(held->ns + "/" + held->name);
    return names;
  }
  bool until(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex_);
    // What is waited for may come true a moment after the last change was told.
    for (const auto patience = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < patience;) {
      if (holds()) return true;
      changed_.wait_for(lock, 10ms);
    }
    return false;
  }

 private:
  void note() {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
  }
  Bench& bench_;
  std::optional<Reflector> reflector_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

using Names = std::vector<std::string>;

TEST(ReflectorTest, ListsInPagesAndFollows) {
  Bench bench;
  bench.api.answer(std::string(list_line), list_of(5, {object("b", 1)}, "more"));
  bench.api.answer("GET /api/v1/configmaps?limit=500&continue=more", list_of(5, {object("a", 2, "other")}));
  bench.api.answer(std::string(watch_line),
                   silent_watch(event("ADDED", object("c", 6)) + event("DELETED", object("b", 7)) +
                                event("BOOKMARK", object("", 9))));
  Followed followed(bench);
  followed.start();
  EXPECT_TRUE(followed.until([&] { return followed.names() == Names{"ns/c", "other/a"}; }));
  EXPECT_TRUE(followed->synced());
  EXPECT_EQ(followed->problem(), std::nullopt);
  EXPECT_EQ(followed->find("ns", "c")->resource_version, "6");
  EXPECT_EQ(followed->find("ns", "b"), nullptr);
  EXPECT_EQ(followed->list("other").size(), 1U);
  EXPECT_THAT(bench.api.asked(), Contains(HasSubstr("allowWatchBookmarks=true&resourceVersion=5&")));
}

TEST(ReflectorTest, ResumesWhereAWatchEnded) {
  Bench bench;
  bench.api.answer(std::string(list_line), list_of(1, {}));
  bench.api.answer(std::string(watch_line),
                   {.body = event("ADDED", object("a", 2)) + event("BOOKMARK", object("", 4))});
  bench.api.answer(std::string(watch_line), silent_watch(event("ADDED", object("b", 5))));
  Followed followed(bench);
  followed.start();
  EXPECT_TRUE(followed.until([&] { return followed.names() == Names{"ns/a", "ns/b"}; }));
  EXPECT_THAT(bench.api.asked(),
              ElementsAre(HasSubstr("limit"), HasSubstr("resourceVersion=1&"), HasSubstr("resourceVersion=4&")));
}

TEST(ReflectorTest, ListsAgainWhenItsPlaceIsGone) {
  for (const Scripted& gone :
       {Scripted{.status = 410, .body = R"({"kind":"Status","code":410,"reason":"Expired"})"},
        Scripted{.body = event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired"})")}}) {
    Bench bench;
    bench.api.answer(std::string(list_line), list_of(1, {object("old", 1)}));
    bench.api.answer(std::string(list_line), list_of(50, {object("new", 40)}));
    bench.api.answer(std::string(watch_line), gone);
    bench.api.answer(std::string(watch_line), silent_watch());
    Followed followed(bench);
    followed.start();
    EXPECT_TRUE(followed.until([&] { return followed.names() == Names{"ns/new"}; }));
  }
}

TEST(ReflectorTest, KeepsWhatItHasAndSaysThatItIsOld) {
  Bench bench;
  bench.api.answer(std::string(list_line), list_of(1, {object("a", 1)}));
  for (int i = 0; i < 3; ++i) bench.api.answer(std::string(watch_line), {.status = 500, .body = "broken"});
  bench.api.answer(std::string(watch_line), silent_watch(event("ADDED", object("b", 2))));
  Followed followed(bench);
  bool was_old = false;
  followed->on_trouble([&] { was_old |= followed->problem().has_value() && followed.names() == Names{"ns/a"}; });
  followed.start();
  EXPECT_TRUE(followed.until([&] { return followed.names() == Names{"ns/a", "ns/b"}; }));
  EXPECT_TRUE(was_old);
  EXPECT_EQ(followed->problem(), std::nullopt);
  EXPECT_THAT(bench.metrics.expose(), HasSubstr("virtgate_cache_failures_total{cache=\"maps\"} 3"));
}

TEST(ReflectorTest, BeginsAnewWhenItsConnectionMayBeDead) {
  Bench bench;
  bench.api.answer(std::string(list_line), list_of(1, {}));
  bench.api.answer(std::string(watch_line), silent_watch(event("ADDED", object("a", 2))));
  bench.api.answer(std::string(watch_line), silent_watch(event("ADDED", object("b", 3))));
  Followed followed(bench);
  followed.start();
  ASSERT_TRUE(followed.until([&] { return followed.names() == Names{"ns/a"}; }));
  bench.loop->post([&] { followed->refresh(); });
  EXPECT_TRUE(followed.until([&] { return followed.names() == Names{"ns/a", "ns/b"}; }));
  EXPECT_THAT(bench.api.asked(), Contains(HasSubstr("resourceVersion=2&")));
}

TEST(ReflectorTest, APauseEndsWhenTheServerIsBack) {
  Bench bench;
  bench.api.answer(std::string(list_line), {.status = 500, .body = "broken"});
  bench.api.answer(std::string(list_line), list_of(1, {object("a", 1)}));
  bench.api.answer(std::string(watch_line), silent_watch());
  ReflectorTimes times = Followed::quick();
  times.first_pause = times.longest_pause = 1h;
  Followed followed(bench, times);
  followed.start();
  ASSERT_TRUE(followed.until([&] { return followed->problem() != "not listed yet"; }));
  bench.loop->post([&] { followed->refresh(); });
  EXPECT_TRUE(followed.until([&] { return followed.names() == Names{"ns/a"}; }));
}

TEST(ReflectorTest, ListsAgainAfterAnEventThatCannotBeRead) {
  for (const std::string& broken : {std::string("garbage\n"), event("ADDED", "{}"), event("NEWS", object("x", 3)),
                                    event("ERROR", R"({"kind":"Status","code":500,"message":"etcd"})")}) {
    Bench bench;
    bench.api.answer(std::string(list_line), list_of(1, {object("old", 1)}));
    bench.api.answer(std::string(list_line), list_of(50, {object("new", 40)}));
    bench.api.answer(std::string(watch_line), silent_watch(event("ADDED", object("seen", 2)) + broken));
    bench.api.answer(std::string(watch_line), silent_watch());
    Followed followed(bench);
    bool seen = false;
    followed->on_change([&] { seen |= followed.names() == Names{"ns/old", "ns/seen"}; });
    followed.start();
    EXPECT_TRUE(followed.until([&] { return followed.names() == Names{"ns/new"}; })) << broken;
    EXPECT_TRUE(seen) << "what came before it counts";
  }
}

TEST(ReflectorTest, WatchesThatBringNothingAreNotTrustedAndBecomeRare) {
  for (const Scripted& useless : {Scripted{.status = 410, .body = "{}"}, Scripted{.body = ""}}) {
    Bench bench;
    bench.api.answer(std::string(list_line), list_of(1, {}));
    bench.api.answer(std::string(list_line), list_of(2, {object("late", 2)}));
    bench.api.answer(std::string(watch_line), useless);
    ReflectorTimes times = Followed::quick();
    times.longest_pause = 1h;
    Followed followed(bench, times);
    const auto began = std::chrono::steady_clock::now();
    followed.start();
    EXPECT_TRUE(followed.until([&] { return bench.api.asked().size() >= 20; }));
    EXPECT_EQ(followed.names(), Names{"ns/late"});
    EXPECT_GE(std::chrono::steady_clock::now() - began, 200ms) << "pauses double, from 1 ms";
  }
}

TEST(ReflectorTest, WaitsForTheFirstList) {
  Bench bench;
  bench.api.answer(std::string(list_line), {.status = 403, .body = R"({"kind":"Status","code":403,"message":"no"})"});
  bench.api.answer(std::string(list_line), list_of(1, {}));
  bench.api.answer(std::string(watch_line), silent_watch());
  Followed followed(bench);
  EXPECT_EQ(followed->problem(), "not listed yet");
  followed.start();
  EXPECT_TRUE(followed.until([&] { return followed->synced() || followed->problem() == std::nullopt; }));
}

TEST(LiveConfigTest, FollowsTheObjectThatCounts) {
  Bench bench;
  const auto kubevirt = [](int version, std::string_view ns, std::string_view phase, std::string_view gate) {
    return fmt::format(
        R"({{"metadata":{{"name":"kubevirt","namespace":"{}","resourceVersion":"{}"}},"spec":{{"configuration":)"
        R"({{"developerConfiguration":{{"featureGates":["{}"]}}}}}},"status":{{"phase":"{}"}}}})",
        ns, version, gate, phase);
  };
  bench.api.answer(std::string(list_line),
                   list_of(1, {kubevirt(3, "a-other", "Deployed", "Sidecar"), kubevirt(4, "kubevirt", "", "Sidecar")}));
  bench.api.answer(std::string(watch_line),
                   silent_watch(event("MODIFIED", kubevirt(5, "kubevirt", "Deployed", "HostDisk"))));
  Followed followed(bench);
  LiveConfig config("kubevirt", "arm64");
  followed.start();
  EXPECT_TRUE(followed.until([&] {
    const auto held = followed->find("kubevirt", "kubevirt");
    return held && held->resource_version == "5";
  }));
  EXPECT_EQ(config.current()->default_architecture(), "arm64");
  EXPECT_TRUE(config.update(*followed));
  EXPECT_FALSE(config.update(*followed)) << "nothing new";
  EXPECT_EQ(config.current()->resource_version(), "5");
  EXPECT_TRUE(config.current()->enabled(config::Gate::host_disk));
  EXPECT_FALSE(config.current()->enabled(config::Gate::sidecar));
}

// --- look-ups ------------------------------------------------------------------------------------------------------

// False when nothing was missed.
bool fetch(Bench& bench, admission::LookupSession& session) {
  const bool missed = session.lookups().missed();
  bench.run(session.fetch(*bench.loop));
  return missed;
}

TEST(KubeLookupsTest, AreAskedAgainOnceTheAnswerIsThere) {
  Bench bench;
  bench.api.answer("GET /apis/kubevirt.io/v1/namespaces/ns/virtualmachines/a ", {.body = "{}"});
  bench.api.answer("GET /apis/kubevirt.io/v1/namespaces/ns/virtualmachines/a", {.body = object("a", 1)});
  KubeLookups source(bench.client, {});
  const auto session = source.open("somebody");
  json::Arena arena;
  const auto get = [&](std::string_view name) {
    return session->lookups().get("kubevirt.io/virtualmachines", "ns", name, arena.storage());
  };
  EXPECT_FALSE(fetch(bench, *session)) << "nobody has asked for anything";
  EXPECT_FALSE(get("a"));
  EXPECT_FALSE(get("gone"));
  EXPECT_TRUE(fetch(bench, *session));
  ASSERT_TRUE(get("a"));
  EXPECT_EQ(json::as_string(json::find_path(**get("a"), {"metadata", "name"})), "a");
  ASSERT_TRUE(get("gone"));
  EXPECT_EQ(*get("gone"), nullptr);
  EXPECT_FALSE(fetch(bench, *session));
  EXPECT_EQ(get("a/b").error().code, 400);
}

TEST(KubeLookupsTest, AFailureIsAnAnswer) {
  Bench bench;
  bench.api.answer("GET /api/v1/namespaces/ns/pods/p", {.status = 403, .body = R"({"kind":"Status","message":"no"})"});
  KubeLookups source(bench.client, {});
  const auto session = source.open("somebody");
  json::Arena arena;
  (void)session->lookups().get("pods", "ns", "p", arena.storage());
  EXPECT_TRUE(fetch(bench, *session));
  EXPECT_EQ(session->lookups().get("pods", "ns", "p", arena.storage()).error().code, 403);
  EXPECT_FALSE(fetch(bench, *session));
}

TEST(KubeLookupsTest, OneRequestLooksUpSoManyAndNoMore) {
  Bench bench;
  KubeLookups source(bench.client, {});
  const auto session = source.open("somebody");
  json::Arena arena;
  constexpr int count = 300;
  const auto get = [&](int i) {
    return session->lookups().get("pods", "ns", fmt::format("p{:03}", i), arena.storage());
  };
  for (int i = 0; i < count; ++i) EXPECT_FALSE(get(i));
  EXPECT_TRUE(fetch(bench, *session));
  int answered = 0;
  for (int i = 0; i < count; ++i) answered += get(i) ? 1 : 0;
  EXPECT_EQ(answered, 256);
  EXPECT_EQ(get(count - 1).error().code, 503);
  EXPECT_FALSE(fetch(bench, *session)) << "that is the answer";
}

TEST(KubeLookupsTest, ListsComeFromCopiesWhereThereAreAny) {
  Bench bench;
  bench.api.answer(std::string(list_line), list_of(1, {object("a", 1), object("b", 2, "other")}));
  bench.api.answer(std::string(watch_line), silent_watch());
  bench.api.answer("GET /api/v1/namespaces/ns/pods?labelSelector=k%3Dv",
                   {.body = R"({"items":[{"metadata":{"name":"p"}}]})"});
  Followed followed(bench);
  followed.start();
  ASSERT_TRUE(followed.until([&] { return followed->synced() && followed.names().size() == 2; }));
  KubeLookups source(bench.client, {{"configmaps", &*followed}});
  const auto session = source.open("somebody");
  json::Arena arena;
  EXPECT_EQ(session->lookups().list("configmaps", "ns", arena.storage())->size(), 1U);
  EXPECT_EQ(session->lookups().list_labelled("configmaps", "ns", "k", "v", arena.storage())->size(), 0U);
  EXPECT_FALSE(session->lookups().list_labelled("pods", "ns", "k", "v", arena.storage()));
  EXPECT_TRUE(fetch(bench, *session));
  EXPECT_EQ(session->lookups().list_labelled("pods", "ns", "k", "v", arena.storage())->size(), 1U);
}

}  // namespace
}  // namespace vg::kube
