#include "http/connection_ledger.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <string>
#include <vector>

#include "base/budgets.h"
#include "base/limits.h"
#include "http/descriptors.h"

namespace vg::http {
namespace {

using SeatPtr = ConnectionLedger::SeatPtr;

sockaddr_storage address(const std::string& text) {
  sockaddr_storage storage{};
  if (text.contains(':')) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    v6.sin6_family = AF_INET6;
    ::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr);
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    v4.sin_family = AF_INET;
    ::inet_pton(AF_INET, text.c_str(), &v4.sin_addr);
  }
  return storage;
}
std::uint64_t source(const std::string& text) { return source_of(address(text)); }

ConnectionLedger::Limits wide() {
  return {.total = 10, .reserve = 0, .reserve_source_max = 2, .source = 10, .handshakes = 10, .source_handshakes = 10};
}

// A connection past its handshake, or known.
SeatPtr come(ConnectionLedger& ledger, std::uint64_t from, Standing standing) {
  auto entry = ledger.enter(from);
  EXPECT_TRUE(entry.seat);
  EXPECT_FALSE(entry.leaves);
  if (entry.seat) ledger.rise(*entry.seat, standing);
  return entry.seat;
}

TEST(ConnectionLedger, SourcesAreAddressesAndNetworks) {
  EXPECT_EQ(source("10.0.0.1"), source("::ffff:10.0.0.1"));
  EXPECT_NE(source("10.0.0.1"), source("10.0.0.2"));
  EXPECT_EQ(source("2001:db8:1:2::1"), source("2001:db8:1:2:ffff::9"));
  EXPECT_NE(source("2001:db8:1:2::1"), source("2001:db8:1:3::1"));
}

TEST(ConnectionLedger, ASourceExchangesItsOwn) {
  auto limits = wide();
  limits.source = 3;
  ConnectionLedger ledger(limits);
  std::vector<SeatPtr> seats;
  for (int i = 0; i < 3; ++i) seats.push_back(come(ledger, 1, Standing::stranger));
  const SeatPtr other = come(ledger, 2, Standing::stranger);
  auto entry = ledger.enter(1);
  EXPECT_TRUE(entry.seat);
  EXPECT_EQ(entry.leaves, seats[0]);
  EXPECT_EQ(ledger.count(1, Standing::stranger) + ledger.count(1, Standing::handshaking), 3u);
  for (const SeatPtr& seat : {seats[1], seats[2], entry.seat}) seat->waits = false;
  EXPECT_FALSE(ledger.enter(1).seat) << "all of its own are at work";
  EXPECT_TRUE(ledger.enter(2).seat);
}

TEST(ConnectionLedger, KnownOnesDoNotCountAgainstTheirSource) {
  auto limits = wide();
  limits.source = 2;
  ConnectionLedger ledger(limits);
  std::vector<SeatPtr> seats;
  for (int i = 0; i < 8; ++i) seats.push_back(come(ledger, 1, Standing::known));
  EXPECT_EQ(ledger.count(1, Standing::known), 8u);
}

TEST(ConnectionLedger, UnfinishedHandshakesHaveLimitsOfTheirOwn) {
  auto limits = wide();
  limits.source_handshakes = 2;
  limits.handshakes = 3;
  ConnectionLedger ledger(limits);
  const auto first = ledger.enter(1), second = ledger.enter(1);
  EXPECT_EQ(ledger.enter(1).leaves, first.seat);
  EXPECT_FALSE(ledger.enter(2).leaves);
  EXPECT_EQ(ledger.enter(3).leaves, second.seat) << "of the source with most";
}

TEST(ConnectionLedger, StrangersOfTheLargestSourceLeaveFirst) {
  ConnectionLedger ledger(wide());
  const SeatPtr known = come(ledger, 1, Standing::known);
  const SeatPtr lone = come(ledger, 2, Standing::stranger);
  std::vector<SeatPtr> crowd;
  for (int i = 0; i < 8; ++i) crowd.push_back(come(ledger, 3, Standing::stranger));
  std::vector<SeatPtr> kept;
  for (int i = 0; i < 6; ++i) {
    auto entry = ledger.enter(100 + static_cast<std::uint64_t>(i));
    EXPECT_EQ(entry.leaves, crowd[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(entry.seat);
    entry.seat->waits = false;
    kept.push_back(entry.seat);
  }
  EXPECT_EQ(ledger.size(), 10u);
}

TEST(ConnectionLedger, KnownOnesLeaveWhenOnlyTheyAreIdle) {
  ConnectionLedger ledger(wide());
  std::vector<SeatPtr> known, busy;
  for (int i = 0; i < 2; ++i) known.push_back(come(ledger, 1, Standing::known));
  for (int i = 0; i < 8; ++i) {
    busy.push_back(come(ledger, 2, Standing::stranger));
    busy.back()->waits = false;
  }
  EXPECT_EQ(ledger.enter(3).leaves, known[0]);
}

TEST(ConnectionLedger, WhoWasUsedGetsASecondChance) {
  ConnectionLedger ledger(wide());
  std::vector<SeatPtr> seats;
  for (int i = 0; i < 10; ++i) seats.push_back(come(ledger, 1, Standing::stranger));
  seats[0]->used = true;
  seats[1]->waits = false;
  EXPECT_EQ(ledger.enter(2).leaves, seats[2]);
  for (const SeatPtr& seat : seats) seat->used = true;
  EXPECT_TRUE(ledger.enter(2).leaves) << "when all were used, one leaves all the same";
}

TEST(ConnectionLedger, TheReserveIsForSourcesWithFew) {
  auto limits = wide();
  limits.reserve = 4;
  ConnectionLedger ledger(limits);
  std::vector<SeatPtr> seats;
  for (int i = 0; i < 6; ++i) {
    seats.push_back(come(ledger, 1, Standing::known));
    seats.back()->waits = false;
  }
  EXPECT_FALSE(ledger.enter(1).seat) << "nobody may leave, and this source has many";
  for (const std::uint64_t from : {2, 2, 3, 3}) {
    auto entry = ledger.enter(from);
    ASSERT_TRUE(entry.seat);
    entry.seat->waits = false;
    seats.push_back(entry.seat);
  }
  EXPECT_FALSE(ledger.enter(4).seat) << "all places are taken, and all work";
}

TEST(ConnectionLedger, WhoWorksAfterAllComesBack) {
  ConnectionLedger ledger(wide());
  const SeatPtr seat = come(ledger, 1, Standing::known);
  EXPECT_EQ(ledger.make_room(), seat);
  EXPECT_EQ(ledger.size(), 0u);
  ledger.rise(*seat, Standing::known);
  ledger.leave(*seat);
  ledger.come_back(seat, Standing::known);
  EXPECT_EQ(ledger.count(1, Standing::known), 1u);
  ledger.leave(*seat);
  ledger.leave(*seat);
  EXPECT_EQ(ledger.size(), 0u);
  EXPECT_EQ(ledger.make_room(), nullptr);
}

TEST(ConnectionLedger, SmallLimitsLeaveRoomForASource) {
  const auto small = ConnectionLedger::limits_for(20);
  EXPECT_EQ(small.source, budgets::source_connections_min);
  const auto usual = ConnectionLedger::limits_for(limits::connections_max);
  EXPECT_EQ(usual.source, limits::connections_max / 4);
  EXPECT_LT(usual.source_handshakes, usual.handshakes);
  EXPECT_GT(usual.reserve, 100u);
}

TEST(Descriptors, FewerMeanFewerConnections) {
  EXPECT_EQ(descriptors_within(100000, 16384)->connections, 16384u);
  const auto some = descriptors_within(1024, 16384);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->connections, 720u);
  EXPECT_EQ(some->recommended, 33024u);
  const auto none = descriptors_within(20, 16384);
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().message.contains("open file limit is 20")) << none.error().message;
  EXPECT_TRUE(none.error().message.contains("raise ulimit -n")) << none.error().message;
}

}  // namespace
}  // namespace vg::http
