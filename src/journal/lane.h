// One row of files of the journal. Not safe for threads by itself.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "journal/journal.h"

namespace vg::journal {

// What the index knows of a line.
struct Record {
  std::uint64_t sequence = 0;
  std::int64_t seconds = 0;
  std::uint32_t id = 0, object = 0;    // hashes
  std::uint32_t offset = 0, size = 0;  // of the entry's text
};

// One file, or the same in memory.
class Segment {
 public:
  Segment(std::string path, std::uint64_t number) : path_(std::move(path)), number_(number) {}
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Makes or continues the file; reads the index of what is in it. Lines that are damaged are counted.
  Result<std::size_t> open();
  void append(const Record& record, std::string_view text);
  std::string text_of(const Record& record) const;
  // What waits goes to the file. Where the disk refuses it goes on waiting, up to a bound; then it is lost, and
  // counted.
  std::size_t flush();
  void remove();

  const std::vector<Record>& records() const { return records_; }
  std::uint64_t number() const { return number_; }
  std::size_t bytes() const { return bytes_; }

 private:
  bool in_memory() const { return path_.empty(); }
  std::size_t read_index(std::string_view text);

  const std::string path_;  // empty: in memory
  const std::uint64_t number_;
  int fd_ = -1;
  std::size_t bytes_ = 0;    // with what waits
  std::size_t written_ = 0;  // in the file
  std::string pending_;      // behind it
  std::vector<Record> records_;
};

class Journal::Lane {
 public:
  struct Options {
    std::string folder;  // empty: in memory
    std::string name;
    std::size_t file_bytes_max, file_entries_max;
  };
  explicit Lane(Options options) : options_(std::move(options)) {}

  Result<std::size_t> open();
  void append(const Record& record, std::string_view text);
  std::size_t flush();
  // The oldest file; not the one that is written.
  bool drop_oldest();

  std::size_t bytes() const { return bytes_; }
  std::size_t entries() const { return entries_; }
  const std::deque<std::unique_ptr<Segment>>& segments() const { return segments_; }
  std::uint64_t newest() const;
  std::int64_t oldest_ends() const;  // when the last entry of the oldest file was made

 private:
  std::string path_of(std::uint64_t number) const;
  std::vector<std::uint64_t> numbers_on_disk() const;
  Result<std::size_t> add_segment(std::uint64_t number);

  const Options options_;
  std::deque<std::unique_ptr<Segment>> segments_;  // the oldest first; never empty after open()
  std::size_t bytes_ = 0, entries_ = 0;
};

}  // namespace vg::journal
