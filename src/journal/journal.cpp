#include "journal/journal.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "journal/lane.h"

namespace vg::journal {
namespace {

struct LaneRow {
  std::string_view name;
  std::size_t share;  // of the room, beside those of the others
};
constexpr std::array<LaneRow, 3> lane_rows = {{{"served", 4}, {"busy", 2}, {"refused", 2}}};

std::int64_t seconds_of(Clock::Wall time) { return Timestamp::from(time).seconds; }

// What the index says of an entry.
Record record_of(const EntryView& entry, std::uint64_t sequence) {
  return {.sequence = sequence,
          .seconds = entry.time.seconds,
          .id = id_hash(entry.id),
          .object = object_hash(entry.resource, entry.ns, entry.name)};
}

// Goes through a lane from its newest record to its oldest.
class Backwards {
 public:
  // Begins before that place in the order of all.
  explicit Backwards(const std::deque<std::shared_ptr<Segment>>& segments, std::uint64_t before = UINT64_MAX)
      : segments_(segments), segment_(segments.size()), before_(before) {
    next_segment();
  }

  const Record* record() const { return left_ ? &segments_[segment_]->records()[left_ - 1] : nullptr; }
  std::optional<Entry> entry() const { return segments_[segment_]->entry_of(*record()); }
  void next() {
    if (--left_ == 0) next_segment();
  }

 private:
  void next_segment() {
    while (left_ == 0 && segment_ > 0) {
      const auto& records = segments_[--segment_]->records();
      const auto end = std::ranges::lower_bound(records, before_, {}, &Record::sequence);
      left_ = static_cast<std::size_t>(end - records.begin());
    }
  }

  const std::deque<std::shared_ptr<Segment>>& segments_;
  std::size_t segment_, left_ = 0;
  std::uint64_t before_;
};

}  // namespace

Journal::Journal(const JournalOptions& options) : options_(options) {
  if (options.metrics) {
    recorded_ = &options.metrics->counter("virtgate_journal_entries_total", "Requests that the journal recorded.");
    dropped_ = &options.metrics->counter("virtgate_journal_entries_lost_total",
                                         "Requests that the journal could not write to the disk.");
  }
  for (std::size_t i = 0; i < lane_rows.size(); ++i)
    lanes_[i] = std::make_unique<Lane>(
        Lane::Options{.folder = options.folder,
                      .name = std::string(lane_rows[i].name),
                      .file_bytes_max = options.bytes_max / limits::journal_files_max,
                      .file_entries_max = std::max<std::size_t>(options.entries_max / limits::journal_files_max, 1)});
}

Journal::~Journal() { flush(); }

Result<std::unique_ptr<Journal>> Journal::open(const JournalOptions& options) {
  if (!options.folder.empty() && ::mkdir(options.folder.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(Status::internal_error(
        fmt::format("the folder {} of the journal cannot be made: {}", options.folder, std::strerror(errno))));
  std::unique_ptr<Journal> journal(new Journal(options));
  std::size_t damaged = 0;
  for (const auto& lane : journal->lanes_) {
    const auto opened = lane->open();
    if (!opened) return fail(opened.error());
    damaged += *opened;
    journal->sequence_ = std::max(journal->sequence_, lane->newest());
  }
  if (damaged > 0)
    log::warning("files of the journal of requests are damaged: what follows the damage was left out",
                 {{"folder", options.folder}, {"files", damaged}});
  return journal;
}

bool Journal::is_busy(std::string_view user) {
  const auto now = options_.clock.steady_now();
  auto found = users_.find(user);
  if (found == users_.end()) {
    if (users_.size() >= limits::journal_users_max) users_.clear();
    found = users_.emplace(user, Bucket{.tokens = limits::journal_burst, .at = now}).first;
  }
  Bucket& bucket = found->second;
  const std::chrono::duration<double> passed = now - bucket.at;
  bucket.tokens = std::min(limits::journal_burst, bucket.tokens + passed.count() * limits::journal_entries_per_second);
  bucket.at = now;
  if (bucket.tokens < 1) return true;
  bucket.tokens -= 1;
  return false;
}

Journal::LaneName Journal::lane_of(const EntryView& entry) {
  if (entry.was_refused()) return LaneName::refused;
  return is_busy(entry.impersonated_by.empty() ? entry.user : entry.impersonated_by) ? LaneName::busy
                                                                                     : LaneName::served;
}

std::uint64_t Journal::next_place() {
  if (!options_.places_by_time) return ++sequence_;
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(options_.clock.wall_now().time_since_epoch());
  sequence_ = std::max(sequence_ + 1, static_cast<std::uint64_t>(now.count()));
  return sequence_;
}

void Journal::record(const EntryView& entry) {
  if (!options_.records) return;
  if (recorded_) recorded_->add();
  const std::lock_guard lock(mutex_);
  Lane& lane = *lanes_[static_cast<std::size_t>(lane_of(entry))];
  const auto appended = lane.append(record_of(entry, next_place()), entry);
  if (appended == Lane::Appended::in_new_file) make_room();
  if (appended == Lane::Appended::lost && dropped_) dropped_->add();
}

void Journal::drop_outdated() {
  const std::int64_t too_old = seconds_of(options_.clock.wall_now()) - options_.age_max.count();
  for (const auto& lane : lanes_)
    while (lane->oldest_ends() < too_old && lane->drop_oldest()) {
    }
}

// When a file is begun there is room for all of it, so that the bounds hold for what is there.
void Journal::make_room() {
  drop_outdated();
  for (;;) {
    std::size_t bytes = options_.bytes_max / limits::journal_files_max;
    std::size_t entries = options_.entries_max / limits::journal_files_max;
    for (const auto& lane : lanes_) {
      bytes += lane->bytes();
      entries += lane->entries();
    }
    if (bytes <= options_.bytes_max && entries <= options_.entries_max) return;
    std::array<std::size_t, lane_rows.size()> order = {0, 1, 2};
    std::ranges::sort(order, std::greater(), [&](std::size_t i) { return lanes_[i]->bytes() / lane_rows[i].share; });
    if (std::ranges::none_of(order, [&](std::size_t i) { return lanes_[i]->drop_oldest(); })) return;
  }
}

std::optional<Kept> Journal::find(std::string_view id) const {
  const std::uint32_t wanted = id_hash(id);
  const std::lock_guard lock(mutex_);
  for (const auto& lane : lanes_)
    for (Backwards at(lane->segments()); at.record(); at.next()) {
      if (at.record()->id != wanted) continue;
      auto entry = at.entry();
      if (entry && entry->id == id) return Kept{.sequence = at.record()->sequence, .entry = std::move(*entry)};
    }
  return std::nullopt;
}

std::vector<Kept> Journal::before(std::uint64_t sequence, std::size_t max) const {
  std::vector<Kept> found;
  found.reserve(max);
  const std::lock_guard lock(mutex_);
  std::vector<Backwards> ways;
  for (const auto& lane : lanes_) ways.emplace_back(lane->segments(), sequence);
  const auto newest = [](const Backwards& way) { return way.record() ? way.record()->sequence : 0; };
  while (found.size() < max) {
    Backwards& next = *std::ranges::max_element(ways, {}, newest);
    if (!next.record()) break;
    if (auto entry = next.entry()) found.push_back({.sequence = newest(next), .entry = std::move(*entry)});
    next.next();
  }
  return found;
}

std::vector<Kept> Journal::of_object(std::string_view resource, std::string_view ns, std::string_view name,
                                     std::size_t max) const {
  const std::uint32_t wanted = object_hash(resource, ns, name);
  std::vector<Kept> found;
  const std::lock_guard lock(mutex_);
  for (const auto& lane : lanes_) {
    std::size_t taken = 0;
    for (Backwards at(lane->segments()); at.record() && taken < max; at.next()) {
      if (at.record()->object != wanted) continue;
      auto entry = at.entry();
      if (!entry || entry->resource != resource || entry->ns != ns || entry->name != name) continue;
      found.push_back({.sequence = at.record()->sequence, .entry = std::move(*entry)});
      ++taken;
    }
  }
  std::ranges::sort(found, std::greater(), &Kept::sequence);
  if (found.size() > max) found.resize(max);
  return found;
}

std::uint64_t Journal::newest() const {
  const std::lock_guard lock(mutex_);
  return sequence_;
}

std::size_t Journal::size() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& lane : lanes_) count += lane->entries();
  return count;
}

void Journal::flush() {
  const std::lock_guard flushing(flushing_);
  std::unique_lock lock(mutex_);
  drop_outdated();
  for (const auto& lane : lanes_) lane->flush(lock);
}

std::shared_ptr<resources::Wakeup> Journal::subscribe(Core& core) {
  auto wakeup = std::make_shared<resources::Wakeup>(core);
  const std::lock_guard lock(watches_mutex_);
  watches_.push_back(wakeup);
  return wakeup;
}

void Journal::tell_watches() {
  const std::uint64_t newest_entry = newest();
  const std::lock_guard lock(watches_mutex_);
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  if (newest_entry == std::exchange(told_, newest_entry)) return;
  for (const auto& watch : watches_)
    if (const auto wakeup = watch.lock()) wakeup->signal();
}

Task<void> Journal::keep_flushing(Core& core) {
  if (!options_.folder.empty() && !flusher_) flusher_.emplace(limits::journal_flush_interval, [this] { flush(); });
  while (true) {
    co_await core.sleep(limits::journal_flush_interval);
    if (!flusher_) flush();
    tell_watches();
  }
}

}  // namespace vg::journal
