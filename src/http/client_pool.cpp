#include "http/client_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "http/tcp.h"

namespace vg::http {

namespace {

using Clock = Stream::Clock;

// How often kept connections and waiting requests are looked at, and only while there are any.
constexpr std::chrono::milliseconds housekeeping_interval{250};

std::string key_of(const Origin& origin) {
  return fmt::format("{}|{}|{}|{}", origin.tls ? "https" : "http", origin.host, origin.port, origin.server_name);
}

class WaitForPlace {
 public:
  WaitForPlace(ClientPool::Entry& entry, Clock::time_point deadline) : entry_(entry) {
    waiter_.deadline = deadline;
    ++entry_.waiting_count;
  }
  ~WaitForPlace() { --entry_.waiting_count; }
  WaitForPlace(const WaitForPlace&) = delete;
  WaitForPlace& operator=(const WaitForPlace&) = delete;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    waiter_.coroutine = coroutine;
    entry_.waiting.push_back(waiter_);
  }
  bool await_resume() const { return !waiter_.timed_out; }

 private:
  ClientPool::Entry& entry_;
  ClientPool::Waiter waiter_;
};

}  // namespace

ClientPool::Lease& ClientPool::Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    drop();
    pool_ = std::move(other.pool_);
    entry_ = other.entry_;
    connection_ = std::move(other.connection_);
  }
  return *this;
}

void ClientPool::Lease::keep() {
  const auto pool = std::move(pool_);
  if (pool) pool->put_back(entry_, std::move(connection_));
}

void ClientPool::Lease::drop() {
  connection_.reset();
  const auto pool = std::move(pool_);
  if (pool) pool->place_is_free(entry_);
}

Task<void> ClientPool::watch(PooledConnection& connection) {
  std::array<char, 1> nothing_is_expected;
  co_await connection.stream->read_some(nothing_is_expected);
  connection.dead = true;
  connection.stream->close();
}

void ClientPool::put_back(Entries::iterator entry, std::unique_ptr<PooledConnection> connection) {
  const bool wanted = !entry->second.waiting.empty() || entry->second.idle.size() < options_.idle_per_origin_max;
  if (closed_ || !wanted) {
    connection.reset();
    place_is_free(entry);
    return;
  }
  connection->stream->set_deadline(Clock::time_point::max());
  connection->kept_since = Clock::now();
  connection->watch = start(watch(*connection));
  entry->second.idle.push_back(std::move(connection));
  need_housekeeping();
  wake_next(entry);
}

void ClientPool::place_is_free(Entries::iterator entry) {
  --entry->second.total;
  wake_next(entry);
  forget_if_empty(entry);
}

// By the loop and not from inside the request that ended, whose owner the next one might let go.
void ClientPool::wake_next(Entries::iterator entry) {
  if (entry->second.waiting.empty()) return;
  core_.post([self = shared_from_this(), key = entry->first] {
    const auto found = self->entries_.find(key);
    if (found == self->entries_.end()) return;
    if (Waiter* waiter = found->second.waiting.pop_front()) waiter->coroutine.resume();
  });
}

void ClientPool::forget_if_empty(Entries::iterator entry) {
  // waiting_count also counts one that was woken and has not looked yet.
  if (entry->second.total == 0 && entry->second.waiting_count == 0) entries_.erase(entry);
}

std::unique_ptr<PooledConnection> ClientPool::take_idle(Entry& entry) {
  while (!entry.idle.empty()) {
    std::unique_ptr<PooledConnection> connection = std::move(entry.idle.back());
    entry.idle.pop_back();
    if (!connection->dead) {
      // It was waiting and has taken nothing, so it can simply be taken away.
      connection->watch = Started();
      connection->reused = true;
      return connection;
    }
    --entry.total;
  }
  return nullptr;
}

Task<Result<ClientPool::Lease>> ClientPool::acquire(const Origin& origin, Clock::time_point deadline, bool fresh) {
  const auto self = shared_from_this();
  const auto entry = entries_.try_emplace(key_of(origin)).first;
  for (bool first_in_line = entry->second.waiting.empty();; first_in_line = true) {
    // Who comes later waits behind those who do, although a place may be free until the loop wakes the first of them.
    if (!fresh && first_in_line) {
      if (auto connection = take_idle(entry->second)) {
        ++reused_;
        Lease lease(self, entry);
        lease.connection_ = std::move(connection);
        co_return lease;
      }
    }
    if (fresh && first_in_line && entry->second.total >= options_.connections_per_origin_max &&
        !entry->second.idle.empty()) {
      // A kept connection makes room.
      entry->second.idle.erase(entry->second.idle.begin());
      --entry->second.total;
    }
    if (first_in_line && entry->second.total < options_.connections_per_origin_max) break;
    if (entry->second.waiting_count >= options_.waiting_per_origin_max) {
      co_return fail(
          Status::unavailable(fmt::format("too many requests are queued for {}:{}", origin.host, origin.port)));
    }
    need_housekeeping();
    const bool in_time = co_await WaitForPlace(entry->second, deadline);
    if (closed_ || !in_time) {
      forget_if_empty(entry);
      if (closed_) co_return fail(Status::unavailable("the client is closed"));
      co_return fail(
          Status::timeout(fmt::format("no connection to {}:{} became free in time", origin.host, origin.port)));
    }
  }
  ++entry->second.total;
  Lease lease(self, entry);
  auto stream = co_await dial(origin, deadline);
  if (!stream) co_return fail(std::move(stream.error()));
  lease.connection_ = std::make_unique<PooledConnection>();
  lease.connection_->stream = std::move(*stream);
  co_return lease;
}

Task<Result<std::unique_ptr<Stream>>> ClientPool::dial(const Origin& origin, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  const auto timeout = std::clamp(left, std::chrono::milliseconds(0), options_.connect_deadline);
  ++dialled_;
  if (options_.forwarded(origin))
    co_return co_await connect_tcp(core_, options_.proxy->host, options_.proxy->port, timeout);
  if (!origin.tls) co_return co_await connect_tcp(core_, origin.host, origin.port, timeout, options_.proxy);
  if (!options_.tls) co_return fail(Status::internal_error("this client was made without TLS"));
  auto context = options_.tls();
  if (!context) co_return fail(std::move(context.error()));
  co_return co_await connect_tls(core_, origin.host, origin.port, std::move(*context), origin.server_name, timeout,
                                 options_.proxy);
}

void ClientPool::need_housekeeping() {
  if (housekeeping_.done()) housekeeping_ = start(keep_house(*this));
}

Task<void> ClientPool::keep_house(ClientPool& pool) {
  for (bool more = true; more;) {
    co_await pool.core_.sleep(housekeeping_interval);
    // This task belongs to the pool: whoever is woken below must not destroy it while it runs.
    auto self = pool.shared_from_this();
    more = pool.sweep();
    Core& core = pool.core_;
    if (self.use_count() == 1) core.post([last = std::move(self)] {});
  }
}

// Whether there is anything left to look after.
bool ClientPool::sweep() {
  const auto now = Clock::now();
  List<Waiter> late;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    Entry& here = entry->second;
    here.total -= std::erase_if(here.idle, [&](const auto& connection) {
      return connection->dead || now - connection->kept_since >= options_.idle_deadline;
    });
    here.waiting.each([&](Waiter& waiter) {
      if (waiter.deadline > now) return;
      waiter.timed_out = true;
      waiter.unlink();
      late.push_back(waiter);
    });
    const auto next = std::next(entry);
    forget_if_empty(entry);
    entry = next;
  }
  while (Waiter* waiter = late.pop_front()) waiter->coroutine.resume();
  return std::ranges::any_of(
      entries_, [](const auto& entry) { return !entry.second.idle.empty() || !entry.second.waiting.empty(); });
}

void ClientPool::drop_idle() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    entry->second.total -= entry->second.idle.size();
    entry->second.idle.clear();
    const auto next = std::next(entry);
    for (std::size_t i = 0; i < entry->second.waiting_count; ++i) wake_next(entry);
    forget_if_empty(entry);
    entry = next;
  }
}

void ClientPool::close() {
  const auto self = shared_from_this();
  closed_ = true;
  drop_idle();
}

Client::Counts ClientPool::counts() const {
  Client::Counts counts{.dialled = dialled_, .reused = reused_, .repeated = repeated};
  for (const auto& [key, entry] : entries_) {
    // A dead one is closed already; the next look around forgets it.
    const auto dead = static_cast<std::size_t>(
        std::ranges::count_if(entry.idle, [](const auto& connection) { return connection->dead; }));
    counts.idle += entry.idle.size() - dead;
    counts.total += entry.total - dead;
    counts.waiting += entry.waiting_count;
  }
  return counts;
}

}  // namespace vg::http
