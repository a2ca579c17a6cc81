#include "http/connection_ledger.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/budgets.h"

namespace vg::http {
namespace {

// How many seats of a source, and how many sources, are looked at for one that may leave.
constexpr std::size_t seats_looked_at = 64;
constexpr std::size_t sources_looked_at = 4;

constexpr std::size_t at(Standing standing) { return static_cast<std::size_t>(standing); }

std::uint64_t big_endian(const unsigned char* bytes, std::size_t count) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < count; ++i) number = number << 8 | bytes[i];
  return number;
}

}  // namespace

struct ConnectionLedger::Source {
  std::uint64_t key = 0;
  std::array<std::list<SeatPtr>, standing_count> seats;

  std::size_t strangers() const {
    return seats[at(Standing::handshaking)].size() + seats[at(Standing::stranger)].size();
  }
  std::size_t all() const { return strangers() + seats[at(Standing::known)].size(); }
};

std::uint64_t source_of(const sockaddr_storage& address) {
  constexpr std::uint64_t ipv4 = 0xffff'0000'0000'0000;
  if (address.ss_family == AF_INET) return ipv4 | ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
  if (address.ss_family != AF_INET6) return 0;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return ipv4 | big_endian(v6.s6_addr + 12, 4);
  return big_endian(v6.s6_addr, 8);
}

ConnectionLedger::Limits ConnectionLedger::limits_for(std::size_t most) {
  const auto part = [most](std::size_t divisor) {
    return std::max(most / divisor, std::min(most, budgets::source_connections_min));
  };
  return {.total = most,
          .reserve = most / budgets::reserved_connections_divisor,
          .reserve_source_max = budgets::reserved_connections_source_max,
          .source = part(budgets::source_connections_divisor),
          .handshakes = part(budgets::handshakes_divisor),
          .source_handshakes = part(budgets::source_handshakes_divisor)};
}

ConnectionLedger::ConnectionLedger(const Limits& limits) : limits_(limits) {}

ConnectionLedger::~ConnectionLedger() {
  // Seats may outlive their ledger; their way back ends here.
  for (auto& [key, source] : sources_)
    for (auto& seats : source->seats)
      for (const SeatPtr& seat : seats) seat->source = nullptr;
}

ConnectionLedger::Source& ConnectionLedger::source_at(std::uint64_t key) {
  auto& place = sources_[key];
  if (!place) {
    place = std::make_unique<Source>();
    place->key = key;
  }
  return *place;
}

void ConnectionLedger::rank(Source& source, Standing standing, std::size_t before, std::size_t after) {
  auto& ranking = ranks_[at(standing)];
  if (before > 0) ranking.erase({before, &source});
  if (after > 0) ranking.insert({after, &source});
}

void ConnectionLedger::add(const SeatPtr& seat, Source& source, Standing standing) {
  Seats& seats = source.seats[at(standing)];
  seats.push_back(seat);
  seat->place = std::prev(seats.end());
  seat->key = source.key;
  seat->source = &source;
  seat->standing = standing;
  ++counts_[at(standing)];
  rank(source, standing, seats.size() - 1, seats.size());
}

// A source without seats stays until forgotten by whoever took the last one.
void ConnectionLedger::remove(Seat& seat) {
  Source& source = *seat.source;
  Seats& seats = source.seats[at(seat.standing)];
  rank(source, seat.standing, seats.size(), seats.size() - 1);
  --counts_[at(seat.standing)];
  seat.source = nullptr;
  seats.erase(seat.place);
}

ConnectionLedger::SeatPtr ConnectionLedger::longest_waiting(Source& source, Standing standing) {
  Seats& seats = source.seats[at(standing)];
  SeatPtr second_choice;  // waits, but was used since the last look
  for (std::size_t looks = std::min(seats.size(), seats_looked_at); looks > 0; --looks) {
    const SeatPtr& seat = seats.front();
    if (seat->waits.load(std::memory_order_relaxed)) {
      if (!seat->used.exchange(false, std::memory_order_relaxed)) return seat;
      if (!second_choice) second_choice = seat;
    }
    seats.splice(seats.end(), seats, seats.begin());
  }
  return second_choice;
}

ConnectionLedger::SeatPtr ConnectionLedger::of_largest(Standing standing) {
  const auto& ranking = ranks_[at(standing)];
  std::size_t looks = sources_looked_at;
  for (auto place = ranking.rbegin(); place != ranking.rend() && looks > 0; ++place, --looks) {
    if (SeatPtr found = longest_waiting(*place->second, standing)) return found;
  }
  return nullptr;
}

ConnectionLedger::SeatPtr ConnectionLedger::of_anyone() {
  const auto largest = [this](Standing standing) {
    const auto& ranking = ranks_[at(standing)];
    return ranking.empty() ? 0 : ranking.rbegin()->first;
  };
  const bool handshakes_first = largest(Standing::handshaking) > largest(Standing::stranger);
  const Standing first = handshakes_first ? Standing::handshaking : Standing::stranger;
  const Standing second = handshakes_first ? Standing::stranger : Standing::handshaking;
  for (const Standing standing : {first, second, Standing::known}) {
    if (SeatPtr found = of_largest(standing)) return found;
  }
  return nullptr;
}

bool ConnectionLedger::exchange(Source& source, SeatPtr& leaves) {
  const std::size_t all = counts_[0] + counts_[1] + counts_[2];
  if (source.seats[at(Standing::handshaking)].size() >= limits_.source_handshakes) {
    leaves = longest_waiting(source, Standing::handshaking);
    return leaves != nullptr;
  }
  if (source.strangers() >= limits_.source) {
    leaves = longest_waiting(source, Standing::stranger);
    if (!leaves) leaves = longest_waiting(source, Standing::handshaking);
    return leaves != nullptr;
  }
  if (counts_[at(Standing::handshaking)] >= limits_.handshakes) {
    leaves = of_largest(Standing::handshaking);
    return leaves != nullptr;
  }
  if (all + limits_.reserve < limits_.total) return true;
  leaves = of_anyone();
  return leaves || (all < limits_.total && source.all() < limits_.reserve_source_max);
}

ConnectionLedger::Entry ConnectionLedger::enter(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  Source& source = source_at(key);
  Entry entry;
  const bool welcome = exchange(source, entry.leaves);
  if (entry.leaves) {
    Source& left = *entry.leaves->source;
    remove(*entry.leaves);
    if (&left != &source && left.all() == 0) sources_.erase(left.key);
  }
  if (welcome) {
    entry.seat = std::make_shared<Seat>();
    add(entry.seat, source, Standing::handshaking);
  } else if (source.all() == 0) {
    sources_.erase(key);
  }
  return entry;
}

void ConnectionLedger::rise(Seat& seat, Standing standing) {
  const std::lock_guard lock(mutex_);
  if (!seat.source || seat.standing == standing) return;
  Source& source = *seat.source;
  const SeatPtr self = *seat.place;
  remove(seat);
  add(self, source, standing);
}

void ConnectionLedger::leave(Seat& seat) {
  const std::lock_guard lock(mutex_);
  if (!seat.source) return;
  Source& source = *seat.source;
  const SeatPtr self = *seat.place;  // the list's may be the last reference
  remove(seat);
  if (source.all() == 0) sources_.erase(source.key);
}

void ConnectionLedger::come_back(const SeatPtr& seat, Standing standing) {
  const std::lock_guard lock(mutex_);
  if (!seat->source) add(seat, source_at(seat->key), standing);
}

ConnectionLedger::SeatPtr ConnectionLedger::make_room() {
  const std::lock_guard lock(mutex_);
  SeatPtr leaves = of_anyone();
  if (!leaves) return nullptr;
  Source& source = *leaves->source;
  remove(*leaves);
  if (source.all() == 0) sources_.erase(source.key);
  return leaves;
}

std::size_t ConnectionLedger::size() const {
  const std::lock_guard lock(mutex_);
  return counts_[0] + counts_[1] + counts_[2];
}

std::size_t ConnectionLedger::count(std::uint64_t source, Standing standing) const {
  const std::lock_guard lock(mutex_);
  const auto found = sources_.find(source);
  return found == sources_.end() ? 0 : found->second->seats[at(standing)].size();
}

}  // namespace vg::http
