// The log: every change in a file before anybody is told of it, and the care that the file needs.
//
// The file itself, its rows, checksums, seal and mark, is record_file.h. What is added here is what happens around a
// commit: rows that nothing needs any more go along with later ones, the write-ahead log is moved and free pages are
// given back when nobody waits, and a disk that failed is tried again until it works. Everything here is said in terms
// of changes and revisions; what they mean is the index's.
//
// One thread at a time: the one that opens the store, then the writer's. Only health() and the figures are for any
// thread; `health_mutex_` guards the former, and is held for nothing but a copy of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/store_limits.h"
#include "ports/object_store.h"
#include "store/disk_reserve.h"
#include "store/kept_change.h"
#include "store/record_file.h"

namespace vg::store {

class DurableLog {
 public:
  struct Care {
    std::string reserve_path;
    DiskReserve::Size reserve;
    std::size_t wal_bytes_max;
    std::chrono::steady_clock::duration probe_interval;
    std::function<void(const StoreHealth&)> health_changed;  // on the thread that found it; may be null
  };
  DurableLog(std::unique_ptr<RecordFile> file, Care care);
  DurableLog(const DurableLog&) = delete;
  DurableLog& operator=(const DurableLog&) = delete;

  // --- the writer's thread ------------------------------------------------------------------------------------------

  // Durable when it returns. On a failure nothing of it is kept, unless outcome_unknown(). `revision` is the highest
  // that was ever given out.
  DiskResult append(const std::vector<Change>& changes, Revision revision);
  // See RecordFile.
  bool outcome_unknown() const { return file_->outcome_unknown(); }
  // See RecordFile.
  bool settled() const { return file_->settled(); }
  // Their rows go with later commits, some at a time.
  void retire(const std::vector<Obsolete>& obsolete);
  // After a batch was answered: moves the write-ahead log when it has grown too large.
  void after_batch() { checkpoint_if(wal_bytes_max()); }
  // Neither writing nor moving the write-ahead log failed last time.
  bool works() const { return write_problem_.empty() && checkpoint_problem_.empty(); }
  // There is no room on the disk but what was kept for this: nothing may be written that needs more than it gives back.
  bool full() const { return full_; }
  // Notices, although nobody writes, when the files are not in their place and when there is room again.
  void look();
  // Some of what is obsolete goes, some pages are given back, and the write-ahead log is moved: earlier where nobody
  // writes.
  void tend(Revision revision, bool quiet);
  // Tries whether a disk that failed works again.
  void probe(Revision revision);
  // How long the writer may wait for a write before it calls one of these two.
  std::chrono::steady_clock::duration patience() const;

  // --- any thread ---------------------------------------------------------------------------------------------------

  StoreHealth health() const;
  // What is seen from outside while the writer's thread waits for the disk; `ok` when it does not any more.
  void report_stall(const StoreHealth& stall);
  std::uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }
  std::uint64_t checkpoints() const { return checkpoints_.load(std::memory_order_relaxed); }
  std::size_t wal_bytes() const { return wal_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t rows() const { return rows_.load(std::memory_order_relaxed); }

 private:
  // How much of what is obsolete may go: until one of the two is reached.
  struct Slice {
    std::size_t rows = 0;
    std::size_t bytes = 0;
  };
  Slice slice_with(const std::vector<Change>& changes) const;
  DiskResult write(const std::vector<Change>& changes, Revision revision, const Slice& obsolete);
  DiskResult write_obsolete(const Slice& slice);
  void forget_obsolete();
  std::size_t wal_bytes_max() const { return full_ ? wal_bytes_max_ / store_limits::full_wal_share : wal_bytes_max_; }
  bool use_reserve();
  void checkpoint_if(std::size_t wal_bytes_at_least);
  void give_back_pages();
  StoreHealth judge() const;
  void report_health();
  void show(std::unique_lock<std::mutex> lock);

  const Care care_;
  const std::unique_ptr<RecordFile> file_;

  std::deque<Obsolete> obsolete_;
  std::size_t obsolete_written_ = 0;  // of obsolete_: part of the SQLite transaction that is open
  bool rows_went_ = false;            // so the file may have pages to give back
  bool shrinking_ = false;            // it has given some back, and has more
  DiskReserve reserve_;
  // What is in the write-ahead log may all be new to the database: on a small file system, where the reserve is small,
  // it must fit in there.
  const std::size_t wal_bytes_max_;
  bool full_ = false;
  std::string write_problem_;
  std::string checkpoint_problem_;

  mutable std::mutex health_mutex_;
  StoreHealth found_;   // by the writer's thread
  StoreHealth stall_;   // see report_stall()
  StoreHealth health_;  // of the two, what was told last
  std::atomic<std::uint64_t> commits_ = 0, checkpoints_ = 0, rows_ = 0;
  std::atomic<std::size_t> wal_bytes_ = 0;
};

}  // namespace vg::store
