#include "controllers/replica_set/replica_set.h"

#include <gtest/gtest.h>

#include "controllers/common/conditions.h"
#include "controllers/testing_effects.h"

namespace vg::controllers {
namespace {

using Texts = std::vector<std::string>;

class ReplicaSetTest : public ::testing::Test {
 protected:
  void set(std::string_view spec, std::string_view metadata = "") {
    world.put(kinds::replica_set,
              fmt::format(R"({{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstanceReplicaSet",
        "metadata":{{"namespace":"n","name":"web","uid":"set"{}}},"spec":{{{}}}}})",
                          metadata, spec));
  }
  void scale(std::int64_t replicas, std::string_view more = "") {
    set(fmt::format(R"("replicas":{},"selector":{{"matchLabels":{{"app":"web"}}}},
        "template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"domain":{{}}}}}}{})",
                    replicas, more));
  }
  void vmi(std::string_view name, std::string_view status, std::string_view labels = R"("app":"web")",
           std::string_view owner = "set", std::string_view metadata = "") {
    const std::string owners =
        owner.empty()
            ? ""
            : fmt::format(
                  R"(,"ownerReferences":[{{"uid":"{}","controller":true,"kind":"VirtualMachineInstanceReplicaSet","name":"web"}}])",
                  owner);
    world.put(kinds::vmi,
              fmt::format(
                  R"({{"metadata":{{"namespace":"n","name":"{}","uid":"u-{}","labels":{{{}}}{}{}}},"status":{{{}}}}})",
                  name, name, labels, owners, metadata, status));
  }
  TestPass first(Carried carried = {}) {
    TestPass made = sync(replica_set_controller(), world, key);
    carry_out(world, made);
    second = finish(replica_set_controller(), world, key, made, carried);
    carry_out(world, second);
    return made;
  }
  const json::Object& status() { return *json::get_object(*world.get(kinds::replica_set, "n", "web"), "status"); }
  std::int64_t count(std::string_view member) { return json::get_int_or(status(), member, 0); }

  Key key{.ns = "n", .name = "web"};
  TestWorld world;
  TestPass second;
};

constexpr std::string_view ready = R"("phase":"Running","conditions":[{"type":"Ready","status":"True"}])";
constexpr std::string_view ending =
    R"("phase":"Running","conditions":[{"type":"Ready","status":"False","reason":"PodTerminating"}])";
constexpr std::string_view over = R"("phase":"Failed")";
constexpr std::string_view starting = R"("phase":"Scheduling")";
constexpr std::string_view deleting = R"(,"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["f"])";

TEST_F(ReplicaSetTest, MakesWhatIsMissing) {  // RS-05, RS-08, RS-09, RS-13
  scale(3);
  const TestPass made = first();
  ASSERT_EQ(made.pass.effects.size(), 3U);
  const Effect& create = made.pass.effects[0];
  const json::Object& object = create.document.get_object();
  EXPECT_EQ(metadata_text(object, "generateName"), "web") << "RS-08b";
  EXPECT_EQ(metadata_text(object, "name"), "");
  EXPECT_EQ(controller_uid(object), "set");
  EXPECT_EQ(label_of(object, "app"), "web");
  EXPECT_TRUE(json::get_object(*json::get_object(object, "spec"), "domain"));
  EXPECT_EQ(made.events(), Texts({"SuccessfulCreate Normal", "SuccessfulCreate Normal", "SuccessfulCreate Normal"}));
  EXPECT_TRUE(create.others_follow);
  EXPECT_EQ(count("replicas"), 3);
  EXPECT_EQ(count("readyReplicas"), 0);
  EXPECT_EQ(json::get_string_or(status(), "labelSelector"), "app=web");
  EXPECT_EQ(annotation_of(*world.get(kinds::replica_set, "n", "web"), "kubevirt.io/latest-observed-api-version"), "v1");
  EXPECT_TRUE(first().pass.effects.empty());
  EXPECT_TRUE(second.pass.effects.empty()) << "RS-12";
}

TEST_F(ReplicaSetTest, NamesFromTheTemplate) {  // RS-08b
  for (const auto& [metadata, expected] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {R"("name":"own","generateName":"gen")", "own"}, {R"("generateName":"gen")", "gen"}}) {
    set(fmt::format(
        R"("selector":{{"matchLabels":{{"app":"web"}}}},"template":{{"metadata":{{{},"labels":{{"app":"web"}}}},"spec":{{}}}})",
        metadata));
    const TestPass made = sync(replica_set_controller(), world, key);
    ASSERT_EQ(made.pass.effects.size(), 1U) << "replicas are 1 by default (RS-04)";
    EXPECT_EQ(metadata_text(made.pass.effects[0].document.get_object(), "generateName"), expected);
  }
}

TEST_F(ReplicaSetTest, SortsItsMembers) {  // RS-02, RS-03
  vmi("ready", ready);
  vmi("starting", starting);
  vmi("ending", ending);
  vmi("over", over);
  vmi("deleting", ready, R"("app":"web")", "set", deleting);
  const auto members = replica_set::sort_members(world.list(kinds::vmi, "n"));
  EXPECT_EQ(members.active.size(), 2U);
  EXPECT_EQ(members.finished.size(), 2U);
  EXPECT_EQ(members.ready, 1);
}

TEST_F(ReplicaSetTest, DeletesWhatIsTooMuch) {  // RS-06
  for (const std::string_view name : {"a", "b", "c"}) vmi(name, ready);
  scale(1);
  EXPECT_EQ(first().events(), Texts({"SuccessfulDelete Normal", "SuccessfulDelete Normal"}));
  EXPECT_EQ(count("replicas"), 1);
  EXPECT_EQ(count("readyReplicas"), 1);
}

TEST_F(ReplicaSetTest, ReplacesWhatIsOver) {  // RS-07, 12.5
  vmi("a", ready);
  vmi("b", ready);
  vmi("dead", over);
  scale(3);
  EXPECT_EQ(first().pass.effects.size(), 1U);
  EXPECT_EQ(std::ranges::count(effects_of(second), "remove virtualmachineinstances dead"), 1);
  EXPECT_EQ(count("replicas"), 3);
}

TEST_F(ReplicaSetTest, LeavesFinishedOnesAfterAnError) {  // RS-07, RS-11
  vmi("dead", over);
  scale(2);
  first({.error = SoftError{.reason = "FailedCreate", .message = "no"}, .done = 0});
  EXPECT_TRUE(world.get(kinds::vmi, "n", "dead"));
  EXPECT_EQ(condition_reason(&status(), "ReplicaFailure"), "FailedCreate");
  first({.error = SoftError{.reason = "FailedDelete", .message = "other words"}, .done = 0});
  EXPECT_EQ(condition_reason(&status(), "ReplicaFailure"), "FailedCreate") << "not refreshed while present";
  first();
  EXPECT_FALSE(find_condition(&status(), "ReplicaFailure"));
}

TEST_F(ReplicaSetTest, AtMost250AtOnce) {  // RS-05
  scale(600);
  EXPECT_EQ(first().pass.effects.size(), 250U);
  EXPECT_TRUE(second.pass.again) << "the rest follow";
  EXPECT_EQ(first().pass.effects.size(), 250U);
  EXPECT_EQ(first().pass.effects.size(), 100U);
  EXPECT_FALSE(second.pass.again);
}

TEST_F(ReplicaSetTest, Paused) {  // RS-04, RS-10
  scale(2, R"(,"paused":true)");
  EXPECT_TRUE(first().pass.effects.empty());
  EXPECT_EQ(second.events(), Texts({"SuccessfulPaused Normal"}));
  EXPECT_EQ(condition_reason(&status(), "ReplicaPaused"), "Paused");
  first();
  EXPECT_TRUE(second.events().empty());
  json::Value resumed(*world.get(kinds::replica_set, "n", "web"));
  json::ensure_object(resumed.get_object(), "spec").erase("paused");
  world.put(kinds::replica_set, resumed);
  EXPECT_EQ(first().pass.effects.size(), 2U);
  EXPECT_EQ(second.events(), Texts({"SuccessfulResumed Normal"}));
  EXPECT_FALSE(json::find(status(), "conditions"));
}

TEST_F(ReplicaSetTest, DoesNothingWhileItIsDeleted) {  // RS-04, RS-01b
  vmi("orphan", ready, R"("app":"web")", "");
  set(R"("replicas":5,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{}})",
      deleting);
  EXPECT_TRUE(sync(replica_set_controller(), world, key).pass.effects.empty());
}

TEST_F(ReplicaSetTest, AdoptsAndReleases) {  // RS-01, RS-01b
  vmi("orphan", ready, R"("app":"web")", "");
  vmi("stranger", ready, R"("app":"db")", "");
  vmi("others", ready, R"("app":"web")", "another set");
  vmi("dying", ready, R"("app":"web")", "", deleting);
  vmi("renamed", ready, R"("app":"db")");
  scale(1);
  EXPECT_EQ(effects_of(first()),
            Texts({"patch virtualmachineinstances renamed", "patch virtualmachineinstances orphan"}));
  EXPECT_EQ(controller_uid(*world.get(kinds::vmi, "n", "orphan")), "set");
  EXPECT_EQ(controller_uid(*world.get(kinds::vmi, "n", "renamed")), "");
  EXPECT_EQ(count("replicas"), 1);
}

TEST_F(ReplicaSetTest, SkipsWhatCannotBeUsed) {
  for (
      const std::string_view spec :
      {R"("replicas":1)", R"("selector":{"matchLabels":{"app":"web"}})",
       R"("template":{"metadata":{"labels":{"app":"web"}}})",
       R"("selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{},"spec":{}})",
       R"("selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"web"}}})",
       R"("selector":{"matchExpressions":[{"key":"app","operator":"?"}]},"template":{"metadata":{"labels":{"app":"web"}}})"}) {
    set(spec);
    EXPECT_TRUE(first().pass.effects.empty()) << spec;
    EXPECT_TRUE(second.pass.effects.empty()) << spec;
  }
}

TEST_F(ReplicaSetTest, WokenByWhatItWouldSee) {
  scale(1);
  const auto woken = [&](const json::Object* before, const json::Object* after) {
    const Happened happened = !before ? Happened::added : !after ? Happened::removed : Happened::changed;
    return replica_set_controller().triggers[0].keys({happened, before, after}, world).size();
  };
  vmi("a", starting);
  const json::Object* before = world.get(kinds::vmi, "n", "a");
  EXPECT_EQ(woken(nullptr, before), 1U);
  EXPECT_EQ(woken(before, nullptr), 1U);
  EXPECT_EQ(woken(before, before), 0U) << "nothing that a set sees";
  vmi("a", ready);
  EXPECT_EQ(woken(before, world.get(kinds::vmi, "n", "a")), 2U);
  vmi("orphan", ready, R"("app":"web")", "");
  EXPECT_EQ(woken(nullptr, world.get(kinds::vmi, "n", "orphan")), 1U);
  vmi("stranger", ready, R"("app":"db")", "");
  EXPECT_EQ(woken(nullptr, world.get(kinds::vmi, "n", "stranger")), 0U);
}

}  // namespace
}  // namespace vg::controllers
