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
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ports/stored_object.h"
#include "store/claimed_room.h"
#include "store/files_in_place.h"
#include "store/high_water_mark.h"
#include "store/log_layer.h"
#include "store/row.h"
#include "store/seal.h"

struct sqlite3;
struct sqlite3_stmt;

namespace vg::store {

inline constexpr std::string_view lost_or_damaged = "LostOrDamaged";
inline constexpr std::string_view disk_full = "the disk of the store is full";

class RecordFile {
 public:
  struct Options {
    std::string path;
    const char* vfs = nullptr;       // SQLite's default when null
    std::string boot = this_boot();  // see Mark; tests play a new start of the system
    // Opens what is sealed, and seals. Without one, a store that was ever sealed is refused.
    std::shared_ptr<const ValueCipher> cipher = nullptr;
    // Values are handed out and taken as they stand in the file: for those who check or copy rows, and need no key.
    bool as_they_stand = false;
  };
  // Refuses a file that is not a store, that a newer program wrote, or that is lost: a mark without a store (the reason
  // of the Status is `lost_or_damaged`). Creates a new store only where there was none. Nothing of an existing one is
  // changed before accept().
  static Result<std::unique_ptr<RecordFile>> open(const Options& options);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  // Every record in order of revision. Each is compared with its checksum, and all of them with the seal: a full scan
  // that is needed anyway finds more than SQLite's quick check would, at no further cost.
  DiskResult load(const std::function<DiskResult(const Record&)>& take);
  // After load(): compares the seal with the mark, brings a store of an older format to the present one, and makes the
  // file ready to be written. Says what is missing otherwise.
  DiskResult accept();
  // Whether the seal is that of the mark: what accept() begins with. Says what is missing otherwise.
  DiskResult compare_with_mark();
  // Everything that SQLite itself can say about the file's structure, most important first; empty: nothing is wrong.
  std::vector<std::string> problems_of_structure(int most = 20);

  // The last refusal was about the store's content, and not about who has it open or wrote it.
  bool damaged() const { return damaged_; }
  std::unexpected<std::string> damage(std::string what);

  // What the store holds, as it says itself.
  const Seal& seal() const { return seal_; }
  bool has_seal() const { return format_ >= 2; }
  // For each resource, or `every_resource`, the revision up to which changes are gone.
  const std::map<std::string, Revision, std::less<>>& compacted() const { return compacted_; }

  // A batch. After any failure call roll_back(); nothing of the batch is kept then, unless outcome_unknown().
  DiskResult begin();
  DiskResult add(const Record& record);
  DiskResult remove(std::uint64_t id);
  DiskResult set_compacted(std::string_view resource, Revision revision);
  // Durable, in log and mark, when it returns. `revision` is the highest that was ever given out.
  DiskResult commit(Revision revision);
  void roll_back();
  // The last commit() failed when everything had been written: after a crash it may turn out to have happened. The next
  // commit that works writes over it.
  bool outcome_unknown() const { return outcome_unknown_; }
  // The last failure was for lack of room on the disk.
  bool full() const { return full_; }
  // Has the file system set so much aside for the files as they grow, before others ask for it: most of it for the
  // database, since the log is written from its beginning once it was moved there.
  void claim(std::size_t bytes);
  // No crash can bring back a commit that failed: whatever the last one was, the files now hold what seal() says.
  bool settled() const { return settled_; }
  // Fails when the files are not where they were opened: what is written then is found by no later start.
  DiskResult check_place() const;
  // The same for the log: it names the file, which is nothing for clients.
  std::optional<std::string> place_problem() const { return place_.problem(); }

  // Bytes in the write-ahead log that are not in the database yet.
  std::size_t wal_bytes() const { return wal_pages_ * page_bytes_; }
  // Moves the write-ahead log into the database, unless somebody copies the files: then it is left, within reason.
  DiskResult checkpoint();
  // Gives so many pages that nobody needs back to the file system, as of the next checkpoint. True: there are more.
  std::expected<bool, std::string> shrink(int pages_max);

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

  explicit RecordFile(Options options);
  DiskResult open_files();
  DiskResult set_up();
  DiskResult check_identity(bool& fresh);
  DiskResult create_tables();
  DiskResult prepare_statements();
  DiskResult read_seal();
  DiskResult read_compacted();

  DiskResult upgrade();
  DiskResult rewrite_without_gaps();
  DiskResult write_seal(const Seal& now, const Seal& before);
  DiskResult read_sealing();
  DiskResult apply_sealing();
  DiskResult take_back_intention();
  DiskResult encode_again(const std::vector<std::uint64_t>& ids);
  DiskResult forget_remnants();
  int sync_log(const std::function<int()>& sync);
  DiskResult execute(const char* sql);
  std::expected<std::int64_t, std::string> number(const char* sql);
  std::expected<Statement, std::string> prepare(const char* sql);
  DiskResult run(sqlite3_stmt* statement);
  std::string error(int code);

  const Options options_;
  sqlite3* db_ = nullptr;
  std::size_t page_bytes_ = 0;
  std::size_t wal_pages_ = 0;
  std::int64_t format_ = 0;
  Statement begin_, add_, remove_, set_compacted_, set_seal_, commit_, roll_back_;

  Seal seal_;      // of the last commit
  Seal previous_;  // of the one before
  std::map<std::string, Revision, std::less<>> compacted_;
  // What the seal will be if the batch in hand is committed.
  std::uint64_t rows_ = 0;
  SetHash contents_;
  std::map<std::string, Revision, std::less<>> compacted_before_;  // what roll_back() brings back

  std::string sealed_by_;                 // the key by which everything that should be is sealed; empty: nothing is
  std::vector<std::uint64_t> stale_ids_;  // rows that are sealed otherwise than they should be

  MarkReading found_mark_;
  std::unique_ptr<HighWaterMark> mark_;
  std::unique_ptr<LogLayer> layer_;  // after the database is closed it goes
  const Seal* intended_ = nullptr;   // while a commit runs
  bool frames_written_ = false;      // of the commit that runs
  std::string mark_problem_;
  bool damaged_ = false;
  bool outcome_unknown_ = false;
  bool settled_ = true;
  bool full_ = false;
  ClaimedRoom log_room_, database_room_;
  FilesInPlace place_;
  bool intention_left_ = false;  // the mark may intend a commit that failed
};

}  // namespace vg::store
