#include "objects/quota_keeper.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "catalog/catalog.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "objects/draft.h"
#include "ports/object_store_testing.h"
#include "store/embedded_store.h"
#include "store/fault_vfs.h"
#include "store/testing.h"

namespace vg::resources {
namespace {

using vg::testing::commit;
using vg::testing::one;
using vg::testing::start;
using Outcome = Result<CommitOutcome>;

class QuotaKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override { open(QuotaKeeper::Usages::kept); }
  void TearDown() override { close(); }
  void close() {
    disk_.fail_sync = 0;
    disk_.release_syncs();
    if (keeper_) keeper_->stop();
    store_.reset();
    keeper_.reset();
  }
  void open(QuotaKeeper::Usages usages) {
    close();
    keeper_ = std::make_unique<QuotaKeeper>(usages, clock_);
    store::Options options;
    options.path = folder_.file("store.db");
    options.vfs = disk_.name();
    options.probe_interval = std::chrono::milliseconds(2);
    options.guard = keeper_.get();
    store_ = store::must_open(std::move(options));
    keeper_->attach(*store_);
    keeper_->start();
  }

  static ObjectKey key(std::string_view resource, std::string name, std::string ns = "n") {
    return {std::string(resource), std::move(ns), std::move(name)};
  }
  static ObjectDraft draft(const ObjectKey& of, std::string_view rest) {
    auto document = json::Document::parse(fmt::format(
        R"({{"metadata":{{"name":"{}","namespace":"{}","uid":"u-{}"}}{}}})", of.name, of.ns, of.name, rest));
    EXPECT_TRUE(document) << rest;
    return make_draft(std::as_const(document->root().get_object()), *find_resource(of.resource));
  }
  static Write made(ObjectKey of, std::string_view rest = "") {
    ObjectDraft object = draft(of, rest);
    return {.kind = WriteKind::create, .key = std::move(of), .expected_uid = {}, .object = std::move(object)};
  }
  static Write changed(ObjectKey of, std::string_view rest) {
    Write write = made(std::move(of), rest);
    write.kind = WriteKind::update;
    return write;
  }
  static Write quota(std::string_view hard, std::string name = "q") {
    return made(key(quotas_key, std::move(name)), fmt::format(R"(,"spec":{{"hard":{{{}}}}},"status":{{}})", hard));
  }
  static Write map(std::string name, std::string ns = "n") {
    return made(key("configmaps", std::move(name), std::move(ns)));
  }

  std::string status() const {
    const ObjectPtr stored = store_->get(quotas_key, "n", "q");
    if (!stored) return "none";
    const auto document = json::Document::parse(stored->json(), own_text);
    return json::to_text(*json::find(document->root(), "status"), {.sort_keys = true});
  }
  // As soon as it is what it is to become; the answer to whoever writes the quota comes after that.
  void expect_status(const std::string& wanted) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (status() != wanted && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_EQ(status(), wanted);
  }
  static std::string maps(int hard, int used) {
    return fmt::format(R"({{"hard":{{"configmaps":"{}"}},"used":{{"configmaps":"{}"}}}})", hard, used);
  }

  SystemClock clock_;
  store::TemporaryFolder folder_;
  store::FaultVfs disk_{"virtgate-quota-fault"};
  std::unique_ptr<QuotaKeeper> keeper_;
  std::unique_ptr<store::EmbeddedStore> store_;
};

TEST_F(QuotaKeeperTest, UsageChangesInTheTransactionThatCausesIt) {
  ASSERT_TRUE(commit(*store_, quota(R"("configmaps":"2")")));
  expect_status(maps(2, 0));
  const Outcome first = commit(*store_, map("a"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->objects.size(), 1u) << "what the guard adds is not the writer's";
  EXPECT_EQ(store_->get(quotas_key, "n", "q")->revision(), first->revision);
  EXPECT_EQ(status(), maps(2, 1));
  ASSERT_TRUE(commit(*store_, map("b")));
  const Outcome refused = commit(*store_, map("c"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 403);
  EXPECT_FALSE(store_->get("configmaps", "n", "c"));
  ASSERT_TRUE(commit(*store_, map("c", "other"))) << "another namespace";
  ASSERT_TRUE(commit(*store_, vg::testing::remove(key("configmaps", "a"))));
  EXPECT_EQ(status(), maps(2, 1));
}

TEST_F(QuotaKeeperTest, AllOfATransactionOrNoneOfIt) {
  ASSERT_TRUE(commit(*store_, quota(R"("configmaps":"2")")));
  expect_status(maps(2, 0));
  const auto three = [] {
    Transaction transaction;
    for (const char* name : {"a", "b", "c"}) transaction.writes.push_back(map(name));
    return transaction;
  };
  const Outcome refused = commit(*store_, three());
  ASSERT_FALSE(refused);
  EXPECT_EQ(status(), maps(2, 0));
  Transaction two = three();
  two.writes.pop_back();
  ASSERT_TRUE(commit(*store_, std::move(two)));
  EXPECT_EQ(status(), maps(2, 2));
}

TEST_F(QuotaKeeperTest, WritesOfOneBatchSeeEachOther) {
  ASSERT_TRUE(commit(*store_, quota(R"("configmaps":"3")")));
  expect_status(maps(3, 0));
  disk_.hold_syncs();
  auto held = start(*store_, one(map("held", "other")));
  disk_.wait_for_held_log_sync();
  std::vector<std::future<Outcome>> batch;
  for (int i = 0; i < 8; ++i) batch.push_back(start(*store_, one(map(fmt::format("c{}", i)))));
  disk_.release_syncs();
  EXPECT_TRUE(held.get());
  int made_count = 0;
  for (auto& answer : batch) made_count += answer.get() ? 1 : 0;
  EXPECT_EQ(made_count, 3);
  EXPECT_EQ(status(), maps(3, 3));
}

TEST_F(QuotaKeeperTest, AQuotaCountsWhatIsInItsOwnBatchAndBehindIt) {
  ASSERT_TRUE(commit(*store_, map("before")));
  disk_.hold_syncs();
  auto held = start(*store_, one(map("held", "other")));
  disk_.wait_for_held_log_sync();
  std::vector<std::future<Outcome>> batch;
  batch.push_back(start(*store_, one(map("ahead"))));
  batch.push_back(start(*store_, one(quota(R"("configmaps":"9")"))));
  batch.push_back(start(*store_, one(map("behind"))));
  batch.push_back(start(*store_, one(vg::testing::remove(key("configmaps", "before")))));
  disk_.release_syncs();
  for (auto& answer : batch) EXPECT_TRUE(answer.get());
  expect_status(maps(9, 2));
}

TEST_F(QuotaKeeperTest, WhatTheDiskRefusedWasNotTaken) {
  ASSERT_TRUE(commit(*store_, quota(R"("configmaps":"2")")));
  expect_status(maps(2, 0));
  ASSERT_TRUE(commit(*store_, map("a")));
  disk_.fail_sync = SQLITE_IOERR_FSYNC;
  EXPECT_FALSE(commit(*store_, map("b")));
  EXPECT_FALSE(commit(*store_, vg::testing::remove(key(quotas_key, "q"))));
  disk_.fail_sync = 0;
  while (!commit(*store_, map("c"))) std::this_thread::yield();  // until the store has found out
  expect_status(maps(2, 2));
  EXPECT_EQ(commit(*store_, map("d")).error().code, 403);
}

TEST_F(QuotaKeeperTest, TheStatusIsNotTheClients) {
  ASSERT_TRUE(commit(*store_, quota(R"("configmaps":"2")")));
  expect_status(maps(2, 0));
  ASSERT_TRUE(commit(*store_, changed(key(quotas_key, "q"), R"(,"spec":{"hard":{"configmaps":"3"}},)"
                                                            R"("status":{"used":{"configmaps":"7"}})")));
  EXPECT_EQ(status(), maps(3, 0));
}

// As a client writes the status of a quota for two config maps.
constexpr std::string_view lie = R"(,"spec":{"hard":{"configmaps":"2"}},)"
                                 R"("status":{"hard":{"configmaps":"9"},"used":{"configmaps":"0"}})";

TEST_F(QuotaKeeperTest, AWriteOfTheStatusAloneStandsUntilItIsCountedAgain) {
  ASSERT_TRUE(commit(*store_, quota(R"("configmaps":"2")")));
  expect_status(maps(2, 0));
  ASSERT_TRUE(commit(*store_, map("a")));
  auto watch = store_->watch({.resource = std::string(quotas_key), .from_revision = store_->revision()}, [] {});
  ASSERT_TRUE(watch);
  const Outcome written = commit(*store_, changed(key(quotas_key, "q"), lie));
  ASSERT_TRUE(written);
  EXPECT_TRUE(written->objects.front()->json().contains(R"("hard":{"configmaps":"9"})"));
  expect_status(maps(2, 1));
  const auto batch = (*watch)->next(8);
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->changes.size(), 2u);
  EXPECT_EQ(batch->changes[0].object->revision(), written->revision);
  EXPECT_TRUE(batch->changes[0].object->json().contains(R"("hard":{"configmaps":"9"})"));
}

TEST_F(QuotaKeeperTest, NothingFollowsAStatusThatAClientWrote) {
  ASSERT_TRUE(commit(*store_, quota(R"("configmaps":"2")")));
  expect_status(maps(2, 0));
  ASSERT_TRUE(commit(*store_, map("a")));
  keeper_->stop();  // nobody counts
  ASSERT_TRUE(commit(*store_, changed(key(quotas_key, "q"), lie)));
  EXPECT_EQ(status(), maps(9, 0));
  const json::Object object;
  EXPECT_FALSE(keeper_->find_problem(key("configmaps", "b"), nullptr, object));
  ASSERT_TRUE(commit(*store_, changed(key("configmaps", "a"), R"(,"data":{"x":"y"})")));
  EXPECT_EQ(status(), maps(9, 0)) << "takes nothing";
  ASSERT_TRUE(commit(*store_, map("b")));
  EXPECT_EQ(status(), maps(2, 2)) << "whoever takes of the quota puts it right";
  ASSERT_TRUE(commit(*store_, changed(key(quotas_key, "q"), lie)));
  EXPECT_EQ(status(), maps(9, 0));
  EXPECT_EQ(commit(*store_, map("c")).error().code, 403);
  EXPECT_TRUE(keeper_->find_problem(key("configmaps", "c"), nullptr, object)) << "nor does a dry run";
  ASSERT_TRUE(commit(*store_, changed(key(quotas_key, "q"), R"(,"spec":{"hard":{"configmaps":"3"}},)"
                                                            R"("status":{"used":{"configmaps":"0"}})")));
  EXPECT_EQ(status(), maps(3, 2)) << "nor a change of the spec";
  ASSERT_TRUE(commit(*store_, changed(key(quotas_key, "q"), R"(,"spec":{"hard":{"configmaps":"3"}},"status":{})")));
  ASSERT_TRUE(commit(*store_, map("c")));
  EXPECT_EQ(commit(*store_, map("d")).error().code, 403);
  keeper_->start();
  expect_status(maps(3, 3));
}

TEST_F(QuotaKeeperTest, NothingFollowsAWrittenStatusAfterTheDiskRefused) {
  ASSERT_TRUE(commit(*store_, quota(R"("configmaps":"2")")));
  expect_status(maps(2, 0));
  ASSERT_TRUE(commit(*store_, map("a")));
  keeper_->stop();
  ASSERT_TRUE(commit(*store_, changed(key(quotas_key, "q"), lie)));
  disk_.fail_sync = SQLITE_IOERR_FSYNC;
  EXPECT_FALSE(commit(*store_, map("b")));
  disk_.fail_sync = 0;
  while (!commit(*store_, map("other", "other"))) std::this_thread::yield();  // until the store has found out
  EXPECT_EQ(status(), maps(9, 0));
  ASSERT_TRUE(commit(*store_, map("c")));
  EXPECT_EQ(status(), maps(2, 2)) << "what was refused was not taken";
  EXPECT_EQ(commit(*store_, map("d")).error().code, 403);
}

TEST_F(QuotaKeeperTest, AStoreThatOthersWroteIsCountedAtStart) {
  open(QuotaKeeper::Usages::reported);
  ASSERT_TRUE(commit(*store_, quota(R"("configmaps":"2")")));
  ASSERT_TRUE(commit(*store_, map("a")));
  EXPECT_EQ(status(), "{}");
  ASSERT_TRUE(commit(*store_, changed(key(quotas_key, "q"), R"(,"spec":{"hard":{"configmaps":"2"}},)"
                                                            R"("status":{"hard":{"configmaps":"2"},)"
                                                            R"("used":{"configmaps":"0"}})")));
  ASSERT_TRUE(commit(*store_, map("b")));
  EXPECT_EQ(status(), maps(2, 1)) << "taken from what was reported";
  ASSERT_TRUE(commit(*store_, vg::testing::remove(key("configmaps", "b"))));
  EXPECT_EQ(status(), maps(2, 1)) << "whoever reports gives back";
  ASSERT_TRUE(commit(*store_, map("b")));
  open(QuotaKeeper::Usages::kept);
  expect_status(maps(2, 2));
}

}  // namespace
}  // namespace vg::resources
