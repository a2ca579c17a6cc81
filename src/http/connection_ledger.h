// Who holds how many connections, and who has to leave when there are too many.
//
// A source is an IPv4 address or an IPv6 network of 64 bits. Its connections are counted by what is known of them: in
// their handshake, strangers, or known (a verified certificate, or a request whose user was authenticated). When there
// are too many of a kind, or altogether, one that waits for its client is closed in favour of the newcomer: of the
// source that has most of them, strangers first, the one that was not used for the longest time (nearly: second chance,
// so that a request costs no lock). Nothing that is being worked on is cut off. Each step takes O(log sources) and one
// lock, once or thrice in a connection's life.
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

namespace vg::http {

class Connection;

enum class Standing : std::uint8_t { handshaking, stranger, known };
inline constexpr std::size_t standing_count = 3;

// What counts as one source. IPv4 addresses stand where IPv6 has multicast, which never is a source.
std::uint64_t source_of(const sockaddr_storage& address);

class ConnectionLedger {
 public:
  struct Limits {
    std::size_t total = 0;
    std::size_t reserve = 0;             // of the total: only in exchange, or for sources with few
    std::size_t reserve_source_max = 0;  // those few
    std::size_t source = 0;              // of one source that are not known
    std::size_t handshakes = 0;
    std::size_t source_handshakes = 0;
  };
  static Limits limits_for(std::size_t connections_max);

  struct Source;
  struct Seat {
    // Written by the connection's core, read by whoever looks for a place.
    std::atomic<bool> waits{true};  // for its client: to speak, to go on, or to read. While it is worked for, it stays.
    std::atomic<bool> used{false};  // since somebody looked last
    // For the connection's core alone.
    Connection* connection = nullptr;
    unsigned core = 0;
    std::uint64_t source_key() const { return key; }

   private:
    friend class ConnectionLedger;
    std::uint64_t key = 0;
    Source* source = nullptr;  // null: it has left
    Standing standing = Standing::handshaking;
    std::list<std::shared_ptr<Seat>>::iterator place;
  };
  using SeatPtr = std::shared_ptr<Seat>;

  explicit ConnectionLedger(const Limits& limits);
  ConnectionLedger(const ConnectionLedger&) = delete;
  ConnectionLedger& operator=(const ConnectionLedger&) = delete;
  ~ConnectionLedger();

  // A connection comes. Without a seat there is no place for it. `leaves` has left the ledger in exchange and has to be
  // closed on its core; should it have begun to work meanwhile, it may come back().
  struct Entry {
    SeatPtr seat;
    SeatPtr leaves;
  };
  Entry enter(std::uint64_t source);
  void rise(Seat& seat, Standing standing);
  void leave(Seat& seat);
  void come_back(const SeatPtr& seat, Standing standing);
  // Who leaves when there is no room for reasons of the system.
  SeatPtr make_room();

  std::size_t size() const;
  std::size_t count(std::uint64_t source, Standing standing) const;

 private:
  using Seats = std::list<SeatPtr>;

  Source& source_at(std::uint64_t key);
  void add(const SeatPtr& seat, Source& source, Standing standing);
  void remove(Seat& seat);
  void rank(Source& source, Standing standing, std::size_t before, std::size_t after);
  SeatPtr longest_waiting(Source& source, Standing standing);
  SeatPtr of_largest(Standing standing);
  SeatPtr of_anyone();
  // Who leaves so that one of this source can come; false: it cannot.
  bool exchange(Source& source, SeatPtr& leaves);

  const Limits limits_;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Source>> sources_;
  std::array<std::set<std::pair<std::size_t, Source*>>, standing_count> ranks_;
  std::array<std::size_t, standing_count> counts_{};
};

}  // namespace vg::http
