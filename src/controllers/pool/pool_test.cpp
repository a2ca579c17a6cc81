#include "controllers/pool/pool.h"

#include <gtest/gtest.h>

#include "controllers/common/conditions.h"
#include "controllers/pool/template.h"
#include "controllers/testing_effects.h"
#include "json/write.h"

namespace vg::controllers {
namespace {

using Texts = std::vector<std::string>;
using std::chrono::seconds;

constexpr std::string_view plain = R"("replicas":2)";

class PoolTest : public ::testing::Test {
 protected:
  // The pool "p" of the given generation; `hostname` is in its template.
  void pool(std::string_view spec, int generation = 1, std::string_view hostname = "h",
            std::string_view metadata = "") {
    const json::Object* before = world.get(kinds::pool, "n", "p");
    const json::Value* status = before ? json::find(*before, "status") : nullptr;
    world.put(kinds::pool, fmt::format(R"({{"apiVersion":"pool.kubevirt.io/v1beta1","kind":"VirtualMachinePool",
        "metadata":{{"namespace":"n","name":"p","uid":"pool","generation":{},"finalizers":["pool.kubevirt.io/finalizer"]{}}},
        "spec":{{"selector":{{"matchLabels":{{"app":"p"}}}},"virtualMachineTemplate":{{
          "metadata":{{"labels":{{"app":"p"}},"annotations":{{"note":"x"}}}},
          "spec":{{"runStrategy":"Always","template":{{"metadata":{{"labels":{{"app":"p"}}}},
            "spec":{{"hostname":"{}","domain":{{}}}}}}}}}},{}}},"status":{}}})",
                                       generation, metadata, hostname, spec, status ? json::to_text(*status) : "{}"));
  }
  // One pass, carried out.
  TestPass pass(Time now = test_now, Carried carried = {}) {
    TestPass made = sync(pool_controller(), world, key, now);
    carry_out(world, made);
    if (!world.get(kinds::pool, "n", "p")) return made;
    second = finish(pool_controller(), world, key, made, carried, now);
    carry_out(world, second);
    return made;
  }
  // Every VM runs, with a VMI that is as its VM says.
  void run() {
    for (const json::Object* vm : world.list(kinds::vm, "n")) {
      const std::string name(metadata_text(*vm, "name"));
      set_ready(name, true);
      world.put(kinds::vmi, fmt::format(R"({{"metadata":{{"namespace":"n","name":"{}","uid":"vmi-{}",
          "labels":{{"kubevirt.io/vm-pool-revision-name":"{}"}},"ownerReferences":[{{"kind":"VirtualMachine","name":"{}","controller":true}}]}},
          "status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                                        name, name, label_of(*vm, pool::revision_label), name));
    }
  }
  void set_ready(std::string_view name, bool ready) {
    json::Value vm(*world.get(kinds::vm, "n", name));
    vm.get_object()["status"] = json::Object{
        {"conditions", json::Array{json::Object{{"type", "Ready"}, {"status", ready ? "True" : "False"}}}}};
    world.put(kinds::vm, vm);
  }
  void change(std::string_view resource, std::string_view name, std::string_view merge_patch) {
    json::Value object(*world.get(resource, "n", name));
    const auto patch = json::Document::parse(merge_patch);
    ASSERT_TRUE(json::apply_merge_patch(object, patch->root()));
    world.put(resource, object);
  }
  std::string vms() {
    std::string names;
    for (const json::Object* vm : world.list(kinds::vm, "n"))
      names += fmt::format("{}{} ", metadata_text(*vm, "name"), is_being_deleted(*vm) ? "(deleting)" : "");
    return names;
  }
  std::string revisions() {
    std::string names;
    for (const json::Object* one : world.list(kinds::revision, "n"))
      names += fmt::format("{} ", metadata_text(*one, "name"));
    return names;
  }
  std::string revision_of(std::string_view vm) {
    return std::string(label_of(*world.get(kinds::vm, "n", vm), pool::revision_label));
  }
  const json::Object& status() { return *json::get_object(*world.get(kinds::pool, "n", "p"), "status"); }

  Key key{.ns = "n", .name = "p"};
  TestWorld world;
  TestPass second;
};

TEST_F(PoolTest, MakesWhatIsMissing) {  // POOL-03, 11, 14, 15, 17, 11.6
  pool(plain);
  change(kinds::pool, "p", R"({"metadata":{"finalizers":["other"]}})");
  const TestPass made = pass();
  EXPECT_EQ(effects_of(made), Texts({"patch virtualmachinepools p", "create controllerrevisions p-1",
                                     "create virtualmachines p-0", "create virtualmachines p-1"}));
  EXPECT_EQ(made.events(), Texts({"SuccessfulCreate Normal", "SuccessfulCreate Normal"}));
  EXPECT_TRUE(has_finalizer(*world.get(kinds::pool, "n", "p"), "other")) << "spec migration-and-fleets Q7";
  EXPECT_TRUE(has_finalizer(*world.get(kinds::pool, "n", "p"), pool::finalizer));
  EXPECT_EQ(json::get_int_or(status(), "replicas", 0), 2);
  EXPECT_EQ(json::get_string_or(status(), "labelSelector"), "app=p");
  EXPECT_TRUE(pass().pass.effects.empty());
  EXPECT_TRUE(second.pass.effects.empty());
  run();
  pass();
  EXPECT_EQ(json::get_int_or(status(), "readyReplicas", 0), 2);
}

TEST_F(PoolTest, LowestFreeNumbers) {  // POOL-14, 12.5
  pool(R"("replicas":4)");
  for (const std::string_view name : {"p-0", "p-2"})
    world.put(kinds::vm, fmt::format(R"({{"metadata":{{"namespace":"n","name":"{}"}}}})", name));
  pass();
  EXPECT_EQ(vms(), "p-0 p-1 p-2 p-3 p-4 p-5 ") << "also those that are not the pool's are taken";
}

TEST_F(PoolTest, ScalesInAsTheStrategySays) {  // POOL-12, 13, 10
  struct Case {
    std::string_view id, strategy, expected;
  };
  constexpr std::string_view ordered =
      R"(,"scaleInStrategy":{"proactive":{"selectionPolicy":{"sortPolicy":"DescendingOrder"}}})";
  const Case cases[] = {
      {"POOL-12", R"(,"scaleInStrategy":{"unmanaged":{}})", "p-0 p-1 p-2 "},
      {"POOL-12", R"(,"scaleInStrategy":{"opportunistic":{}})", "p-0 p-1 p-2 "},
      {"POOL-13", ordered, "p-0 "},
      {"POOL-13", R"(,"scaleInStrategy":{"proactive":{"selectionPolicy":{"sortPolicy":"AscendingOrder"}}})", "p-2 "},
      {"POOL-13 spec migration-and-fleets Q6",
       R"(,"scaleInStrategy":{"proactive":{"selectionPolicy":{"selectors":{"labelSelector":{"matchLabels":{"app":"x"}}}}}})",
       "p-0 p-1 p-2 "},
  };
  for (const Case& one : cases) {
    world.clear();
    pool(R"("replicas":3)");
    pass();
    pool(fmt::format(R"("replicas":1{})", one.strategy), 2);
    pass();
    EXPECT_EQ(vms(), one.expected) << one.id << one.strategy;
  }
}

TEST_F(PoolTest, ADeletedVmIsLetGoAndReplaced) {  // POOL-10, spec migration-and-fleets Q8
  for (const std::string_view strategy : {"", R"(,"scaleInStrategy":{"unmanaged":{}})"}) {
    world.clear();
    pool(fmt::format(R"("replicas":2{})", strategy));
    pass();
    change(
        kinds::vm, "p-0",
        R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["pool.kubevirt.io/finalizer","own"]}})");
    pass();
    EXPECT_FALSE(has_finalizer(*world.get(kinds::vm, "n", "p-0"), pool::finalizer));
    EXPECT_EQ(vms(), "p-0(deleting) p-1 ") << "it counts until it is gone";
    world.remove(kinds::vm, "n", "p-0");
    pass();
    EXPECT_EQ(vms(), "p-0 p-1 ");
  }
}

// 11.2: first it is deleted, then it is released of its disks, then it goes. A VM that is not deleted would adopt them
// again.
TEST_F(PoolTest, KeepsDisksIfAsked) {
  for (const bool is_held : {true, false}) {
    world.clear();
    pool(R"("replicas":1)");
    pass();
    if (!is_held) change(kinds::vm, "p-0", R"({"metadata":{"finalizers":[]}})");
    world.put(kinds::claim,
              R"({"metadata":{"namespace":"n","name":"disk","ownerReferences":[{"uid":"uid-of-p-0"},{"uid":"x"}]}})");
    pool(R"("replicas":0,"scaleInStrategy":{"proactive":{"statePreservation":"Offline"}})", 2);
    if (!is_held) EXPECT_EQ(effects_of(pass()), Texts({"patch virtualmachines p-0"})) << "nothing would hold it";
    EXPECT_EQ(effects_of(pass()), Texts({"remove virtualmachines p-0"}));
    EXPECT_EQ(vms(), "p-0(deleting) ");
    EXPECT_EQ(world.owned_by(kinds::claim, "n", "uid-of-p-0").size(), 1U) << "not before it is deleted";
    EXPECT_EQ(effects_of(pass()), Texts({"patch persistentvolumeclaims disk", "patch virtualmachines p-0"}));
    EXPECT_EQ(vms(), "");
    EXPECT_TRUE(world.owned_by(kinds::claim, "n", "uid-of-p-0").empty());
    EXPECT_EQ(world.owned_by(kinds::claim, "n", "x").size(), 1U);
  }
}

TEST_F(PoolTest, AlsoWhatAPausedPoolHasDeletedIsLetGo) {  // POOL-10
  pool(R"("replicas":1)");
  pass();
  pool(R"("replicas":1,"paused":true)", 2);
  change(kinds::vm, "p-0", R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}})");
  pass();
  EXPECT_EQ(vms(), "");
}

TEST_F(PoolTest, UpdatesVmsThenVmis) {  // POOL-22, 22b, 24, 06
  pool(plain);
  pass();
  run();
  change(kinds::vm, "p-0", R"({"spec":{"template":{"spec":{"domain":{"firmware":{"uuid":"own","serial":"s"}}}}}})");
  pool(plain, 2, "new");
  TestPass made = pass();
  EXPECT_EQ(made.events(), Texts({"SuccessfulUpdate Normal", "SuccessfulUpdate Normal"}));
  EXPECT_EQ(revisions(), "p-1 p-2 ");
  EXPECT_EQ(revision_of("p-0"), "p-2");
  const json::Value& spec = *json::find(*world.get(kinds::vm, "n", "p-0"), "spec");
  EXPECT_EQ(json::as_string(json::find_path(spec, {"template", "spec", "hostname"})), "new");
  EXPECT_EQ(json::as_string(json::find_path(spec, {"template", "spec", "domain", "firmware", "uuid"})), "own");
  EXPECT_EQ(json::as_string(json::find_path(spec, {"template", "spec", "domain", "firmware", "serial"})), "s");
  made = pass();
  EXPECT_EQ(effects_of(made).size(), 2U);
  EXPECT_TRUE(world.list(kinds::vmi, "n").empty()) << "they start again";
  EXPECT_EQ(revisions(), "p-1 p-2 ") << "a revision in use stays";
  pass();
  EXPECT_EQ(revisions(), "p-2 ") << "POOL-06";
}

TEST_F(PoolTest, NoMoreThanMayBeDown) {  // POOL-25..27
  pool(R"("replicas":3,"maxUnavailable":1)");
  pass();
  run();
  pool(R"("replicas":3,"maxUnavailable":1)", 2, "new");
  pass();
  TestPass made = pass();
  EXPECT_EQ(made.pass.effects.size(), 1U);
  EXPECT_EQ(made.pass.again, seconds(3));
  EXPECT_TRUE(pass().pass.effects.empty()) << "one is down";
  set_ready("p-0", false);
  set_ready("p-1", false);
  set_ready("p-2", false);
  EXPECT_EQ(pass().pass.effects.size(), 2U) << "POOL-25: those that are not ready do not count";
}

TEST_F(PoolTest, UpdateStrategies) {  // POOL-20, 23, 21
  struct Case {
    std::string_view id, strategy;
    std::string_view revision;
    std::size_t vmis;
  };
  const Case cases[] = {
      {"POOL-20", R"("unmanaged":{})", "p-1", 1},
      {"POOL-23", R"("opportunistic":{})", "p-2", 1},
      {"POOL-24", R"("proactive":{})", "p-2", 0},
      {"POOL-21", R"("proactive":{"selectionPolicy":{"selectors":{"labelSelector":{"matchLabels":{"app":"x"}}}}})",
       "p-1", 1},
  };
  for (const Case& one : cases) {
    world.clear();
    const std::string spec = fmt::format(R"("replicas":1,"updateStrategy":{{{}}})", one.strategy);
    pool(spec);
    pass();
    run();
    pool(spec, 2, "new");
    pass();
    pass();
    EXPECT_EQ(revision_of("p-0"), one.revision) << one.id;
    EXPECT_EQ(world.list(kinds::vmi, "n").size(), one.vmis) << one.id;
  }
}

TEST_F(PoolTest, OnlyTheTemplateMakesOutdated) {  // POOL-22
  pool(plain);
  pass();
  run();
  pool(R"("replicas":3)", 2);
  pass();
  EXPECT_EQ(revision_of("p-0"), "p-1");
  EXPECT_EQ(revision_of("p-2"), "p-2");
  run();
  EXPECT_TRUE(pass().pass.effects.empty());
  EXPECT_EQ(revisions(), "p-1 p-2 ");
}

TEST_F(PoolTest, Paused) {  // POOL-04, 11.6
  pool(R"("replicas":2,"paused":true)");
  EXPECT_TRUE(pass().pass.effects.empty());
  EXPECT_EQ(second.events(), Texts({"SuccessfulPaused Normal"}));
  EXPECT_EQ(condition_reason(&status(), "ReplicaPaused"), "SuccessfulPaused");
  pool(plain, 2);
  pass();
  EXPECT_EQ(vms(), "p-0 p-1 ");
  EXPECT_EQ(second.events(), Texts({"SuccessfulResume Normal"}));
  EXPECT_FALSE(json::find(status(), "conditions"));
}

TEST_F(PoolTest, ShowsWhatFailed) {  // 11.6
  pool(plain);
  const Carried failed{.error = SoftError{.reason = "FailedScaleOut", .message = "no"}, .done = 0};
  pass(test_now, failed);
  EXPECT_EQ(condition_reason(&status(), "ReplicaFailure"), "FailedScaleOut");
  EXPECT_EQ(second.events(), Texts({"FailedScaleOut Warning"}));
  pass(test_now, failed);
  EXPECT_TRUE(second.events().empty());
  pass();
  EXPECT_FALSE(find_condition(&status(), "ReplicaFailure"));
}

TEST_F(PoolTest, Deleted) {  // POOL-07
  pool(plain);
  pass();
  pool(plain, 2, "h", R"(,"deletionTimestamp":"2026-01-02T03:04:05Z")");
  pass();
  EXPECT_EQ(world.get(kinds::pool, "n", "p"), nullptr);
  for (const json::Object* vm : world.list(kinds::vm, "n")) EXPECT_FALSE(has_finalizer(*vm, pool::finalizer));
}

TEST_F(PoolTest, ReleasesWhatDoesNotMatch) {  // POOL-02, spec migration-and-fleets Q7
  pool(R"("replicas":1)");
  pass();
  change(kinds::vm, "p-0", R"({"metadata":{"labels":{"app":"x"},"finalizers":["own","pool.kubevirt.io/finalizer"]}})");
  pass();
  const json::Object& released = *world.get(kinds::vm, "n", "p-0");
  EXPECT_FALSE(json::find(*json::get_object(released, "metadata"), "ownerReferences"));
  EXPECT_TRUE(has_finalizer(released, "own"));
  EXPECT_FALSE(has_finalizer(released, pool::finalizer));
  EXPECT_EQ(vms(), "p-0 p-1 ");
}

TEST_F(PoolTest, Heals) {  // 11.5, spec migration-and-fleets Q5
  pool(R"("replicas":2,"autohealing":{"minFailingToStartDuration":"60s"})");
  pass();
  world.put(kinds::vm,
            R"({"metadata":{"namespace":"n","name":"other"},"status":{"startFailure":{"consecutiveFailCount":9}}})");
  change(kinds::vm, "p-0", R"({"status":{"startFailure":{"consecutiveFailCount":3}}})");
  change(kinds::vm, "p-1", R"({"status":{"printableStatus":"CrashLoopBackOff","conditions":[
      {"type":"Ready","status":"False","lastProbeTime":"2026-01-02T03:04:00Z"}]}})");
  TestPass made = pass();
  EXPECT_EQ(vms(), "other p-1 ");
  EXPECT_EQ(made.pass.again, seconds(55));
  pass(test_now + seconds(55));
  pass(test_now + seconds(56));
  EXPECT_EQ(vms(), "other p-0 p-1 ") << "with the numbers that are free again";
  EXPECT_FALSE(json::find(*world.get(kinds::vm, "n", "p-1"), "status")) << "a new one";
}

// 11.1: what a pass does, and what has to be so before it does.
TEST_F(PoolTest, HealsFirst) {
  struct Row {
    std::string_view id, spec, expected;
  };
  const Row rows[] = {
      {"POOL-01", R"("replicas":2,"autohealing":{})", "p-1 "},
      {"POOL-01: not configured", R"("replicas":2)", "p-0 p-1 "},
      {"POOL-01: also while paused", R"("replicas":2,"autohealing":{},"paused":true)", "p-1 "},
      {"POOL-01: also while it grows", R"("replicas":3,"autohealing":{})", "p-1 p-2 "},
  };
  for (const Row& row : rows) {
    world.clear();
    pool(plain);
    pass();
    change(kinds::vm, "p-0", R"({"status":{"startFailure":{"consecutiveFailCount":3}}})");
    pool(row.spec, 2);
    pass();
    EXPECT_EQ(vms(), row.expected) << row.id;
  }
}

TEST_F(PoolTest, OneThingAfterTheOther) {
  struct Row {
    std::string_view id, spec, hostname;
    std::string expected;  // VMs, the revision of the first, revisions
  };
  const Row rows[] = {
      {"POOL-05, POOL-28: updates what is as many as it should be", plain, "new", "p-0 p-1 , p-2, old p-1 p-2 "},
      {"POOL-05: no update while it scales", R"("replicas":3)", "new", "p-0 p-1 p-2 , p-1, old p-1 p-2 "},
      {"POOL-28: nothing was outdated, so old revisions go", plain, "h", "p-0 p-1 , p-1, p-1 "},
      {"POOL-28: what is not looked at is not outdated", R"("replicas":2,"updateStrategy":{"unmanaged":{}})", "new",
       "p-0 p-1 , p-1, p-1 "},
  };
  for (const Row& row : rows) {
    world.clear();
    pool(plain);
    pass();
    run();
    world.put(
        kinds::revision,
        R"({"metadata":{"namespace":"n","name":"old","ownerReferences":[{"uid":"pool","kind":"VirtualMachinePool","controller":true}]}})");
    pool(row.spec, 2, row.hostname);
    pass();
    EXPECT_EQ(fmt::format("{}, {}, {}", vms(), revision_of("p-0"), revisions()), row.expected) << row.id;
  }
}

TEST_F(PoolTest, ShowsHowManyThereAre) {  // 11.6
  struct Row {
    std::string_view id, p0, p1;  // merge patches on the VMs
    int replicas, ready;
  };
  constexpr std::string_view ready = R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})";
  constexpr std::string_view deleting =
      R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["own"]}})";
  const Row rows[] = {
      {"POOL-08", "{}", "{}", 2, 0},
      {"POOL-08", ready, "{}", 2, 1},
      {"POOL-08", ready, ready, 2, 2},
      {"POOL-08: one that is being deleted counts", ready, deleting, 2, 1},
      {"POOL-08: one that was let go does not", ready, R"({"metadata":{"ownerReferences":null}})", 1, 1},
  };
  for (const Row& row : rows) {
    world.clear();
    pool(plain);
    pass();
    change(kinds::vm, "p-0", row.p0);
    change(kinds::vm, "p-1", row.p1);
    pool(R"("replicas":2,"paused":true)", 2);
    pass();
    EXPECT_EQ(json::get_int_or(status(), "replicas", 0), row.replicas) << row.id;
    EXPECT_EQ(json::get_int_or(status(), "readyReplicas", 0), row.ready) << row.id;
    EXPECT_EQ(json::get_string_or(status(), "labelSelector"), "app=p") << row.id;
    pass();
    EXPECT_TRUE(second.pass.effects.empty()) << row.id << ": it is written when it changes";
  }
}

TEST_F(PoolTest, SkipsWhatCannotBeUsed) {
  pool(plain);
  change(kinds::pool, "p", R"({"spec":{"selector":{"matchLabels":{"app":"x"}}}})");
  EXPECT_TRUE(pass().pass.effects.empty());
  EXPECT_TRUE(second.pass.effects.empty());
}

TEST_F(PoolTest, WokenByItsVmsAndTheirVmis) {
  pool(plain);
  pass();
  run();
  const auto woken = [&](std::string_view resource, const Change& change) {
    std::size_t keys = 0;
    for (const Trigger& trigger : pool_controller().triggers)
      if (trigger.resource == resource) keys += trigger.keys(change, world).size();
    return keys;
  };
  const json::Object* vm = world.get(kinds::vm, "n", "p-0");
  const json::Object* vmi = world.get(kinds::vmi, "n", "p-0");
  EXPECT_EQ(woken(kinds::vm, {Happened::added, nullptr, vm}), 1U);
  EXPECT_EQ(woken(kinds::vmi, {Happened::removed, vmi, nullptr}), 1U);
  EXPECT_EQ(woken(kinds::vmi, {Happened::changed, vmi, vmi}), 0U) << "nothing that a pool sees";
}

}  // namespace
}  // namespace vg::controllers
