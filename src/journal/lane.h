// One row of files of the journal. Not safe for threads by itself: the journal's mutex is held, but while files are
// written, made or removed, which one thread does at a time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "journal/codec.h"
#include "journal/journal.h"

namespace vg::journal {

// What the index knows of an entry.
struct Record {
  std::uint64_t sequence = 0;
  std::int64_t seconds = 0;
  std::uint32_t id = 0, object = 0;    // hashes
  std::uint32_t offset = 0, size = 0;  // of the encoded entry
};

// One file, or the same in memory.
class Segment {
 public:
  Segment(std::string path, std::uint64_t number) : path_(std::move(path)), number_(number) {}
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Makes or continues the file; reads the index of what is in it. What is behind something damaged is not: its texts
  // may be missing. Says whether that was so; such a file is not continued.
  Result<bool> open();
  // A new one, whose file is made when it is flushed.
  void begin();
  void append(const Record& record, const EntryView& entry);
  std::optional<Entry> entry_of(const Record& record) const;
  std::size_t waiting_bytes() const { return in_memory() ? 0 : pending_.size() + writing_.size(); }
  // What waits goes to the file, without the lock. Where the disk refuses it goes on waiting.
  void flush(std::unique_lock<std::mutex>& lock);
  void remove() const;
  // Nothing is appended any more.
  void end_writing() { texts_.end_writing(); }

  const std::vector<Record>& records() const { return records_; }
  std::uint64_t number() const { return number_; }
  std::size_t bytes() const { return bytes_; }

 private:
  bool in_memory() const { return path_.empty(); }
  Result<int> open_file() const;
  bool read_index(std::string_view bytes);
  void append_frame(const Record& record, std::string_view body);

  const std::string path_;  // empty: in memory
  const std::uint64_t number_;
  int fd_ = -1;
  std::size_t bytes_ = 0;    // with what waits
  std::size_t written_ = 0;  // in the file
  std::string writing_;      // behind it, on its way
  std::string pending_;      // behind that
  std::vector<Record> records_;
  TextTable texts_;
  std::size_t texts_said_ = 0;  // in the file, or pending
  std::string encoded_;         // for append(), to use its memory again
};

class Journal::Lane {
 public:
  struct Options {
    std::string folder;  // empty: in memory
    std::string name;
    std::size_t file_bytes_max, file_entries_max;
  };
  explicit Lane(Options options) : options_(std::move(options)) {}

  // How many files are damaged.
  Result<std::size_t> open();
  enum class Appended : std::uint8_t { yes, in_new_file, lost };
  // Lost: the disk has taken nothing for so long that no more may wait.
  Appended append(const Record& record, const EntryView& entry);
  void flush(std::unique_lock<std::mutex>& lock);
  // The oldest file; not the one that is written. It goes with the next flush.
  bool drop_oldest();

  std::size_t bytes() const { return bytes_; }
  std::size_t entries() const { return entries_; }
  const std::deque<std::shared_ptr<Segment>>& segments() const { return segments_; }
  std::uint64_t newest() const;
  std::int64_t oldest_ends() const;  // when the last entry of the oldest file was made

 private:
  std::string path_of(std::uint64_t number, std::string_view ending) const;
  std::vector<std::uint64_t> numbers_on_disk(std::string_view ending) const;
  Result<bool> open_segment(std::uint64_t number);
  void begin_segment(std::uint64_t number);
  void add_segment(std::shared_ptr<Segment> segment);
  void remove_earlier_form() const;

  const Options options_;
  std::deque<std::shared_ptr<Segment>> segments_;  // the oldest first; never empty after open()
  std::vector<std::shared_ptr<Segment>> dropped_;  // whose files are still there
  std::size_t bytes_ = 0, entries_ = 0;
};

}  // namespace vg::journal
