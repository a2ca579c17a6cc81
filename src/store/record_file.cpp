#include "store/record_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/store_limits.h"
#include "store/log_layer.h"

namespace vg::store {
namespace {

constexpr int application_id = 0x76677374;  // "vgst": what the `file` command and other programs can tell us by
constexpr int schema_version = 2;           // 1: without a seal

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

bool exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

std::size_t size_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
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
    id INTEGER PRIMARY KEY,           -- revision * 1024 (and the place within the transaction, in older stores)
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
)sql";

// One row that every commit replaces: what the store holds after it, and what it held before.
constexpr const char* seal_schema = R"sql(
  CREATE TABLE seal(
    one INTEGER PRIMARY KEY CHECK (one = 1),
    sequence INTEGER NOT NULL, revision INTEGER NOT NULL, rows INTEGER NOT NULL,
    low INTEGER NOT NULL, high INTEGER NOT NULL,
    previous_sequence INTEGER NOT NULL, previous_revision INTEGER NOT NULL, previous_rows INTEGER NOT NULL,
    previous_low INTEGER NOT NULL, previous_high INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT;
)sql";
constexpr int seal_numbers = 5;

std::array<std::uint64_t, 2 * seal_numbers> numbers_of(const Seal& now, const Seal& before) {
  return {now.sequence,    now.revision,    now.rows,    now.contents.sum().low,    now.contents.sum().high,
          before.sequence, before.revision, before.rows, before.contents.sum().low, before.contents.sum().high};
}

std::uint64_t checksum_of(const std::array<std::uint64_t, 2 * seal_numbers>& numbers) {
  Checksum sum;
  for (const auto number : numbers) sum.number(number);
  return sum.value();
}

Seal seal_from(const std::uint64_t* numbers) {
  return {.sequence = numbers[0],
          .revision = numbers[1],
          .rows = numbers[2],
          .contents = SetHash({.low = numbers[3], .high = numbers[4]})};
}

SetHash::Element element_of(std::string_view resource, Revision compacted) {
  Checksum sum;
  sum.text(resource);
  return SetHash::element(sum.value(), compacted);
}

// There since values are sealed, and until they are not any more: nothing in the file, not even in free places of it,
// is readable that should not be, or by another key than this.
constexpr const char* sealing_schema =
    "CREATE TABLE IF NOT EXISTS sealing(one INTEGER PRIMARY KEY CHECK (one = 1), key TEXT NOT NULL) STRICT";

std::string told(const Seal& seal) { return fmt::format("revision {} with {} rows", seal.revision, seal.rows); }

}  // namespace

void RecordFile::Finalizer::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

std::unexpected<std::string> RecordFile::damage(std::string what) {
  damaged_ = true;
  return std::unexpected(std::move(what));
}

std::string RecordFile::error(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      full_ = true;
      return std::string(disk_full);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      damaged_ = true;
      return fmt::format("the file of the store is damaged ({})", sqlite3_errmsg(db_));
    case SQLITE_BUSY:
      return "another process has the store open";
    default:
      break;
  }
  const int reason = sqlite3_system_errno(db_);
  if ((code & 0xff) == SQLITE_IOERR && (reason == ENOSPC || reason == EDQUOT)) {
    full_ = true;
    return std::string(disk_full);
  }
  if ((code & 0xff) == SQLITE_IOERR && reason != 0) {
    return fmt::format("the disk of the store fails ({}: {})", sqlite3_errstr(code), std::strerror(reason));
  }
  return fmt::format("the file of the store cannot be used ({}, code {})", sqlite3_errmsg(db_), code);
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

RecordFile::RecordFile(Options options) : options_(std::move(options)) {}

Result<std::unique_ptr<RecordFile>> RecordFile::open(const Options& options) {
  std::unique_ptr<RecordFile> file(new RecordFile(options));
  auto ready = file->open_files();
  if (ready) ready = file->set_up();
  if (!ready) {
    return fail({.code = 500,
                 .reason = std::string(file->damaged_ ? lost_or_damaged : "InternalError"),
                 .message = std::move(ready.error()),
                 .details = {}});
  }
  return file;
}

DiskResult RecordFile::open_files() {
  const auto& path = options_.path;
  auto mark = read_mark(mark_path(path));
  if (!mark) return std::unexpected(std::move(mark.error()));
  found_mark_ = std::move(*mark);
  if (found_mark_.exists && !found_mark_.newest) {
    return damage(
        fmt::format("its mark {} is damaged, so it cannot be told whether something is "
                    "missing",
                    mark_path(path)));
  }
  const auto bytes = size_of(path);
  if (bytes == 0) {
    const bool none = found_mark_.newest ? found_mark_.newest->nothing_acknowledged() : size_of(path + "-wal") == 0;
    if (!none) {
      return damage(fmt::format(
          "it is {}, but it had {}", exists(path) ? "empty" : "missing",
          found_mark_.newest ? told(found_mark_.newest->intended) : std::string("changes, which its log still shows")));
    }
    // Before the store: whoever finds a store without a mark knows that one was lost.
    if (!found_mark_.exists) {
      if (auto put = put_mark(mark_path(path), {.confirmed = {}, .intended = {}, .boot = options_.boot}); !put)
        return put;
      found_mark_ = {.exists = true, .newest = Mark{}, .slot_damaged = false, .writes = 1};
    }
  }
  // SQLite would open them for reading, and nobody would know before the first write.
  for (const auto& file : {path + "-wal", mark_path(path)}) {
    if (::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) != 0 && errno != ENOENT)
      return std::unexpected(fmt::format("cannot write {}: {}; run: chmod u+rw {}", file, std::strerror(errno), file));
  }
  if (auto created = create_private(path); !created) return created;
  // No mutex of SQLite's own: this class is used by one thread at a time.
  layer_ = std::make_unique<LogLayer>(
      options_.vfs, LogLayer::Hooks{.frames_written = [this] { frames_written_ = true; },
                                    .sync = [this](const std::function<int()>& sync) { return sync_log(sync); }});
  const int code = sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                                   layer_->name());
  if (code != SQLITE_OK) return std::unexpected(db_ == nullptr ? "out of memory" : error(code));
  sqlite3_extended_result_codes(db_, 1);
  // Until the store is found to be whole, closing it must not move the log: what lies behind a damaged place in it
  // would be gone.
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return {};
}

DiskResult RecordFile::check_identity(bool& fresh) {
  const auto found_application = number("PRAGMA application_id");
  if (!found_application) return std::unexpected(found_application.error());
  const auto found_version = number("PRAGMA user_version");
  if (!found_version) return std::unexpected(found_version.error());
  const auto tables = number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return std::unexpected(tables.error());
  fresh = *tables == 0 && *found_application == 0;
  format_ = fresh ? schema_version : *found_version;
  const bool nothing_lost = !found_mark_.newest || found_mark_.newest->nothing_acknowledged();
  if (fresh && !nothing_lost)
    return damage(fmt::format("it is empty, but it had {}", told(found_mark_.newest->intended)));
  if (!fresh && *found_application != application_id) {
    return std::unexpected(
        fmt::format("{} is a database of another program; name another state folder", options_.path));
  }
  if (format_ > schema_version) {
    return std::unexpected(
        fmt::format("it was written by a newer virtgate (format {}, this version supports formats up to {}); run that "
                    "version, or restore a backup of this version",
                    *found_version, schema_version));
  }
  if (format_ < 1) return damage("it has no format version");
  if (format_ == 1 && !nothing_lost) {
    return damage(fmt::format("it has an older format, but its mark says that it had {} in the present one",
                              told(found_mark_.newest->intended)));
  }
  if (format_ > 1 && !found_mark_.exists) {
    return damage(
        fmt::format("its mark {} is missing, so it cannot be told whether the store is "
                    "the newest one",
                    mark_path(options_.path)));
  }
  return {};
}

DiskResult RecordFile::set_up() {
  // Exclusive before the first access: the log's index then lives in our memory, not in a shared file, and nobody else
  // can change rows under the memory that mirrors them.
  if (auto done = execute("PRAGMA locking_mode=EXCLUSIVE"); !done) return done;
  bool fresh = false;
  if (auto known = check_identity(fresh); !known) return known;
  // 8 KiB pages: four typical machines to a page instead of two with SQLite's 4 KiB, and still small commits.
  const auto cache_size = fmt::format("PRAGMA cache_size=-{}", store_limits::page_cache_bytes / limits::kib);
  const auto log_size = fmt::format("PRAGMA journal_size_limit={}", store_limits::wal_file_bytes_kept);
  for (const char* pragma : {
           "PRAGMA page_size=8192",
           // Only before there is anything: on an existing store it would write.
           fresh ? "PRAGMA auto_vacuum=INCREMENTAL" : "",
           "PRAGMA journal_mode=WAL",
           "PRAGMA synchronous=FULL",
           cache_size.c_str(),
           "PRAGMA mmap_size=0",
           "PRAGMA temp_store=MEMORY",
           "PRAGMA wal_autocheckpoint=0",
           log_size.c_str(),
           "PRAGMA cell_size_check=ON",
       }) {
    if (auto done = execute(pragma); !done) return done;
  }
  if (fresh) {
    if (auto done = create_tables(); !done) return done;
  }
  const auto page_bytes = number("PRAGMA page_size");
  if (!page_bytes) return std::unexpected(page_bytes.error());
  page_bytes_ = static_cast<std::size_t>(*page_bytes);
  if (auto done = read_sealing(); !done) return done;
  if (auto done = read_seal(); !done) return done;
  return read_compacted();
}

DiskResult RecordFile::create_tables() {
  // In one transaction: a crash in the middle leaves an empty file, which is fresh again.
  for (const std::string& sql : {std::string("BEGIN"), std::string(schema), std::string(seal_schema),
                                 fmt::format("INSERT INTO seal VALUES(1,0,0,0,0,0,0,0,0,0,0,{})",
                                             static_cast<std::int64_t>(checksum_of(numbers_of({}, {})))),
                                 fmt::format("PRAGMA application_id={}", application_id),
                                 fmt::format("PRAGMA user_version={}", schema_version), std::string("COMMIT")}) {
    if (auto done = execute(sql.c_str()); !done) return done;
  }
  return {};
}

DiskResult RecordFile::prepare_statements() {
  for (auto [statement, sql] : {
           std::pair{&begin_, "BEGIN IMMEDIATE"},
           std::pair{&add_, "INSERT INTO versions VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)"},
           std::pair{&remove_, "DELETE FROM versions WHERE id=?1 RETURNING checksum"},
           std::pair{&set_compacted_, "INSERT OR REPLACE INTO compacted VALUES(?1,?2)"},
           std::pair{&set_seal_, "INSERT OR REPLACE INTO seal VALUES(1,?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)"},
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
  for (auto* statement : {&begin_, &add_, &remove_, &set_compacted_, &set_seal_, &commit_, &roll_back_}) {
    statement->reset();
  }
  // SQLite moves the rest of the log into the database here and removes the log, unless the store was not accepted or
  // somebody copies it.
  // The log of another store may bear the name of ours by now.
  const bool may_move = mark_ && check_place() && mark_->begin_moving();
  if (db_ != nullptr && !may_move) sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_close(db_);
}

DiskResult RecordFile::read_seal() {
  if (!has_seal()) {
    const auto floor = number("SELECT revision FROM revision_floor");
    if (!floor) return std::unexpected(floor.error());
    seal_.revision = static_cast<Revision>(*floor);
    return {};
  }
  auto found = prepare(
      "SELECT sequence, revision, rows, low, high, previous_sequence, previous_revision, previous_rows, previous_low, "
      "previous_high, checksum FROM seal");
  if (!found) return std::unexpected(found.error());
  const int code = sqlite3_step(found->get());
  if (code == SQLITE_DONE) return damage("its seal is missing");
  if (code != SQLITE_ROW) return std::unexpected(error(sqlite3_extended_errcode(db_)));
  std::array<std::uint64_t, 2 * seal_numbers> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_column(found->get(), static_cast<int>(i));
  if (checksum_of(numbers) != number_column(found->get(), 2 * seal_numbers)) {
    return damage("its seal is damaged");
  }
  seal_ = seal_from(numbers.data());
  previous_ = seal_from(numbers.data() + seal_numbers);
  return {};
}

DiskResult RecordFile::read_compacted() {
  auto rows = prepare("SELECT resource, revision FROM compacted");
  if (!rows) return std::unexpected(rows.error());
  int code = 0;
  while ((code = sqlite3_step(rows->get())) == SQLITE_ROW) {
    const auto resource = text_column(rows->get(), 0);
    const auto revision = number_column(rows->get(), 1);
    contents_.add(element_of(resource, revision));
    compacted_.insert_or_assign(std::string(resource), revision);
  }
  if (code != SQLITE_DONE) return std::unexpected(error(sqlite3_extended_errcode(db_)));
  return {};
}

DiskResult RecordFile::load(const std::function<DiskResult(const Record&)>& take) {
  auto rows = prepare(
      "SELECT id, resource, namespace, name, uid, created_revision, facts, revision_offset, json, checksum "
      "FROM versions ORDER BY id");
  if (!rows) return std::unexpected(rows.error());
  auto* row = rows->get();
  std::string scratch;
  int code = 0;
  while ((code = sqlite3_step(row)) == SQLITE_ROW) {
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
    const auto checksum = checksum_of(record);
    if (checksum != number_column(row, 9)) {
      return damage(fmt::format("the record of {} {}/{} at revision {} is damaged", record.object.resource,
                                record.object.ns, record.object.name, record.object.stamp.revision));
    }
    ++rows_;
    contents_.add(SetHash::element(id, checksum));
    if (options_.as_they_stand) {
      if (auto taken = take(record); !taken) return taken;
      continue;
    }
    if (options_.cipher && options_.cipher->is_stale(record.object.resource, record.object.json) && !record.tombstone)
      stale_ids_.push_back(id);
    const auto value = decode_value(options_.cipher.get(), record, scratch);
    if (!value && value.error().code == 400) return std::unexpected(value.error().message);  // for lack of a key
    if (!value) return damage(value.error().message);
    record.object.json = *value;
    if (auto taken = take(record); !taken) return taken;
  }
  if (code != SQLITE_DONE) return std::unexpected(error(sqlite3_extended_errcode(db_)));
  if (has_seal() && (rows_ != seal_.rows || contents_ != seal_.contents)) {
    return damage(rows_ == seal_.rows ? fmt::format("one or more of its {} rows are not those that were written", rows_)
                                      : fmt::format("it has {} rows, and must have {}", rows_, seal_.rows));
  }
  return {};
}

DiskResult RecordFile::compare_with_mark() {
  if (!has_seal()) return {};
  const auto& mark = *found_mark_.newest;
  const bool same_boot = !options_.boot.empty() && mark.boot == options_.boot;
  // A slot is torn when the power goes, or when the disk fails and nobody can write it again. Else somebody changed it.
  if (found_mark_.slot_damaged && same_boot) {
    return damage(
        fmt::format("its mark {} is damaged, so it cannot be told whether something is "
                    "missing; the rest is intact up to revision {}",
                    mark_path(options_.path), seal_.revision));
  }
  if (seal_ == mark.intended) return {};
  // The power went before the log was synced: that commit was not acknowledged. Not so if the other slot is torn: it
  // was being written for the next commit then, and this one had ended.
  if (seal_ == mark.confirmed && !same_boot && !found_mark_.slot_damaged) return {};
  // The process ended after it wrote the log and before it wrote the mark: not acknowledged either, but there.
  if (previous_ == mark.intended || previous_ == mark.confirmed) return {};
  return damage(fmt::format(
      "acknowledged changes are missing: it has {}, commit {}, and the mark says {}, commit {}; its log was lost or "
      "damaged, or the store is an older copy",
      told(seal_), seal_.sequence, told(mark.intended), mark.intended.sequence));
}

DiskResult RecordFile::accept() {
  if (auto whole = compare_with_mark(); !whole) return whole;
  // All rows are there, but a damaged list of free pages would have the next ones written over them. A tenth of a
  // second for 100,000 objects.
  if (const auto problems = problems_of_structure(1); !problems.empty()) {
    return damage(fmt::format("all rows are there, but the structure of the file is damaged ({})", problems.front()));
  }
  if (!found_mark_.exists) {
    if (auto put = put_mark(mark_path(options_.path), {.confirmed = {}, .intended = {}, .boot = options_.boot}); !put)
      return put;
    found_mark_ = {.exists = true, .newest = Mark{}, .slot_damaged = false, .writes = 1};
  }
  auto mark = HighWaterMark::open(mark_path(options_.path), options_.vfs, found_mark_);
  if (!mark) return std::unexpected(mark.error());
  mark_ = std::move(*mark);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  sqlite3_wal_hook(
      db_,
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<RecordFile*>(self)->wal_pages_ = static_cast<std::size_t>(pages);
        return SQLITE_OK;
      },
      this);
  if (!has_seal()) {
    if (auto done = upgrade(); !done) return done;
  }
  if (auto done = rewrite_without_gaps(); !done) return done;
  if (auto done = prepare_statements(); !done) return done;
  for (const auto& file : {options_.path, options_.path + "-wal", mark_path(options_.path)}) place_.add(file);
  mark_->settle(seal_, options_.boot);
  return apply_sealing();
}

DiskResult RecordFile::upgrade() {
  const Seal before;
  const auto newest = number("SELECT max(id) FROM versions");
  if (!newest) return std::unexpected(newest.error());
  const Seal now{.sequence = 1,
                 .revision = std::max(seal_.revision, static_cast<Revision>(*newest) >> ordinal_bits),
                 .rows = rows_,
                 .contents = contents_};
  const auto numbers = numbers_of(now, before);
  std::string values;
  for (const auto value : numbers) values += fmt::format("{},", static_cast<std::int64_t>(value));
  for (const std::string& sql :
       {std::string("BEGIN IMMEDIATE"), std::string("DROP TABLE revision_floor"), std::string(seal_schema),
        fmt::format("INSERT INTO seal VALUES(1,{}{})", values, static_cast<std::int64_t>(checksum_of(numbers))),
        fmt::format("PRAGMA user_version={}", schema_version), std::string("COMMIT")}) {
    if (auto done = execute(sql.c_str()); !done) return done;
  }
  format_ = schema_version;
  seal_ = now;
  previous_ = before;
  return {};
}

// A store of an older format cannot give pages back one by one; where it is worth it, it is written anew, once.
DiskResult RecordFile::rewrite_without_gaps() {
  const auto mode = number("PRAGMA auto_vacuum");
  const auto pages = number("PRAGMA page_count");
  const auto free = number("PRAGMA freelist_count");
  if (!mode || !pages || !free) return std::unexpected((!mode ? mode : !pages ? pages : free).error());
  const auto live_bytes = (*pages - *free) * static_cast<std::int64_t>(page_bytes_);
  if (*mode != 0 || *free < store_limits::free_pages_least || *free < *pages / 4 ||
      live_bytes > store_limits::rewrite_bytes_max)
    return {};
  if (auto done = execute("PRAGMA auto_vacuum=INCREMENTAL"); !done) return done;
  if (auto done = execute("VACUUM"); !done) return done;
  return checkpoint();
}

DiskResult RecordFile::read_sealing() {
  const auto there = number("SELECT count(*) FROM sqlite_schema WHERE name='sealing'");
  if (!there) return std::unexpected(there.error());
  if (*there == 0) return {};
  auto found = prepare("SELECT key FROM sealing");
  if (!found) return std::unexpected(found.error());
  const int code = sqlite3_step(found->get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) return std::unexpected(error(sqlite3_extended_errcode(db_)));
  if (code == SQLITE_ROW) sealed_by_ = text_column(found->get(), 0);
  // Also where no such object is left: new ones must not be stored in plain because somebody forgot a flag.
  if (!sealed_by_.empty() && !options_.cipher && !options_.as_they_stand) {
    return std::unexpected(fmt::format(
        "Secrets in it are encrypted with key {}; pass the file with the key: --secrets-key-file FILE", sealed_by_));
  }
  return {};
}

// Brings the whole file to what the cipher says. A crash on the way leaves it to the next start.
DiskResult RecordFile::apply_sealing() {
  const auto* cipher = options_.cipher.get();
  if (cipher == nullptr) return {};
  const std::string wanted = cipher->seals() ? cipher->key_names().front() : std::string();
  if (wanted == sealed_by_ && stale_ids_.empty()) return {};
  if (auto done = encode_again(std::exchange(stale_ids_, {})); !done) {
    roll_back();
    return done;
  }
  if (!wanted.empty()) {
    if (auto done = forget_remnants(); !done) return done;
  }
  if (auto done = execute(wanted.empty() ? "DROP TABLE IF EXISTS sealing" : sealing_schema); !done) return done;
  if (!wanted.empty()) {
    const auto put = fmt::format("INSERT OR REPLACE INTO sealing VALUES(1,'{}')", wanted);  // hexadecimal digits
    if (auto done = execute(put.c_str()); !done) return done;
  }
  sealed_by_ = wanted;
  return {};
}

// The rows stay the same to everybody but the file.
DiskResult RecordFile::encode_again(const std::vector<std::uint64_t>& ids) {
  if (ids.empty()) return {};
  auto rows = prepare(
      "SELECT resource, namespace, name, uid, created_revision, facts, revision_offset, json FROM versions "
      "WHERE id=?1");
  if (!rows) return std::unexpected(rows.error());
  if (auto done = begin(); !done) return done;
  auto* row = rows->get();
  for (const auto id : ids) {
    sqlite3_reset(row);
    bind(row, 1, id);
    if (sqlite3_step(row) != SQLITE_ROW) return std::unexpected(error(sqlite3_extended_errcode(db_)));
    std::array<std::string, 6> texts;  // of their own, since the row goes before it comes back
    for (int i = 0; const int column : {0, 1, 2, 3, 5, 7})
      texts[static_cast<std::size_t>(i++)] = text_column(row, column);
    Record record{.object = {.resource = texts[0],
                             .ns = texts[1],
                             .name = texts[2],
                             .uid = texts[3],
                             .facts = texts[4],
                             .json = texts[5],
                             .revision_offset = static_cast<std::uint32_t>(number_column(row, 6)),
                             .stamp = {.revision = id >> ordinal_bits,
                                       .created_revision = number_column(row, 4),
                                       .ordinal = static_cast<std::uint16_t>(id & (transaction_writes_max - 1))}}};
    std::string scratch;
    const auto value = decode_value(options_.cipher.get(), record, scratch);
    if (!value) return std::unexpected(value.error().message);
    record.object.json = *value;
    sqlite3_reset(row);
    if (auto done = remove(id); !done) return done;
    if (auto done = add(record); !done) return done;
  }
  return commit(seal_.revision);
}

// What was deleted or replaced still stands in free places of the file and in the log: both are written anew.
DiskResult RecordFile::forget_remnants() {
  if (!mark_->begin_moving()) return std::unexpected("the store is being copied; start again when that has completed");
  auto done = execute("VACUUM");
  if (done && sqlite3_wal_checkpoint_v2(db_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr) != SQLITE_OK)
    done = std::unexpected(error(sqlite3_extended_errcode(db_)));
  mark_->end_moving();
  if (done) wal_pages_ = 0;
  return done;
}

// Called by SQLite within a commit. Its first sync may be for the header of a log that starts anew, before any row is
// in it.
int RecordFile::sync_log(const std::function<int()>& sync) {
  if (intended_ == nullptr || !frames_written_) return sync();
  outcome_unknown_ = true;
  settled_ = false;
  mark_->begin({.confirmed = seal_, .intended = *intended_, .boot = options_.boot});
  const int code = sync();
  auto marked = mark_->wait();
  if (code != SQLITE_OK) return code;
  // Again after the sync: what is acknowledged was in its place then.
  if (marked) marked = check_place();
  if (marked) return SQLITE_OK;
  mark_problem_ = std::move(marked.error());
  return SQLITE_IOERR_FSYNC;
}

std::vector<std::string> RecordFile::problems_of_structure(int most) {
  std::vector<std::string> problems;
  auto rows = prepare(fmt::format("PRAGMA integrity_check({})", most).c_str());
  if (!rows) return {rows.error()};
  int code = 0;
  while ((code = sqlite3_step(rows->get())) == SQLITE_ROW) {
    if (const auto text = text_column(rows->get(), 0); text != "ok") problems.emplace_back(text);
  }
  if (code != SQLITE_DONE) problems.push_back(error(sqlite3_extended_errcode(db_)));
  return problems;
}

// What is written next goes over the commit that failed, so from then on the log may lack it, and a start after a kill
// would take that for a loss. Before that, the mark must say that it is not there.
DiskResult RecordFile::take_back_intention() {
  if (!intention_left_) return {};
  mark_->begin({.confirmed = seal_, .intended = seal_, .boot = options_.boot});
  if (auto done = mark_->wait(); !done) {
    mark_->settle(seal_, options_.boot);  // later, and at the end at the latest
    return done;
  }
  intention_left_ = false;
  return {};
}

DiskResult RecordFile::check_place() const {
  if (!place_.problem()) return {};
  return std::unexpected("the files of the store were removed, moved or replaced while the server runs");
}

DiskResult RecordFile::begin() {
  compacted_before_.clear();
  rows_ = seal_.rows;
  contents_ = seal_.contents;
  outcome_unknown_ = false;
  full_ = false;
  if (auto done = check_place(); !done) return done;
  if (auto done = take_back_intention(); !done) return done;
  return run(begin_.get());
}

DiskResult RecordFile::add(const Record& record) {
  std::string scratch;
  auto stored = record;
  const auto value = encode_value(options_.cipher.get(), record, scratch);
  if (!value) return std::unexpected(value.error().message);
  stored.object.json = *value;
  const auto& object = stored.object;
  const auto checksum = checksum_of(stored);
  auto* row = add_.get();
  bind(row, 1, id_of(stored));
  bind(row, 2, object.resource);
  bind(row, 3, object.ns);
  bind(row, 4, object.name);
  bind(row, 5, object.uid);
  bind(row, 6, object.stamp.created_revision);
  sqlite3_bind_blob64(row, 7, object.facts.empty() ? "" : object.facts.data(), object.facts.size(), SQLITE_STATIC);
  bind(row, 8, std::uint64_t{object.revision_offset});
  if (stored.tombstone) {
    sqlite3_bind_null(row, 9);
  } else {
    bind(row, 9, object.json);
  }
  bind(row, 10, checksum);
  if (auto done = run(row); !done) return done;
  ++rows_;
  contents_.add(SetHash::element(id_of(stored), checksum));
  return {};
}

DiskResult RecordFile::remove(std::uint64_t id) {
  auto* row = remove_.get();
  bind(row, 1, id);
  int code = sqlite3_step(row);
  bool found = false;
  if (code == SQLITE_ROW) {
    found = true;
    contents_.remove(SetHash::element(id, number_column(row, 0)));
    --rows_;
    code = sqlite3_step(row);
  }
  std::string reason = code == SQLITE_DONE ? std::string() : error(sqlite3_extended_errcode(db_));
  sqlite3_reset(row);
  if (reason.empty() && !found) {
    reason = fmt::format("the file of the store is damaged: a row of revision {} is missing", id >> ordinal_bits);
  }
  if (!reason.empty()) return std::unexpected(std::move(reason));
  return {};
}

DiskResult RecordFile::set_compacted(std::string_view resource, Revision revision) {
  bind(set_compacted_.get(), 1, resource);
  bind(set_compacted_.get(), 2, revision);
  if (auto done = run(set_compacted_.get()); !done) return done;
  auto known = compacted_.find(resource);
  if (known == compacted_.end()) known = compacted_.emplace(std::string(resource), 0).first;
  // 0: there was no row. A revision is never 0.
  if (known->second != 0) contents_.remove(element_of(resource, known->second));
  contents_.add(element_of(resource, revision));
  compacted_before_.emplace(resource, known->second);
  known->second = revision;
  return {};
}

DiskResult RecordFile::write_seal(const Seal& now, const Seal& before) {
  const auto numbers = numbers_of(now, before);
  for (std::size_t i = 0; i < numbers.size(); ++i) bind(set_seal_.get(), static_cast<int>(i + 1), numbers[i]);
  bind(set_seal_.get(), 2 * seal_numbers + 1, checksum_of(numbers));
  return run(set_seal_.get());
}

DiskResult RecordFile::commit(Revision revision) {
  const Seal next{.sequence = seal_.sequence + 1, .revision = revision, .rows = rows_, .contents = contents_};
  if (auto done = write_seal(next, seal_); !done) return done;
  intended_ = &next;
  frames_written_ = false;
  mark_problem_.clear();
  auto done = run(commit_.get());
  intended_ = nullptr;
  if (done) {
    outcome_unknown_ = false;
    settled_ = true;
    compacted_before_.clear();
    previous_ = seal_;
    seal_ = next;
  } else if (!mark_problem_.empty()) {
    done = std::unexpected(mark_problem_);
  }
  // After a failure this takes back what the mark intended: soon, and before the next commit for sure.
  intention_left_ = outcome_unknown_;
  mark_->settle(seal_, options_.boot);
  return done;
}

void RecordFile::roll_back() {
  // Some failures make SQLite roll back by itself.
  if (sqlite3_get_autocommit(db_) == 0) (void)run(roll_back_.get());
  for (const auto& [resource, revision] : compacted_before_) {
    if (revision == 0) {
      compacted_.erase(resource);
    } else {
      compacted_[resource] = revision;
    }
  }
  compacted_before_.clear();
}

void RecordFile::claim(std::size_t bytes) {
  database_room_.claim(options_.path, bytes - bytes / 4);
  log_room_.claim(options_.path + "-wal", bytes / 4);
}

DiskResult RecordFile::checkpoint() {
  full_ = false;
  if (!mark_->begin_moving()) {
    if (wal_bytes() < store_limits::wal_bytes_while_copied_max) return {};
  }
  int log_pages = 0;
  int moved_pages = 0;
  const int code = sqlite3_wal_checkpoint_v2(db_, nullptr, SQLITE_CHECKPOINT_PASSIVE, &log_pages, &moved_pages);
  mark_->end_moving();
  if (code != SQLITE_OK) return std::unexpected(error(sqlite3_extended_errcode(db_)));
  wal_pages_ = log_pages > moved_pages ? static_cast<std::size_t>(log_pages - moved_pages) : 0;
  return {};
}

std::expected<bool, std::string> RecordFile::shrink(int pages_max) {
  const auto pages = number("PRAGMA page_count");
  const auto free = number("PRAGMA freelist_count");
  if (!pages || !free) return std::unexpected((!pages ? pages : free).error());
  const auto kept = std::max(store_limits::free_pages_least, *pages / store_limits::free_share_of_pages);
  if (*free <= kept) return false;
  if (auto done = execute(fmt::format("PRAGMA incremental_vacuum({})", pages_max).c_str()); !done) {
    return std::unexpected(done.error());
  }
  const auto left = number("PRAGMA freelist_count");
  // The same number: a store of an older format that was not worth to be written anew.
  return left && *left < *free && *left > kept;
}

}  // namespace vg::store
