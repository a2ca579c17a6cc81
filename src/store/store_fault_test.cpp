// What the store promises when the disk is slow, full, broken, or loses its power.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <fstream>
#include <random>
#include <thread>

#include "ports/object_store_testing.h"
#include "store/embedded_store.h"
#include "store/fault_vfs.h"
#include "store/record_file.h"
#include "store/testing.h"

namespace vg::store {
namespace {

using namespace vg::testing;
using ::testing::HasSubstr;

class StoreFault : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void TearDown() override {
    disk_.release_syncs();
    store_.reset();
  }
  Options options() {
    Options options;
    options.path = folder_.file("store.db");
    options.vfs = disk_.name();
    options.probe_interval = std::chrono::milliseconds(2);
    options.health_changed = [this](const StoreHealth& health) { (health.ok ? well_ : ill_).raise(); };
    return options;
  }
  void open() { open(options()); }
  void open(Options options) {
    store_.reset();
    store_ = must_open(std::move(options));
  }
  ObjectPtr get(const std::string& name) { return store_->get(machines, "default", name); }

  // The writer sits in a sync with a write of its own; what is submitted now becomes one batch.
  std::future<Result<CommitOutcome>> hold() {
    disk_.hold_syncs();
    auto first = start(*store_, one(create(machine_key("held"), "1")));
    disk_.wait_for_held_log_sync();
    return first;
  }
  static bool ready(const std::future<Result<CommitOutcome>>& future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  TemporaryFolder folder_;
  FaultVfs disk_{"virtgate-fault"};
  Signal ill_;
  Signal well_;
  std::unique_ptr<EmbeddedStore> store_;
};

TEST_F(StoreFault, answers_and_shows_a_write_only_when_it_is_durable) {
  Signal woken;
  auto watch = store_->watch({std::string(machines)}, [&] { woken.raise(); });
  ASSERT_TRUE(watch.has_value());
  EXPECT_TRUE((*watch)->next(10)->changes.empty());
  auto first = hold();
  EXPECT_FALSE(ready(first));
  EXPECT_FALSE(get("held"));
  EXPECT_EQ(store_->revision(), 0u);
  EXPECT_TRUE((*watch)->next(10)->changes.empty());
  EXPECT_EQ(woken.raised(), 0);
  disk_.release_syncs();
  EXPECT_TRUE(first.get().has_value());
  EXPECT_TRUE(get("held"));
  woken.wait();
}

TEST_F(StoreFault, many_writes_share_one_sync) {
  auto first = hold();
  const auto syncs = disk_.syncs.load();
  const auto log_syncs = disk_.log_syncs.load();
  std::vector<std::future<Result<CommitOutcome>>> rest;
  for (int i = 0; i < 300; ++i) rest.push_back(start(*store_, one(create(machine_key(fmt::format("m{}", i)), "1"))));
  disk_.release_syncs();
  EXPECT_TRUE(first.get().has_value());
  Revision last = 1;
  for (auto& write : rest) EXPECT_EQ(write.get()->revision, ++last) << "in the order of submission";
  EXPECT_EQ(store_->stats().commits, 2u);
  EXPECT_EQ(disk_.log_syncs - log_syncs, 2) << "once for each batch";
  // How many of these there are depends on how slow we are: each state is written to the mark again when nothing
  // followed it for a moment, the state at the start, too.
  EXPECT_LE(disk_.syncs - syncs, 2 + 5) << "the mark with each batch, and behind each of three states";
}

TEST_F(StoreFault, concurrent_submitters_need_fewer_syncs_than_writes) {
  constexpr int threads = 8;
  constexpr int writes = 200;
  const auto before = disk_.syncs.load();
  std::vector<std::thread> submitters;
  for (int t = 0; t < threads; ++t) {
    submitters.emplace_back([&, t] {
      std::vector<std::future<Result<CommitOutcome>>> open_writes;
      for (int i = 0; i < writes; ++i) {
        open_writes.push_back(start(*store_, one(create(machine_key(fmt::format("m{}-{}", t, i)), "1"))));
        if (open_writes.size() == 8) {
          for (auto& write : open_writes) EXPECT_TRUE(write.get().has_value());
          open_writes.clear();
        }
      }
      for (auto& write : open_writes) EXPECT_TRUE(write.get().has_value());
    });
  }
  for (auto& submitter : submitters) submitter.join();
  EXPECT_EQ(store_->count(machines), static_cast<std::size_t>(threads * writes));
  EXPECT_EQ(store_->revision(), static_cast<Revision>(threads * writes));
  EXPECT_LT(disk_.syncs - before, threads * writes / 2);
}

TEST_F(StoreFault, transactions_of_one_batch_see_those_before_them) {
  auto first = hold();
  auto created = start(*store_, one(create(machine_key("a"), "1")));
  auto again = start(*store_, one(create(machine_key("a"), "2")));
  auto updated = start(*store_, one(update(machine_key("a"), "2", 2)));
  auto late = start(*store_, one(update(machine_key("a"), "3", 2)));
  auto same = start(*store_, one(update(machine_key("a"), "2")));
  auto removed = start(*store_, one(remove(machine_key("a"), 3)));
  auto missing = start(*store_, one(update(machine_key("a"), "4")));
  auto recreated = start(*store_, one(create(machine_key("a"), "5")));
  disk_.release_syncs();
  EXPECT_TRUE(first.get());
  EXPECT_EQ(created.get()->revision, 2u);
  EXPECT_EQ(again.get().error().reason, "AlreadyExists");
  EXPECT_EQ(updated.get()->revision, 3u);
  EXPECT_EQ(late.get().error().reason, "Conflict");
  EXPECT_EQ(same.get()->objects.at(0)->revision(), 3u);
  EXPECT_EQ(removed.get()->revision, 4u);
  EXPECT_EQ(missing.get().error().reason, "NotFound");
  EXPECT_EQ(recreated.get()->revision, 5u);
  EXPECT_EQ(store_->stats().commits, 2u);
  EXPECT_EQ(get("a")->created_revision(), 5u);
  open();
  EXPECT_EQ(get("a")->revision(), 5u);
  auto watch = store_->watch({std::string(machines), "", "a", 0}, [] {});
  EXPECT_EQ((*watch)->next(10)->changes.size(), 4u);
  watch->reset();
}

TEST_F(StoreFault, a_failed_batch_fails_whole_with_the_answers_that_rested_on_it) {
  auto first = hold();
  auto created = start(*store_, one(create(machine_key("a"), "1")));
  auto again = start(*store_, one(create(machine_key("a"), "2")));
  auto independent = start(*store_, one(update(machine_key("nothing"), "1")));
  disk_.fail_suffix = "-wal";
  disk_.fail_sync = SQLITE_IOERR_FSYNC;
  disk_.release_syncs();
  const auto failed = first.get().error();
  EXPECT_EQ(failed.code, 500);
  EXPECT_THAT(failed.message, HasSubstr("the outcome of this write is unknown"));
  EXPECT_THAT(failed.message, HasSubstr("read the object before you try again"));
  EXPECT_EQ(created.get().error().code, 500);
  EXPECT_EQ(again.get().error().code, 500) << "\"already exists\" would not have been true";
  EXPECT_EQ(independent.get().error().code, 404);
  EXPECT_FALSE(get("a"));
  disk_.fail_sync = 0;
}

class FailingDisk : public StoreFault, public ::testing::WithParamInterface<std::pair<bool, int>> {
 protected:
  void break_disk() { (GetParam().first ? disk_.fail_sync : disk_.fail_write) = GetParam().second; }
  void mend_disk() { disk_.fail_sync = disk_.fail_write = 0; }
};

TEST_P(FailingDisk, is_an_error_for_the_request_and_for_readiness_until_it_recovers) {
  disk_.half_writes = true;
  ASSERT_TRUE(commit(*store_, create(machine_key("before"), "1")).has_value());
  auto watch = store_->watch({std::string(machines), "", "", 1}, [] {});
  break_disk();
  for (int i = 0; i < 3; ++i) {
    const auto outcome = commit(*store_, create(machine_key("during"), std::string(20'000, 'x')));
    ASSERT_FALSE(outcome.has_value());
    // The others find that the mark still intends the first, and write nothing.
    const bool unknown = GetParam().first && i == 0;
    EXPECT_EQ(outcome.error().code, unknown ? 500 : 503) << "after a failed sync nobody can say";
    EXPECT_EQ(outcome.error().message.contains("nothing was changed"), !unknown);
    EXPECT_THAT(outcome.error().message, HasSubstr("disk"));
  }
  ill_.wait();
  EXPECT_FALSE(store_->health().ok);
  EXPECT_THAT(store_->health().message, HasSubstr("disk"));
  EXPECT_TRUE(get("before")) << "reading goes on";
  EXPECT_FALSE(get("during"));
  EXPECT_EQ(store_->revision(), 1u);
  EXPECT_TRUE((*watch)->next(10)->changes.empty());
  EXPECT_EQ(commit(*store_, update(machine_key("none"), "1")).error().code, 404) << "no disk is needed to say no";

  mend_disk();
  well_.wait();  // by itself, without a request
  EXPECT_TRUE(store_->health().ok);
  const auto outcome = commit(*store_, create(machine_key("during"), "2"));
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->revision, 2u);
  EXPECT_EQ((*watch)->next(10)->changes.size(), 1u);
  watch->reset();
  open();
  EXPECT_EQ(store_->revision(), 2u);
  EXPECT_EQ(store_->count(machines), 2u);
  EXPECT_THAT(get("during")->json(), HasSubstr("\"spec\":\"2\""));
}

TEST_P(FailingDisk, a_restart_while_it_fails_loses_nothing) {
  ASSERT_TRUE(commit(*store_, create(machine_key("before"), "1")).has_value());
  break_disk();
  EXPECT_FALSE(commit(*store_, create(machine_key("during"), "1")).has_value());
  store_.reset();  // not even closing can write
  mend_disk();
  open();
  EXPECT_TRUE(get("before"));
  EXPECT_GE(store_->revision(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Ways, FailingDisk,
                         ::testing::Values(std::pair{false, SQLITE_FULL}, std::pair{false, SQLITE_IOERR_WRITE},
                                           std::pair{true, SQLITE_IOERR_FSYNC}),
                         [](const auto& way) {
                           return way.param.first ? "sync" : way.param.second == SQLITE_FULL ? "full" : "write";
                         });

class SilentDisk : public StoreFault {
 protected:
  void SetUp() override {
    auto impatient = options();
    impatient.stall_ready_max = std::chrono::milliseconds(100);
    impatient.stall_answer_max = std::chrono::seconds(2);  // more than a disk that works may need
    open(std::move(impatient));
    ASSERT_TRUE(commit(*store_, create(machine_key("before"), "1")).has_value());
  }
  bool unsettled(std::string_view name) { return store_->unsettled(machines, "default", name); }
};

TEST_F(SilentDisk, is_told_to_those_who_wait_and_settled_before_it_is_read) {
  auto watch = store_->watch({std::string(machines), "", "", 1}, [] {});
  auto held = hold();
  auto queued = start(*store_, one(create(machine_key("queued"), "1")));
  while (store_->health().ok) std::this_thread::yield();
  EXPECT_EQ(store_->health().shown, "the disk does not answer");
  EXPECT_TRUE(get("before")) << "reading goes on";

  const auto outcome = held.get();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, 504);
  EXPECT_THAT(outcome.error().message, HasSubstr("the outcome of this write is unknown"));
  EXPECT_TRUE(unsettled("held"));
  EXPECT_TRUE(unsettled("")) << "a list would show it as absent";
  EXPECT_TRUE(store_->unsettled(machines, "", ""));
  EXPECT_FALSE(unsettled("before"));
  EXPECT_FALSE(store_->unsettled(machines, "other", ""));
  EXPECT_FALSE(store_->unsettled("pods", "", ""));
  const auto refused = queued.get();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, 503) << "the disk never had it";
  EXPECT_THAT(refused.error().message, HasSubstr("nothing was changed"));
  EXPECT_FALSE(unsettled("queued"));

  disk_.release_syncs();
  while (!store_->health().ok) std::this_thread::yield();
  EXPECT_FALSE(unsettled("held"));
  EXPECT_TRUE(get("held")) << "it has happened";
  EXPECT_EQ((*watch)->next(10)->changes.size(), 1u);
  watch->reset();
  open();
  EXPECT_TRUE(get("held"));
  EXPECT_FALSE(get("queued"));
}

TEST_F(SilentDisk, whose_sync_fails_in_the_end_has_the_write_unsettled_until_no_crash_can_bring_it_back) {
  auto held = hold();
  EXPECT_EQ(held.get().error().code, 504);
  disk_.fail_suffix = "-wal";
  disk_.fail_sync = SQLITE_IOERR_FSYNC;
  disk_.release_syncs();
  // Each of these fails too, and what it wrote is as unknown.
  EXPECT_EQ(commit(*store_, create(machine_key("other"), "1")).error().code, 500);
  EXPECT_TRUE(unsettled("held"));
  EXPECT_TRUE(unsettled("other"));
  EXPECT_FALSE(get("held"));
  disk_.fail_sync = 0;
  while (unsettled("held")) std::this_thread::yield();  // by itself
  EXPECT_FALSE(unsettled("other"));
  EXPECT_FALSE(get("held")) << "it has not happened";
  open();
  EXPECT_EQ(store_->count(machines), 1u) << "and never will have";
}

// What happens to the files of a store that is open, and whether it can be undone.
struct Displacement {
  const char* name;
  std::function<void(const std::filesystem::path& store)> displace;
  std::function<void(const std::filesystem::path& store)> put_back;
};

class DisplacedFiles : public StoreFault, public ::testing::WithParamInterface<Displacement> {};

TEST_P(DisplacedFiles, are_noticed_before_a_write_is_acknowledged_and_without_one) {
  const std::filesystem::path path = folder_.file("store.db");
  ASSERT_TRUE(commit(*store_, create(machine_key("before"), "1")).has_value());
  GetParam().displace(path);
  const auto outcome = commit(*store_, create(machine_key("during"), "1"));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, 503);
  EXPECT_THAT(outcome.error().message, HasSubstr("nothing was changed"));
  EXPECT_THAT(outcome.error().message, HasSubstr("removed, moved or replaced"));
  EXPECT_THAT(outcome.error().message, ::testing::Not(HasSubstr(path.native()))) << "which is nothing for clients";
  EXPECT_FALSE(store_->health().ok);
  EXPECT_THAT(store_->health().message, HasSubstr(path.native()));
  EXPECT_EQ(store_->health().shown, "its files are gone");
  EXPECT_TRUE(get("before")) << "reading goes on";
  EXPECT_FALSE(get("during"));
  if (!GetParam().put_back) {
    store_.reset();
    return;
  }
  GetParam().put_back(path);
  well_.wait();
  EXPECT_TRUE(commit(*store_, create(machine_key("after"), "1")).has_value());
  open();
  EXPECT_EQ(store_->count(machines), 2u);

  const int ill = ill_.raised();
  GetParam().displace(path);
  ill_.wait(ill + 1);  // nobody writes
  GetParam().put_back(path);
}

TEST_P(DisplacedFiles, while_a_commit_is_synced_are_not_acknowledged) {
  const std::filesystem::path path = folder_.file("store.db");
  auto held = hold();
  GetParam().displace(path);
  disk_.release_syncs();
  const auto outcome = held.get();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, 500);
  EXPECT_THAT(outcome.error().message, HasSubstr("the outcome of this write is unknown"));
  store_.reset();
  if (GetParam().put_back) GetParam().put_back(path);
}

INSTANTIATE_TEST_SUITE_P(Ways, DisplacedFiles,
                         ::testing::Values(Displacement{"all_removed",
                                                        [](const std::filesystem::path& store) {
                                                          for (const auto* suffix : {"", "-wal", "-mark"})
                                                            std::filesystem::remove(store.native() + suffix);
                                                        },
                                                        {}},
                                           Displacement{"log_moved",
                                                        [](const std::filesystem::path& store) {
                                                          std::filesystem::rename(store.native() + "-wal",
                                                                                  store.native() + ".away");
                                                        },
                                                        [](const std::filesystem::path& store) {
                                                          std::filesystem::rename(store.native() + ".away",
                                                                                  store.native() + "-wal");
                                                        }},
                                           Displacement{"replaced",
                                                        [](const std::filesystem::path& store) {
                                                          std::filesystem::rename(store, store.native() + ".away");
                                                          std::filesystem::copy(store.native() + ".away", store);
                                                        },
                                                        [](const std::filesystem::path& store) {
                                                          std::filesystem::rename(store.native() + ".away", store);
                                                        }}),
                         [](const auto& way) { return way.param.name; });

TEST_F(StoreFault, a_failing_checkpoint_costs_readiness_but_no_write) {
  auto small = options();
  small.wal_bytes_max = 64 * limits::kib;
  open(std::move(small));
  disk_.fail_suffix = ".db";
  disk_.fail_write = SQLITE_IOERR_WRITE;
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(commit(*store_, create(machine_key(fmt::format("m{}", i)), std::string(8000, 'x'))).has_value());
  }
  ill_.wait();
  EXPECT_FALSE(store_->health().ok);
  disk_.fail_write = 0;
  well_.wait();
  EXPECT_TRUE(store_->health().ok);
  EXPECT_GE(store_->stats().checkpoints, 1u);
  open();
  EXPECT_EQ(store_->count(machines), 20u);
}

// Whoever tries again without a pause must not keep the store from noticing.
TEST_F(StoreFault, a_disk_that_works_again_is_noticed_while_others_write) {
  auto small = options();
  small.wal_bytes_max = 64 * limits::kib;
  small.probe_interval = std::chrono::seconds(1);  // longer than anybody pauses
  open(std::move(small));
  disk_.fail_suffix = ".db";
  disk_.fail_write = SQLITE_IOERR_WRITE;
  const auto write = [&](int i) {
    return commit(*store_, create(machine_key(fmt::format("m{}", i)), std::string(8000, 'x'))).has_value();
  };
  int written = 0;
  while (store_->health().ok && write(written)) ++written;
  disk_.fail_write = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!store_->health().ok) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    (void)write(0);  // there already
  }
}

TEST_F(StoreFault, a_log_that_cannot_be_moved_does_not_grow_for_ever) {
  auto small = options();
  small.wal_bytes_max = 16 * limits::kib;
  open(std::move(small));
  disk_.fail_suffix = ".db";
  disk_.fail_write = SQLITE_IOERR_WRITE;
  int written = 0;
  while (written < 1000 && commit(*store_, create(machine_key(fmt::format("m{}", written)), std::string(8000, 'x')))) {
    ++written;
  }
  EXPECT_GT(written, 10);
  EXPECT_LT(written, 200);
  disk_.fail_write = 0;
  well_.wait();
  EXPECT_TRUE(commit(*store_, create(machine_key("after"), "x")).has_value());
}

TEST_F(StoreFault, a_full_disk_has_a_reserve_for_the_batch_that_finds_out) {
  const auto reserve = folder_.file("store.db-reserve");
  EXPECT_EQ(std::filesystem::file_size(reserve), store_limits::reserve_bytes);
  auto full = options();
  full.health_changed = [&](const StoreHealth& health) {
    if (!health.ok) {
      EXPECT_EQ(std::filesystem::file_size(reserve), 0u) << "which is where the room comes from";
      EXPECT_THAT(health.shown, HasSubstr("delete objects, or free space"));
      EXPECT_THAT(health.message, HasSubstr(folder_.file("store.db")));
      disk_.fail_write = 0;
      ill_.raise();
    } else {
      well_.raise();
    }
  };
  open(std::move(full));
  disk_.half_writes = true;
  disk_.fail_write = SQLITE_FULL;
  EXPECT_TRUE(commit(*store_, create(machine_key("a"), "1")).has_value());
  ill_.wait();
  well_.wait();  // there was room all the time
  EXPECT_EQ(std::filesystem::file_size(reserve), store_limits::reserve_bytes);
  open();
  EXPECT_TRUE(get("a"));
}

TEST_F(StoreFault, a_full_disk_takes_what_makes_room) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(commit(*store_, create(machine_key(name), "123")));
  auto full = options();
  full.reserve_bytes = std::size_t{1} << 60;  // more than there is of any disk
  full.reserve_share = 1;
  store_.reset();
  std::filesystem::remove(folder_.file("store.db-reserve"));
  open(std::move(full));
  EXPECT_FALSE(store_->health().ok);
  const auto refused = commit(*store_, create(machine_key("d"), "1"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, 503);
  EXPECT_THAT(refused.error().message, HasSubstr("nothing was changed"));
  EXPECT_THAT(refused.error().message, HasSubstr("to make room, delete objects"));
  EXPECT_EQ(commit(*store_, update(machine_key("a"), "1234")).error().code, 503);
  EXPECT_EQ(commit(*store_, create(machine_key("a"), "1234")).error().reason, "AlreadyExists")
      << "whatever the disk has";
  EXPECT_TRUE(commit(*store_, update(machine_key("a"), "321")).has_value()) << "it takes no more than before";
  auto deleting = update(machine_key("b"), "123 and when it was deleted");
  deleting.object.deleting = true;
  EXPECT_TRUE(commit(*store_, std::move(deleting)).has_value());
  auto growing = update(machine_key("b"), std::string(store_limits::full_deleting_bytes_max, '1'));
  growing.object.deleting = true;
  EXPECT_EQ(commit(*store_, std::move(growing)).error().code, 503) << "held by a finalizer, it could take all there is";
  EXPECT_TRUE(commit(*store_, remove(machine_key("b"))).has_value());
  Transaction exchange;
  exchange.writes.push_back(remove(machine_key("c")));
  exchange.writes.push_back(create(machine_key("e"), "123"));
  EXPECT_TRUE(commit(*store_, std::move(exchange)).has_value());
  EXPECT_FALSE(store_->health().ok);
  open();
  EXPECT_TRUE(store_->health().ok);
  EXPECT_TRUE(commit(*store_, create(machine_key("d"), "1")).has_value());
  EXPECT_EQ(store_->count(machines), 3u);
}

// Writers go on while the disk fails at random. What was acknowledged is there, what was refused is not.
TEST_F(StoreFault, acknowledged_is_kept_and_refused_is_not_whatever_the_disk_does) {
  auto small = options();
  small.wal_bytes_max = 128 * limits::kib;
  small.log_changes_max = 20;
  small.batch_transactions_max = 8;
  open(std::move(small));
  disk_.half_writes = true;
  std::atomic<bool> done = false;
  std::thread trouble([&] {
    std::mt19937 random(1);
    while (!done) {
      switch (random() % 4) {
        case 0:
          disk_.fail_write = SQLITE_FULL;
          break;
        case 1:
          disk_.fail_write = SQLITE_IOERR_WRITE;
          break;
        case 2:
          disk_.fail_sync = SQLITE_IOERR_FSYNC;
          break;
        default:
          disk_.fail_write = disk_.fail_sync = 0;
          break;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      disk_.fail_write = disk_.fail_sync = 0;
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    }
  });
  constexpr int threads = 4;
  std::vector<std::map<std::string, std::string>> kept(threads);
  std::vector<std::thread> writers;
  std::atomic<int> failures = 0;
  for (int t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t) + 10);
      for (int i = 0; i < 300; ++i) {
        const auto name = fmt::format("m{}-{}", t, random() % 10);
        const auto content = fmt::format("{}-{}", i, std::string(random() % 3000, 'x'));
        const auto found = kept[t].find(name);
        const bool removing = found != kept[t].end() && random() % 3 == 0;
        const auto outcome = commit(*store_, found == kept[t].end() ? create(machine_key(name), content)
                                             : removing             ? remove(machine_key(name))
                                                                    : update(machine_key(name), content));
        if (!outcome) {
          EXPECT_THAT(outcome.error().code, ::testing::AnyOf(503, 500)) << outcome.error().message;
          ++failures;
        } else if (removing) {
          kept[t].erase(name);
        } else {
          kept[t][name] = content;
        }
      }
    });
  }
  for (auto& writer : writers) writer.join();
  done = true;
  trouble.join();
  EXPECT_GT(failures, 0);
  EXPECT_EQ(store_->stats().transactions, static_cast<std::uint64_t>(threads * 300 - failures));
  const auto revision = store_->revision();
  for (int round = 0; round < 2; ++round) {
    std::size_t expected = 0;
    for (const auto& part : kept) {
      expected += part.size();
      for (const auto& [name, content] : part) {
        ASSERT_TRUE(get(name)) << name;
        EXPECT_THAT(get(name)->json(), HasSubstr("\"spec\":\"" + content + "\""));
      }
    }
    EXPECT_EQ(store_->count(machines), expected);
    EXPECT_EQ(store_->revision(), revision);
    if (round == 0) open();
  }
}

// The power goes at random moments; the disk keeps what was synced and any part of the rest.
TEST_F(StoreFault, survives_power_cuts) {
  store_.reset();
  std::filesystem::remove(folder_.file("store.db"));
  std::filesystem::remove(folder_.file("store.db-mark"));
  disk_.remember = true;
  auto small = options();
  small.wal_bytes_max = 64 * limits::kib;  // so that many cuts hit a checkpoint
  small.log_changes_max = 50;
  open(std::move(small));
  constexpr int threads = 4;
  std::atomic<bool> done = false;
  std::atomic<int> acknowledged[threads] = {};  // each thread counts up in an object of its own
  Signal started;
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      const auto key = machine_key(fmt::format("counter-{}", t));
      for (int i = 1; !done; ++i) {
        auto write = i == 1 ? create(key, "") : update(key, "");
        write.object =
            draft(key.name, fmt::format("{}-{}", i, std::string(static_cast<std::size_t>(i % 50) * 40, 'x')));
        EXPECT_TRUE(commit(*store_, std::move(write)).has_value());
        acknowledged[t] = i;
        if (i == 10) started.raise();
      }
    });
  }
  started.wait(threads);
  std::mt19937 random(7);
  for (int cut = 0; cut < 60 && !HasFailure(); ++cut) {
    int least[threads];
    for (int t = 0; t < threads; ++t) least[t] = acknowledged[t];
    const auto into = folder_.file(fmt::format("cut-{}", cut));
    disk_.power_cut(into, random);
    Options after;
    after.path = into + "/store.db";
    after.boot = "after the cut";
    auto opened = EmbeddedStore::open(std::move(after));
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    for (int t = 0; t < threads && opened; ++t) {
      const auto found = (*opened)->get(machines, "default", fmt::format("counter-{}", t));
      const auto json = found ? std::string(found->json()) : "\"spec\":\"0";
      EXPECT_GE(std::atoi(json.c_str() + json.find("\"spec\":\"") + 8), least[t]);
    }
    if (opened) EXPECT_TRUE(commit(**opened, create(machine_key("after"), "1")).has_value());
  }
  done = true;
  for (auto& writer : writers) writer.join();
}

TEST_F(StoreFault, too_much_waiting_is_refused) {
  auto small = options();
  small.queue_transactions_max = 3;
  open(std::move(small));
  auto first = hold();
  std::vector<std::future<Result<CommitOutcome>>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(start(*store_, one(create(machine_key(fmt::format("m{}", i)), "1"))));
  const auto refused = commit(*store_, create(machine_key("over"), "1"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, 429);
  EXPECT_EQ(refused.error().details.retry_after_seconds, 1);
  disk_.release_syncs();
  for (auto& write : waiting) EXPECT_TRUE(write.get().has_value());
  EXPECT_TRUE(commit(*store_, create(machine_key("over"), "1")).has_value());

  auto narrow = options();
  narrow.queue_bytes_max = 10'000;
  open(std::move(narrow));
  disk_.hold_syncs();
  auto again = start(*store_, one(create(machine_key("again"), "1")));
  disk_.wait_for_held_log_sync();
  auto large = start(*store_, one(create(machine_key("large"), std::string(20'000, 'x'))));
  EXPECT_EQ(commit(*store_, create(machine_key("small"), "1")).error().code, 429);
  disk_.release_syncs();
  EXPECT_TRUE(large.get().has_value()) << "alone it is let in, whatever its size";
}

TEST_F(StoreFault, closing_completes_what_was_submitted) {
  auto first = hold();
  std::vector<std::future<Result<CommitOutcome>>> rest;
  for (int i = 0; i < 20; ++i) rest.push_back(start(*store_, one(create(machine_key(fmt::format("m{}", i)), "1"))));
  std::thread closing([&] { store_.reset(); });
  disk_.release_syncs();
  closing.join();
  EXPECT_TRUE(first.get().has_value());
  for (auto& write : rest) EXPECT_TRUE(write.get().has_value());
  EXPECT_FALSE(std::filesystem::exists(folder_.file("store.db-wal"))) << "a clean end leaves one file";
  open();
  EXPECT_EQ(store_->count(machines), 21u);
}

TEST_F(StoreFault, the_window_is_bounded_by_bytes_and_age_too) {
  auto small = options();
  small.log_bytes_max = 10'000;
  open(std::move(small));
  for (int i = 0; i < 20; ++i) {
    const auto content = fmt::format("{}-{}", i, std::string(1000, 'x'));
    ASSERT_TRUE(commit(*store_, i == 0 ? create(machine_key("a"), content) : update(machine_key("a"), content)));
  }
  EXPECT_GT(store_->oldest_revision(machines), 9u);
  EXPECT_LT(store_->oldest_revision(machines), 16u);

  auto brief = options();
  brief.log_age_max = std::chrono::nanoseconds(1);
  open(std::move(brief));
  // The clock has to move between two changes for the first to be old.
  for (int i = 0; store_->oldest_revision(machines) < 20; ++i)
    ASSERT_TRUE(commit(*store_, update(machine_key("a"), std::to_string(i))));
}

TEST_F(StoreFault, rows_that_nobody_needs_go) {
  auto small = options();
  small.log_changes_max = 10;
  open(std::move(small));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(commit(*store_, i == 0 ? create(machine_key("a"), "0") : update(machine_key("a"), std::to_string(i))));
  }
  ASSERT_TRUE(commit(*store_, remove(machine_key("a"))));
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(commit(*store_, create(machine_key(fmt::format("m{}", i)), "1")));
  store_.reset();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(folder_.file("store.db").c_str(), &db), SQLITE_OK);
  sqlite3_stmt* query = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(db, "SELECT count(*) FROM versions", -1, &query, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_step(query), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_int(query, 0), 12);
  sqlite3_finalize(query);
  sqlite3_close(db);
  open();
  EXPECT_EQ(store_->revision(), 113u);
}

// Objects come and go, as many as are asked for, and leave nothing but their history.
void churn(ObjectStore& store, int rounds) {
  std::vector<std::future<Result<CommitOutcome>>> writes;
  for (int i = 0; i < rounds; ++i) {
    const auto key = machine_key(fmt::format("churn-{}", i));
    writes.push_back(start(store, one(create(key, fmt::format("{}{}", i, std::string(2000, 'x'))))));
    writes.push_back(start(store, one(remove(key))));
  }
  for (auto& write : writes) ASSERT_TRUE(write.get().has_value());
}

TEST_F(StoreFault, history_that_nobody_asks_for_goes_while_others_write) {
  auto brief = options();
  brief.log_age_least = std::chrono::milliseconds(5);
  brief.log_bytes_least = 64 * limits::kib;
  brief.wal_bytes_max = 256 * limits::kib;
  open(std::move(brief));
  ASSERT_TRUE(commit(*store_, create(machine_key("kept"), "1")));
  churn(*store_, 2000);
  // Never quiet for as long as the writer waits before it calls it that.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  int writes = 0;
  while (store_->stats().rows > 200 || std::filesystem::file_size(folder_.file("store.db")) > 4 * limits::mib) {
    ASSERT_LT(std::chrono::steady_clock::now(), end)
        << store_->stats().rows << " rows, " << std::filesystem::file_size(folder_.file("store.db")) << " bytes";
    // Large, so that the history which may always stay is of few of them.
    const std::string content = std::to_string(writes % 10) + std::string(2000, 'x');
    ASSERT_TRUE(
        commit(*store_, writes++ == 0 ? create({"pods", "a", "b"}, content) : update({"pods", "a", "b"}, content)));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GT(store_->oldest_revision(machines), 3000u);
  open();
  EXPECT_EQ(store_->count(machines), 1u);
  EXPECT_LT(store_->stats().rows, 200u) << "a start reads little more than what is alive";
}

TEST_F(StoreFault, history_may_be_as_large_as_what_is_alive) {
  auto brief = options();
  brief.log_age_least = std::chrono::milliseconds(1);
  brief.log_bytes_least = 1;
  open(std::move(brief));
  const std::string large(200'000, 'x');
  ASSERT_TRUE(commit(*store_, create(machine_key("large"), large)));
  churn(*store_, 20);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);  // more than a look of the writer
  while (std::chrono::steady_clock::now() < deadline) ASSERT_EQ(store_->oldest_revision(machines), 0u);
  ASSERT_TRUE(commit(*store_, remove(machine_key("large"))));
  while (store_->stats().rows > 0) std::this_thread::yield();  // now nothing is alive
  EXPECT_GE(store_->oldest_revision(machines), 41u);
}

TEST_F(StoreFault, a_backlog_of_obsolete_rows_goes_when_nobody_writes) {
  auto brief = options();
  brief.log_age_max = std::chrono::milliseconds(1);
  open(std::move(brief));
  churn(*store_, 2000);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (store_->stats().rows > 0) ASSERT_LT(std::chrono::steady_clock::now(), end) << store_->stats().rows << " rows";
  EXPECT_EQ(store_->revision(), 4000u);
}

TEST_F(StoreFault, revisions_go_on_when_everything_was_deleted_and_compacted) {
  auto small = options();
  small.log_changes_max = 1;
  open(std::move(small));
  ASSERT_TRUE(commit(*store_, create(machine_key("a"), "1")));
  ASSERT_TRUE(commit(*store_, remove(machine_key("a"))));
  ASSERT_TRUE(commit(*store_, create(machine_key("b"), "1")));
  ASSERT_TRUE(commit(*store_, remove(machine_key("b"))));
  ASSERT_TRUE(commit(*store_, create({"pods", "", "c"}, "1")));
  ASSERT_TRUE(commit(*store_, remove({"pods", "", "c"})));
  for (int i = 0; i < 3; ++i) {
    open();
    EXPECT_EQ(store_->revision(), 6u);
  }
}

void change_file(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

std::string refusal(Options options) {
  const auto store = EmbeddedStore::open(std::move(options));
  EXPECT_FALSE(store.has_value());
  return store ? "" : store.error().message;
}

TEST_F(StoreFault, refuses_a_file_of_a_newer_program) {
  ASSERT_TRUE(commit(*store_, create(machine_key("a"), "1")));
  store_.reset();
  change_file(folder_.file("store.db"), "PRAGMA user_version=3");
  EXPECT_THAT(refusal(options()), HasSubstr("newer virtgate (format 3, this version supports formats up to 2)"));
  change_file(folder_.file("store.db"), "PRAGMA user_version=2");
  open();
  EXPECT_TRUE(get("a")) << "refusing changes nothing";
}

TEST_F(StoreFault, refuses_files_that_are_no_store) {
  auto other = options();
  other.path = folder_.file("other.db");
  change_file(other.path, "CREATE TABLE t(x)");
  EXPECT_THAT(refusal(other), HasSubstr("a database of another program"));
  other.path = folder_.file("text.db");
  std::ofstream(other.path) << std::string(10'000, 'x');
  EXPECT_THAT(refusal(other), HasSubstr("damaged"));
  other.path = folder_.file("no/such/folder/store.db");
  EXPECT_THAT(refusal(other), HasSubstr("No such file"));
}

TEST_F(StoreFault, refuses_records_that_changed) {
  ASSERT_TRUE(commit(*store_, create(machine_key("a"), "1")));
  store_.reset();
  change_file(folder_.file("store.db"), "UPDATE versions SET json=replace(json, 'spec', 'Spec')");
  EXPECT_THAT(refusal(options()), HasSubstr("default/a at revision 1 is damaged"));
  change_file(folder_.file("store.db"), "UPDATE versions SET json=replace(json, 'Spec', 'spec')");
  open();
}

// As the program before seals and marks wrote it.
void make_old_format(const std::string& path, Revision revision) {
  change_file(path, fmt::format("DROP TABLE seal; CREATE TABLE revision_floor(one INTEGER PRIMARY KEY CHECK (one = 1), "
                                "revision INTEGER NOT NULL) STRICT; INSERT INTO revision_floor VALUES(1,{}); "
                                "PRAGMA user_version=1",
                                revision)
                        .c_str());
  std::filesystem::remove(path + "-mark");
}

TEST_F(StoreFault, a_store_of_the_format_before_is_taken_over_once) {
  const auto path = folder_.file("store.db");
  ASSERT_TRUE(commit(*store_, create(machine_key("a"), "1")));
  ASSERT_TRUE(commit(*store_, create(machine_key("b"), "1")));
  store_.reset();
  make_old_format(path, 1);
  open();
  EXPECT_TRUE(get("a") && get("b"));
  EXPECT_EQ(store_->revision(), 2u);
  ASSERT_TRUE(commit(*store_, create(machine_key("c"), "1")));
  store_.reset();
  std::filesystem::remove(path + "-mark");
  EXPECT_THAT(refusal(options()), HasSubstr("is missing, so it cannot be told")) << "from then on it is sealed";
}

TEST_F(StoreFault, an_old_store_in_the_place_of_a_sealed_one_is_refused) {
  ASSERT_TRUE(commit(*store_, create(machine_key("a"), "1")));
  store_.reset();
  const auto mark = read_mark(folder_.file("store.db-mark"));
  make_old_format(folder_.file("store.db"), 1);
  ASSERT_TRUE(put_mark(folder_.file("store.db-mark"), *mark->newest));
  EXPECT_THAT(refusal(options()), HasSubstr("older format"));
}

TEST_F(StoreFault, a_mark_that_cannot_be_written_is_as_bad_as_the_log) {
  ASSERT_TRUE(commit(*store_, create(machine_key("before"), "1")));
  disk_.fail_suffix = "-mark";
  disk_.fail_sync = SQLITE_IOERR_FSYNC;
  const auto outcome = commit(*store_, create(machine_key("during"), "1"));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, 500);
  EXPECT_THAT(outcome.error().message, HasSubstr("the mark of the store"));
  ill_.wait();
  EXPECT_FALSE(get("during"));
  disk_.fail_sync = 0;
  well_.wait();
  ASSERT_TRUE(commit(*store_, create(machine_key("during"), "2")));
  open();
  EXPECT_EQ(store_->count(machines), 2u);
}

// Half a slot is damage to the next start, so it is written again as soon as that works, whoever wrote it: a commit,
// the settling behind one, or what takes an intention back.
TEST_F(StoreFault, a_mark_half_written_is_whole_again_before_the_store_is_closed) {
  for (const bool takes_back : {false, true}) {
    auto quiet = options();
    quiet.probe_interval = std::chrono::hours(1);  // no commit of the store's own mends it
    open(std::move(quiet));
    disk_.half_writes = true;
    disk_.fail_suffix = "-mark";
    disk_.fail_write = SQLITE_IOERR_WRITE;
    const int before = disk_.failed_writes;
    EXPECT_FALSE(commit(*store_, create(machine_key("during"), "1")));
    if (takes_back) EXPECT_FALSE(commit(*store_, create(machine_key("during"), "2")));
    while (disk_.failed_writes < before + 2) std::this_thread::yield();
    disk_.fail_write = 0;
    store_.reset();
    EXPECT_FALSE(read_mark(folder_.file("store.db-mark"))->slot_damaged) << takes_back;
  }
}

// The next commit goes over a failed one in the log. A kill in the middle of that must not look like a loss.
TEST_F(StoreFault, a_failed_commit_is_no_longer_intended_when_the_next_one_begins) {
  store_.reset();
  auto file = RecordFile::open({.path = folder_.file("store.db"), .vfs = disk_.name()});
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE((*file)->load([](const Record&) -> DiskResult { return {}; }));
  ASSERT_TRUE((*file)->accept());
  ASSERT_TRUE((*file)->begin());
  ASSERT_TRUE((*file)->commit(6));  // with which the log begins
  disk_.fail_suffix = "-wal";
  disk_.fail_sync = SQLITE_IOERR_FSYNC;
  ASSERT_TRUE((*file)->begin());
  ASSERT_FALSE((*file)->commit(7));
  EXPECT_TRUE((*file)->outcome_unknown());
  (*file)->roll_back();
  disk_.fail_suffix = "-mark";
  EXPECT_FALSE((*file)->begin()) << "nothing is written over while the mark cannot say so";
  disk_.fail_sync = 0;
  ASSERT_TRUE((*file)->begin());
  EXPECT_EQ(read_mark(folder_.file("store.db-mark"))->newest->intended, (*file)->seal());
  ASSERT_TRUE((*file)->commit(8));
  EXPECT_EQ((*file)->seal().revision, 8u);
}

TEST_F(StoreFault, the_file_gets_shorter_when_much_of_it_is_free) {
  auto small = options();
  small.log_changes_max = 1;
  small.wal_bytes_max = 64 * limits::kib;  // so that the writer looks around soon
  open(std::move(small));
  const auto path = folder_.file("store.db");
  for (int i = 0; i < 400; ++i)
    ASSERT_TRUE(commit(*store_, create(machine_key(fmt::format("m{}", i)), std::string(20'000, 'x'))));
  const auto full = std::filesystem::file_size(path);
  EXPECT_GT(full, 5'000'000u);
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(commit(*store_, remove(machine_key(fmt::format("m{}", i)))));
  for (int wait = 0; wait < 2000 && std::filesystem::file_size(path) > full / 3; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LT(std::filesystem::file_size(path), full / 3);
  ASSERT_TRUE(commit(*store_, create(machine_key("after"), "1")));
  open();
  EXPECT_EQ(store_->count(machines), 1u);
}

TEST_F(StoreFault, an_old_store_with_large_gaps_is_written_anew) {
  auto small = options();
  small.log_changes_max = 1;
  open(std::move(small));
  const auto path = folder_.file("store.db");
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(commit(*store_, create(machine_key(fmt::format("m{}", i)), std::string(20'000, 'x'))));
  ASSERT_TRUE(commit(*store_, create(machine_key("kept"), "1")));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(commit(*store_, remove(machine_key(fmt::format("m{}", i)))));
  ASSERT_TRUE(commit(*store_, create(machine_key("last"), "1")));
  store_.reset();
  change_file(path,
              "PRAGMA journal_mode=DELETE; PRAGMA auto_vacuum=NONE; VACUUM; CREATE TABLE gap(x); "
              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<400) "
              "INSERT INTO gap SELECT zeroblob(8000) FROM n; DROP TABLE gap");
  const auto full = std::filesystem::file_size(path);
  open();
  EXPECT_TRUE(get("kept"));
  store_.reset();
  EXPECT_LT(std::filesystem::file_size(path), full / 3);
  open();
  EXPECT_EQ(store_->count(machines), 2u);
}

TEST_F(StoreFault, one_process_at_a_time) { EXPECT_THAT(refusal(options()), HasSubstr("another process")); }

TEST_F(StoreFault, the_files_are_private) {
  ASSERT_TRUE(commit(*store_, create(machine_key("a"), "1")));
  for (const char* name : {"store.db", "store.db-wal", "store.db-mark"}) {
    const auto mode = std::filesystem::status(folder_.file(name)).permissions();
    EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write) << name;
  }
}

}  // namespace
}  // namespace vg::store
