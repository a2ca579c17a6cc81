#include "kube/lookups.h"

#include <gmock/gmock.h>

#include <climits>

#include "admission/lookup_failure.h"
#include "json/document.h"
#include "kube/testing.h"

namespace vg::kube {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

// What every source of look-ups does is in tests/contract/lookups_test.cpp.
struct LookupSessionTest : ::testing::Test {
  testing::Bench bench;
  json::Document memory;

  static std::string name(int i) { return fmt::format("m{}", i); }
  void make(int count) {
    for (int i = 0; i < count; ++i)
      bench.api.answer(fmt::format("GET /api/v1/namespaces/n/configmaps/{}", name(i)),
                       {.body = fmt::format(R"({{"kind":"ConfigMap","metadata":{{"name":"{}"}}}})", name(i))});
  }
  // Codes of the answers to so many look-ups, 200 for objects that were found, after everything was fetched.
  std::vector<int> look_up(admission::LookupSession& session, int count) {
    std::vector<int> codes;
    bench.run([](LookupSessionTest& self, admission::LookupSession& in, int n, std::vector<int>& out) -> Task<void> {
      do {
        if (in.lookups().missed()) co_await in.fetch(*self.bench.loop);
        out.clear();
        for (int i = 0; i < n; ++i) {
          const auto found = in.lookups().get("configmaps", "n", name(i), self.memory.storage());
          out.push_back(!found ? found.error().code : *found ? 200 : 404);
        }
      } while (in.lookups().missed());
    }(*this, session, count, codes));
    return codes;
  }
};

TEST_F(LookupSessionTest, WhatIsMissingIsAskedForSideBySide) {
  constexpr int count = 12;
  make(count);
  bench.api.wait_for(count);
  const KubeLookups lookups(bench.client, {});
  EXPECT_THAT(look_up(*lookups.open("somebody"), count), ::testing::Each(200));
  EXPECT_EQ(bench.api.waited_at_once(), count);
  EXPECT_EQ(bench.api.asked().size(), std::size_t{count}) << "each of them once";
}

TEST_F(LookupSessionTest, ManyAreAskedForSomeAtATime) {
  constexpr int count = 100;
  make(count);
  const KubeLookups lookups(bench.client, {});
  EXPECT_THAT(look_up(*lookups.open("somebody"), count), ::testing::Each(200));
  EXPECT_LE(bench.api.waited_at_once(), 16);
}

TEST_F(LookupSessionTest, AllRoundsHaveOneTimeTogether) {
  constexpr int count = 100;
  make(count);
  const auto began = Steady::now();
  const KubeLookups lookups(bench.client, {}, 500ms);
  const auto session = lookups.open("somebody");
  EXPECT_THAT(look_up(*session, 1), ::testing::Each(200)) << "the first round";
  bench.api.wait_for(INT_MAX);
  const auto codes = look_up(*session, count);
  EXPECT_LT(Steady::now() - began, 5s) << "one after the other they take 50 s, by sixteens 3.5 s and more";
  EXPECT_EQ(codes.front(), 200) << "what is known stays known";
  for (std::size_t i = 1; i < codes.size(); ++i) EXPECT_TRUE(admission::may_pass(codes[i])) << codes[i];
}

TEST_F(LookupSessionTest, WithoutTimeNobodyIsAsked) {
  make(1);
  const KubeLookups lookups(bench.client, {}, 0ms);
  EXPECT_THAT(look_up(*lookups.open("somebody"), 1), ::testing::ElementsAre(503));
  EXPECT_TRUE(bench.api.asked().empty());
}

// An object of each answer names the next one, for ever.
TEST_F(LookupSessionTest, ACircleHasAnEnd) {
  make(1000);
  const KubeLookups lookups(bench.client, {});
  const auto session = lookups.open("somebody");
  int last = 200, reached = 0;
  for (; last == 200 && reached < 1000; ++reached) last = look_up(*session, reached + 1).back();
  EXPECT_EQ(last, 503);
  EXPECT_EQ(reached, 33);
}

// Sixteen questions at a time, so what comes too much is at most theirs.
TEST_F(LookupSessionTest, AllAnswersTogetherHaveALimit) {
  constexpr int count = 64;
  const std::string filler(limits::mib, 'x');
  for (int i = 0; i < count; ++i)
    bench.api.answer(fmt::format("GET /api/v1/namespaces/n/configmaps/{}", name(i)),
                     {.body = fmt::format(R"({{"kind":"ConfigMap","metadata":{{"name":"{}"}},"data":{{"k":"{}"}}}})",
                                          name(i), filler)});
  const KubeLookups lookups(bench.client, {});
  const auto codes = look_up(*lookups.open("somebody"), count);
  EXPECT_LE(std::ranges::count(codes, 200), 32);
  EXPECT_GE(std::ranges::count(codes, 200), 16);
  EXPECT_LE(bench.api.asked().size(), 48u) << "those that come too late are not asked for";
}

}  // namespace
}  // namespace vg::kube
