// The file on disk: one SQLite database in WAL mode, used by one thread at a time.
//
// It holds one table of versions in the order of their revisions and nothing to look them up by: memory does that. A
// write of any kind is one row added at the end, so a commit dirties the fewest pages there can be, and the same rows
// are both the objects and the log of changes from which watches resume. A row goes when a newer one of its key has
// left the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ports/stored_object.h"

struct sqlite3;
struct sqlite3_stmt;

namespace vg::store {

// What the disk or SQLite says, as a sentence for people.
using DiskResult = std::expected<void, std::string>;

// A row's id carries its revision and its place within the transaction.
inline constexpr int ordinal_bits = 10;
inline constexpr std::size_t transaction_writes_max = std::size_t{1} << ordinal_bits;
inline std::uint64_t record_id(Revision revision, std::uint16_t ordinal) { return revision << ordinal_bits | ordinal; }

struct Record {
  StoredObject::Parts object;
  bool tombstone = false;  // the key is gone as of this revision; only key, revision and ordinal are set
};

class RecordFile {
 public:
  struct Options {
    std::string path;
    const char* vfs = nullptr;  // SQLite's default when null
  };
  // Refuses a file that is not a store, that a newer program wrote, or that is damaged.
  static Result<std::unique_ptr<RecordFile>> open(const Options& options);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  // Every record in order of revision. Each is compared with its checksum: a full scan that is needed anyway finds more
  // than SQLite's quick check would, at no further cost.
  DiskResult load(const std::function<DiskResult(const Record&)>& take);
  // The highest revision that was ever used, as far as rows that are gone would be needed to know it.
  Result<Revision> revision_floor();
  // For each resource the revision up to which changes are gone.
  Result<std::vector<std::pair<std::string, Revision>>> compacted();

  // A batch. After any failure call roll_back(); nothing of the batch is kept then.
  DiskResult begin();
  DiskResult add(const Record& record);
  DiskResult remove(std::uint64_t id);
  DiskResult set_compacted(std::string_view resource, Revision revision);
  DiskResult set_revision_floor(Revision revision);
  DiskResult commit();  // durable when it returns
  void roll_back();

  // Bytes in the write-ahead log that are not in the database yet.
  std::size_t wal_bytes() const { return wal_pages_ * page_bytes_; }
  // Moves the write-ahead log into the database.
  DiskResult checkpoint();

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

  RecordFile() = default;
  DiskResult set_up(const std::string& path);
  DiskResult execute(const char* sql);
  std::expected<std::int64_t, std::string> number(const char* sql);
  std::expected<Statement, std::string> prepare(const char* sql);
  DiskResult run(sqlite3_stmt* statement);
  std::string error(int code) const;

  sqlite3* db_ = nullptr;
  std::size_t page_bytes_ = 0;
  std::size_t wal_pages_ = 0;
  Statement begin_, add_, remove_, set_compacted_, set_floor_, commit_, roll_back_;
};

}  // namespace vg::store
