// The connections of a client, per origin: kept ones, ones in use, and requests that wait for one.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "http/client.h"
#include "http/core_list.h"
#include "http/splice_started.h"

namespace vg::http {

struct PooledConnection {
  std::unique_ptr<Stream> stream;
  bool reused = false;
  // While it is kept, somebody reads: nothing may come, so whatever does, or its end, makes it useless at once instead
  // of with the next request.
  Started watch;
  bool dead = false;
  Stream::Clock::time_point kept_since;
};

class ClientPool : public std::enable_shared_from_this<ClientPool> {
 public:
  ClientPool(Core& core, ClientOptions options) : core_(core), options_(std::move(options)) {}

  struct Waiter : ListLink<Waiter> {
    std::coroutine_handle<> coroutine;
    Stream::Clock::time_point deadline;
    bool timed_out = false;
  };
  struct Entry {
    std::vector<std::unique_ptr<PooledConnection>> idle;  // the last one was used last
    std::size_t total = 0;                                // kept, in use, being dialled
    List<Waiter> waiting;
    std::size_t waiting_count = 0;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  // A connection in use, or the place for one. Gives up both when it is destroyed.
  class Lease {
   public:
    Lease() = default;
    Lease(std::shared_ptr<ClientPool> pool, Entries::iterator entry) : pool_(std::move(pool)), entry_(entry) {}
    Lease(Lease&& other) noexcept
        : pool_(std::move(other.pool_)), entry_(other.entry_), connection_(std::move(other.connection_)) {}
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { drop(); }

    PooledConnection& operator*() const { return *connection_; }
    PooledConnection* operator->() const { return connection_.get(); }
    explicit operator bool() const { return connection_ != nullptr; }
    // For the next request to this origin.
    void keep();
    void drop();

   private:
    friend class ClientPool;
    std::shared_ptr<ClientPool> pool_;
    Entries::iterator entry_;
    std::unique_ptr<PooledConnection> connection_;
  };

  // A kept connection (unless `fresh`) or a new one.
  Task<Result<Lease>> acquire(const Origin& origin, Stream::Clock::time_point deadline, bool fresh);
  // A new connection that the pool does not count.
  Task<Result<std::unique_ptr<Stream>>> dial(const Origin& origin, Stream::Clock::time_point deadline);
  // Closes the kept connections.
  void drop_idle();
  // No connection is kept any more.
  void close();
  Client::Counts counts() const;

  Core& core() { return core_; }
  const ClientOptions& options() const { return options_; }
  std::uint64_t repeated = 0;

 private:
  void put_back(Entries::iterator entry, std::unique_ptr<PooledConnection> connection);
  void place_is_free(Entries::iterator entry);
  void wake_next(Entries::iterator entry);
  void forget_if_empty(Entries::iterator entry);
  std::unique_ptr<PooledConnection> take_idle(Entry& entry);
  void need_housekeeping();
  static Task<void> keep_house(ClientPool& pool);
  static Task<void> watch(PooledConnection& connection);
  bool sweep();

  Core& core_;
  const ClientOptions options_;
  Entries entries_;
  bool closed_ = false;
  std::uint64_t dialled_ = 0;
  std::uint64_t reused_ = 0;
  Started housekeeping_;
};

}  // namespace vg::http
