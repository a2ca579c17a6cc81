#include "store/durable_log.h"

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
  record.object = {.resource = object.resource(),
                   .ns = object.ns(),
                   .name = object.name(),
                   .stamp = {.revision = change.revision, .ordinal = change.ordinal}};
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

DurableLog::DurableLog(std::unique_ptr<RecordFile> file, Care care) : care_(std::move(care)), file_(std::move(file)) {}

DiskResult DurableLog::append(const std::vector<Change>& changes, Revision revision) {
  auto written = write(changes, revision);
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

DiskResult DurableLog::write(const std::vector<Change>& changes, Revision revision) {
  if (!checkpoint_problem_.empty() && file_->wal_bytes() > store_limits::wal_growth_max * care_.wal_bytes_max) {
    return std::unexpected(checkpoint_problem_);
  }
  const auto work = [&]() -> DiskResult {
    if (auto done = file_->begin(); !done) return done;
    for (const auto& change : changes) {
      if (auto done = file_->add(record_of(change)); !done) return done;
    }
    // More than the batch can add to the backlog, so that it shrinks.
    if (auto done = write_obsolete(2 * changes.size() + store_limits::obsolete_rows_least); !done) return done;
    // Also where rows go that are the newest there are: revisions must not start again below them.
    return file_->commit(revision);
  };
  auto done = work();
  if (!done) {
    file_->roll_back();
    return done;
  }
  forget_obsolete();
  return done;
}

// --- compaction -----------------------------------------------------------------------------------------------------

void DurableLog::retire(const std::vector<Obsolete>& obsolete) {
  obsolete_.insert(obsolete_.end(), obsolete.begin(), obsolete.end());
}

DiskResult DurableLog::write_obsolete(std::size_t rows_max) {
  obsolete_written_ = 0;
  if (obsolete_.empty()) return {};
  std::map<std::string_view, Revision> compacted;
  for (std::size_t rows = 0; rows < rows_max && obsolete_written_ < obsolete_.size(); ++obsolete_written_) {
    const auto& item = obsolete_[obsolete_written_];
    for (const auto id : item.ids) {
      if (id == 0) continue;
      if (auto done = file_->remove(id); !done) return done;
      ++rows;
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
  const bool work_left = rows_went_ || shrinking_ || file_->wal_bytes() >= care_.wal_bytes_max / 4;
  if (work_left) return store_limits::quiet_interval;
  return store_limits::idle_interval;
}

void DurableLog::tend(Revision revision) {
  if (!obsolete_.empty()) {
    if (auto written = write({}, revision); !written) {
      write_problem_ = std::move(written.error());
      report_health();
      return;
    }
  }
  give_back_pages();
  checkpoint_if(care_.wal_bytes_max / 4);
}

// Some at a time, so that a write that comes now waits for some milliseconds only.
void DurableLog::give_back_pages() {
  const bool before = shrinking_;
  rows_went_ = false;
  const auto more = file_->shrink();
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
    if (auto done = file_->begin(); !done) return done;
    return file_->commit(revision);
  };
  auto done = work();
  if (!done) file_->roll_back();
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
  wal_bytes_.store(file_->wal_bytes(), std::memory_order_relaxed);
  if (done) {
    checkpoints_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // Nothing is lost: what was acknowledged is in the write-ahead log. It is tried again by probe().
  checkpoint_problem_ = std::move(done.error());
  report_health();
}

void DurableLog::report_health() {
  const auto& problem = write_problem_.empty() ? checkpoint_problem_ : write_problem_;
  StoreHealth now{.ok = problem.empty(), .message = problem};
  {
    const std::lock_guard lock(health_mutex_);
    if (health_ == now) return;
    health_ = now;
  }
  if (care_.health_changed) care_.health_changed(now);
}

StoreHealth DurableLog::health() const {
  const std::lock_guard lock(health_mutex_);
  return health_;
}

}  // namespace vg::store
