#include "local/rbac.h"

#include <gmock/gmock.h>

#include <atomic>
#include <ctime>
#include <future>
#include <thread>

#include "http/core.h"
#include "local/rbac_test_support.h"

namespace vg::local {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct RbacTest : ::testing::Test, TestStore {
  Rbac rbac{*store, at_once};

  void role(std::string_view ns, std::string_view name, std::string_view rules) {
    put(roles_resource, fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}"}},"rules":{}}})", name, ns, rules));
  }
  void cluster_role(std::string_view name, std::string_view rules, std::string_view labels = "{}",
                    std::string_view more = "") {
    put(cluster_roles_resource,
        fmt::format(R"({{"metadata":{{"name":"{}","labels":{}}},"rules":{}{}}})", name, labels, rules, more));
  }
  void bind(std::string_view ns, std::string_view name, std::string_view kind, std::string_view role,
            std::string_view subjects) {
    put(role_bindings_resource, fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}"}},"subjects":{},
        "roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"{}","name":"{}"}}}})",
                                            name, ns, subjects, kind, role));
  }
  void cluster_bind(std::string_view name, std::string_view role, std::string_view subjects) {
    put(cluster_role_bindings_resource, fmt::format(R"({{"metadata":{{"name":"{}"}},"subjects":{},
        "roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"{}"}}}})",
                                                    name, subjects, role));
  }
  // "get vms.kubevirt.io/sub ns name"
  bool may(const User& who, std::string_view verb, std::string_view group, std::string_view resource,
           std::string_view ns, std::string_view name = "", std::string_view subresource = "") {
    return rbac
        .decide(who, {.verb = verb,
                      .resource_request = true,
                      .path = {},
                      .group = group,
                      .version = "v1",
                      .resource = resource,
                      .subresource = subresource,
                      .ns = ns,
                      .name = name})
        ->allowed;
  }
  bool may_path(const User& who, std::string_view verb, std::string_view path) {
    return rbac
        .decide(who, {.verb = verb,
                      .resource_request = false,
                      .path = path,
                      .group = {},
                      .version = {},
                      .resource = {},
                      .subresource = {},
                      .ns = {},
                      .name = {}})
        ->allowed;
  }
};

constexpr std::string_view jane = R"([{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"jane"}])";

TEST_F(RbacTest, WithoutRolesOnlyTheGroupThatNeedsNoneMay) {
  EXPECT_FALSE(may(user("jane"), "get", "", "pods", "a"));
  EXPECT_TRUE(may(user("root", {"system:masters"}), "delete", "x", "y", "z"));
  EXPECT_TRUE(may_path(user("root", {"system:masters"}), "get", "/anything"));
}

TEST_F(RbacTest, ARoleCountsInItsNamespaceOnly) {
  role("a", "r", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]}])");
  bind("a", "b", "Role", "r", jane);
  EXPECT_TRUE(may(user("jane"), "get", "", "pods", "a", "p"));
  EXPECT_TRUE(may(user("jane"), "list", "", "pods", "a"));
  EXPECT_FALSE(may(user("jane"), "delete", "", "pods", "a", "p"));
  EXPECT_FALSE(may(user("jane"), "get", "apps", "pods", "a", "p"));
  EXPECT_FALSE(may(user("jane"), "get", "", "pods", "a", "p", "log"));
  EXPECT_FALSE(may(user("jane"), "list", "", "pods", "b"));
  EXPECT_FALSE(may(user("jane"), "list", "", "pods", ""));
  EXPECT_FALSE(may(user("joan"), "list", "", "pods", "a"));
}

TEST_F(RbacTest, AClusterRoleBoundInANamespaceCountsThere) {
  cluster_role("r",
               R"([{"apiGroups":["*"],"resources":["*"],"verbs":["*"]},{"nonResourceURLs":["/x"],"verbs":["get"]}])");
  bind("a", "b", "ClusterRole", "r", jane);
  EXPECT_TRUE(may(user("jane"), "get", "any", "thing", "a", "p", "sub"));
  EXPECT_FALSE(may(user("jane"), "get", "any", "thing", "b"));
  EXPECT_FALSE(may_path(user("jane"), "get", "/x"));
  cluster_bind("b", "r", jane);
  EXPECT_TRUE(may(user("jane"), "get", "any", "thing", ""));
  EXPECT_TRUE(may_path(user("jane"), "get", "/x"));
  EXPECT_FALSE(may_path(user("jane"), "post", "/x"));
}

TEST_F(RbacTest, ANamespaceRoleOfAnotherNamespaceOrOfTheClusterIsNotFound) {
  role("a", "r", R"([{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}])");
  bind("b", "b", "Role", "r", jane);
  put(cluster_role_bindings_resource,
      fmt::format(R"({{"metadata":{{"name":"x"}},"subjects":{},"roleRef":{{"kind":"Role","name":"r"}}}})", jane));
  EXPECT_FALSE(may(user("jane"), "get", "", "pods", "b"));
  EXPECT_FALSE(may(user("jane"), "get", "", "pods", "a"));
}

TEST_F(RbacTest, SubjectsAreUsersGroupsAndServiceAccounts) {
  cluster_role("r", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])");
  bind("a", "group", "ClusterRole", "r", R"([{"kind":"Group","name":"dev"}])");
  bind("a", "own", "ClusterRole", "r", R"([{"kind":"ServiceAccount","name":"bot"}])");
  bind("a", "other", "ClusterRole", "r", R"([{"kind":"ServiceAccount","name":"bot","namespace":"b"}])");
  cluster_bind("nowhere", "r", R"([{"kind":"ServiceAccount","name":"bot"},{"kind":"Robot","name":"dev"}])");
  EXPECT_TRUE(may(user("x", {"ops", "dev"}), "get", "", "pods", "a"));
  EXPECT_FALSE(may(user("dev", {"ops"}), "get", "", "pods", "a"));
  EXPECT_TRUE(may(user("system:serviceaccount:a:bot"), "get", "", "pods", "a"));
  EXPECT_TRUE(may(user("system:serviceaccount:b:bot"), "get", "", "pods", "a"));
  EXPECT_FALSE(may(user("system:serviceaccount:c:bot"), "get", "", "pods", "a"));
  EXPECT_FALSE(may(user("system:serviceaccount:a:bot"), "get", "", "pods", "b"));
}

TEST_F(RbacTest, SaysWhatAllowed) {
  cluster_role("r", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])");
  bind("a", "b", "ClusterRole", "r", R"([{"kind":"ServiceAccount","name":"bot"},{"kind":"Group","name":"dev"}])");
  const AccessAttributes get{.verb = "get",
                             .resource_request = true,
                             .path = {},
                             .group = {},
                             .version = "v1",
                             .resource = "pods",
                             .subresource = {},
                             .ns = "a",
                             .name = {}};
  EXPECT_EQ(run(rbac.authorize(idle_core(), user("x", {"dev"}), get))->reason,
            R"(RBAC: allowed by RoleBinding "b/a" of ClusterRole "r" to Group "dev")");
  EXPECT_EQ(rbac.decide(user("system:serviceaccount:a:bot"), get)->reason,
            R"(RBAC: allowed by RoleBinding "b/a" of ClusterRole "r" to ServiceAccount "bot/a")");
}

TEST_F(RbacTest, SaysWhichRolesOfTheUserAreMissing) {
  const auto refusal = [this](std::string_view ns) {
    const AccessAttributes get{.verb = "get",
                               .resource_request = true,
                               .path = {},
                               .group = {},
                               .version = "v1",
                               .resource = "pods",
                               .subresource = {},
                               .ns = ns,
                               .name = {}};
    const auto decision = rbac.decide(user("jane"), get);
    return decision && !decision->allowed ? decision->reason : "allowed";
  };
  EXPECT_EQ(refusal("a"), "");
  cluster_bind("one", "gone", jane);
  cluster_bind("same", "gone", jane);
  bind("a", "two", "Role", "lost", jane);
  cluster_bind("others", "theirs", R"([{"kind":"User","name":"joe"}])");
  EXPECT_EQ(refusal("b"), R"(RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found)");
  EXPECT_EQ(refusal("a"), R"(RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, )"
                          R"(role.rbac.authorization.k8s.io "lost" not found])");
  for (int i = 0; i < 100; ++i) cluster_bind(fmt::format("b{}", i), fmt::format("gone{}", i), jane);
  EXPECT_LT(refusal("a").size(), 600u);
  role("a", "lost", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])");
  EXPECT_EQ(refusal("a"), "allowed");
}

TEST_F(RbacTest, EveryAcknowledgedWriteCountsAtOnce) {
  const User who = user("jane");
  for (int i = 0; i < 15; ++i) {
    role("a", "r", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])");
    bind("a", "b", "Role", "r", jane);
    ASSERT_TRUE(may(who, "get", "", "pods", "a"));
    role("a", "r", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["list"]}])");
    ASSERT_FALSE(may(who, "get", "", "pods", "a"));
    ASSERT_TRUE(may(who, "list", "", "pods", "a"));
    remove(role_bindings_resource, "a", "b");
    ASSERT_FALSE(may(who, "list", "", "pods", "a"));
    remove(roles_resource, "a", "r");
  }
}

TEST_F(RbacTest, ReadsAgainAfterFallingBehindTheStoresWindow) {
  TestStore other;
  other.store = nullptr;
  vg::store::Options options;
  options.path = other.folder.file("store.db");
  options.log_changes_max = 2;
  other.store = vg::store::must_open(std::move(options));
  {
    Rbac late(*other.store, at_once);
    const AccessAttributes get{.verb = "get",
                               .resource_request = true,
                               .path = {},
                               .group = {},
                               .version = "v1",
                               .resource = "pods",
                               .subresource = {},
                               .ns = "a",
                               .name = {}};
    EXPECT_FALSE(late.decide(user("jane"), get)->allowed);
    other.put(roles_resource, R"({"metadata":{"name":"r","namespace":"a"},
        "rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]})");
    for (int i = 0; i < 20; ++i)
      other.put(role_bindings_resource, fmt::format(R"({{"metadata":{{"name":"b{}","namespace":"a"}},"subjects":{},
          "roleRef":{{"kind":"Role","name":"r"}}}})",
                                                    i, i == 3 ? jane : "[]"));
    EXPECT_TRUE(late.decide(user("jane"), get)->allowed);
  }
  other.store = nullptr;
}

TEST_F(RbacTest, WhatCannotBeReadGrantsNothing) {
  cluster_role("odd", R"("everything")");
  cluster_role("odder", R"([7,{"apiGroups":"*","resources":["*"],"verbs":["*"]}])");
  cluster_bind("a", "odd", jane);
  cluster_bind("b", "odder", jane);
  put(cluster_role_bindings_resource, R"({"metadata":{"name":"c"},"subjects":{},"roleRef":[]})");
  EXPECT_FALSE(may(user("jane"), "get", "", "pods", "a"));
}

// A store that has no memory for what its watches hand out, once it is told so.
class ShortOfMemory final : public ObjectStore {
 public:
  explicit ShortOfMemory(ObjectStore& store) : store_(store) {}
  int failures = 0;

  Result<std::unique_ptr<Watch>> watch(WatchQuery query, Waker waker) override {
    auto watch = store_.watch(std::move(query), std::move(waker));
    if (!watch) return watch;
    return std::make_unique<Failing>(*this, std::move(*watch));
  }
  void submit(Transaction transaction, Completion done) override {
    store_.submit(std::move(transaction), std::move(done));
  }
  Revision revision() const override { return store_.revision(); }
  ObjectPtr get(std::string_view resource, std::string_view ns, std::string_view name) const override {
    return store_.get(resource, ns, name);
  }
  Result<ListPage> list(const ListQuery& query) const override { return store_.list(query); }
  ObjectList owned_by(std::string_view uid) const override { return store_.owned_by(uid); }
  std::vector<std::string> resources() const override { return store_.resources(); }
  std::size_t count(std::string_view resource) const override { return store_.count(resource); }
  Revision oldest_revision(std::string_view resource) const override { return store_.oldest_revision(resource); }
  StoreHealth health() const override { return store_.health(); }

 private:
  struct Failing final : Watch {
    Failing(ShortOfMemory& store, std::unique_ptr<Watch> watch) : store_(store), watch_(std::move(watch)) {}
    Result<WatchBatch> next(std::size_t changes_max) override {
      auto batch = watch_->next(changes_max);
      if (store_.failures > 0 && batch && !batch->changes.empty()) {
        --store_.failures;
        throw std::bad_alloc();
      }
      return batch;
    }
    ShortOfMemory& store_;
    std::unique_ptr<Watch> watch_;
  };
  ObjectStore& store_;
};

TEST_F(RbacTest, WhatThereWasNoMemoryForIsReadAgain) {
  ShortOfMemory short_of_memory(*store);
  Rbac other(short_of_memory, at_once);
  const auto may_get = [&] {
    return other.decide(user("jane"), {.verb = "get",
                                       .resource_request = true,
                                       .path = {},
                                       .group = {},
                                       .version = "v1",
                                       .resource = "pods",
                                       .subresource = {},
                                       .ns = "a",
                                       .name = {}});
  };
  role("a", "reader", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])");
  bind("a", "jane", "Role", "reader", R"([{"kind":"User","name":"jane"}])");
  EXPECT_TRUE(may_get()->allowed);

  short_of_memory.failures = 1;
  role("a", "reader", "[]");
  EXPECT_FALSE(may_get().has_value()) << "what is not known is not allowed";
  EXPECT_FALSE(may_get()->allowed);
}

TEST_F(RbacTest, GathersTheRulesOfAggregatedRoles) {
  constexpr std::string_view to_top = R"({"to-top":"true"})", to_middle = R"({"to-middle":"true"})";
  constexpr std::string_view gathers_top =
      R"(,"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to-top":"true"}}]})";
  constexpr std::string_view gathers_middle =
      R"(,"aggregationRule":{"clusterRoleSelectors":[{"matchExpressions":[{"key":"to-middle","operator":"Exists"}]}]})";
  cluster_role("top", "null", to_middle, gathers_top);  // and the middle gathers it back
  cluster_role("middle", R"([{"apiGroups":["old"],"resources":["old"],"verbs":["old"]}])", to_top, gathers_middle);
  cluster_role("leaf-a", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])", to_middle);
  cluster_role("leaf-b", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]},
      {"apiGroups":[""],"resources":["nodes"],"verbs":["get"]}])",
               to_top);
  cluster_bind("b", "top", jane);
  EXPECT_TRUE(may(user("jane"), "get", "", "pods", "a"));
  EXPECT_TRUE(may(user("jane"), "get", "", "nodes", ""));
  EXPECT_FALSE(may(user("jane"), "old", "old", "old", ""));

  const auto stale = rbac.stale_aggregations();
  ASSERT_EQ(stale.size(), 2u);
  EXPECT_EQ(stale[0].name, "middle");
  EXPECT_EQ(stale[1].name, "top");
  EXPECT_EQ(stale[1].rules.size(), 2u);  // the rule that two leaves have is there once
  // A new leaf counts at once.
  cluster_role("leaf-c", R"([{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}])", to_middle);
  EXPECT_TRUE(may(user("jane"), "get", "", "secrets", "a"));
  remove(cluster_roles_resource, "", "leaf-c");
  EXPECT_FALSE(may(user("jane"), "get", "", "secrets", "a"));
}

TEST_F(RbacTest, ListsTheRulesOfAUser) {
  role("a", "r", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])");
  bind("a", "b", "Role", "r", jane);
  cluster_role("c", R"([{"nonResourceURLs":["/healthz"],"verbs":["get"]}])");
  cluster_bind("c", "c", R"([{"kind":"Group","name":"all"}])");
  EXPECT_EQ(rbac.rules_for(user("jane", {"all"}), "a").size(), 2u);
  EXPECT_EQ(rbac.rules_for(user("jane", {"all"}), "").size(), 1u);
  EXPECT_TRUE(rbac.rules_for(user("joan"), "a").empty());
  EXPECT_EQ(rbac.rules_for(user("x", {"system:masters"}), "a").size(), 2u);
  EXPECT_EQ(rbac.rules_of_role("Role", "r", "a")->size(), 1u);
  EXPECT_EQ(rbac.rules_of_role("ClusterRole", "c", "a")->size(), 1u);
  EXPECT_EQ(rbac.rules_of_role("Role", "r", "b").error().code, 404);
  EXPECT_EQ(rbac.rules_of_role("Role", "r", "").error().code, 404);
}

// Readers on several threads while somebody binds and unbinds: no answer may mix two states. The role is narrowed
// before the binding comes and widened after it has gone, so the wide role must never be seen through the binding.
TEST_F(RbacTest, NoAnswerMixesTwoStates) {
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0, asked = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (!stop) {
        if (may(user("jane"), "delete", "", "pods", "a")) ++wrong;
        ++asked;
      }
    });
  for (int i = 0; i < 25 || asked < 1000; ++i) {
    role("a", "r", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get","delete"]}])");
    role("a", "r", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])");
    bind("a", "b", "Role", "r", jane);
    ASSERT_TRUE(may(user("jane"), "get", "", "pods", "a"));
    remove(role_bindings_resource, "a", "b");
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

std::string many_rules(int count) {
  std::string rules = "[";
  for (int i = 0; i < count; ++i)
    rules += fmt::format(R"({}{{"apiGroups":[""],"resources":["pods"],"verbs":["get"],"resourceNames":["n{}"]}})",
                         i == 0 ? "" : ",", i);
  return rules + "]";
}

void settle(Rbac& rbac, Core& core) {
  std::promise<void> settled;
  core.post([&] {
    spawn([](Rbac& all, Core& on, std::promise<void>& done) -> Task<void> {
      co_await all.settle(on);
      done.set_value();
    }(rbac, core, settled));
  });
  settled.get_future().wait();
}

// A role of 20,000 rules that three others gather took half a minute under a lock.
TEST_F(RbacTest, ALongRoleIsReadByAWorkerWhileOthersGoOn) {
  cluster_role("r", R"([{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}])");
  cluster_bind("b", "r", jane);
  ASSERT_TRUE(may(user("jane"), "get", "", "secrets", "a"));
  cluster_role("gathers", "[]", "{}", R"(,"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"x":"y"}}]})");
  cluster_bind("c", "gathers", jane);
  ASSERT_FALSE(may(user("jane"), "get", "", "pods", "a", "n19999"));

  cluster_role("long", many_rules(15'000), R"({"x":"y"})");
  EXPECT_TRUE(may(user("jane"), "get", "", "secrets", "a"));
  http::CoreThreads cores(1);
  const std::clock_t began = std::clock();  // CPU time: a busy machine is no defect
  settle(rbac, cores[0]);
  EXPECT_LT(std::clock() - began, 10 * CLOCKS_PER_SEC);
  EXPECT_TRUE(may(user("jane"), "get", "", "pods", "a", "n14999"));
  EXPECT_FALSE(may(user("jane"), "get", "", "pods", "a", "n15000"));
  EXPECT_TRUE(may(user("jane"), "get", "", "secrets", "a"));
  EXPECT_GT(rbac.bytes_of_role("ClusterRole", "long", ""), std::size_t{100'000});
}

TEST_F(RbacTest, AShortChangeBehindALongOneIsKnownOnceItIsSettled) {
  ASSERT_FALSE(may(user("jane"), "get", "", "pods", "a", "n1"));
  http::CoreThreads cores(1);
  cluster_role("long", many_rules(10'000));
  for (int round = 0; round < 5; ++round) {
    const std::string name = fmt::format("b{}", round);
    cluster_bind(name, "long", jane);
    settle(rbac, cores[0]);
    EXPECT_TRUE(may(user("jane"), "get", "", "pods", "a", "n1"));
    cluster_role("long", many_rules(10'000 + round));
  }
}

TEST_F(RbacTest, WhereSnapshotsTakeLongAChangeIsKnownOnceItIsSettled) {
  Rbac slow(*store, std::chrono::nanoseconds(0));
  http::CoreThreads cores(1);
  const AccessAttributes get{.verb = "get",
                             .resource_request = true,
                             .path = {},
                             .group = {},
                             .version = "v1",
                             .resource = "pods",
                             .subresource = {},
                             .ns = "a",
                             .name = {}};
  EXPECT_FALSE(slow.decide(user("jane"), get)->allowed);
  role("a", "r", R"([{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])");
  for (int round = 0; round < 5; ++round) {
    bind("a", "b", "Role", "r", jane);
    settle(slow, cores[0]);
    EXPECT_TRUE(slow.decide(user("jane"), get)->allowed);
    remove(role_bindings_resource, "a", "b");
    settle(slow, cores[0]);
    EXPECT_FALSE(slow.decide(user("jane"), get)->allowed);
  }
}

}  // namespace
}  // namespace vg::local
