#include "store/salvage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/store_limits.h"
#include "store/record_file.h"

namespace vg::store {
namespace {

constexpr std::size_t page_bytes = 8192;  // what the store is written with
constexpr std::size_t log_header_bytes = 32;
constexpr std::size_t frame_header_bytes = 24;
constexpr std::uint8_t table_leaf = 0x0d;
constexpr std::size_t columns = 10;

using Bytes = std::string_view;

std::uint8_t byte_at(Bytes bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

std::uint64_t big_endian(Bytes bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<std::uint8_t>(c);
  return value;
}

// SQLite's variable-length number: seven bits a byte, the ninth byte whole.
std::optional<std::uint64_t> take_varint(Bytes& bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < 9; ++i) {
    if (bytes.empty()) return std::nullopt;
    const auto byte = byte_at(bytes, 0);
    bytes.remove_prefix(1);
    if (i == 8) return value << 8 | byte;
    value = value << 7 | (byte & 0x7f);
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

// A file in memory; empty where it cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      missing_ = errno == ENOENT;
      if (!missing_) problem_ = fmt::format("cannot read {}: {}", path, std::strerror(errno));
      return;
    }
    struct stat info{};
    if (::fstat(file, &info) == 0 && info.st_size > 0) {
      const auto size = static_cast<std::size_t>(info.st_size);
      copy_.resize(size);
      // Read and not mapped: a place that the disk cannot read costs that place, and not the process.
      for (std::size_t at = 0; at < size;) {
        const auto part = std::min(size - at, page_bytes);
        const auto got = ::pread(file, copy_.data() + at, part, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) problem_ = fmt::format("cannot read {} at {}: {}", path, at, std::strerror(errno));
        at += got <= 0 ? part : static_cast<std::size_t>(got);
      }
    }
    ::close(file);
  }
  Bytes bytes() const { return copy_; }
  bool missing() const { return missing_; }
  const std::string& problem() const { return problem_; }

 private:
  std::string copy_;
  bool missing_ = false;
  std::string problem_;
};

// The pages of a store: those of the database, and those that its log has for the same numbers.
class Pages {
 public:
  Pages(Bytes database, Bytes log) : database_(database) {
    if (log.size() < log_header_bytes + frame_header_bytes) return;
    const auto salt = salt_of(log);
    for (auto at = log_header_bytes; at + frame_header_bytes + page_bytes <= log.size();
         at += frame_header_bytes + page_bytes) {
      const auto header = log.substr(at, frame_header_bytes);
      // What an earlier use of the log left behind is older than the database.
      if (header.substr(8, 8) != salt) continue;
      frames_[big_endian(header.substr(0, 4))].push_back(log.substr(at + frame_header_bytes, page_bytes));
    }
  }

  // Every page there is, of the log first: of an overflow page the newest counts.
  void for_each(const std::function<void(Bytes)>& look) const {
    for (const auto& [number, versions] : frames_) {
      for (const auto page : versions) look(page);
    }
    for (std::size_t at = 0; at + page_bytes <= database_.size(); at += page_bytes) {
      look(database_.substr(at, page_bytes));
    }
    if (const auto rest = database_.size() % page_bytes; rest != 0) look(database_.substr(database_.size() - rest));
  }
  // The versions of one page, newest first.
  std::vector<Bytes> versions(std::uint64_t number) const {
    std::vector<Bytes> found;
    if (const auto frames = frames_.find(number); frames != frames_.end()) {
      found.assign(frames->second.rbegin(), frames->second.rend());
    }
    const auto at = (number - 1) * page_bytes;
    if (number > 0 && number <= database_.size() / page_bytes) found.push_back(database_.substr(at, page_bytes));
    return found;
  }

 private:
  static Bytes salt_of(Bytes log) {
    const auto header = log.substr(16, 8);
    for (auto at = log_header_bytes; at + frame_header_bytes <= log.size(); at += frame_header_bytes + page_bytes) {
      if (log.substr(at + 8, 8) == header) return header;
    }
    return log.substr(log_header_bytes + 8, 8);  // the header is damaged: the first frame knows it, too
  }
  Bytes database_;
  std::map<std::uint64_t, std::vector<Bytes>> frames_;
};

struct Column {
  std::uint64_t type = 0;
  Bytes bytes = {};
};

std::size_t column_bytes(std::uint64_t type) {
  constexpr std::array<std::size_t, 12> fixed = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return type < fixed.size() ? fixed[type] : static_cast<std::size_t>((type - 12) / 2);
}

std::optional<std::uint64_t> number_of(const Column& column) {
  if (column.type == 8 || column.type == 9) return column.type - 8;
  if (column.type == 0 || column.type > 6) return std::nullopt;
  auto value = big_endian(column.bytes);
  const auto bits = column.bytes.size() * 8;
  if (bits < 64 && (value >> (bits - 1)) != 0) value |= ~std::uint64_t{0} << bits;
  return value;
}

// One row of `versions`, whatever its checksum says.
std::optional<SalvagedRow> parse_row(std::uint64_t id, Bytes payload, std::uint64_t& checksum) {
  Bytes head = payload;
  const auto head_bytes = take_varint(head);
  if (!head_bytes || *head_bytes > payload.size() || *head_bytes < columns) return std::nullopt;
  head = payload.substr(payload.size() - head.size(), *head_bytes - (payload.size() - head.size()));
  Bytes body = payload.substr(*head_bytes);
  std::array<Column, columns> found;
  for (auto& column : found) {
    const auto type = take_varint(head);
    if (!type || column_bytes(*type) > body.size()) return std::nullopt;
    column = {.type = *type, .bytes = body.substr(0, column_bytes(*type))};
    body.remove_prefix(column.bytes.size());
  }
  const auto created = number_of(found[5]);
  const auto offset = number_of(found[7]);
  const auto sum = number_of(found[9]);
  if (!head.empty() || !body.empty() || found[0].type != 0 || !created || !offset || !sum) return std::nullopt;
  checksum = *sum;
  SalvagedRow row{.resource = std::string(found[1].bytes),
                  .ns = std::string(found[2].bytes),
                  .name = std::string(found[3].bytes),
                  .uid = std::string(found[4].bytes),
                  .facts = std::string(found[6].bytes),
                  .json = std::string(found[8].bytes),
                  .revision_offset = static_cast<std::uint32_t>(*offset),
                  .stamp = {.revision = id >> ordinal_bits,
                            .created_revision = *created,
                            .ordinal = static_cast<std::uint16_t>(id & (transaction_writes_max - 1))},
                  .tombstone = found[8].type == 0};
  return row;
}

bool looks_like_a_key(const SalvagedRow& row) {
  const auto plain = [](std::string_view text) {
    return text.size() < 1024 && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  };
  return !row.resource.empty() && !row.name.empty() && plain(row.resource) && plain(row.ns) && plain(row.name);
}

class Collector {
 public:
  explicit Collector(const Pages& pages) : pages_(pages) {}

  void look(Bytes page) {
    // On the first page of the file the database's own header comes before the page's.
    for (const std::size_t at : {std::size_t{0}, std::size_t{100}}) {
      if (page.size() < at + 8 || byte_at(page, at) != table_leaf) continue;
      const auto cells = big_endian(page.substr(at + 3, 2));
      for (std::size_t i = 0; i < cells && at + 8 + 2 * i + 2 <= page.size(); ++i) {
        const auto offset = big_endian(page.substr(at + 8 + 2 * i, 2));
        if (offset < page.size()) take_cell(page.substr(offset));
      }
    }
  }

  void finish(Salvage& into) {
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const SalvagedRow*> newest;
    for (const auto& [id, row] : rows_) newest[{row.resource, row.ns, row.name}] = &row;  // in order of revision
    into.rows = rows_.size();
    into.newest = rows_.empty() ? 0 : rows_.rbegin()->second.stamp.revision;
    for (const auto& [key, row] : newest) {
      if (!row->tombstone) into.objects.push_back(*row);
    }
    for (const auto& [id, text] : damaged_) {
      if (!rows_.contains(id)) into.damaged.push_back(text);
    }
  }

 private:
  void take_cell(Bytes cell) {
    const auto payload_bytes = take_varint(cell);
    const auto id = payload_bytes ? take_varint(cell) : std::nullopt;
    if (!id || *payload_bytes > store_limits::salvaged_row_bytes_max || *id >> 63 != 0 || rows_.contains(*id)) return;
    // SQLite's rule for how much of a row stays on its page; the rest is a chain of pages.
    const std::size_t most = page_bytes - 35;
    if (*payload_bytes <= most) return take_payload(*id, cell.substr(0, *payload_bytes), *payload_bytes);
    const std::size_t least = (page_bytes - 12) * 32 / 255 - 23;
    const std::size_t fitting = least + (*payload_bytes - least) % (page_bytes - 4);
    const std::size_t local = fitting <= most ? fitting : least;
    if (cell.size() < local + 4) return take_payload(*id, cell.substr(0, local), *payload_bytes);
    std::string whole(cell.substr(0, local));
    whole.reserve(*payload_bytes);
    follow(*id, std::move(whole), big_endian(cell.substr(local, 4)), *payload_bytes);
  }

  // A page of the chain may be in the log more than once: the newest that leads to a whole row is the one.
  void follow(std::uint64_t id, std::string payload, std::uint64_t next, std::uint64_t payload_bytes) {
    for (int back = 0; back < store_limits::salvaged_chain_tries && !rows_.contains(id); ++back) {
      std::string whole = payload;
      auto number = next;
      bool another = false;
      while (whole.size() < payload_bytes && number != 0) {
        const auto versions = pages_.versions(number);
        if (versions.empty()) break;
        another = another || versions.size() > static_cast<std::size_t>(back) + 1;
        const auto page = versions[std::min<std::size_t>(static_cast<std::size_t>(back), versions.size() - 1)];
        whole.append(page.substr(4, std::min<std::size_t>(page_bytes - 4, payload_bytes - whole.size())));
        number = big_endian(page.substr(0, 4));
      }
      take_payload(id, whole, payload_bytes);
      if (!another) break;
    }
  }

  void take_payload(std::uint64_t id, Bytes payload, std::uint64_t payload_bytes) {
    std::uint64_t checksum = 0;
    if (payload.size() == payload_bytes) {
      auto row = parse_row(id, payload, checksum);
      if (row && checksum_of(row->record()) == checksum) {
        rows_.emplace(id, std::move(*row));
        return;
      }
      if (row && looks_like_a_key(*row)) {
        damaged_.emplace(id, fmt::format("{} {}/{} at revision {}: its bytes are damaged", row->resource, row->ns,
                                         row->name, row->stamp.revision));
      }
      return;
    }
    // Cut off: the names come first, so they may still be there. Pad, and see whether they make sense.
    std::string padded(payload);
    padded.resize(payload_bytes);
    if (auto row = parse_row(id, padded, checksum); row && looks_like_a_key(*row)) {
      damaged_.emplace(id, fmt::format("{} {}/{} at revision {}: a part of it is missing", row->resource, row->ns,
                                       row->name, row->stamp.revision));
    }
  }

  const Pages& pages_;
  std::map<std::uint64_t, SalvagedRow> rows_;
  std::map<std::uint64_t, std::string> damaged_;
};

SalvagedRow copy_of(const Record& record) {
  const auto& object = record.object;
  return {.resource = std::string(object.resource),
          .ns = std::string(object.ns),
          .name = std::string(object.name),
          .uid = std::string(object.uid),
          .facts = std::string(object.facts),
          .json = std::string(object.json),
          .revision_offset = object.revision_offset,
          .stamp = object.stamp,
          .tombstone = record.tombstone};
}

// As the store itself would read it; false with the reason in `problems`.
bool read_whole(const std::string& path, Salvage& into) {
  auto file = RecordFile::open({.path = path, .as_they_stand = true});
  if (!file) {
    into.problems.push_back(file.error().message);
    return false;
  }
  std::map<std::tuple<std::string, std::string, std::string>, SalvagedRow> newest;
  std::uint64_t rows = 0;
  const auto read = (*file)->load([&](const Record& record) -> DiskResult {
    ++rows;
    newest.insert_or_assign(
        {std::string(record.object.resource), std::string(record.object.ns), std::string(record.object.name)},
        copy_of(record));
    return {};
  });
  bool whole = read.has_value();
  if (!read) into.problems.push_back(read.error());
  if (const auto behind = (*file)->compare_with_mark(); whole && !behind) {
    into.problems.push_back(behind.error());
    whole = false;
  }
  // The rows are what they should be, but it could not be written to without harm.
  for (auto& problem : (*file)->problems_of_structure()) into.problems.push_back(std::move(problem));
  if (!whole) return false;
  into.rows = rows;
  into.newest = (*file)->seal().revision;
  into.sealed = (*file)->has_seal();
  for (auto& [key, row] : newest) {
    into.newest = std::max(into.newest, row.stamp.revision);
    if (!row.tombstone) into.objects.push_back(std::move(row));
  }
  return true;
}

}  // namespace

Record SalvagedRow::record() const {
  Record record;
  record.tombstone = tombstone;
  record.object = {.resource = resource,
                   .ns = ns,
                   .name = name,
                   .uid = uid,
                   .facts = facts,
                   .json = json,
                   .revision_offset = revision_offset,
                   .stamp = stamp};
  return record;
}

Salvage salvage(const std::string& path) {
  Salvage found;
  if (auto mark = read_mark(mark_path(path)); mark) {
    found.mark = std::move(*mark);
  } else {
    found.problems.push_back(mark.error());
  }
  const MappedFile database(path);
  if (database.missing()) {
    found.problems.push_back(fmt::format("{} is missing", path));
  } else if (database.bytes().empty()) {
    found.problems.push_back(fmt::format("{} is empty", path));
  } else if (read_whole(path, found)) {
    found.whole = found.problems.empty();
    return found;
  }
  const MappedFile log(path + "-wal");
  for (const auto* file : {&database, &log}) {
    if (!file->problem().empty()) found.problems.push_back(file->problem());
  }
  const Pages pages(database.bytes(), log.bytes());
  Collector collector(pages);
  pages.for_each([&](Bytes page) { collector.look(page); });
  collector.finish(found);
  return found;
}

std::vector<std::string> append_as_list(std::string& out, const std::vector<SalvagedRow>& objects,
                                        const ValueCipher* cipher) {
  std::vector<std::string> closed;
  out += R"({"apiVersion":"v1","kind":"List","metadata":{},"items":[)";
  std::string scratch;
  bool first = true;
  for (const auto& object : objects) {
    const auto json = decode_value(cipher, object.record(), scratch);
    if (!json) {
      closed.push_back(json.error().message);
      continue;
    }
    out += std::exchange(first, false) ? "\n" : ",\n";
    out += *json;
  }
  out += "\n]}\n";
  return closed;
}

DiskResult write_store(const std::string& path, const std::vector<SalvagedRow>& objects, Revision newest) {
  auto file = RecordFile::open({.path = path, .as_they_stand = true});
  if (!file) return std::unexpected(file.error().message);
  auto& store = **file;
  if (auto done = store.load([](const Record&) -> DiskResult { return std::unexpected("a store already exists"); });
      !done) {
    return done;
  }
  if (auto done = store.accept(); !done) return done;
  if (auto done = store.begin(); !done) return done;
  for (const auto& object : objects) {
    if (auto done = store.add(object.record()); !done) return done;
  }
  // Also of resources of which nothing was found: whoever saw their objects must hear that these are gone.
  if (newest != 0) {
    if (auto done = store.set_compacted(every_resource, newest); !done) return done;
  }
  return store.commit(newest);
}

}  // namespace vg::store
