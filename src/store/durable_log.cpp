#include "store/durable_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <expected>
#include <string_view>
#include <utility>

#include "base/store_limits.h"

namespace vg::store {
namespace {

Record record_of(const Change& change) {
  const auto& object = *change.object;
  Record record;
  record.object = {
      .resource = object.resource(), .ns = object.ns(), .name = object.name(), .stamp = {.revision = change.revision}};
  if (change.type == ChangeType::removed) {
    record.tombstone = true;
    return record;
  }
  record.object.uid = object.uid();
  record.object.facts = object.facts();
  record.object.json = object.json();
  record.object.revision_offset = object.revision_offset();
  record.object.stamp.created_revision = object.created_revision();
  return record;
}

}  // namespace

DurableLog::DurableLog(std::unique_ptr<RecordFile> file, Care care)
    : care_(std::move(care)),
      file_(std::move(file)),
      reserve_(care_.reserve_path, care_.reserve),
      wal_bytes_max_(reserve_.bytes() < care_.reserve.bytes ? std::min(care_.wal_bytes_max, reserve_.bytes() / 2)
                                                            : care_.wal_bytes_max),
      rows_(file_->seal().rows) {
  full_ = !reserve_.take();
  report_health();
}

DiskResult DurableLog::append(const std::vector<Change>& changes, Revision revision) {
  auto written = write(changes, revision, slice_with(changes));
  if (!written && use_reserve()) written = write(changes, revision, {});
  if (!written) {
    write_problem_ = written.error();
    report_health();
    return written;
  }
  commits_.fetch_add(1, std::memory_order_relaxed);
  wal_bytes_.store(file_->wal_bytes(), std::memory_order_relaxed);
  if (!write_problem_.empty()) {
    write_problem_.clear();
    report_health();
  }
  return written;
}

DiskResult DurableLog::write(const std::vector<Change>& changes, Revision revision, const Slice& obsolete) {
  if (!checkpoint_problem_.empty() && file_->wal_bytes() > store_limits::wal_growth_max * wal_bytes_max_) {
    return std::unexpected(checkpoint_problem_);
  }
  const auto work = [&]() -> DiskResult {
    if (auto done = file_->begin(); !done) return done;
    for (const auto& change : changes) {
      if (auto done = file_->add(record_of(change)); !done) return done;
    }
    if (auto done = write_obsolete(obsolete); !done) return done;
    // Also where rows go that are the newest there are: revisions must not start again below them.
    return file_->commit(revision);
  };
  auto done = work();
  if (!done) {
    file_->roll_back();
    return done;
  }
  forget_obsolete();
  rows_.store(file_->seal().rows, std::memory_order_relaxed);
  return done;
}

// After a failure: whether it was for lack of room, and there may be some now.
bool DurableLog::use_reserve() {
  if (!file_->full() || file_->outcome_unknown()) return false;
  full_ = true;
  file_->claim(reserve_.release());
  // What is in the database need not be in the log any more, which is then written from its beginning.
  (void)file_->checkpoint();
  report_health();
  return true;
}

// --- compaction -----------------------------------------------------------------------------------------------------

void DurableLog::retire(const std::vector<Obsolete>& obsolete) {
  obsolete_.insert(obsolete_.end(), obsolete.begin(), obsolete.end());
}

// More than the batch can add to the backlog, so that it shrinks.
DurableLog::Slice DurableLog::slice_with(const std::vector<Change>& changes) const {
  Slice slice{.rows = store_limits::obsolete_rows_least + 2 * changes.size(),
              .bytes = store_limits::obsolete_bytes_least};
  for (const auto& change : changes) slice.bytes += 2 * change.object->memory_bytes();
  return slice;
}

DiskResult DurableLog::write_obsolete(const Slice& slice) {
  obsolete_written_ = 0;
  if (obsolete_.empty()) return {};
  std::map<std::string_view, Revision> compacted;
  Slice taken;
  for (; taken.rows < slice.rows && taken.bytes < slice.bytes && obsolete_written_ < obsolete_.size();
       ++obsolete_written_) {
    const auto& item = obsolete_[obsolete_written_];
    taken.bytes += item.bytes;
    for (const auto id : item.ids) {
      if (id == 0) continue;
      if (auto done = file_->remove(id); !done) return done;
      ++taken.rows;
    }
    compacted[item.resource] = item.compacted;
  }
  for (const auto& [resource, revision] : compacted) {
    if (auto done = file_->set_compacted(resource, revision); !done) return done;
  }
  return {};
}

void DurableLog::forget_obsolete() {
  rows_went_ = rows_went_ || obsolete_written_ > 0;
  obsolete_.erase(obsolete_.begin(), obsolete_.begin() + static_cast<std::ptrdiff_t>(obsolete_written_));
  obsolete_written_ = 0;
}

// --- care -----------------------------------------------------------------------------------------------------------

std::chrono::steady_clock::duration DurableLog::patience() const {
  if (!works()) return care_.probe_interval;
  if (!obsolete_.empty() || shrinking_) return store_limits::compaction_pause;
  if (full_) return care_.probe_interval;
  const bool work_left = rows_went_ || file_->wal_bytes() >= wal_bytes_max() / 4;
  if (work_left) return store_limits::quiet_interval;
  return store_limits::idle_interval;
}

void DurableLog::tend(Revision revision, bool quiet) {
  // On a small file system, no more than the log has room for.
  const Slice slice{.rows = store_limits::obsolete_rows_alone,
                    .bytes = std::min(store_limits::obsolete_bytes_alone, wal_bytes_max_ / 4)};
  if (!obsolete_.empty()) {
    if (auto written = write({}, revision, slice); !written) {
      write_problem_ = std::move(written.error());
      report_health();
      return;
    }
  }
  if (rows_went_ || shrinking_) give_back_pages();
  checkpoint_if(quiet ? wal_bytes_max() / 4 : wal_bytes_max());
}

// Some at a time, so that a write that comes now waits for some milliseconds only.
void DurableLog::give_back_pages() {
  const bool before = shrinking_;
  rows_went_ = false;
  const auto more = file_->shrink(full_ ? store_limits::full_shrink_pages : store_limits::shrink_pages);
  shrinking_ = more.value_or(false);
  if (!more) {
    write_problem_ = more.error();
    report_health();
  } else if (before && !shrinking_) {
    checkpoint_if(0);  // which is when the file gets shorter
  }
}

// Writes something that means nothing. Besides finding out whether the disk works again, it overwrites what a failed
// commit may have left at the end of the write-ahead log.
void DurableLog::probe(Revision revision) {
  const auto work = [&]() -> DiskResult {
    auto done = file_->begin();
    if (done) done = file_->commit(revision);
    if (!done) file_->roll_back();
    return done;
  };
  auto done = work();
  if (!done && use_reserve()) done = work();
  write_problem_ = done ? std::string() : std::move(done.error());
  if (done && !checkpoint_problem_.empty()) {
    checkpoint_problem_.clear();
    checkpoint_if(0);
  }
  report_health();
}

void DurableLog::checkpoint_if(std::size_t wal_bytes_at_least) {
  if (!checkpoint_problem_.empty() || file_->wal_bytes() < wal_bytes_at_least) return;
  auto done = file_->checkpoint();
  if (!done && use_reserve()) done = file_->checkpoint();
  wal_bytes_.store(file_->wal_bytes(), std::memory_order_relaxed);
  if (done) {
    checkpoints_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // Nothing is lost: what was acknowledged is in the write-ahead log. It is tried again by probe().
  checkpoint_problem_ = std::move(done.error());
  report_health();
}

void DurableLog::look() {
  auto placed = file_->check_place();
  if (!placed) {
    write_problem_ = std::move(placed.error());
  } else if (full_ && works() && reserve_.take()) {
    full_ = false;
  } else {
    return;
  }
  report_health();
}

StoreHealth DurableLog::judge() const {
  if (works() && !full_) return {};
  StoreHealth health{.ok = false, .message = write_problem_.empty() ? checkpoint_problem_ : write_problem_};
  if (const auto place = file_->place_problem()) {
    health.message += fmt::format(
        " ({}); all of it can still be read from this server: save it (kubectl get --output yaml), then put the files "
        "back, or restore a backup and start again",
        *place);
    health.shown = "its files are gone";
  } else if (full_) {
    health.message = fmt::format(
        "{}{}: what needs more room is refused, deletions are not; to make room, delete objects (kubectl delete), or "
        "free "
        "space on the file system of {}",
        disk_full, works() ? "" : " and so is what was kept for deletions", care_.reserve_path);
    health.shown = "the disk is full; delete objects, or free space on it";
  }
  return health;
}

void DurableLog::report_health() {
  StoreHealth now = judge();
  std::unique_lock lock(health_mutex_);
  found_ = std::move(now);
  show(std::move(lock));
}

void DurableLog::report_stall(const StoreHealth& stall) {
  std::unique_lock lock(health_mutex_);
  stall_ = stall;
  show(std::move(lock));
}

void DurableLog::show(std::unique_lock<std::mutex> lock) {
  const StoreHealth now = stall_.ok ? found_ : stall_;
  if (health_ == now) return;
  health_ = now;
  lock.unlock();
  if (care_.health_changed) care_.health_changed(now);
}

StoreHealth DurableLog::health() const {
  const std::lock_guard lock(health_mutex_);
  return health_;
}

}  // namespace vg::store
