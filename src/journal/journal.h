// The journal of requests: what users asked for, bounded by number, bytes and age.
//
// Three lanes with a share of the room each, so that what anybody can cause in any number never pushes out what others
// did: requests that were served, the same of users who make very many, and refusals. A lane may use what the others
// leave; when all is full, the oldest goes of the one that exceeds its share most. A lane is a row of files
// (LANE-NUMBER.requests), which go as a whole. A file has a head of fixed size for each entry, which is all that the
// index needs, the entry behind it (codec.h), and between them the texts that entries refer to.
//
// In memory are the index and these texts. Entries are collected and written together by a thread of its own, at the
// latest after journal_flush_interval: what a crash loses is the last moment of a record, never of an object. Whoever
// records only appends to memory, and never waits for the disk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/core.h"
#include "base/flusher.h"
#include "base/journal_limits.h"
#include "base/metrics.h"
#include "base/status.h"
#include "base/task.h"
#include "journal/entry.h"
#include "objects/wakeup.h"

namespace vg::journal {

// Where requests are recorded. From any thread.
class Recorder {
 public:
  virtual ~Recorder() = default;
  // False: nobody needs to note anything down for it.
  virtual bool records() const { return true; }
  virtual void record(const EntryView& entry) = 0;
};

// For whoever needs one and wants none.
class NoJournal final : public Recorder {
 public:
  bool records() const override { return false; }
  void record(const EntryView&) override {}
};

// An entry with its place in the order of all.
struct Kept {
  std::uint64_t sequence = 0;
  Entry entry;
};

struct JournalOptions {
  bool records = true;      // false: the journal stays empty
  std::string folder = {};  // empty: in memory alone
  // Places in the order are microseconds of the time, so that those of several replicas can be compared.
  bool places_by_time = false;
  std::size_t bytes_max = limits::journal_bytes_max;
  std::size_t entries_max = limits::journal_entries_max;
  std::chrono::seconds age_max = limits::journal_age_max;
  const Clock& clock;
  metrics::Registry* metrics = nullptr;
};

class Journal final : public Recorder {
 public:
  // Goes on where an earlier process ended. What is damaged is left out, and counted in the log.
  static Result<std::unique_ptr<Journal>> open(const JournalOptions& options);
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  bool records() const override { return options_.records; }
  void record(const EntryView& entry) override;
  void record(const Entry& entry) { record(view_of(entry)); }

  std::optional<Kept> find(std::string_view id) const;
  // The newest first, of those before that place in the order. In pages, because recording waits meanwhile.
  std::vector<Kept> before(std::uint64_t sequence, std::size_t max) const;
  // Those about one object.
  std::vector<Kept> of_object(std::string_view resource, std::string_view ns, std::string_view name,
                              std::size_t max) const;
  // Of the newest entry; 0: there was none yet.
  std::uint64_t newest() const;
  std::size_t size() const;

  // Signalled when there is more than before, at most once every journal_flush_interval: while nothing comes, any
  // number of watches costs nothing.
  std::shared_ptr<resources::Wakeup> subscribe(Core& core);

  void flush();
  // Has it flushed, and tells who watches, every journal_flush_interval, for ever.
  Task<void> keep_flushing(Core& core);

 private:
  class Lane;
  enum class LaneName : std::uint8_t { served, busy, refused, count };
  explicit Journal(const JournalOptions& options);
  LaneName lane_of(const EntryView& entry);
  bool is_busy(std::string_view user);
  std::uint64_t next_place();
  void make_room();
  void drop_outdated();
  void tell_watches();

  struct Bucket {
    double tokens = 0;
    Clock::Steady at = {};
  };

  const JournalOptions options_;
  std::mutex flushing_;       // one at a time
  mutable std::mutex mutex_;  // of what is in memory, and never held while the disk is written
  std::uint64_t sequence_ = 0;
  std::array<std::unique_ptr<Lane>, static_cast<std::size_t>(LaneName::count)> lanes_;
  struct UserHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view user) const { return std::hash<std::string_view>()(user); }
  };
  std::unordered_map<std::string, Bucket, UserHash, std::equal_to<>> users_;
  std::mutex watches_mutex_;
  std::vector<std::weak_ptr<resources::Wakeup>> watches_;
  std::uint64_t told_ = 0;  // the newest entry that watches know of
  metrics::Counter* recorded_ = nullptr;
  metrics::Counter* dropped_ = nullptr;
  std::optional<Flusher> flusher_;  // last: it uses all of the above
};

}  // namespace vg::journal
