#include "simulated/calls.h"

#include <gmock/gmock.h>

#include "controllers/common/conditions.h"
#include "controllers/common/owners.h"
#include "controllers/testing.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "simulated/stats.h"

namespace vg::simulated {
namespace {

using testing::HasSubstr;

class CallsTest : public testing::Test {
 protected:
  Answered ask(std::string_view what, std::string_view vmi = "{}", std::string_view body = {}) {
    documents_.push_back(*json::Document::parse(vmi));
    return answer_call({.vmi = documents_.back().root().get_object(),
                        .what = what,
                        .body = body,
                        .now = controllers::test_now,
                        .storage = documents_.back().storage()});
  }
  static const json::Object* status(const Answered& answered) { return json::get_object(*answered.vmi, "status"); }

  std::deque<json::Document> documents_;
};

constexpr std::string_view running = R"({"metadata":{"name":"a"},"status":{"phase":"Running",
    "conditions":[{"type":"AgentConnected","status":"True"}]}})";

TEST_F(CallsTest, PauseAndUnpause) {  // STP-25, STP-26
  const Answered paused = ask("pause", running);
  EXPECT_EQ(paused.answer.status, 202);
  EXPECT_EQ(controllers::condition_reason(status(paused), "Paused"), "PausedByUser");
  EXPECT_EQ(paused.told.front().event.reason, "Paused");
  const Answered resumed = ask("unpause", R"({"status":{"conditions":[{"type":"Paused","status":"True"}]}})");
  EXPECT_FALSE(controllers::find_condition(status(resumed), "Paused"));
}

TEST_F(CallsTest, ARebootLosesTheAgent) {  // STP-27, STP-28
  for (const std::string_view what : {"softreboot", "reset"}) {
    const Answered answered = ask(what, running);
    EXPECT_EQ(answered.answer.status, 202);
    EXPECT_FALSE(controllers::find_condition(status(answered), "AgentConnected")) << what;
  }
}

TEST_F(CallsTest, Freeze) {  // STP-29, STP-30
  const Answered frozen = ask("freeze", running, R"({"unfreezeTimeout":"5m0s"})");
  EXPECT_EQ(frozen.answer.status, 202);
  EXPECT_EQ(json::get_string_or(*status(frozen), "fsFreezeStatus"), "frozen");
  EXPECT_EQ(controllers::annotation_of(*frozen.vmi, "simulated.virtgate.io/thaw-at"), "2026-01-02T03:09:05Z");
  EXPECT_EQ(controllers::annotation_of(*ask("freeze", running, R"({"unfreezeTimeout":"0s"})").vmi,
                                       "simulated.virtgate.io/thaw-at"),
            "");
  for (const std::string_view body : {"", "{}", "nonsense", R"({"unfreezeTimeout":5})"})
    EXPECT_EQ(ask("freeze", running, body).answer.status, 400) << body;
  EXPECT_EQ(ask("freeze", R"({"status":{"phase":"Running"}})", R"({"unfreezeTimeout":"1s"})").answer.status, 400);
  constexpr std::string_view moving = R"({"status":{"migrationState":{"startTimestamp":"2026-01-02T03:04:05Z"}}})";
  EXPECT_THAT(ask("freeze", moving, R"({"unfreezeTimeout":"1s"})").answer.body, HasSubstr("migrating"));
  const Answered thawed = ask("unfreeze", R"({"status":{"fsFreezeStatus":"frozen"}})");
  EXPECT_FALSE(json::find(*status(thawed), "fsFreezeStatus"));
}

TEST_F(CallsTest, WhatTheGuestTells) {
  EXPECT_THAT(ask("guestosinfo", running).answer.body, HasSubstr(R"("hostname":"a")"));
  for (const std::string_view what : {"userlist", "filesystemlist"}) {
    const Answered answered = ask(what, running);
    EXPECT_EQ(answered.answer.status, 200);
    EXPECT_TRUE(json::Document::parse(answered.answer.body)) << answered.answer.body;
    EXPECT_FALSE(answered.vmi);
  }
}

TEST_F(CallsTest, CountersOnlyGrow) {
  constexpr std::string_view vmi = R"({"metadata":{"name":"a","uid":"u1","creationTimestamp":"2026-01-02T03:04:05Z"},
      "spec":{"domain":{"cpu":{"cores":2},"memory":{"guest":"1Gi"},"devices":{"disks":[{"name":"root"}],
      "interfaces":[{"name":"default"}]}}},"status":{"phase":"Running"}})";
  const auto document = json::Document::parse(vmi);
  const json::Object& object = document->root().get_object();
  const controllers::Time born = std::chrono::sys_days(std::chrono::year(2026) / 1 / 2) + std::chrono::seconds(11045);
  std::int64_t cpu = -1, read = -1, received = -1;
  for (int second = 0; second < 300; ++second) {
    const json::Value stats(guest_stats(object, born + std::chrono::milliseconds(1000 * second + 7), {}));
    const auto number = [](const json::Value* value) { return json::as_int(value).value_or(-1); };
    const std::int64_t now = number(json::find_path(stats, {"cpu", "timeNanoseconds"}));
    EXPECT_GE(now, cpu);
    EXPECT_LE(now, (second + 1) * std::int64_t{2'000'000'000});
    cpu = now;
    const json::Value& disk = json::get_array(stats, "disks")->at(0);
    EXPECT_EQ(json::get_string(disk, "name"), "root");
    EXPECT_GE(number(json::find(disk, "readBytes")), read);
    read = number(json::find(disk, "readBytes"));
    const json::Value& nic = json::get_array(stats, "networks")->at(0);
    EXPECT_GE(number(json::find(nic, "receiveBytes")), received);
    received = number(json::find(nic, "receiveBytes"));
  }
  EXPECT_GT(cpu, 0);
  EXPECT_GT(read, 0);
  EXPECT_THAT(json::to_text(json::Value(guest_stats(object, born + std::chrono::milliseconds(7), {}))),
              ::testing::AllOf(HasSubstr(R"("time":"2026-01-02T03:04:05.007Z")"), HasSubstr(R"("vcpus":2)")));
}

TEST_F(CallsTest, TheRestIsRefused) {
  for (const std::string_view what : {"backup", "vnc/screenshot", "sev/fetchcertchain", ""})
    EXPECT_EQ(ask(what, running).answer.status, 501) << what;
}

TEST(CallTarget, Reads) {
  const CallTarget target = read_target("/v1/namespaces/ns/virtualmachineinstances/a/vnc/screenshot?moveCursor=true");
  EXPECT_EQ(std::tie(target.ns, target.name, target.what), std::make_tuple("ns", "a", "vnc/screenshot"));
  for (const std::string_view wrong : {"", "/", "/v1/namespaces/ns", "/v1/namespaces/ns/virtualmachineinstances/a"})
    EXPECT_EQ(read_target(wrong).name, "") << wrong;
}

}  // namespace
}  // namespace vg::simulated
