#include "http/server_core.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <random>
#include <system_error>

#include "base/budgets.h"
#include "base/log.h"
#include "base/off_loop.h"
#include "base/release.h"
#include "http/connection.h"

namespace vg::http {
namespace {

std::shared_ptr<metrics::Counter> closed_counter(metrics::Registry& registry, const char* reason) {
  return registry
      .counters("virtgate_http_connections_closed_total", "Connections that ended, by who or what ended them.",
                {"reason"})
      .with({reason});
}
std::shared_ptr<metrics::Counter> request_counter(metrics::Registry& registry, const char* kind) {
  return registry.counters("virtgate_http_answers_total", "Answers given, by class of their status code.", {"class"})
      .with({kind});
}

}  // namespace

ServerMetrics::ServerMetrics(metrics::Registry& registry)
    : open(registry.gauge("virtgate_http_connections_open", "Open connections, upgraded streams included.")),
      accepted(registry.counter("virtgate_http_connections_accepted_total", "Accepted connections.")),
      closed{closed_counter(registry, "peer"),    closed_counter(registry, "idle"),
             closed_counter(registry, "slow"),    closed_counter(registry, "refused"),
             closed_counter(registry, "broken"),  closed_counter(registry, "finished"),
             closed_counter(registry, "drained"), closed_counter(registry, "evicted")},
      turned_away(registry.counter("virtgate_http_connections_turned_away_total",
                                   "Connections closed at once because too many were open.")),
      handshake_failures(registry.counter("virtgate_http_handshake_failures_total", "TLS handshakes that failed.")),
      requests{request_counter(registry, "1xx"), request_counter(registry, "2xx"), request_counter(registry, "3xx"),
               request_counter(registry, "4xx"), request_counter(registry, "5xx")},
      waiting(registry.gauge("virtgate_http_requests_in_flight",
                             "Requests whose handlers are suspended. Handlers that never suspend are not counted.")),
      bytes_in(registry.counter("virtgate_http_received_bytes_total", "Bytes of requests, after decryption.")),
      bytes_out(registry.counter("virtgate_http_sent_bytes_total", "Bytes of answers, before encryption.")),
      bytes_held(registry.gauge("virtgate_http_held_bytes",
                                "Memory of large requests and answers in flight, as charged to users and sources.")),
      over_budget(registry.counter("virtgate_http_over_budget_total",
                                   "Requests refused with 429 because too much memory was in use.")) {}

ServerShared::ServerShared(ServerConfig given, Handler& given_handler)
    : config(std::move(given)),
      handler(given_handler),
      metrics(config.metrics ? *config.metrics : own_registry),
      ledger(ConnectionLedger::limits_for(config.connections_max)),
      budget(config.budget) {
  std::random_device random;
  id_prefix = fmt::format("{:08x}-", random());
}

void ServerShared::count_open() {
  const std::size_t now = open.fetch_add(1) + 1;
  if (now > open_most.load(std::memory_order_relaxed)) open_most.store(now, std::memory_order_relaxed);
  metrics.open.add();
}

std::size_t ServerShared::count_closed() {
  const std::size_t now = open.fetch_sub(1) - 1;
  metrics.open.sub();
  std::size_t most = open_most.load(std::memory_order_relaxed);
  if (most < budgets::many_connections || now > most / 4) return now;
  // What so many have left behind lies scattered in the heaps. The workers return it when their last job is done.
  if (open_most.compare_exchange_strong(most, now)) run_off_loop([] {});
  return now;
}

UpgradedStream::UpgradedStream(Channel channel, std::string ahead, ConnectionLedger::SeatPtr seat, ServerCore& server)
    : ChannelStream(std::move(channel), std::move(ahead)), server_(server), seat_(std::move(seat)) {
  server_.upgraded.push_back(*this);
}
UpgradedStream::~UpgradedStream() {
  channel_.try_shutdown_write();
  server_.closed(*seat_);
}

void ServerCore::adopt(int fd, std::string address, std::uint16_t port, std::uint64_t source,
                       ConnectionLedger::SeatPtr seat) {
  if (draining_) {
    ::close(fd);
    closed(*seat);
    return;
  }
  try {
    auto connection = std::make_unique<Connection>(*this, Socket(loop_, fd),
                                                   Peer{.address = std::move(address), .port = port, .certificate = {}},
                                                   shared_.budget.of_source(source), seat);
    connections_.push_back(*connection);
    Connection::run(std::move(connection));
  } catch (const std::system_error& error) {  // the reactor takes no more descriptors; it has closed this one
    log::error("cannot watch a new connection", {{"reason", error.what()}});
    closed(*seat);
  }
}

void ServerCore::evict(const ConnectionLedger::SeatPtr& seat) {
  if (seat->connection) seat->connection->evict();
}

void UpgradedStream::on_drain(std::move_only_function<void()> fn) {
  on_drain_ = std::move(fn);
  if (server_.draining()) drain();
}

void ServerCore::drain() {
  draining_ = true;
  upgraded.each([](UpgradedStream& stream) { stream.drain(); });
  // Ending one may end others, which then leave the list by themselves.
  List<Connection> rest;
  rest.take(connections_);
  while (Connection* connection = rest.pop_front()) {
    connections_.push_back(*connection);
    connection->drain();
  }
}

void ServerCore::cut() {
  connections_.each([](Connection& connection) { connection.cut(); });
  upgraded.each([](UpgradedStream& stream) { stream.close(); });
}

void ServerCore::abandon() {
  while (Connection* connection = connections_.pop_front()) connection->abandon();
}

void ServerCore::closed(ConnectionLedger::Seat& seat) {
  shared_.ledger.leave(seat);
  if (shared_.count_closed() == 0 && draining_) shared_.all_closed();
}

std::unique_ptr<Work> ServerCore::take_work() {
  if (!spare_.empty()) {
    auto work = std::move(spare_.back());
    spare_.pop_back();
    return work;
  }
  auto work = std::make_unique<Work>(shared_.config.head);
  work->buffer = std::make_unique_for_overwrite<char[]>(Work::buffer_bytes);
  work->capacity = Work::buffer_bytes;
  return work;
}

void ServerCore::give_back(std::unique_ptr<Work> work) {
  if (spare_.size() >= budgets::spare_work_max || work->capacity > Work::buffer_bytes) return;
  work->begin = work->end = 0;
  work->parser.reset();
  work->parser.keep_fields(budgets::kept_fields_max);
  work->request.headers.keep(budgets::kept_fields_max);
  clear_keeping(work->out, budgets::kept_string_bytes_max);
  clear_keeping(work->body, budgets::kept_string_bytes_max);
  spare_.push_back(std::move(work));
}

std::string_view ServerCore::date_line() {
  const std::time_t now = ::time(nullptr);
  if (now != date_second_) {
    date_second_ = now;
    tm parts{};
    ::gmtime_r(&now, &parts);
    static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    date_ = fmt::format("Date: {}, {:02} {} {} {:02}:{:02}:{:02} GMT\r\n", days[parts.tm_wday], parts.tm_mday,
                        months[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
  }
  return date_;
}

std::string_view ServerCore::next_id(std::array<char, 32>& into) {
  const std::string& prefix = shared_.id_prefix;
  prefix.copy(into.data(), prefix.size());
  // Cores count in steps of their number, so no two of them ever make the same.
  const std::uint64_t number = ids_++ * cores_ + loop_.index();
  const auto end = std::to_chars(into.data() + prefix.size(), into.data() + into.size(), number, 16).ptr;
  return {into.data(), static_cast<std::size_t>(end - into.data())};
}

}  // namespace vg::http
