#include "disks/board.h"

#include <gmock/gmock.h>

#include <functional>

#include "base/disk_limits.h"

namespace vg::disks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr JobBoard::Time now{};

DiskJob job(std::string id, std::string claim, DiskWork work) {
  return {
      .id = std::move(id), .claim = {.ns = "ns", .name = std::move(claim)}, .claim_uid = "u", .work = std::move(work)};
}

std::vector<std::string> ids(const std::vector<DiskJob>& jobs) {
  std::vector<std::string> all;
  for (const DiskJob& one : jobs) all.push_back(one.id);
  return all;
}

TEST(JobBoard, AJobIsStartedOnceHoweverOftenItIsAskedFor) {
  JobBoard board;
  EXPECT_TRUE(board.ask(job("a", "x", MakeBlankImage{}), now));
  EXPECT_FALSE(board.ask(job("a", "x", MakeBlankImage{}), now));
  EXPECT_THAT(ids(board.start(now)), ElementsAre("a"));
  EXPECT_FALSE(board.ask(job("a", "x", MakeBlankImage{}), now));
  EXPECT_THAT(ids(board.start(now)), ElementsAre());
}

// STO-04
TEST(JobBoard, AWriterHasAClaimForItselfAndReadersShareIt) {
  JobBoard board;
  board.ask(job("copy1", "one", CopyClaim{.from = {.ns = "ns", .name = "source"}}), now);
  board.ask(job("copy2", "two", CopyClaim{.from = {.ns = "ns", .name = "source"}}), now);
  board.ask(job("record", "source", TakeRecord{.record = "r"}), now);
  EXPECT_THAT(ids(board.start(now)), UnorderedElementsAre("copy1", "copy2"));
  board.ask(job("resize", "source", ResizeClaim{}), now);
  board.ended("copy1", std::nullopt, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("record")) << "half of the slots at once";
  EXPECT_EQ(board.hold({.ns = "ns", .name = "source"}).readers, 2);
  EXPECT_THAT(board.status("resize")->waits_for, HasSubstr("PVC \"ns/source\""));
  EXPECT_EQ(board.hold({.ns = "ns", .name = "source"}).writer, "resize");  // it waits, and others are to know
  EXPECT_EQ(board.hold({.ns = "ns", .name = "two"}).writer, "copy2");
  board.ended("copy2", std::nullopt, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre());
  board.ended("record", std::nullopt, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("resize"));
  board.ended("resize", std::nullopt, {}, now);
  EXPECT_EQ(board.hold({.ns = "ns", .name = "source"}).writer, "");
}

DiskJob in(std::string ns, DiskJob job) {
  job.claim.ns = std::move(ns);
  return job;
}

std::size_t started(JobBoard& board) { return board.start(now).size(); }

TEST(JobBoard, TheSlowServersOfOneNamespaceDoNotKeepOthersWaiting) {
  JobBoard board;
  for (const char* id : {"a", "b", "c"}) board.ask(job(id, id, ImportHttp{}), now);
  board.ask(in("elsewhere", job("other", "x", ImportRegistry{})), now);
  EXPECT_THAT(ids(board.start(now)), UnorderedElementsAre("a", "b", "other"));
  EXPECT_THAT(board.status("c")->waits_for, HasSubstr("another job of namespace \"ns\""));
  board.ended("other", std::nullopt, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre()) << "a third one waits, although there is a place";
  board.ended("a", Failure{.message = "no"}, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("c"));
  EXPECT_EQ(board.status("c")->waits_for, "");
}

TEST(JobBoard, FetchesLeaveTheSlotsOfCopiesAlone) {
  JobBoard board;
  for (std::size_t i = 0; i < 2 * limits::disk_fetches_running_max; ++i)
    board.ask(in(fmt::format("ns{}", i), job(fmt::format("fetch{}", i), "c", ImportHttp{})), now);
  EXPECT_EQ(started(board), limits::disk_fetches_running_max);
  board.ask(job("copy", "x", CopyClaim{.from = {.ns = "ns", .name = "source"}}), now);
  board.ask(job("upload", "y", ConvertUpload{}), now);
  board.ask(job("create", "z", CreateClaim{}), now);
  board.ask(job("remove", "w", RemoveClaim{}), now);
  EXPECT_EQ(started(board), 4U);
  board.ask(job("late", "v", ImportHttp{}), now);
  EXPECT_EQ(started(board), 0U);
  EXPECT_THAT(board.status("late")->waits_for, HasSubstr("slots of this host for downloads"));
}

// However many jobs one namespace has, of every kind: another's finds a slot at once.
TEST(JobBoard, NoNamespaceHasAllSlotsOfAKind) {
  const auto copy = [](int i) { return CopyClaim{.from = {.ns = "ns", .name = fmt::format("s{}", i)}}; };
  const std::vector<std::function<DiskWork(int)>> kinds{
      [](int) { return ImportHttp{}; }, [&](int i) { return copy(i); }, [](int) { return RemoveClaim{}; },
      [](int) { return CreateClaim{}; }};
  for (const auto& work : kinds) {
    JobBoard board;
    for (int i = 0; i < 200; ++i) board.ask(job(fmt::format("{}", i), fmt::format("c{}", i), work(i)), now);
    const std::size_t of_one = started(board);
    EXPECT_GE(of_one, 2U);
    board.ask(in("other", job("other", "x", work(1000))), now);
    EXPECT_THAT(ids(board.start(now)), ElementsAre("other")) << of_one;
  }
}

// The one that has fewest is next, and among those the one that came first.
TEST(JobBoard, AFreeSlotGoesToWhoHasFewest) {
  JobBoard board;
  const std::size_t most = limits::disk_copies_running_max;
  for (std::size_t i = 0; i < most; ++i)
    board.ask(in(fmt::format("ns{}", i), job(fmt::format("first{}", i), "c", ConvertUpload{})), now);
  EXPECT_EQ(started(board), most);
  board.ask(in("zz", job("late", "c", ConvertUpload{})), now);
  board.ask(in("ns0", job("again", "d", ConvertUpload{})), now);
  board.ask(in("aa", job("last", "c", ConvertUpload{})), now);
  EXPECT_EQ(started(board), 0U);
  board.ended("first0", std::nullopt, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("late")) << "it came before the others that have none";
  board.ended("first1", std::nullopt, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("again"));
  board.ended("first2", std::nullopt, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("last"));
}

TEST(JobBoard, OnlySoManyRunAtOnceAndQuickOnesDoNotWaitForThem) {
  JobBoard board;
  const std::size_t most = limits::disk_copies_running_max;
  for (std::size_t i = 0; i <= most; ++i)
    board.ask(in(fmt::format("ns{}", i), job(fmt::format("slow{}", i), "c", ConvertUpload{})), now);
  board.ask(job("quick", "q", CreateClaim{}), now);
  EXPECT_EQ(started(board), most + 1);
  board.ended("slow0", std::nullopt, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre(fmt::format("slow{}", most)));
}

TEST(JobBoard, AFailureIsRememberedAndCountedAndMayBeTriedAgain) {
  JobBoard board;
  for (int i = 1; i <= 2; ++i) {
    EXPECT_TRUE(board.ask(job("a", "x", ImportHttp{}), now));
    board.start(now);
    board.ended("a", Failure{.error = DiskError::checksum, .message = "no"}, {}, now);
    EXPECT_EQ(board.status("a")->failures, i);
    EXPECT_EQ(board.status("a")->error, DiskError::checksum);
    EXPECT_EQ(board.status("a")->state, DiskJobState::failed);
  }
}

// STO-05: what was lost may be asked for again, from zero.
TEST(JobBoard, WhatALostWorkerWorkedOnHasFailedAndWhatWaitedWaits) {
  JobBoard board;
  board.ask(job("a", "x", ImportHttp{}), now);
  board.ask(job("b", "x", ImportHttp{}), now);
  board.start(now);
  board.progress("a", 5000);
  EXPECT_THAT(board.lost(now), ElementsAre("a"));
  EXPECT_EQ(board.status("a")->state, DiskJobState::failed);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("b"));
  EXPECT_TRUE(board.ask(job("a", "y", ImportHttp{}), now));
  EXPECT_EQ(board.status("a")->progress, -1);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("a"));
}

// STO-05: passes read it.
TEST(JobBoard, ProgressNeverFalls) {
  JobBoard board;
  board.ask(job("a", "x", ImportHttp{}), now);
  board.start(now);
  board.progress("a", 5000);
  board.progress("a", 100);
  EXPECT_EQ(board.status("a")->progress, 5000);
}

TEST(JobBoard, WhatWaitsIsCancelledAtOnceAndWhatRunsByTheWorker) {
  JobBoard board;
  board.ask(job("a", "x", ImportHttp{}), now);
  board.ask(job("b", "x", ImportHttp{}), now);
  board.start(now);
  EXPECT_FALSE(board.cancel("b"));
  EXPECT_FALSE(board.status("b"));
  EXPECT_TRUE(board.cancel("a"));
  EXPECT_FALSE(board.cancel("a")) << "the worker is told once";
  EXPECT_FALSE(board.cancel("nobody"));
}

}  // namespace
}  // namespace vg::disks
