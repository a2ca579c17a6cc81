// How far the store had come, in a small file beside it: what a start compares the store with, so that a log or a store
// that was lost, cut or put back to an older state is not taken for all there is.
//
// Each commit writes the mark after its rows were written to the write-ahead log and while the log is being synced, and
// is acknowledged when both are durable; a thread of its own makes the two syncs one wait. So the mark names two
// states:
//   confirmed  durable in log and mark; everything that was acknowledged before the commit in hand
//   intended   with the commit in hand, which the log may lack if the power went before its sync ended
// What was acknowledged is never beyond `intended`. As long as the system has not been started again (`boot`), what was
// written to the log is in it, synced or not: then the store must be at `intended`. After a new start of the system it
// may also be at `confirmed`. Soon after a commit, when no other follows, it is confirmed by a write of its own.
//
// The file has two slots, each in a block of the disk of its own, which are written in turn.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "store/seal.h"

struct sqlite3_file;

namespace vg::store {

// What the disk or SQLite says, as a sentence for people.
using DiskResult = std::expected<void, std::string>;

struct Mark {
  Seal confirmed = {};
  Seal intended = {};
  std::string boot = {};  // the start of the system under which it was written; empty: not known
  bool operator==(const Mark&) const = default;

  bool nothing_acknowledged() const { return confirmed.sequence == 0 && intended.sequence == 0; }
};

struct MarkReading {
  bool exists = false;
  std::optional<Mark> newest = {};  // none: neither slot can be read
  bool slot_damaged = false;        // one of the two, or both
  std::uint64_t writes = 0;         // so many writes the newest slot has seen
};

std::string mark_path(const std::string& store_path);
std::string this_boot();
std::expected<MarkReading, std::string> read_mark(const std::string& path);
// A mark that says this and nothing else, whole or not at all; mode 0600.
DiskResult put_mark(const std::string& path, const Mark& mark);

class HighWaterMark {
 public:
  // For an existing file. `vfs` is SQLite's file layer, null for its default.
  static std::expected<std::unique_ptr<HighWaterMark>, std::string> open(const std::string& path, const char* vfs,
                                                                         const MarkReading& found);
  ~HighWaterMark();  // writes what settle() was told
  HighWaterMark(const HighWaterMark&) = delete;
  HighWaterMark& operator=(const HighWaterMark&) = delete;

  // Starts to write; wait() returns when it is durable.
  void begin(Mark mark);
  DiskResult wait();
  // The store is at this seal, for sure: written when nothing else was for a moment.
  void settle(const Seal& seal, const std::string& boot);

  // Whoever copies the store's files holds a lock on the mark, and until they are done the log must not be moved into
  // the database. False: somebody does.
  bool begin_moving();
  void end_moving();

 private:
  HighWaterMark() = default;
  void run();
  DiskResult write(const Mark& mark);

  sqlite3_file* file_ = nullptr;
  int lock_ = -1;
  std::uint64_t writes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable answered_;
  std::optional<Mark> urgent_;
  std::optional<Mark> settled_;
  DiskResult outcome_;
  bool waiting_ = false;  // an urgent one has not been answered
  bool resting_ = false;  // the thread waits without end
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace vg::store
