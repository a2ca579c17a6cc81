#include "housekeeping/controllers.h"

#include <gmock/gmock.h>

#include <optional>
#include <thread>

#include "resources/api_test_support.h"

namespace vg::resources::testing {
namespace {

class ControllersTest : public ApiTest {
 protected:
  void start_controllers() {
    controllers_ =
        make_deletion_controller({.store = *store_, .commits = *commits_, .core = (*cores_)[1], .clock = clock_}, {});
    on_core([this] { task_.emplace(controllers_->run()); });
  }
  void stop_controllers() {
    if (!controllers_) return;
    on_core([this] { task_.reset(); });
    controllers_.reset();
  }
  ~ControllersTest() override { stop_controllers(); }

  template <class F>
  void on_core(F f) {
    std::promise<void> done;
    (*cores_)[1].post([&] {
      f();
      done.set_value();
    });
    done.get_future().get();
  }

  // Waits until it is so.
  template <class F>
  bool soon(F holds) {
    for (int i = 0; i < 1000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  bool gone(std::string at) {
    return soon([&] { return get(at).status == 404; });
  }
  std::string owned_by(const Reply& owner, bool blocks = false) {
    return fmt::format(
        R"(,"ownerReferences":[{{"apiVersion":"{}","kind":"{}","name":"{}","uid":"{}","blockOwnerDeletion":{}}}])",
        owner.at({"apiVersion"}), owner.at({"kind"}), owner.at({"metadata", "name"}), owner.at({"metadata", "uid"}),
        blocks);
  }
  static std::string map(std::string_view name) { return std::string(config_maps) + "/" + std::string(name); }

  std::unique_ptr<Controller> controllers_;
  std::optional<Background> task_;
};

TEST_F(ControllersTest, WhatAnOwnerLeavesBehindGoes) {
  start_controllers();
  const auto owner = post(config_maps, config_map("owner"));
  const auto middle = post(config_maps, config_map("middle", owned_by(owner)));
  post(config_maps, config_map("leaf", owned_by(middle)));
  post(config_maps, config_map("other"));
  call("DELETE", map("owner"));
  EXPECT_TRUE(gone(map("middle")));
  EXPECT_TRUE(gone(map("leaf")));
  EXPECT_EQ(get(map("other")).status, 200);
}

TEST_F(ControllersTest, AStartFinishesWhatWasLeft) {
  const auto owner = post(config_maps, config_map("owner"));
  post(config_maps, config_map("leaf", owned_by(owner)));
  call("DELETE", map("owner"));
  EXPECT_EQ(get(map("leaf")).status, 200);
  start_controllers();
  EXPECT_TRUE(gone(map("leaf")));
}

TEST_F(ControllersTest, OneOfTwoOwnersIsEnoughToStay) {
  start_controllers();
  const auto one = post(config_maps, config_map("one"));
  const auto two = post(config_maps, config_map("two"));
  const auto reference = [](const Reply& owner) {
    return fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","name":"{}","uid":"{}"}})",
                       owner.at({"metadata", "name"}), owner.at({"metadata", "uid"}));
  };
  post(config_maps, config_map("leaf", fmt::format(R"(,"ownerReferences":[{},{}])", reference(one), reference(two))));
  call("DELETE", map("one"));
  EXPECT_TRUE(soon([&] {
    const auto leaf = get(map("leaf"));
    const json::Value* owners = json::find_path(leaf.body.root(), {"metadata", "ownerReferences"});
    return owners && owners->is_array() && owners->get_array().size() == 1;
  }));
  // Who only takes something away owns nothing, and nobody owns what is gone.
  const std::string owned = get(map("leaf")).at({"metadata", "managedFields"});
  EXPECT_THAT(owned, ::testing::HasSubstr(two.at({"metadata", "uid"})));
  EXPECT_THAT(owned, ::testing::Not(::testing::HasSubstr(one.at({"metadata", "uid"}))));
  EXPECT_THAT(owned, ::testing::Not(::testing::HasSubstr("kube-controller-manager")));
  call("DELETE", map("two"));
  EXPECT_TRUE(gone(map("leaf")));
}

TEST_F(ControllersTest, NobodyOutsideOfItsNamespaceHoldsAnOwner) {
  start_controllers();
  post("/api/v1/namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"elsewhere"}})");
  for (const char* policy : {"Foreground", "Orphan"}) {
    const auto owner = post(config_maps, config_map("owner"));
    const std::string leech = fmt::format(
        R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"leech-{}","finalizers":["x/hold"]{}}}}})",
        policy[0] == 'F' ? "f" : "o", owned_by(owner, true));
    EXPECT_EQ(post("/api/v1/namespaces/elsewhere/configmaps", leech).status, 201);
    EXPECT_EQ(call("DELETE", map("owner") + "?propagationPolicy=" + policy).status, 200);
    EXPECT_TRUE(gone(map("owner"))) << policy;
  }
}

TEST_F(ControllersTest, ForegroundWaitsForWhatBlocks) {
  start_controllers();
  const auto owner = post(config_maps, config_map("owner"));
  post(config_maps, config_map("leaf", owned_by(owner, true) + R"(,"finalizers":["x/hold"])"));
  EXPECT_EQ(call("DELETE", map("owner") + "?propagationPolicy=Foreground").status, 200);
  EXPECT_TRUE(soon([&] { return get(map("leaf")).at({"metadata", "deletionTimestamp"}) != "(absent)"; }));
  EXPECT_EQ(get(map("owner")).status, 200);
  merge(map("leaf"), R"({"metadata":{"finalizers":null}})");
  EXPECT_TRUE(gone(map("owner")));
}

// Everybody waits for somebody else, and nobody goes: the circle is broken.
TEST_F(ControllersTest, OwnersOfEachOtherGo) {
  start_controllers();
  for (const std::size_t length : {1u, 2u, 3u, 50u}) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < length; ++i) {
      names.push_back(fmt::format("c{}-{}", length, i));
      post(config_maps, config_map(names.back()));
    }
    for (std::size_t i = 0; i < length; ++i)
      EXPECT_EQ(merge(map(names[i]), fmt::format(R"({{"metadata":{{{}}}}})",
                                                 owned_by(get(map(names[(i + 1) % length])), true).substr(1)))
                    .status,
                200);
    EXPECT_EQ(call("DELETE", map(names[0]) + "?propagationPolicy=Foreground").status, 200);
    for (const std::string& name : names) EXPECT_TRUE(gone(map(name))) << name;
  }
}

// Both were told to go, so none is told by the other.
TEST_F(ControllersTest, OwnersOfEachOtherThatWereBothDeletedGo) {
  const auto one = post(config_maps, config_map("one"));
  const auto two = post(config_maps, config_map("two", owned_by(one, true)));
  merge(map("one"), fmt::format(R"({{"metadata":{{{}}}}})", owned_by(two, true).substr(1)));
  for (const char* name : {"one", "two"}) call("DELETE", map(name) + "?propagationPolicy=Foreground");
  start_controllers();
  EXPECT_TRUE(gone(map("one")));
  EXPECT_TRUE(gone(map("two")));
}

TEST_F(ControllersTest, ACircleWaitsForWhatIsHeldByOthers) {
  start_controllers();
  const auto one = post(config_maps, config_map("one"));
  const auto two = post(config_maps, config_map("two", owned_by(one, true)));
  merge(map("one"), fmt::format(R"({{"metadata":{{{}}}}})", owned_by(two, true).substr(1)));
  post(config_maps, config_map("held", owned_by(two, true) + R"(,"finalizers":["x/hold"])"));
  call("DELETE", map("one") + "?propagationPolicy=Foreground");
  EXPECT_TRUE(soon([&] { return get(map("held")).at({"metadata", "deletionTimestamp"}) != "(absent)"; }));
  EXPECT_EQ(get(map("two")).status, 200) << "what it waits for is there";
  merge(map("held"), R"({"metadata":{"finalizers":null}})");
  for (const char* name : {"held", "one", "two"}) EXPECT_TRUE(gone(map(name))) << name;
}

TEST_F(ControllersTest, AnOwnerGoesOnWhenWhatHeldItIsDisowned) {
  start_controllers();
  const auto owner = post(config_maps, config_map("owner"));
  post(config_maps, config_map("leaf", owned_by(owner, true) + R"(,"finalizers":["x/hold"])"));
  call("DELETE", map("owner") + "?propagationPolicy=Foreground");
  EXPECT_TRUE(soon([&] { return get(map("leaf")).at({"metadata", "deletionTimestamp"}) != "(absent)"; }));
  merge(map("leaf"), R"({"metadata":{"ownerReferences":null}})");
  EXPECT_TRUE(gone(map("owner")));
  EXPECT_EQ(get(map("leaf")).status, 200);
}

// Each of them is looked at a few times, however many there are.
TEST_F(ControllersTest, ManyDependentsGoInTimeThatGrowsWithTheirNumber) {
  constexpr std::size_t count = 3000;
  const std::size_t before = store_->count("configmaps");
  const auto owner = post(config_maps, config_map("owner"));
  std::vector<std::unique_ptr<TestExchange>> running;
  std::vector<std::future<void>> ends;
  for (std::size_t i = 0; i < count; ++i) {
    running.push_back(exchange("POST", config_maps, config_map(fmt::format("d{}", i), owned_by(owner, true))));
    ends.push_back(start(*running.back()));
    if (ends.size() == 100) {
      for (auto& end : ends) end.get();
      ends.clear();
      running.clear();
    }
  }
  for (auto& end : ends) end.get();
  start_controllers();
  EXPECT_EQ(call("DELETE", map("owner") + "?propagationPolicy=Foreground").status, 200);
  EXPECT_TRUE(gone(map("owner")));
  EXPECT_TRUE(soon([&] { return store_->count("configmaps") == before; })) << store_->count("configmaps");
}

TEST_F(ControllersTest, OrphansOfOneThatIsDeletedTooStay) {
  start_controllers();
  const auto owner = post(config_maps, config_map("owner"));
  post(config_maps, config_map("leaf", owned_by(owner, true) + R"(,"finalizers":["x/hold"])"));
  call("DELETE", map("leaf"));
  call("DELETE", map("owner") + "?propagationPolicy=Orphan");
  EXPECT_TRUE(gone(map("owner")));
  EXPECT_EQ(get(map("leaf")).at({"metadata", "ownerReferences"}), "(absent)");
}

TEST_F(ControllersTest, OrphansStay) {
  start_controllers();
  const auto owner = post(config_maps, config_map("owner"));
  post(config_maps, config_map("leaf", owned_by(owner)));
  call("DELETE", map("owner") + "?propagationPolicy=Orphan");
  EXPECT_TRUE(gone(map("owner")));
  const auto leaf = get(map("leaf"));
  EXPECT_EQ(leaf.status, 200);
  EXPECT_EQ(leaf.at({"metadata", "ownerReferences"}), "(absent)");
}

TEST_F(ControllersTest, AnOwnerOfAnotherUidIsNone) {
  start_controllers();
  const auto owner = post(config_maps, config_map("owner"));
  std::string reference = owned_by(owner);
  reference.replace(reference.find(owner.at({"metadata", "uid"})), 36, "00000000-0000-0000-0000-000000000000");
  post(config_maps, config_map("leaf", reference));
  EXPECT_TRUE(gone(map("leaf")));
}

TEST_F(ControllersTest, OwnersOfUnknownKindsAreLeftAlone) {
  start_controllers();
  post(config_maps,
       config_map("leaf", R"(,"ownerReferences":[{"apiVersion":"x.io/v1","kind":"X","name":"x","uid":"1"}])"));
  const auto owner = post(config_maps, config_map("owner"));
  post(config_maps, config_map("witness", owned_by(owner)));
  call("DELETE", map("owner"));
  EXPECT_TRUE(gone(map("witness")));
  EXPECT_EQ(get(map("leaf")).status, 200);
}

TEST_F(ControllersTest, ANamespaceGoesWithItsContent) {
  start_controllers();
  post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})");
  const std::string maps = "/api/v1/namespaces/n/configmaps";
  for (int i = 0; i < 20; ++i) post(maps, config_map(fmt::format("c{}", i)));
  post(maps, config_map("held", R"(,"finalizers":["x/hold"])"));
  EXPECT_EQ(call("DELETE", "/api/v1/namespaces/n").status, 200);
  EXPECT_TRUE(soon([&] { return get(maps).item_names() == std::vector<std::string>{"held"}; }));
  EXPECT_EQ(get("/api/v1/namespaces/n").status, 200);
  merge(maps + "/held", R"({"metadata":{"finalizers":null}})");
  EXPECT_TRUE(gone("/api/v1/namespaces/n"));
}

// An owned object with a finalizer whose text nobody can read, as a damaged store may have it.
void put_unreadable(ObjectStore& store, std::string ns) {
  Transaction transaction;
  transaction.writes.push_back({.kind = WriteKind::create,
                                .key = {.resource = "configmaps", .ns = std::move(ns), .name = "damaged"},
                                .expected_revision = {},
                                .object = ObjectDraft{.uid = "d",
                                                      .json = R"({"metadata":{"finalizers":["x/hold"]})",
                                                      .revision_offset = 13,
                                                      .labels = {},
                                                      .owner_uids = {"gone"}}});
  std::promise<bool> done;
  store.submit(std::move(transaction), [&](const auto& result) { done.set_value(result.has_value()); });
  ASSERT_TRUE(done.get_future().get());
}

TEST_F(ControllersTest, AnObjectThatIsNotReadableIsLeftAlone) {
  put_unreadable(*store_, "default");
  start_controllers();
  const auto owner = post(config_maps, config_map("owner"));
  post(config_maps, config_map("leaf", owned_by(owner)));
  call("DELETE", map("owner"));
  EXPECT_TRUE(gone(map("leaf")));
}

TEST_F(ControllersTest, ANamespaceWithAnObjectThatIsNotReadableLosesTheOthers) {
  start_controllers();
  post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})");
  put_unreadable(*store_, "n");
  const std::string maps = "/api/v1/namespaces/n/configmaps";
  for (const char* name : {"a", "z"}) post(maps, config_map(name));
  EXPECT_EQ(call("DELETE", "/api/v1/namespaces/n").status, 200);
  EXPECT_TRUE(gone(maps + "/a"));
  EXPECT_TRUE(gone(maps + "/z"));
  EXPECT_EQ(get("/api/v1/namespaces/n").status, 200);
}

}  // namespace
}  // namespace vg::resources::testing
