#include "disks/board.h"

#include <gmock/gmock.h>

#include "base/disk_limits.h"

namespace vg::disks {
namespace {

using testing::ElementsAre;

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
  board.ask(job("resize", "source", ResizeClaim{}), now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("copy1", "copy2", "record"));
  EXPECT_EQ(board.hold({.ns = "ns", .name = "source"}).readers, 3);
  EXPECT_EQ(board.hold({.ns = "ns", .name = "source"}).writer, "resize");  // it waits, and others are to know
  EXPECT_EQ(board.hold({.ns = "ns", .name = "one"}).writer, "copy1");
  for (const char* id : {"copy1", "copy2"}) board.ended(id, std::nullopt, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre());
  board.ended("record", std::nullopt, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("resize"));
  board.ended("resize", std::nullopt, {}, now);
  EXPECT_EQ(board.hold({.ns = "ns", .name = "source"}).writer, "");
}

TEST(JobBoard, TheSlowServersOfOneNamespaceDoNotKeepOthersWaiting) {
  JobBoard board;
  for (const char* id : {"a", "b", "c"}) board.ask(job(id, id, ImportHttp{}), now);
  DiskJob other = job("other", "x", ImportRegistry{});
  other.claim.ns = "elsewhere";
  board.ask(std::move(other), now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("a", "b", "other"));
  board.ended("other", std::nullopt, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre()) << "a third one waits, although there is a place";
  board.ended("a", Failure{.message = "no"}, {}, now);
  EXPECT_THAT(ids(board.start(now)), ElementsAre("c"));
}

TEST(JobBoard, OnlySoManyRunAtOnceAndQuickOnesDoNotWaitForThem) {
  JobBoard board;
  const std::size_t most = limits::disk_jobs_running_max;
  for (std::size_t i = 0; i <= most; ++i)
    board.ask(job(fmt::format("slow{}", i), fmt::format("c{}", i), ConvertUpload{}), now);
  board.ask(job("quick", "q", CreateClaim{}), now);
  EXPECT_EQ(board.start(now).size(), most + 1);
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
  EXPECT_FALSE(board.cancel("nobody"));
}

}  // namespace
}  // namespace vg::disks
