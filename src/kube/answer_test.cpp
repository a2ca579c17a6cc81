#include "kube/answer.h"

#include <gtest/gtest.h>

#include <deque>

#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"
#include "kube/paths.h"
#include "kube/rate_limiter.h"

namespace vg::kube {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

Result<http::Answer> answered(int status, std::string retry_after = "") {
  http::Answer answer;
  answer.head.status = status;
  if (!retry_after.empty()) answer.head.headers.emplace_back("Retry-After", std::move(retry_after));
  return answer;
}

TEST(NameItemsTest, EveryItemHasItsKind) {
  auto list = json::Document::parse(R"({"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},7,)"
                                    R"({"kind":"Odd","apiVersion":"x/v2"}]})");
  name_items(list->root());
  EXPECT_EQ(json::to_text(list->root().at("items")),
            R"([{"metadata":{"name":"a"},"apiVersion":"v1","kind":"Pod"},7,{"kind":"Odd","apiVersion":"x/v2"}])");
  for (const std::string_view text : {"[]", "{}", R"({"kind":"PodList"})", R"({"kind":"Pod","items":[{}]})"}) {
    auto other = json::Document::parse(text);
    name_items(other->root());
    EXPECT_EQ(json::to_text(other->root()), text);
  }
}

TEST(RetryPauseTest, OnlyWhatCannotHaveHappenedIsRepeatedForEverybody) {
  EXPECT_TRUE(retry_pause(answered(429), false, 1));
  EXPECT_EQ(retry_pause(answered(429, "2"), false, 1), 2s);
  EXPECT_EQ(retry_pause(answered(503, "1"), false, 9), 1s);
  EXPECT_FALSE(retry_pause(answered(503, "1"), false, 10));
  EXPECT_EQ(retry_pause(answered(429, "3600"), false, 1), 10s);
  EXPECT_FALSE(retry_pause(answered(503), false, 1));
  EXPECT_FALSE(retry_pause(fail(Status::unavailable("gone")), false, 1));
}

TEST(RetryPauseTest, QuestionsAreRepeatedAFewTimes) {
  EXPECT_EQ(retry_pause(answered(503), true, 1), 50ms);
  EXPECT_EQ(retry_pause(answered(502), true, 3), 200ms);
  EXPECT_FALSE(retry_pause(answered(503), true, 4));
  EXPECT_TRUE(retry_pause(fail(Status::unavailable("gone")), true, 1));
  EXPECT_FALSE(retry_pause(fail(Status::timeout("slow")), true, 1));
  for (const int final_code : {200, 201, 400, 404, 409, 410, 422, 500, 501})
    EXPECT_FALSE(retry_pause(answered(final_code), true, 1)) << final_code;
}

TEST(BackOffTest, DoublesUpToItsLimit) {
  EXPECT_EQ(back_off(100ms, 3s, 1, 1), 100ms);
  EXPECT_EQ(back_off(100ms, 3s, 1, 0), 50ms);
  EXPECT_EQ(back_off(100ms, 3s, 3, 1), 400ms);
  EXPECT_EQ(back_off(100ms, 3s, 1000, 1), 3s);
}

TEST(RefusalTest, IsTheStatusThatTheServerSent) {
  http::Answer answer;
  answer.head.status = 409;
  answer.body = R"({"kind":"Status","reason":"Conflict","message":"m","details":{"name":"a","group":"g","kind":"k",)"
                R"("causes":[{"reason":"R","message":"M","field":"f"}],"retryAfterSeconds":3},"code":409})";
  const Status status = refusal_of(answer);
  EXPECT_EQ(status.code, 409);
  EXPECT_EQ(status.reason, "Conflict");
  EXPECT_EQ(status.details.name, "a");
  EXPECT_EQ(status.details.retry_after_seconds, 3);
  ASSERT_EQ(status.details.causes.size(), 1U);
  EXPECT_EQ(status.details.causes[0].field, "f");
  answer.body = "<html>";
  EXPECT_EQ(refusal_of(answer).code, 409);
  EXPECT_TRUE(refusal_of(answer).reason.empty());
}

TEST(AnswerTest, MustBeWhatWasAskedFor) {
  const auto parsed = [](std::string_view text) { return *json::parse(text, {}); };
  EXPECT_TRUE(check_object(parsed(R"({"metadata":{"name":"a"}})"), "a"));
  for (const std::string_view other : {"{}", "[]", "\"a\"", R"({"metadata":{"name":"b"}})", R"({"metadata":"a"})"})
    EXPECT_FALSE(check_object(parsed(other), "a")) << other;
  EXPECT_TRUE(check_list(parsed(R"({"items":[]})")));
  EXPECT_TRUE(check_list(parsed(R"({"items":null})")));
  for (const std::string_view other : {"{}", "[]", R"({"items":{}})", R"({"metadata":{"name":"b"}})"})
    EXPECT_FALSE(check_list(parsed(other))) << other;
}

TEST(PathsTest, OfObjectsAndCollections) {
  const ResourceName pods{"", "v1", "pods"}, vms{"kubevirt.io", "v1", "virtualmachines"};
  EXPECT_EQ(collection_path(pods, ""), "/api/v1/pods");
  EXPECT_EQ(collection_path(vms, "ns"), "/apis/kubevirt.io/v1/namespaces/ns/virtualmachines");
  EXPECT_EQ(object_path({.resource = vms, .ns = "ns", .name = "a/b"}, "status"),
            "/apis/kubevirt.io/v1/namespaces/ns/virtualmachines/a%2Fb/status");
  EXPECT_EQ(percent_encode("a=b,c d"), "a%3Db%2Cc%20d");
}

TEST(RateLimiterTest, GivesABurstAndThenTurns) {
  ManualClock clock;
  RateLimiter limiter(clock, {.per_second = 10, .burst = 2});
  RateLimiter::Place first(limiter, ""), second(limiter, ""), third(limiter, ""), fourth(limiter, "");
  EXPECT_EQ(first.left(), 0ns);
  EXPECT_EQ(second.left(), 0ns);
  EXPECT_EQ(third.left(), 100ms);
  EXPECT_EQ(fourth.left(), 200ms);
  clock.advance(100ms);
  EXPECT_EQ(fourth.left(), 100ms) << "the third one's";
  EXPECT_EQ(third.left(), 0ns);
  clock.advance(200ms);
  EXPECT_EQ(fourth.left(), 0ns);
  EXPECT_EQ(RateLimiter::Place(limiter, "").left(), 0ns);
}

TEST(RateLimiterTest, WhoGivesUpTakesNothing) {
  ManualClock clock;
  RateLimiter limiter(clock, {.per_second = 10, .burst = 1});
  EXPECT_EQ(RateLimiter::Place(limiter, "").left(), 0ns);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(RateLimiter::Place(limiter, "").left(), 100ms);
  RateLimiter::Place waits(limiter, "");
  EXPECT_EQ(waits.left(), 100ms) << "a hundred who gave up made nobody wait";
  EXPECT_EQ(RateLimiter::Place(limiter, "other").left(), 200ms) << "they had the same turn, and this one came later";
}

TEST(RateLimiterTest, WhoAsksMuchWaitsBehindThemselves) {
  ManualClock clock;
  RateLimiter limiter(clock, {.per_second = 10, .burst = 1});
  EXPECT_EQ(RateLimiter::Place(limiter, "greedy").left(), 0ns);
  std::deque<RateLimiter::Place> greedy;
  for (int i = 0; i < 1000; ++i) greedy.emplace_back(limiter, "greedy");
  EXPECT_EQ(greedy.back().left(), 100s);
  RateLimiter::Place modest(limiter, "modest"), again(limiter, "modest");
  EXPECT_LE(modest.left(), 200ms);
  EXPECT_LE(again.left(), 400ms);
  clock.advance(400ms);
  EXPECT_GT(greedy[100].left(), 0ns);
  int served = 0;
  for (auto& place : greedy) served += place.left() == 0ns ? 1 : 0;
  EXPECT_LE(served, 1) << "of a burst of one";
}

TEST(RateLimiterTest, AnotherRateStartsFull) {
  ManualClock clock;
  RateLimiter limiter(clock, {.per_second = 1, .burst = 1});
  const auto left = [&] { return RateLimiter::Place(limiter, "").left(); };
  EXPECT_EQ(left(), 0ns);
  limiter.set({.per_second = 1, .burst = 1});
  EXPECT_EQ(left(), 1s) << "the same rate again is no reason to fill it";
  limiter.set({.per_second = 5, .burst = 1});
  EXPECT_EQ(left(), 0ns);
  limiter.set({.per_second = 0, .burst = 0});
  for (int i = 0; i < 400; ++i) EXPECT_EQ(left(), 0ns);
  EXPECT_EQ(left(), 5ms);
}

}  // namespace
}  // namespace vg::kube
