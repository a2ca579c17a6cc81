// What every object store must do, as tests. A store's own test file includes this and names its maker:
//
//   INSTANTIATE_TEST_SUITE_P(Embedded, ObjectStoreContract, ::testing::Values(StoreMaker{...}));
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ports/object_store.h"
#include "ports/object_store_testing.h"

namespace vg::testing {

// A store that keeps `window` changes of a resource, with whatever it needs to live.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual ObjectStore& store() = 0;
  virtual void reopen() = 0;  // closes and opens it again with the same content
};
using StoreMaker = std::function<std::unique_ptr<StoreUnderTest>(std::size_t window_changes)>;

class ObjectStoreContract : public ::testing::TestWithParam<StoreMaker> {
 protected:
  void SetUp() override { make(1000); }
  void make(std::size_t window_changes) { under_test_ = GetParam()(window_changes); }
  ObjectStore& store() { return under_test_->store(); }
  void reopen() { under_test_->reopen(); }

  CommitOutcome must(Write write) { return must(one(std::move(write))); }
  CommitOutcome must(Transaction transaction) {
    auto outcome = commit(store(), std::move(transaction));
    EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().message);
    return outcome ? std::move(*outcome) : CommitOutcome();
  }
  Status refused(Write write) { return refused(one(std::move(write))); }
  Status refused(Transaction transaction) {
    const auto outcome = commit(store(), std::move(transaction));
    EXPECT_FALSE(outcome.has_value());
    return outcome ? Status() : outcome.error();
  }
  ObjectPtr get(const std::string& name, const std::string& ns = "default") { return store().get(machines, ns, name); }

  // "ns/name=spec" of every object of the page.
  static std::vector<std::string> shown(const ListPage& page) {
    std::vector<std::string> out;
    for (const auto& object : page.objects) out.push_back(shown(*object));
    return out;
  }
  static std::string shown(const StoredObject& object) {
    const auto json = object.json();
    const auto at = json.find("\"spec\":\"") + 8;
    return fmt::format("{}/{}={}", object.ns(), object.name(), json.substr(at, json.size() - at - 2));
  }
  static std::vector<std::string> shown(const std::vector<Change>& changes) {
    std::vector<std::string> out;
    for (const auto& change : changes) out.push_back("+~-"[static_cast<int>(change.type)] + shown(*change.object));
    return out;
  }
  ListPage list(ListQuery query = {}) {
    if (query.resource.empty()) query.resource = machines;
    auto page = store().list(query);
    EXPECT_TRUE(page.has_value()) << (page ? "" : page.error().message);
    return page ? std::move(*page) : ListPage();
  }
  std::unique_ptr<Watch> watch(Revision from, Waker waker = [] {}, std::string ns = "", std::string name = "") {
    auto watch = store().watch({std::string(machines), std::move(ns), std::move(name), from}, std::move(waker));
    EXPECT_TRUE(watch.has_value()) << (watch ? "" : watch.error().message);
    return watch ? std::move(*watch) : nullptr;
  }

  std::unique_ptr<StoreUnderTest> under_test_;
};

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_P(ObjectStoreContract, keeps_what_was_created) {
  EXPECT_EQ(store().revision(), 0u);
  auto write = create(machine_key("a"), "x");
  write.object.labels = {{"app", "web"}, {"tier", ""}};
  write.object.owner_uids = {"owner-1"};
  write.object.deleting = true;
  const auto outcome = must(std::move(write));
  EXPECT_EQ(outcome.revision, 1u);
  const auto found = get("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(text(*outcome.objects.at(0)), text(*found));
  EXPECT_EQ(text(*found), R"({"metadata":{"name":"a","resourceVersion":"1","uid":"uid-a"},"spec":"x"})");
  EXPECT_EQ(found->uid(), "uid-a");
  EXPECT_EQ(found->key(), machine_key("a"));
  EXPECT_EQ(found->label("app"), "web");
  EXPECT_EQ(found->label("tier"), "");
  EXPECT_EQ(found->label("other"), std::nullopt);
  EXPECT_TRUE(found->deleting());
  EXPECT_TRUE(found->owned_by("owner-1"));
  EXPECT_EQ(found->created_revision(), 1u);
  EXPECT_FALSE(get("a", "other"));
  EXPECT_FALSE(get("b"));
  EXPECT_EQ(store().resources(), std::vector<std::string>{std::string(machines)});
  EXPECT_EQ(store().count(machines), 1u);
}

TEST_P(ObjectStoreContract, a_name_is_taken_once) {
  must(create(machine_key("a"), "x"));
  const auto status = refused(create(machine_key("a"), "y"));
  EXPECT_EQ(status.code, 409);
  EXPECT_EQ(status.reason, "AlreadyExists");
  EXPECT_EQ(status.details.name, "a");
  EXPECT_EQ(status.details.group, "kubevirt.io");
  EXPECT_EQ(status.details.kind, "virtualmachines");
  EXPECT_EQ(store().revision(), 1u) << "a refusal uses no revision";
}

TEST_P(ObjectStoreContract, updates_only_the_version_that_was_read) {
  must(create(machine_key("a"), "1"));
  EXPECT_EQ(must(update(machine_key("a"), "2", 1)).revision, 2u);
  const auto status = refused(update(machine_key("a"), "3", 1));
  EXPECT_EQ(status.code, 409);
  EXPECT_EQ(status.reason, "Conflict");
  EXPECT_EQ(must(update(machine_key("a"), "4")).revision, 3u) << "0 takes any version";
  EXPECT_EQ(get("a")->created_revision(), 1u);
  EXPECT_EQ(refused(update(machine_key("b"), "1")).reason, "NotFound");
  auto other = update(machine_key("a"), "5");
  other.expected_uid = "another";
  EXPECT_EQ(refused(std::move(other)).reason, "Conflict");
}

TEST_P(ObjectStoreContract, the_same_bytes_are_no_new_version) {
  must(create(machine_key("a"), "1"));
  const auto outcome = must(update(machine_key("a"), "1"));
  EXPECT_EQ(outcome.revision, 1u);
  EXPECT_EQ(outcome.objects.at(0)->revision(), 1u);
  EXPECT_EQ(store().revision(), 1u);
}

TEST_P(ObjectStoreContract, removes) {
  must(create(machine_key("a"), "1"));
  EXPECT_EQ(refused(remove(machine_key("a"), 7)).reason, "Conflict");
  EXPECT_EQ(refused(remove(machine_key("a"), 0, "another")).reason, "Conflict");
  EXPECT_EQ(refused(remove(machine_key("b"))).reason, "NotFound");
  const auto outcome = must(remove(machine_key("a"), 1, "uid-a"));
  EXPECT_EQ(outcome.revision, 2u);
  EXPECT_EQ(shown(*outcome.objects.at(0)), "default/a=1");
  EXPECT_FALSE(get("a"));
  EXPECT_THAT(store().resources(), IsEmpty());
  EXPECT_EQ(must(create(machine_key("a"), "2")).revision, 3u);
  EXPECT_EQ(get("a")->created_revision(), 3u);
}

TEST_P(ObjectStoreContract, a_transaction_happens_whole_or_not_at_all) {
  must(create(machine_key("a"), "1"));
  Transaction good;
  good.writes.push_back(update(machine_key("a"), "2", 1));
  good.writes.push_back(create(machine_key("b"), "2"));
  good.writes.push_back(create({"pods", "default", "p"}, "2"));
  const auto outcome = must(std::move(good));
  EXPECT_EQ(outcome.revision, 4u) << "one for each object";
  for (Revision expected = 1; const auto& object : outcome.objects) EXPECT_EQ(object->revision(), ++expected);

  Transaction bad;
  bad.writes.push_back(create(machine_key("c"), "3"));
  bad.writes.push_back(update(machine_key("a"), "3", 1));
  EXPECT_EQ(refused(std::move(bad)).reason, "Conflict");
  EXPECT_FALSE(get("c"));
  EXPECT_EQ(store().revision(), 4u);

  Transaction twice;
  twice.writes.push_back(update(machine_key("a"), "4"));
  twice.writes.push_back(update(machine_key("a"), "5"));
  EXPECT_EQ(refused(std::move(twice)).code, 500);
}

// Whoever saw the first of several objects of one transaction, and was cut off then, goes on with the others.
TEST_P(ObjectStoreContract, a_watch_goes_on_between_the_objects_of_a_transaction) {
  for (const char* name : {"a", "b", "c", "d"}) must(create(machine_key(name), "1"));
  Transaction together;
  for (const char* name : {"a", "b", "c"}) together.writes.push_back(update(machine_key(name), "2"));
  together.writes.push_back(remove(machine_key("d")));
  must(std::move(together));
  for (int restart = 0; restart < 2; ++restart) {
    std::vector<std::string> seen;
    Revision from = 4;
    for (int cut = 0; cut < 4; ++cut) {
      auto cut_off = watch(from);
      const auto batch = cut_off->next(1);
      ASSERT_EQ(batch->changes.size(), 1u) << "after " << from;
      EXPECT_GE(batch->progress, batch->changes[0].revision);
      from = batch->changes[0].revision;
      seen.push_back(shown(batch->changes).at(0));
    }
    EXPECT_THAT(seen, ElementsAre("~default/a=2", "~default/b=2", "~default/c=2", "-default/d=1"));
    EXPECT_TRUE(watch(from)->next(1)->changes.empty());
    reopen();
  }
}

TEST_P(ObjectStoreContract, preconditions_hold_at_commit) {
  const ObjectKey space{"namespaces", "", "default"};
  const auto create_in = [&](const std::string& name, const Precondition& wanted) {
    Transaction transaction = one(create(machine_key(name), "1"));
    transaction.preconditions.push_back(wanted);
    return commit(store(), std::move(transaction));
  };
  Precondition open_namespace{.key = space, .exists = true, .not_deleting = true};
  EXPECT_EQ(create_in("a", open_namespace).error().reason, "NotFound");
  must(create(space, "1"));
  EXPECT_TRUE(create_in("a", open_namespace).has_value());
  auto closing = update(space, "2");
  closing.object.deleting = true;
  must(std::move(closing));
  EXPECT_EQ(create_in("b", open_namespace).error().reason, "Conflict");
  EXPECT_TRUE(create_in("b", {.key = space, .uid = "uid-default"}).has_value());
  EXPECT_EQ(create_in("c", {.key = space, .uid = "another"}).error().reason, "Conflict");
  EXPECT_EQ(create_in("c", {.key = space, .revision = 1}).error().reason, "Conflict");
  EXPECT_EQ(create_in("c", {.key = space, .exists = false}).error().reason, "AlreadyExists");
  EXPECT_TRUE(create_in("c", {.key = machine_key("none"), .exists = false}).has_value());
}

TEST_P(ObjectStoreContract, refuses_what_it_could_not_give_back) {
  auto nameless = create(machine_key(""), "1");
  EXPECT_EQ(refused(std::move(nameless)).code, 500);
  auto misplaced = create(machine_key("a"), "1");
  misplaced.object.revision_offset = 1'000'000;
  EXPECT_EQ(refused(std::move(misplaced)).code, 500);
  EXPECT_EQ(refused(create(machine_key("a"), std::string(4 << 20, 'x'))).code, 413);
  EXPECT_EQ(refused(Transaction()).code, 500);
  EXPECT_EQ(store().revision(), 0u);
}

TEST_P(ObjectStoreContract, lists_in_order_and_by_namespace) {
  for (const auto* key : {"b/2", "a/1", "b/1", "c/1", "ab/9"}) {
    const std::string_view both = key;
    const auto slash = both.find('/');
    must(create(machine_key(std::string(both.substr(slash + 1)), std::string(both.substr(0, slash))), "x"));
  }
  must(create({"pods", "b", "1"}, "x"));
  const auto all = list();
  EXPECT_EQ(all.revision, 6u);
  EXPECT_THAT(shown(all), ElementsAre("a/1=x", "ab/9=x", "b/1=x", "b/2=x", "c/1=x"));
  EXPECT_EQ(all.remaining, 0u);
  EXPECT_THAT(shown(list({.ns = "b"})), ElementsAre("b/1=x", "b/2=x"));
  EXPECT_THAT(shown(list({.ns = "a"})), ElementsAre("a/1=x"));
  EXPECT_THAT(shown(list({.ns = "none"})), IsEmpty());
  EXPECT_THAT(shown(list({.resource = "none"})), IsEmpty());
  const auto ones = list({.matches = [](const StoredObject& object) { return object.name() == "1"; }});
  EXPECT_THAT(shown(ones), ElementsAre("a/1=x", "b/1=x", "c/1=x"));
}

TEST_P(ObjectStoreContract, pages_show_one_revision_while_the_world_moves_on) {
  for (int i = 0; i < 9; ++i) must(create(machine_key(fmt::format("m{}", i)), "old"));
  const auto first = list({.limit = 3});
  EXPECT_THAT(shown(first), ElementsAre("default/m0=old", "default/m1=old", "default/m2=old"));
  EXPECT_EQ(first.remaining, 6u);

  must(remove(machine_key("m3")));
  must(create(machine_key("m3"), "again"));
  must(update(machine_key("m4"), "new"));
  must(update(machine_key("m4"), "newer"));
  must(remove(machine_key("m5")));
  must(create(machine_key("m55"), "new"));
  must(create(machine_key("m9"), "new"));
  must(remove(machine_key("m9")));
  must(create(machine_key("x", "other"), "new"));

  const auto second = list({.at_revision = first.revision, .after_ns = "default", .after_name = "m2", .limit = 3});
  EXPECT_THAT(shown(second), ElementsAre("default/m3=old", "default/m4=old", "default/m5=old"));
  EXPECT_EQ(second.revision, first.revision);
  EXPECT_EQ(second.remaining, 3u);
  const auto third = list({.ns = "default", .at_revision = first.revision, .after_ns = "default", .after_name = "m5"});
  EXPECT_THAT(shown(third), ElementsAre("default/m6=old", "default/m7=old", "default/m8=old"));
  EXPECT_EQ(list({.at_revision = first.revision}).objects.size(), 9u);
  EXPECT_EQ(list({.at_revision = 4}).objects.size(), 4u);
  EXPECT_EQ(list({.at_revision = 4, .limit = 1}).remaining, 3u);
  EXPECT_THAT(shown(list({.after_ns = "default", .after_name = "m8"})), ElementsAre("other/x=new"));
}

TEST_P(ObjectStoreContract, refuses_revisions_that_are_gone_or_to_come) {
  make(4);
  for (int i = 0; i < 10; ++i)
    must(i == 0 ? create(machine_key("a"), "0") : update(machine_key("a"), std::to_string(i)));
  EXPECT_EQ(store().oldest_revision(machines), 6u);
  EXPECT_EQ(store().list({.resource = machines, .at_revision = 5}).error().code, 410);
  EXPECT_EQ(store().list({.resource = machines, .at_revision = 5}).error().reason, "Expired");
  EXPECT_THAT(shown(list({.at_revision = 6})), ElementsAre("default/a=5"));
  EXPECT_EQ(store().list({.resource = machines, .at_revision = 11}).error().code, 504);
  EXPECT_EQ(store().watch({std::string(machines), "", "", 5}, [] {}).error().code, 410);
  EXPECT_EQ(store().watch({std::string(machines), "", "", 11}, [] {}).error().code, 504);
  auto from = watch(6);
  EXPECT_THAT(shown(from->next(100)->changes),
              ElementsAre("~default/a=6", "~default/a=7", "~default/a=8", "~default/a=9"));
  EXPECT_EQ(store().oldest_revision("pods"), 0u) << "each resource has a window of its own";
}

TEST_P(ObjectStoreContract, watches_show_every_change_in_order) {
  must(create(machine_key("a"), "1"));
  auto all = watch(0);
  auto later = watch(1);
  must(update(machine_key("a"), "2"));
  must(remove(machine_key("a")));
  must(create(machine_key("a"), "3"));
  const auto batch = all->next(100);
  ASSERT_TRUE(batch.has_value());
  EXPECT_THAT(shown(batch->changes), ElementsAre("+default/a=1", "~default/a=2", "-default/a=2", "+default/a=3"));
  EXPECT_EQ(batch->progress, 4u);
  EXPECT_FALSE(batch->more);
  EXPECT_EQ(batch->changes[1].previous->revision(), 1u);
  EXPECT_EQ(batch->changes[2].revision, 3u);
  EXPECT_FALSE(batch->changes[3].previous);

  const auto part = later->next(1);
  EXPECT_THAT(shown(part->changes), ElementsAre("~default/a=2"));
  EXPECT_TRUE(part->more);
  EXPECT_EQ(part->progress, 2u);
  const auto rest = later->next(100);
  EXPECT_THAT(shown(rest->changes), ElementsAre("-default/a=2", "+default/a=3"));
  EXPECT_THAT(later->next(100)->changes, IsEmpty());
}

TEST_P(ObjectStoreContract, watches_give_little_of_what_is_large_at_once) {
  constexpr std::size_t large_bytes = 200'000, count = 20;
  for (std::size_t i = 0; i < count; ++i)
    must(create(machine_key("m" + std::to_string(i)), std::string(large_bytes, 'x')));
  auto all = watch(0);
  std::size_t seen = 0;
  for (bool more = true; more;) {
    const auto batch = all->next(1000);
    ASSERT_TRUE(batch.has_value());
    ASSERT_FALSE(batch->changes.empty());
    EXPECT_LE(batch->changes.size(), 2u) << "whoever reads slowly holds them all the while";
    for (const auto& change : batch->changes) EXPECT_EQ(change.object->name(), "m" + std::to_string(seen++));
    more = batch->more;
    EXPECT_EQ(batch->progress, seen);
  }
  EXPECT_EQ(seen, count);
}

TEST_P(ObjectStoreContract, watches_see_what_they_asked_for) {
  auto space = watch(0, [] {}, "one");
  auto name = watch(0, [] {}, "one", "b");
  auto everywhere = watch(0, [] {}, "", "b");
  must(create(machine_key("a", "one"), "1"));
  must(create(machine_key("b", "one"), "1"));
  must(create(machine_key("b", "two"), "1"));
  must(create({"pods", "one", "b"}, "1"));
  EXPECT_THAT(shown(space->next(100)->changes), ElementsAre("+one/a=1", "+one/b=1"));
  EXPECT_THAT(shown(name->next(100)->changes), ElementsAre("+one/b=1"));
  const auto batch = everywhere->next(100);
  EXPECT_THAT(shown(batch->changes), ElementsAre("+one/b=1", "+two/b=1"));
  EXPECT_EQ(batch->progress, 4u) << "progress counts changes of other resources too";
}

TEST_P(ObjectStoreContract, wakes_once_for_each_time_a_watch_ran_dry) {
  Signal woken;
  Signal elsewhere;
  auto all = watch(0, [&] { woken.raise(); });
  auto other = watch(0, [&] { elsewhere.raise(); }, "other");
  must(create(machine_key("a"), "1"));
  EXPECT_EQ(woken.raised(), 0) << "not before next() said that there is no more";
  EXPECT_EQ(all->next(100)->changes.size(), 1u);
  EXPECT_THAT(other->next(100)->changes, IsEmpty());
  must(create(machine_key("b"), "1"));
  woken.wait(1);
  must(create(machine_key("c"), "1"));
  EXPECT_EQ(woken.raised(), 1);
  EXPECT_EQ(all->next(100)->changes.size(), 2u);
  must(create(machine_key("d"), "1"));
  woken.wait(2);
  EXPECT_EQ(elsewhere.raised(), 0);
  must(create(machine_key("d", "other"), "1"));
  elsewhere.wait(1);
  other.reset();
  must(create(machine_key("e", "other"), "1"));
  EXPECT_EQ(elsewhere.raised(), 1);
}

TEST_P(ObjectStoreContract, a_watch_that_falls_behind_ends) {
  make(4);
  must(create(machine_key("a"), "0"));
  auto slow = watch(0);
  for (int i = 1; i < 4; ++i) must(update(machine_key("a"), std::to_string(i)));
  EXPECT_EQ(slow->next(1)->changes.size(), 1u);
  for (int i = 4; i < 10; ++i) must(update(machine_key("a"), std::to_string(i)));
  const auto late = slow->next(1);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, 410);
  EXPECT_EQ(late.error().reason, "Expired");
}

TEST_P(ObjectStoreContract, finds_what_an_owner_leaves_behind) {
  const auto owned = [&](std::string resource, const std::string& name, std::vector<std::string> owners) {
    auto write = create({std::move(resource), "default", name}, "1");
    write.object.owner_uids = std::move(owners);
    return write;
  };
  must(owned("pods", "p1", {"vm-1"}));
  must(owned("pods", "p2", {"vm-2", "vm-1"}));
  must(owned("secrets", "s", {"vm-1"}));
  const auto names = [&](const char* uid) {
    std::vector<std::string> out;
    for (const auto& object : store().owned_by(uid))
      if (object->owned_by(uid)) out.emplace_back(object->name());
    std::ranges::sort(out);
    return out;
  };
  EXPECT_THAT(names("vm-1"), ElementsAre("p1", "p2", "s"));
  EXPECT_THAT(names("vm-2"), ElementsAre("p2"));
  must(update({"pods", "default", "p1"}, "2"));  // it lets go of its owner
  auto kept = update({"pods", "default", "p2"}, "2");
  kept.object.owner_uids = {"vm-1"};
  must(std::move(kept));
  must(remove({"secrets", "default", "s"}));
  EXPECT_THAT(names("vm-1"), ElementsAre("p2"));
  EXPECT_THAT(names("vm-2"), IsEmpty());
  EXPECT_EQ(store().owned_by("vm-1")[0]->revision(), 5u);
  reopen();
  EXPECT_THAT(names("vm-1"), ElementsAre("p2"));
}

TEST_P(ObjectStoreContract, is_the_same_after_a_restart) {
  auto labelled = create(machine_key("a"), "1");
  labelled.object.labels = {{"app", "web"}};
  must(std::move(labelled));
  must(create(machine_key("b"), "1"));
  must(update(machine_key("b"), "2"));
  must(create(machine_key("gone"), "1"));
  must(remove(machine_key("gone")));
  reopen();
  EXPECT_EQ(store().revision(), 5u);
  EXPECT_THAT(shown(list()), ElementsAre("default/a=1", "default/b=2"));
  EXPECT_EQ(get("a")->label("app"), "web");
  EXPECT_EQ(get("b")->created_revision(), 2u);
  EXPECT_EQ(text(*get("b")), R"({"metadata":{"name":"b","resourceVersion":"3","uid":"uid-b"},"spec":"2"})");
  auto resumed = watch(2);
  EXPECT_THAT(shown(resumed->next(100)->changes), ElementsAre("~default/b=2", "+default/gone=1", "-default/gone=1"));
  EXPECT_THAT(shown(list({.at_revision = 4})), ElementsAre("default/a=1", "default/b=2", "default/gone=1"));
  resumed.reset();
  EXPECT_EQ(must(create(machine_key("c"), "1")).revision, 6u);
}

TEST_P(ObjectStoreContract, compaction_survives_a_restart) {
  make(3);
  must(create(machine_key("kept"), "1"));
  for (int round = 0; round < 5; ++round) {
    must(create(machine_key("a"), "1"));
    must(update(machine_key("a"), "2"));
    must(remove(machine_key("a")));
  }
  const auto oldest = store().oldest_revision(machines);
  EXPECT_EQ(oldest, 13u);
  // One more write of another resource carries out what compaction left to do.
  must(create({"pods", "default", "p"}, "1"));
  reopen();
  EXPECT_EQ(store().revision(), 17u);
  EXPECT_GE(store().oldest_revision(machines), 12u);
  EXPECT_THAT(shown(list()), ElementsAre("default/kept=1"));
  auto resumed = watch(oldest);
  EXPECT_THAT(shown(resumed->next(100)->changes), ElementsAre("+default/a=1", "~default/a=2", "-default/a=2"));
}

TEST_P(ObjectStoreContract, one_of_many_writers_wins_each_version) {
  constexpr int threads = 4;
  constexpr int rounds = 50;
  must(create(machine_key("counter"), "0"));
  std::atomic<int> won = 0;
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      for (int round = 0; round < rounds; ++round) {
        const auto seen = get("counter")->revision();
        const auto outcome = commit(store(), update(machine_key("counter"), fmt::format("{}-{}", t, round), seen));
        if (outcome) {
          ++won;
          EXPECT_EQ(outcome->revision, seen + 1) << "nothing came between";
        } else {
          EXPECT_EQ(outcome.error().reason, "Conflict");
        }
      }
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(store().revision(), static_cast<Revision>(won.load() + 1));
}

TEST_P(ObjectStoreContract, readers_see_whole_transactions) {
  // Each transaction writes the same text into two objects; nobody may ever see two texts, or a list and a watch that
  // disagree.
  Transaction first;
  first.writes.push_back(create(machine_key("a"), "0"));
  first.writes.push_back(create(machine_key("b"), "0"));
  must(std::move(first));
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      Revision last = 0;
      while (!done) {
        const auto page = store().list({.resource = machines});
        if (!page) {
          ADD_FAILURE() << page.error().message;
          return;
        }
        EXPECT_EQ(page->objects.size(), 2u);
        EXPECT_EQ(page->objects[0]->revision() + 1, page->objects[1]->revision());
        EXPECT_GE(page->revision, last);
        EXPECT_EQ(page->objects[1]->revision(), page->revision);
        last = page->revision;
      }
    });
  }
  for (int i = 1; i <= 100; ++i) {
    Transaction next;
    next.writes.push_back(update(machine_key("a"), std::to_string(i)));
    next.writes.push_back(update(machine_key("b"), std::to_string(i)));
    must(std::move(next));
  }
  done = true;
  for (auto& reader : readers) reader.join();
}

}  // namespace vg::testing
