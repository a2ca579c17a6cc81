// What the connections of one core share.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/budgets.h"
#include "base/byte_budget.h"
#include "base/metrics.h"
#include "http/connection_ledger.h"
#include "http/core.h"
#include "http/core_list.h"
#include "http/exchange.h"
#include "http/handshake_queue.h"
#include "http/loop_watchdog.h"
#include "http/request_parser.h"
#include "http/server.h"
#include "http/stage.h"
#include "http/tls_channel.h"

namespace vg::http {

class Connection;

// Why a connection ended, as metrics show it.
enum class Closed : std::uint8_t { peer, idle, slow, refused, broken, finished, drained, evicted };
inline constexpr std::size_t closed_count = 8;

struct ServerMetrics {
  explicit ServerMetrics(metrics::Registry& registry);
  metrics::Gauge& open;
  metrics::Counter& accepted;
  std::array<std::shared_ptr<metrics::Counter>, closed_count> closed;
  metrics::Counter& turned_away;
  metrics::Counter& handshake_failures;
  std::array<std::shared_ptr<metrics::Counter>, 5> requests;  // by class of status, 1xx first
  metrics::Gauge& waiting;
  metrics::Counter& bytes_in;
  metrics::Counter& bytes_out;
  metrics::Gauge& bytes_held;
  metrics::Counter& over_budget;
};

// The same for all cores.
struct ServerShared {
  ServerShared(ServerConfig given, Handler& given_handler);
  ServerConfig config;
  Handler& handler;
  metrics::Registry own_registry;
  ServerMetrics metrics;
  std::string id_prefix;
  ConnectionLedger ledger;
  ByteBudget budget;
  std::atomic<std::size_t> open{0};            // connections and upgraded streams
  std::atomic<std::size_t> open_most{0};       // since memory was last returned
  std::move_only_function<void()> all_closed;  // called, on any core, when a draining server has no connection left

  void count_open();
  std::size_t count_closed();  // how many are left

  // A handshake takes a millisecond, so one uncontended lock for it is nothing.
  std::shared_ptr<const TlsServerContext> tls() const {
    const std::lock_guard lock(mutex);
    return tls_context;
  }
  mutable std::mutex mutex;
  std::shared_ptr<const TlsServerContext> tls_context;
  std::shared_ptr<TicketKeys> ticket_keys = make_ticket_keys();
};

// Everything a request needs while it is worked on. A connection between requests has none of it: ten thousand idle
// connections share the few that their core keeps.
struct Work {
  explicit Work(const HeadLimits& head) : parser(head) {}
  static constexpr std::size_t buffer_bytes = 16 * limits::kib;

  std::unique_ptr<char[]> buffer;  // [begin, end) is what was read and not yet used
  std::size_t capacity = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  RequestParser parser;
  Request request;
  std::array<char, 32> id;
  std::string body;  // a body that is not in the buffer in one piece
  std::string out;   // answers that were not written yet

  std::string_view unused() const { return {buffer.get() + begin, end - begin}; }
};

// A connection that became something else, for instance a WebSocket. Known here so that a drain can end it.
class UpgradedStream final : public ChannelStream, public ListLink<UpgradedStream> {
 public:
  UpgradedStream(Channel channel, std::string ahead, ConnectionLedger::SeatPtr seat, class ServerCore& server);
  ~UpgradedStream() override;
  void on_drain(std::move_only_function<void()> fn) override;
  void drain() {
    if (on_drain_) std::exchange(on_drain_, nullptr)();
  }

 private:
  ServerCore& server_;
  ConnectionLedger::SeatPtr seat_;
  std::move_only_function<void()> on_drain_;
};

class ServerCore {
 public:
  ServerCore(ServerShared& shared, EventLoop& loop, unsigned cores) : shared_(shared), loop_(loop), cores_(cores) {}

  // On this core: a new connection begins.
  void adopt(int fd, std::string address, std::uint16_t port, std::uint64_t source, ConnectionLedger::SeatPtr seat);
  // On this core: a connection that had to give its seat to another one ends, unless it is at work by now.
  void evict(const ConnectionLedger::SeatPtr& seat);
  void drain();
  // Ends everything at once.
  void cut();
  // After the loop has stopped: what is left is thrown away.
  void abandon();
  bool draining() const { return draining_; }

  std::unique_ptr<Work> take_work();
  void give_back(std::unique_ptr<Work> work);
  // "Date: ...\r\n", made once a second.
  std::string_view date_line();
  std::string_view next_id(std::array<char, 32>& into);

  ServerShared& shared() { return shared_; }
  const ServerConfig& config() const { return shared_.config; }
  ServerMetrics& metrics() { return shared_.metrics; }
  EventLoop& loop() { return loop_; }
  // Where requests meet before they are handled, and answers before they are sent.
  Stage& handling() { return handling_; }
  Stage& sending() { return sending_; }
  HandshakeQueue& handshakes() { return handshakes_; }

  // A connection or an upgraded stream is gone.
  void closed(ConnectionLedger::Seat& seat);
  List<UpgradedStream> upgraded;
  CurrentRequest current;  // for the watchdog

 private:
  ServerShared& shared_;
  EventLoop& loop_;
  Stage handling_{loop_, budgets::requests_together_max};
  Stage sending_{loop_, budgets::requests_together_max};
  HandshakeQueue handshakes_{loop_};
  unsigned cores_;
  bool draining_ = false;
  List<Connection> connections_;
  std::vector<std::unique_ptr<Work>> spare_;
  std::uint64_t ids_ = 0;
  std::time_t date_second_ = 0;
  std::string date_;
};

}  // namespace vg::http
