#include "store/record_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace vg::store {
namespace {

constexpr int application_id = 0x76677374;  // "vgst": what the `file` command and other programs can tell us by
constexpr int schema_version = 1;

// Detects bytes that changed under us. Four independent lanes, because a load checks everything there is and should be
// bound by the disk. Not meant to stand against intent.
class Checksum {
 public:
  void number(std::uint64_t value) { state_ = std::rotl(state_ ^ value * multiplier, 29) * multiplier; }
  void text(std::string_view bytes) {
    number(bytes.size());
    std::uint64_t lanes[4] = {state_, state_ + multiplier, state_ ^ multiplier, ~state_};
    while (bytes.size() >= 32) {
      for (int lane = 0; lane < 4; ++lane) {
        lanes[lane] = std::rotl(lanes[lane] ^ word(bytes.data() + lane * 8, 8) * multiplier, 29) * multiplier;
      }
      bytes.remove_prefix(32);
    }
    for (const auto lane : lanes) number(lane);
    for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(8, bytes.size()))) {
      number(word(bytes.data(), std::min<std::size_t>(8, bytes.size())));
    }
  }
  std::int64_t value() const { return static_cast<std::int64_t>(state_ ^ state_ >> 31); }

 private:
  static constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;
  // Little endian on every machine, so that a file can be carried to another.
  static std::uint64_t word(const char* from, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, size);
    if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
    return value;
  }
  std::uint64_t state_ = 0x243f6a8885a308d3;
};

std::int64_t checksum_of(const Record& record) {
  const auto& object = record.object;
  Checksum sum;
  sum.number(record_id(object.stamp.revision, object.stamp.ordinal));
  sum.number(record.tombstone ? 1 : 0);
  sum.number(object.stamp.created_revision);
  sum.number(object.revision_offset);
  for (const auto part : {object.resource, object.ns, object.name, object.uid, object.facts, object.json}) {
    sum.text(part);
  }
  return sum.value();
}

int bind(sqlite3_stmt* statement, int at, std::string_view text) {
  // A null pointer would bind NULL instead of an empty text. The bytes outlive the step, so SQLite need not copy them.
  return sqlite3_bind_text64(statement, at, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

int bind(sqlite3_stmt* statement, int at, std::uint64_t number) {
  return sqlite3_bind_int64(statement, at, static_cast<sqlite3_int64>(number));
}

std::string_view text_column(sqlite3_stmt* row, int at) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, at));
  return {bytes == nullptr ? "" : bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, at))};
}

std::uint64_t number_column(sqlite3_stmt* row, int at) {
  return static_cast<std::uint64_t>(sqlite3_column_int64(row, at));
}

// The store holds secrets, so the file is made private before SQLite sees it; the write-ahead log inherits its mode.
DiskResult create_private(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return std::unexpected(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  // All of it will be read at once; the kernel can fetch it while SQLite is still getting ready. Here and not later,
  // because closing any descriptor of the file would drop the locks that SQLite holds on it.
  (void)::posix_fadvise(file, 0, 0, POSIX_FADV_WILLNEED);
  ::close(file);
  // Its name must survive a power cut as its content does.
  auto folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
  return {};
}

constexpr const char* schema = R"sql(
  CREATE TABLE versions(
    id INTEGER PRIMARY KEY,           -- revision * 1024 + place within the transaction
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    uid TEXT NOT NULL,
    created_revision INTEGER NOT NULL,
    facts BLOB NOT NULL,              -- flags, labels and owners, packed
    revision_offset INTEGER NOT NULL, -- where in json the resourceVersion goes
    json TEXT,                        -- NULL: the object was deleted at this revision
    checksum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE compacted(resource TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE revision_floor(one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL) STRICT;
)sql";

}  // namespace

void RecordFile::Finalizer::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

std::string RecordFile::error(int code) const {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "the disk that holds the store is full";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fmt::format("the store's file is damaged ({})", sqlite3_errmsg(db_));
    case SQLITE_BUSY:
      return "another process has the store open";
    default:
      break;
  }
  const int reason = sqlite3_system_errno(db_);
  if ((code & 0xff) == SQLITE_IOERR && reason != 0) {
    return fmt::format("the disk that holds the store fails ({}: {})", sqlite3_errstr(code), std::strerror(reason));
  }
  return fmt::format("the store's file cannot be used ({}, code {})", sqlite3_errmsg(db_), code);
}

DiskResult RecordFile::execute(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error(sqlite3_extended_errcode(db_)));
  return {};
}

std::expected<RecordFile::Statement, std::string> RecordFile::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return std::unexpected(error(sqlite3_extended_errcode(db_)));
  return Statement(statement);
}

std::expected<std::int64_t, std::string> RecordFile::number(const char* sql) {
  auto statement = prepare(sql);
  if (!statement) return std::unexpected(statement.error());
  const int code = sqlite3_step(statement->get());
  if (code == SQLITE_DONE) return 0;
  if (code != SQLITE_ROW) return std::unexpected(error(sqlite3_extended_errcode(db_)));
  return sqlite3_column_int64(statement->get(), 0);
}

DiskResult RecordFile::run(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  const int extended = sqlite3_extended_errcode(db_);
  std::string reason = code == SQLITE_DONE || code == SQLITE_ROW ? std::string() : error(extended);
  sqlite3_reset(statement);
  if (!reason.empty()) return std::unexpected(std::move(reason));
  return {};
}

Result<std::unique_ptr<RecordFile>> RecordFile::open(const Options& options) {
  auto refuse = [&](const std::string& reason) {
    return fail(Status::internal_error(fmt::format("cannot use the store {}: {}", options.path, reason)));
  };
  if (auto created = create_private(options.path); !created) return refuse(created.error());
  std::unique_ptr<RecordFile> file(new RecordFile());
  // No mutex of SQLite's own: this class is used by one thread at a time.
  const int code = sqlite3_open_v2(options.path.c_str(), &file->db_,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, options.vfs);
  if (code != SQLITE_OK) return refuse(file->db_ == nullptr ? "out of memory" : file->error(code));
  sqlite3_extended_result_codes(file->db_, 1);
  if (auto ready = file->set_up(options.path); !ready) return refuse(ready.error());
  return file;
}

DiskResult RecordFile::set_up(const std::string& path) {
  // Exclusive before the first access: the log's index then lives in our memory, not in a shared file, and nobody else
  // can change rows under the memory that mirrors them.
  if (auto done = execute("PRAGMA locking_mode=EXCLUSIVE"); !done) return done;
  const auto found_application = number("PRAGMA application_id");
  if (!found_application) return std::unexpected(found_application.error());
  const auto found_version = number("PRAGMA user_version");
  if (!found_version) return std::unexpected(found_version.error());
  const auto tables = number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return std::unexpected(tables.error());
  const bool fresh = *tables == 0 && *found_application == 0;
  if (!fresh && *found_application != application_id) {
    return std::unexpected(fmt::format("{} is some other program's database; name another state folder", path));
  }
  if (!fresh && *found_version > schema_version) {
    return std::unexpected(
        fmt::format("it was written by a newer virtgate (format {}, this program knows formats up to {}); run that "
                    "version, or restore a backup made by this one",
                    *found_version, schema_version));
  }
  if (!fresh && *found_version < 1) return std::unexpected("it says no format version; restore a backup");
  // 8 KiB pages: four typical machines to a page instead of two with SQLite's 4 KiB, and still small commits.
  // The page cache stays small because all reading after the start is from memory: it holds the pages of a batch.
  for (const char* pragma : {
           "PRAGMA page_size=8192",
           "PRAGMA journal_mode=WAL",
           "PRAGMA synchronous=FULL",
           "PRAGMA cache_size=-512",
           "PRAGMA mmap_size=0",
           "PRAGMA temp_store=MEMORY",
           "PRAGMA wal_autocheckpoint=0",
           "PRAGMA journal_size_limit=33554432",
           "PRAGMA cell_size_check=ON",
       }) {
    if (auto done = execute(pragma); !done) return done;
  }
  if (fresh) {
    // In one transaction: a crash in the middle leaves an empty file, which is fresh again.
    for (const std::string& sql :
         {std::string("BEGIN"), std::string(schema), fmt::format("PRAGMA application_id={}", application_id),
          fmt::format("PRAGMA user_version={}", schema_version), std::string("COMMIT")}) {
      if (auto done = execute(sql.c_str()); !done) return done;
    }
  }
  const auto page_bytes = number("PRAGMA page_size");
  if (!page_bytes) return std::unexpected(page_bytes.error());
  page_bytes_ = static_cast<std::size_t>(*page_bytes);
  sqlite3_wal_hook(
      db_,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<RecordFile*>(self)->wal_pages_ = static_cast<std::size_t>(pages);
        return SQLITE_OK;
      },
      this);
  for (auto [statement, sql] : {
           std::pair{&begin_, "BEGIN IMMEDIATE"},
           std::pair{&add_, "INSERT INTO versions VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)"},
           std::pair{&remove_, "DELETE FROM versions WHERE id=?1"},
           std::pair{&set_compacted_, "INSERT OR REPLACE INTO compacted VALUES(?1,?2)"},
           std::pair{&set_floor_, "INSERT OR REPLACE INTO revision_floor VALUES(1,?1)"},
           std::pair{&commit_, "COMMIT"},
           std::pair{&roll_back_, "ROLLBACK"},
       }) {
    auto prepared = prepare(sql);
    if (!prepared) return std::unexpected(prepared.error());
    *statement = std::move(*prepared);
  }
  return {};
}

RecordFile::~RecordFile() {
  for (auto* statement : {&begin_, &add_, &remove_, &set_compacted_, &set_floor_, &commit_, &roll_back_}) {
    statement->reset();
  }
  // SQLite moves the rest of the log into the database here and removes the log.
  sqlite3_close(db_);
}

DiskResult RecordFile::load(const std::function<DiskResult(const Record&)>& take) {
  auto rows = prepare(
      "SELECT id, resource, namespace, name, uid, created_revision, facts, revision_offset, json, checksum "
      "FROM versions ORDER BY id");
  if (!rows) return std::unexpected(rows.error());
  auto* row = rows->get();
  for (;;) {
    const int code = sqlite3_step(row);
    if (code == SQLITE_DONE) return {};
    if (code != SQLITE_ROW) return std::unexpected(error(sqlite3_extended_errcode(db_)));
    const auto id = number_column(row, 0);
    Record record;
    record.tombstone = sqlite3_column_type(row, 8) == SQLITE_NULL;
    record.object = {.resource = text_column(row, 1),
                     .ns = text_column(row, 2),
                     .name = text_column(row, 3),
                     .uid = text_column(row, 4),
                     .facts = text_column(row, 6),
                     .json = text_column(row, 8),
                     .revision_offset = static_cast<std::uint32_t>(number_column(row, 7)),
                     .stamp = {.revision = id >> ordinal_bits,
                               .created_revision = number_column(row, 5),
                               .ordinal = static_cast<std::uint16_t>(id & (transaction_writes_max - 1))}};
    if (checksum_of(record) != sqlite3_column_int64(row, 9)) {
      return std::unexpected(fmt::format("the record of {} {}/{} at revision {} is damaged; restore a backup",
                                         record.object.resource, record.object.ns, record.object.name,
                                         record.object.stamp.revision));
    }
    if (auto taken = take(record); !taken) return taken;
  }
}

Result<Revision> RecordFile::revision_floor() {
  const auto found = number("SELECT revision FROM revision_floor");
  if (!found) return fail(Status::internal_error(found.error()));
  return static_cast<Revision>(*found);
}

Result<std::vector<std::pair<std::string, Revision>>> RecordFile::compacted() {
  auto rows = prepare("SELECT resource, revision FROM compacted");
  if (!rows) return fail(Status::internal_error(rows.error()));
  std::vector<std::pair<std::string, Revision>> found;
  int code = 0;
  while ((code = sqlite3_step(rows->get())) == SQLITE_ROW) {
    found.emplace_back(text_column(rows->get(), 0), number_column(rows->get(), 1));
  }
  if (code != SQLITE_DONE) return fail(Status::internal_error(error(sqlite3_extended_errcode(db_))));
  return found;
}

DiskResult RecordFile::begin() { return run(begin_.get()); }

DiskResult RecordFile::add(const Record& record) {
  const auto& object = record.object;
  auto* row = add_.get();
  bind(row, 1, record_id(object.stamp.revision, object.stamp.ordinal));
  bind(row, 2, object.resource);
  bind(row, 3, object.ns);
  bind(row, 4, object.name);
  bind(row, 5, object.uid);
  bind(row, 6, object.stamp.created_revision);
  sqlite3_bind_blob64(row, 7, object.facts.empty() ? "" : object.facts.data(), object.facts.size(), SQLITE_STATIC);
  bind(row, 8, std::uint64_t{object.revision_offset});
  if (record.tombstone) {
    sqlite3_bind_null(row, 9);
  } else {
    bind(row, 9, object.json);
  }
  bind(row, 10, static_cast<std::uint64_t>(checksum_of(record)));
  return run(row);
}

DiskResult RecordFile::remove(std::uint64_t id) {
  bind(remove_.get(), 1, id);
  return run(remove_.get());
}

DiskResult RecordFile::set_compacted(std::string_view resource, Revision revision) {
  bind(set_compacted_.get(), 1, resource);
  bind(set_compacted_.get(), 2, revision);
  return run(set_compacted_.get());
}

DiskResult RecordFile::set_revision_floor(Revision revision) {
  bind(set_floor_.get(), 1, revision);
  return run(set_floor_.get());
}

DiskResult RecordFile::commit() { return run(commit_.get()); }

void RecordFile::roll_back() {
  // Some failures make SQLite roll back by itself.
  if (sqlite3_get_autocommit(db_) == 0) (void)run(roll_back_.get());
}

DiskResult RecordFile::checkpoint() {
  int log_pages = 0;
  int moved_pages = 0;
  const int code = sqlite3_wal_checkpoint_v2(db_, nullptr, SQLITE_CHECKPOINT_PASSIVE, &log_pages, &moved_pages);
  if (code != SQLITE_OK) return std::unexpected(error(sqlite3_extended_errcode(db_)));
  wal_pages_ = log_pages > moved_pages ? static_cast<std::size_t>(log_pages - moved_pages) : 0;
  return {};
}

}  // namespace vg::store
