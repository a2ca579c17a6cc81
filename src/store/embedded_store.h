// The store of one machine: everything in memory, packed, and every write in a file before it is answered.
//
// One thread writes. It takes all transactions that wait, checks each against the newest state (with those before it
// in the same batch), writes them into one SQLite transaction and commits: one sync for the whole batch, which is what
// makes many small writes cheap. Only then the batch becomes readable, at once and in order, watches are woken, and the
// writers get their answers. When the commit fails, every transaction of the batch fails and memory stays as it was; if
// it failed in the sync, nobody can say what a crash would bring back, and the writers are told so.
//
// Beside the file lies a mark of how far it had come (high_water_mark.h), and the file carries a seal over all of its
// rows (seal.h): a store that lacks anything that was acknowledged is not opened.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "ports/commit_guard.h"
#include "ports/object_store.h"
#include "store/kept_object.h"
#include "store/object_index.h"
#include "store/packer.h"
#include "store/record_file.h"
#include "store/watch_hub.h"

namespace vg::store {

struct Options {
  std::string path;
  const char* vfs = nullptr;                            // SQLite's file layer; tests put one that fails underneath
  std::shared_ptr<const ValueCipher> cipher = nullptr;  // for Secrets in the file; in memory they are as others
  std::string boot = this_boot();                       // see store/high_water_mark.h

  // What may wait for the disk. At 10,000 writes/s this is under a second; a client is better off hearing 429 than
  // waiting longer.
  std::size_t queue_transactions_max = 8192;
  std::size_t queue_bytes_max = 64 * limits::mib;
  // What one sync may carry. Beyond this the sync's share is negligible and only latency grows.
  std::size_t batch_transactions_max = 512;
  std::size_t batch_bytes_max = 4 * limits::mib;
  std::size_t object_bytes_max = limits::stored_object_bytes_max;
  std::size_t key_bytes_max = 1024;  // for each part of a key; Kubernetes' own limit is 253

  // The window of changes that each resource keeps, for watches that resume and lists that continue. A client that
  // lost its connection is back within a minute, and 500 changes/s is a busy day: 30,000, and some room.
  std::size_t log_changes_max = 50'000;
  // Versions kept only for the window, as large as they are on disk: an object's present version costs it nothing.
  std::size_t log_bytes_max = 64 * limits::mib;
  std::chrono::steady_clock::duration log_age_max = std::chrono::hours(1);  // 49 days is the most that is told apart
  // The newest changes of each resource that stay open: enough for watches that are woken by every batch and get to
  // run some milliseconds later.
  std::size_t recent_bytes_max = 256 * limits::kib;

  // The write-ahead log is moved into the database when it has grown to this, or to a quarter when nobody waits. Moving
  // takes some milliseconds, during which writes wait: more at once would be felt.
  std::size_t wal_bytes_max = 8 * limits::mib;
  // How often a store that could not write tries again by itself, so that readiness returns without traffic.
  std::chrono::steady_clock::duration probe_interval = std::chrono::seconds(1);
  // Completes or refuses transactions (see ports/commit_guard.h). Outlives the store.
  CommitGuard* guard = nullptr;
  // Called on the writer's thread when health changes. Must not block.
  std::function<void(const StoreHealth&)> health_changed;
};

struct Stats {
  std::uint64_t commits = 0;       // durable batches, each one sync
  std::uint64_t transactions = 0;  // committed
  std::uint64_t refused = 0;       // conflicts and the like
  std::uint64_t overloaded = 0;    // refused because too much waited
  std::uint64_t failed = 0;        // because of the disk
  std::uint64_t checkpoints = 0;
  std::size_t waiting = 0;
  std::size_t watches = 0;
  std::size_t wal_bytes = 0;
};

class EmbeddedStore final : public ObjectStore {
 public:
  // Reads everything into memory. That no other process uses the folder is the caller's matter.
  static Result<std::unique_ptr<EmbeddedStore>> open(Options options);
  // Completes what was submitted, then closes the file. Watches must be gone by then.
  ~EmbeddedStore() override;

  void submit(Transaction transaction, Completion done) override;
  Revision revision() const override;
  ObjectPtr get(std::string_view resource, std::string_view ns, std::string_view name) const override;
  Result<ListPage> list(const ListQuery& query) const override;
  ObjectList owned_by(std::string_view owner_uid) const override;
  std::vector<std::string> resources() const override;
  std::size_t count(std::string_view resource) const override;
  Revision oldest_revision(std::string_view resource) const override;
  Result<std::unique_ptr<Watch>> watch(WatchQuery query, Waker waker) override;
  StoreHealth health() const override;

  Stats stats() const;

 private:
  class Cursor;
  friend class Cursor;
  class Walk;
  class Page;
  class LongPage;
  class GuardView;

  // A change as it is kept. There is one for nearly every object, so it is small.
  struct LogEntry {
    KeptPtr object = {};
    KeptPtr previous = {};
    Revision revision = 0;
    std::uint32_t at_ms = 0;  // of a clock that goes round in 49 days; only differences count
    std::uint16_t ordinal = 0;
    ChangeType type = ChangeType::added;

    std::size_t cost_bytes() const;
    std::size_t open_bytes() const;
    Change open() const;
  };
  struct ResourceState {
    ObjectIndex index;
    std::deque<LogEntry> log;
    std::uint64_t log_start = 0;  // the place in the stream of log.front(); places only grow
    std::size_t log_bytes = 0;
    Revision compacted = 0;  // changes up to here are gone
    // The newest changes of the log as their writers handed them in: whoever keeps up with them, and there may be
    // hundreds, need not open them again.
    std::deque<Change> recent;
    std::size_t recent_bytes = 0;
  };
  // Ordered by the owner's hash, then by address: no strings to keep, and an object that many share an owner with is
  // found as fast as any.
  using OwnerEntry = std::pair<std::size_t, KeptPtr>;

  struct PreparedWrite {
    WriteKind kind;
    ObjectKey key;
    Revision expected_revision;
    std::string expected_uid;
    std::shared_ptr<StoredObject> object;  // null for a removal
  };
  struct Pending {
    std::vector<PreparedWrite> writes;
    std::vector<Precondition> preconditions;
    Completion done;
    std::size_t bytes = 0;
    std::size_t own_writes = 0;  // those in front; the guard added the others
  };
  // What leaves the state is freed after the lock is given back.
  struct Leaving {
    std::vector<LogEntry> entries;
    std::vector<Change> changes;
  };
  // Rows that the log no longer needs, and what that means for the resource.
  struct Obsolete {
    const std::string* resource = nullptr;  // a key of resources_
    Revision compacted = 0;
    std::uint64_t ids[2] = {0, 0};  // 0: none
  };
  struct Batch;

  explicit EmbeddedStore(Options options);
  DiskResult load();
  DiskResult load_record(const Record& record);
  Packer& packer(std::string_view resource);
  Result<Pending> prepare(Transaction& transaction) const;
  Result<PreparedWrite> prepare(Write& write) const;

  // On the writer's thread.
  void run();
  void run_batch(std::vector<Pending>& pending);
  void stage(Pending& pending, Batch& batch);
  KeptPtr newest(const ObjectKey& key, const Batch& batch) const;
  Result<void> check(const Pending& pending, const Batch& batch) const;
  Result<void> ask_guard(Pending& pending, const Batch& batch);
  DiskResult write(const Batch& batch);
  DiskResult write_obsolete(std::size_t rows_max);
  void forget_obsolete();
  void publish(Batch& batch);
  void when_idle();
  void probe();
  void checkpoint_if(std::size_t wal_bytes_at_least);
  void give_back_pages();
  void report_health();

  // With mutex_ held exclusively, or before the writer runs.
  using Resources = std::map<std::string, std::unique_ptr<ResourceState>, std::less<>>;
  Resources::value_type& resource_entry(std::string_view resource);
  // `open`: the same change, where it is open already.
  void index_owners(const LogEntry& change, const Change* open = nullptr);
  std::size_t weight_bytes(const Pending& pending) const;
  void append_to_log(ResourceState& state, LogEntry entry);
  void append_recent(ResourceState& state, const Change& change, Leaving& leaving);
  void shrink_log(Resources::value_type& entry, Leaving& leaving);
  // With mutex_ held, or on the writer's thread.
  const ResourceState* find_resource(std::string_view resource) const;
  Result<void> check_revision(const ResourceState* state, Revision revision) const;

  const Options options_;
  std::unique_ptr<RecordFile> file_;

  // What can be read. The writer alone changes it, so the writer itself reads it without the lock. Holders of the
  // shared lock do a bounded amount of work: a lookup, taking a snapshot, copying some pointers.
  mutable std::shared_mutex mutex_;
  Revision revision_ = 0;
  Revision floor_ = 0;   // of every resource, also of those that are not known yet: see ResourceState::compacted
  Resources resources_;  // an entry stays for good, so that it can be pointed to
  std::set<OwnerEntry> owners_;

  WatchHub hub_;

  // The writer's own.
  std::map<std::string, Packer, std::less<>> packers_;
  std::deque<Obsolete> obsolete_;
  std::size_t obsolete_written_ = 0;  // of obsolete_: part of the SQLite transaction that is open
  bool rows_went_ = false;            // so the file may have pages to give back
  bool shrinking_ = false;            // it has given some back, and has more
  std::string write_problem_;
  std::string checkpoint_problem_;

  mutable std::mutex queue_mutex_;
  std::condition_variable queue_filled_;
  std::deque<Pending> queue_;
  std::size_t queue_bytes_ = 0;
  bool stopping_ = false;

  mutable std::mutex health_mutex_;
  StoreHealth health_;
  std::atomic<std::uint64_t> commits_ = 0, transactions_ = 0, refused_ = 0, overloaded_ = 0, failed_ = 0,
                             checkpoints_ = 0;
  std::atomic<std::size_t> wal_bytes_ = 0;

  std::thread writer_;
};

}  // namespace vg::store
