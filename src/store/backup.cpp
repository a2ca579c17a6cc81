#include "store/backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/files.h"
#include "base/store_limits.h"
#include "store/checksum.h"
#include "store/high_water_mark.h"
#include "store/record_file.h"
#include "store/state_files.h"

namespace vg::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* schema = R"sql(
  CREATE TABLE backup_files(name TEXT PRIMARY KEY, mode INTEGER NOT NULL, content BLOB NOT NULL,
                            checksum INTEGER NOT NULL) STRICT;
  CREATE TABLE backup(made TEXT NOT NULL, files INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT;
)sql";

struct Closer {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Closer>;
using Statement = std::unique_ptr<sqlite3_stmt, Closer>;

Failed refuse_backup(std::string message) {
  return fail({.code = 500, .reason = "InternalError", .message = std::move(message), .details = {}});
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, S_IRUSR | S_IWUSR)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Takes the files away again that a backup is made of, whatever happened.
struct Scratch {
  std::string path;
  ~Scratch() {
    for (const char* suffix : {"", "-wal", "-shm", "-mark", "-journal"}) ::unlink((path + suffix).c_str());
  }
};

Result<void> copy(const std::string& from, const std::string& to) {
  const Descriptor in(from, O_RDONLY);
  if (in.get() < 0 && errno == ENOENT) return {};
  const auto failed = [&](std::string_view what) {
    return refuse_backup(fmt::format("cannot copy {} to {}: {}: {}", from, to, what, std::strerror(errno)));
  };
  if (in.get() < 0) return failed("cannot open it");
  const Descriptor out(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
  if (out.get() < 0) return failed("cannot create the copy");
  std::string part(std::size_t{1} << 20, '\0');
  for (;;) {
    const auto got = ::read(in.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("cannot read");
    if (got == 0) break;
    for (ssize_t at = 0; at < got;) {
      const auto put = ::write(out.get(), part.data() + at, static_cast<std::size_t>(got - at));
      if (put < 0 && errno != EINTR) return failed("cannot write");
      at += std::max<ssize_t>(put, 0);
    }
  }
  if (::fsync(out.get()) != 0) return failed("cannot sync");
  return {};
}

// Every row of a store that lies there alone, and its structure.
Result<Seal> verify(const std::string& path) {
  if (auto put = put_mark(mark_path(path), {}); !put) return refuse_backup(put.error());
  auto file = RecordFile::open({.path = path, .as_they_stand = true});
  if (!file) return refuse_backup(file.error().message);
  if (auto read = (*file)->load([](const Record&) -> DiskResult { return {}; }); !read)
    return refuse_backup(read.error());
  if (!(*file)->has_seal()) {
    return refuse_backup("it was written by an older virtgate and has no seal yet; start this server on it once");
  }
  if (const auto problems = (*file)->problems_of_structure(); !problems.empty()) return refuse_backup(problems.front());
  return (*file)->seal();
}

// While the lock is held the server leaves the database as it is and only adds to the log, so the copies fit together.
// Should it have to go on all the same, the check finds out.
Result<Seal> copy_store(const std::string& store, const std::string& into) {
  const Descriptor lock(mark_path(store), O_RDONLY);
  if (lock.get() < 0) {
    return refuse_backup(fmt::format("cannot open {}: {}; start this server on the store once, or name another folder",
                                     mark_path(store), std::strerror(errno)));
  }
  std::string problem;
  for (int attempt = 0; attempt < store_limits::backup_copies_max; ++attempt) {
    if (::flock(lock.get(), LOCK_SH) != 0)
      return refuse_backup(fmt::format("cannot lock the mark: {}", std::strerror(errno)));
    const auto before = read_mark(mark_path(store));
    {
      const Scratch earlier{into};
    }
    for (const char* suffix : {"", "-wal"}) {
      if (auto copied = copy(store + suffix, into + suffix); !copied) return fail(std::move(copied.error()));
    }
    ::flock(lock.get(), LOCK_UN);
    if (!before || !before->newest) return refuse_backup(fmt::format("the mark {} cannot be read", mark_path(store)));
    auto seal = verify(into);
    if (seal && seal->sequence >= before->newest->confirmed.sequence) return seal;
    problem = seal ? "acknowledged changes are missing" : seal.error().message;
  }
  return refuse_backup(
      fmt::format("the store {} cannot be backed up: {}; see \"virtgate state check\"", store, problem));
}

Result<Database> open_database(const std::string& path) {
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database owned(db);
  if (code != SQLITE_OK) return refuse_backup(fmt::format("cannot open {}: {}", path, sqlite3_errstr(code)));
  return owned;
}

Result<void> execute(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return refuse_backup(fmt::format("SQLite: {}", sqlite3_errmsg(db)));
}

Result<Statement> prepare(sqlite3* db, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) != SQLITE_OK)
    return refuse_backup(fmt::format("SQLite: {}", sqlite3_errmsg(db)));
  return Statement(statement);
}

// Views and triggers are programs that would run while the file is looked at, for as long as they like. No store has
// one. What cannot be read at all is left to the check of its rows, which says why.
Result<void> refuse_programs(const std::string& path) {
  auto db = open_database(path);
  if (!db) return fail(std::move(db.error()));
  const auto found = prepare(db->get(), "SELECT name FROM sqlite_schema WHERE type NOT IN ('table','index')");
  if (!found || sqlite3_step(found->get()) != SQLITE_ROW) return {};
  return refuse_backup("it has views or triggers, which a backup does not have; it was changed");
}

std::uint64_t backup_checksum(const StateFile& file) {
  Checksum sum;
  sum.text(file.name);
  sum.number(file.mode);
  sum.text(file.content);
  return sum.value();
}

std::uint64_t backup_checksum(std::string_view made, std::uint64_t files, const Seal& seal) {
  Checksum sum;
  sum.text(made);
  for (const auto number : {files, seal.sequence, seal.revision, seal.contents.sum().low}) sum.number(number);
  return sum.value();
}

Result<void> add_files(sqlite3* db, const std::vector<StateFile>& files, std::string_view made, const Seal& seal) {
  if (auto done = execute(db, "PRAGMA journal_mode=DELETE"); !done) return done;
  if (auto done = execute(db, "BEGIN"); !done) return done;
  if (auto done = execute(db, schema); !done) return done;
  auto add = prepare(db, "INSERT INTO backup_files VALUES(?1,?2,?3,?4)");
  if (!add) return fail(std::move(add.error()));
  for (const auto& file : files) {
    auto* row = add->get();
    sqlite3_bind_text64(row, 1, file.name.data(), file.name.size(), SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_int64(row, 2, file.mode);
    sqlite3_bind_blob64(row, 3, file.content.empty() ? "" : file.content.data(), file.content.size(), SQLITE_STATIC);
    sqlite3_bind_int64(row, 4, static_cast<sqlite3_int64>(backup_checksum(file)));
    if (sqlite3_step(row) != SQLITE_DONE) return refuse_backup(fmt::format("SQLite: {}", sqlite3_errmsg(db)));
    sqlite3_reset(row);
  }
  const auto summary = fmt::format("INSERT INTO backup VALUES('{}',{},{})", made, files.size(),
                                   static_cast<std::int64_t>(backup_checksum(made, files.size(), seal)));
  if (auto done = execute(db, summary.c_str()); !done) return done;
  return execute(db, "COMMIT");
}

// "pki/name" or "name", so that nothing can be put elsewhere.
bool is_state_file_name(std::string_view name) {
  const auto plain = [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." && part.size() < 200 && !part.contains('/') &&
           !part.contains('\0') && !part.starts_with("store.db") && part != "lock";
  };
  const auto slash = name.find('/');
  return slash == std::string_view::npos ? plain(name) : plain(name.substr(0, slash)) && plain(name.substr(slash + 1));
}

std::string_view blob(sqlite3_stmt* row, int at) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, at));
  return {bytes == nullptr ? "" : bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, at))};
}

Result<void> unpack_files(sqlite3* db, const fs::path& folder, const Seal& seal, BackupContent& content) {
  auto summary = prepare(db, "SELECT made, files, checksum FROM backup");
  if (!summary) return refuse_backup("it is a store and not a backup; create a backup with \"virtgate backup\"");
  if (sqlite3_step(summary->get()) != SQLITE_ROW) return refuse_backup("its table of contents is missing");
  content.made = blob(summary->get(), 0);
  content.files = static_cast<std::size_t>(sqlite3_column_int64(summary->get(), 1));
  if (backup_checksum(content.made, content.files, seal) !=
      static_cast<std::uint64_t>(sqlite3_column_int64(summary->get(), 2))) {
    return refuse_backup("its table of contents is damaged");
  }
  auto rows = prepare(db, "SELECT name, mode, content, checksum FROM backup_files ORDER BY name");
  if (!rows) return fail(std::move(rows.error()));
  std::size_t found = 0;
  int code = 0;
  while ((code = sqlite3_step(rows->get())) == SQLITE_ROW) {
    const StateFile file{.name = std::string(blob(rows->get(), 0)),
                         .mode = static_cast<std::uint32_t>(sqlite3_column_int64(rows->get(), 1)),
                         .content = std::string(blob(rows->get(), 2))};
    if (backup_checksum(file) != static_cast<std::uint64_t>(sqlite3_column_int64(rows->get(), 3)) ||
        !is_state_file_name(file.name)) {
      return refuse_backup(fmt::format("the file \"{}\" in it is damaged", file.name));
    }
    const auto path = folder / file.name;
    if (path.parent_path() != folder) ::mkdir(path.parent_path().c_str(), S_IRWXU);
    if (auto put = write_file(path.native(), file.content, file.mode & (S_IRWXU | S_IRGRP | S_IROTH)); !put) return put;
    ++found;
  }
  if (code != SQLITE_DONE || found != content.files)
    return refuse_backup(fmt::format("it has {} files, and must have {}", found, content.files));
  return {};
}

// Nobody can say which versions were given out after the backup was made: go on above them, and let nobody resume.
Result<void> move_on(const std::string& store, const Seal& seal, Revision revision) {
  if (auto put = put_mark(mark_path(store), {.confirmed = seal, .intended = seal, .boot = {}}); !put)
    return refuse_backup(put.error());
  auto file = RecordFile::open({.path = store, .as_they_stand = true});
  if (!file) return refuse_backup(file.error().message);
  auto done = (*file)->load([](const Record&) -> DiskResult { return {}; });
  if (done) done = (*file)->accept();
  if (done) done = (*file)->begin();
  // Also of resources that the backup knows nothing of: objects that were made after it are gone, too.
  if (done) done = (*file)->set_compacted(every_resource, revision);
  if (done) done = (*file)->commit(revision);
  if (!done) return refuse_backup(done.error());
  return {};
}

}  // namespace

Result<BackupContent> write_backup(const std::string& store, const std::string& into,
                                   const std::vector<StateFile>& files, std::string_view made) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(into, error)))
    return refuse_backup(fmt::format("{} already exists; remove it, or name another file", into));
  const Scratch partial{into + ".partial"};
  auto seal = copy_store(store, partial.path);
  if (!seal) return fail(std::move(seal.error()));
  {
    auto db = open_database(partial.path);
    if (!db) return fail(std::move(db.error()));
    if (auto added = add_files(db->get(), files, made, *seal); !added) return fail(std::move(added.error()));
  }
  const Descriptor whole(partial.path, O_RDWR);
  if (whole.get() < 0 || ::fsync(whole.get()) != 0 || ::link(partial.path.c_str(), into.c_str()) != 0)
    return refuse_backup(fmt::format("cannot create the backup {}: {}", into, std::strerror(errno)));
  auto folder = fs::path(into).parent_path();
  const Descriptor directory(folder.empty() ? "." : folder.native(), O_RDONLY | O_DIRECTORY);
  if (directory.get() >= 0) ::fsync(directory.get());
  return BackupContent{.seal = *seal, .files = files.size(), .made = std::string(made)};
}

Result<BackupContent> unpack_backup(const std::string& backup, const fs::path& folder, Revision at_least) {
  const auto damaged = [&](const Status& status) {
    return refuse_backup(fmt::format("the backup {} is not valid: {}", backup, status.message));
  };
  if (std::error_code error; !fs::is_regular_file(backup, error))
    return refuse_backup(fmt::format("file {} not found", backup));
  const auto store = store_path(folder);
  if (auto copied = copy(backup, store); !copied) return fail(std::move(copied.error()));
  if (auto plain = refuse_programs(store); !plain) return damaged(plain.error());
  auto seal = verify(store);
  if (!seal) return damaged(seal.error());
  BackupContent content{.seal = *seal, .files = 0, .made = {}};
  {
    auto db = open_database(store);
    if (!db) return fail(std::move(db.error()));
    if (auto done = unpack_files(db->get(), folder, *seal, content); !done) return damaged(done.error());
    for (const char* sql : {"DROP TABLE backup", "DROP TABLE backup_files"}) {
      if (auto done = execute(db->get(), sql); !done) return fail(std::move(done.error()));
    }
  }
  const auto revision = revision_beyond(std::max(seal->revision, at_least));
  if (auto moved = move_on(store, *seal, revision); !moved) return fail(std::move(moved.error()));
  return content;
}

}  // namespace vg::store
