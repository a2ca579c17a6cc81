#include "journal/codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/json_text.h"

namespace vg::journal {
namespace {

using std::string_view;

// --- hashing ---------------------------------------------------------------------------------------------------------

constexpr std::uint64_t hash_begin = 0x9e3779b97f4a7c15U, hash_factor = 0xff51afd7ed558ccdU;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * hash_factor;
  return hash ^ (hash >> 32U);
}

// Eight bytes at a time. Who finds two texts with one hash gains nothing: a text is compared before it counts as found.
std::uint64_t hash_of(string_view text) {
  std::uint64_t hash = mix(hash_begin, text.size());
  std::uint64_t word = 0;
  while (text.size() >= sizeof word) {
    std::memcpy(&word, text.data(), sizeof word);
    hash = mix(hash, word);
    text.remove_prefix(sizeof word);
  }
  word = 0;
  std::memcpy(&word, text.data(), text.size());
  return mix(hash, word);
}

// FNV-1a: the index needs no defence, because a match is compared with the entry itself.
constexpr std::uint32_t index_hash_begin = 2166136261U, index_hash_prime = 16777619U;
std::uint32_t add_to_hash(std::uint32_t hash, string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * index_hash_prime;
  return (hash ^ 0xffU) * index_hash_prime;  // no byte of UTF-8: "a" "b" is not "ab" ""
}

// --- the shape of an entry -------------------------------------------------------------------------------------------

// Texts that are the same in many requests are said once a file.
enum class Repeats : std::uint8_t { rarely, often };

struct TextRow {
  std::string Entry::* kept;
  string_view EntryView::* seen;
  Repeats repeats = Repeats::often;
  std::size_t bytes_max = limits::journal_text_bytes_max;
};
// In the order in which they stand in a file: new ones are added at the end.
constexpr TextRow text_rows[] = {
    {&Entry::id, &EntryView::id, Repeats::rarely},
    {&Entry::user, &EntryView::user},
    {&Entry::impersonated_by, &EntryView::impersonated_by},
    {&Entry::credential, &EntryView::credential},
    {&Entry::agent, &EntryView::agent, Repeats::often, limits::journal_agent_bytes_max},
    {&Entry::verb, &EntryView::verb},
    {&Entry::group, &EntryView::group},
    {&Entry::version, &EntryView::version},
    {&Entry::resource, &EntryView::resource},
    {&Entry::subresource, &EntryView::subresource},
    {&Entry::ns, &EntryView::ns},
    {&Entry::name, &EntryView::name, Repeats::rarely},
    {&Entry::uid, &EntryView::uid, Repeats::rarely},
    {&Entry::resource_version, &EntryView::resource_version, Repeats::rarely},
    {&Entry::allowed_by, &EntryView::allowed_by},
    {&Entry::reason, &EntryView::reason},
    {&Entry::message, &EntryView::message, Repeats::rarely},
};

enum Flag : std::uint8_t { dry_run = 1, forbidden = 2, has_details = 4 };

// What stands before a text: which kind it is in the lowest bit, and a number.
enum Kind : std::uint8_t { by_number = 0, said_here = 1, kinds_mask = 1 };
constexpr unsigned kind_bits = 1;

string_view cut(string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  // Not in the middle of a character.
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xC0U) == 0x80U) --bytes_max;
  return text.substr(0, bytes_max);
}

// --- writing ---------------------------------------------------------------------------------------------------------

class Writer {
 public:
  Writer(TextTable& table, std::string& out) : table_(table), out_(out) {}

  void number(std::uint64_t number) {
    std::array<char, 10> bytes;
    std::size_t count = 0;
    for (; number >= 0x80U; number >>= 7U) bytes[count++] = static_cast<char>(number | 0x80U);
    bytes[count++] = static_cast<char>(number);
    out_.append(bytes.data(), count);
  }

  void text(string_view text, Repeats repeats, std::size_t bytes_max = limits::journal_text_bytes_max) {
    if (text.empty()) return number(by_number);
    text = cut(text, bytes_max);
    if (repeats == Repeats::rarely || text.size() > limits::journal_table_text_bytes_max) return plain(text);
    if (const auto known = table_.find(text)) return number((*known + 1) << kind_bits | by_number);
    if (table_.is_full()) return plain(text);
    table_.add(text);
    number(table_.size() << kind_bits | by_number);
  }

  // "kubevirt.io/v1/namespaces/default/virtualmachines/demo": all but the name repeats.
  void object(string_view name) {
    const std::size_t last = name.rfind('/') + 1;  // 0 where there is none
    text(name.substr(0, last), Repeats::often);
    text(name.substr(last), Repeats::rarely);
  }

  template <class Row, class Write>
  void rows(const std::vector<Row>& rows, std::size_t max, Write write) {
    const std::size_t count = std::min(rows.size(), max);
    number(count);
    for (std::size_t i = 0; i < count; ++i) write(rows[i]);
  }

 private:
  void plain(string_view text) {
    number(text.size() << kind_bits | said_here);
    out_.append(text);
  }

  TextTable& table_;
  std::string& out_;
};

std::size_t text_bytes_of(const record::Details& details) {
  std::size_t bytes = 0;
  for (const Cause& one : details.causes) bytes += one.rule.size() + one.field.size();
  for (const Touched& one : details.touched)
    bytes += one.what.size() + one.object.size() + one.uid.size() + one.version.size();
  for (const Seen& one : details.seen) bytes += one.object.size() + one.state.size();
  for (const Change& one : details.changes) bytes += one.field.size() + one.value.size();
  return bytes;
}

void write_details(Writer& writer, const EntryView& entry) {
  const record::Details& details = *entry.details;
  writer.text(details.decided_by, Repeats::often);
  writer.rows(details.causes, limits::journal_causes_max, [&](const Cause& one) {
    writer.text(one.rule, Repeats::often);
    writer.text(one.field, Repeats::often);
  });
  writer.rows(details.touched, limits::journal_touched_max, [&](const Touched& one) {
    writer.text(one.what, Repeats::often);
    writer.object(one.object);
    writer.text(one.uid, Repeats::rarely);
    writer.text(one.version, Repeats::rarely);
  });
  writer.rows(details.seen, limits::record_seen_max, [&](const Seen& one) {
    writer.object(one.object);
    writer.text(one.state, Repeats::rarely);
    writer.number(one.age_ms);
  });
  writer.rows(details.changes, limits::record_changes_max, [&](const Change& one) {
    writer.text(one.field, Repeats::often);
    writer.text(one.value, Repeats::often);
  });
  for (const std::uint32_t time : details.times) writer.number(time);
}

// --- reading ---------------------------------------------------------------------------------------------------------

std::string well_formed(string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    out += length ? text.substr(0, length) : string_view("\xEF\xBF\xBD");
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

// After the first thing that is wrong everything is empty, and good() false.
class Reader {
 public:
  explicit Reader(string_view bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  bool at_end() const { return bytes_.empty(); }

  std::uint64_t number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      number |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) return number;
    }
    return wrong();
  }
  std::uint64_t number(std::uint64_t max) {
    const std::uint64_t found = number();
    return found <= max ? found : wrong();
  }

  struct Said {
    string_view text = {};
    std::size_t number = 0;  // of a text of the file; 0: the empty one
    Kind kind = by_number;
  };
  Said said() {
    const std::uint64_t head = number();
    const std::uint64_t rest = head >> kind_bits;
    if ((head & kinds_mask) == by_number) return {.number = static_cast<std::size_t>(rest)};
    if (rest > bytes_.size()) return {.number = wrong()};
    const string_view text = bytes_.substr(0, rest);
    bytes_.remove_prefix(rest);
    return {.text = text, .kind = said_here};
  }
  std::size_t wrong() {
    good_ = false;
    bytes_ = {};
    return 0;
  }

 private:
  string_view bytes_;
  bool good_ = true;
};

class EntryReader {
 public:
  EntryReader(string_view bytes, const TextTable& table) : reader_(bytes), table_(table) {}

  std::optional<Entry> read() {
    Entry entry;
    entry.time = {.seconds = 0, .nanoseconds = static_cast<std::int32_t>(reader_.number(999'999'999))};
    entry.microseconds = reader_.number();
    entry.code = static_cast<int>(reader_.number(999));
    const auto flags = reader_.number(0x7FU);
    entry.dry_run = (flags & dry_run) != 0;
    entry.allowed = (flags & forbidden) == 0;
    for (const TextRow& row : text_rows) entry.*row.kept = text();
    rows(entry.groups, limits::journal_groups_max, [&] { return text(); });
    if (flags & has_details) read_details(entry);
    if (!reader_.good() || !reader_.at_end() || entry.id.empty()) return std::nullopt;
    return entry;
  }

 private:
  std::string text() {
    const Reader::Said said = reader_.said();
    if (said.kind == said_here) return well_formed(said.text);
    if (said.number == 0) return {};
    if (said.number > table_.size()) return std::string(reader_.wrong(), ' ');
    return well_formed(table_.at(said.number - 1));
  }
  std::string object() {
    std::string where = text();
    return std::move(where) + text();
  }
  std::uint32_t small() { return static_cast<std::uint32_t>(reader_.number(UINT32_MAX)); }

  template <class Row, class Read>
  void rows(std::vector<Row>& rows, std::size_t max, Read read) {
    const std::size_t count = reader_.number(max);
    for (std::size_t i = 0; i < count && reader_.good(); ++i) rows.push_back(read());
  }

  // Members of a braced list are read in their order.
  void read_details(Entry& entry) {
    entry.decided_by = text();
    rows(entry.causes, limits::journal_causes_max, [&] { return Cause{.rule = text(), .field = text()}; });
    rows(entry.touched, limits::journal_touched_max,
         [&] { return Touched{.what = text(), .object = object(), .uid = text(), .version = text()}; });
    rows(entry.seen, limits::record_seen_max,
         [&] { return Seen{.object = object(), .state = text(), .age_ms = small()}; });
    rows(entry.changes, limits::record_changes_max, [&] { return Change{.field = text(), .value = text()}; });
    for (std::uint32_t& time : entry.times) time = small();
  }

  Reader reader_;
  const TextTable& table_;
};

}  // namespace

// --- texts of a file -------------------------------------------------------------------------------------------------

string_view TextTable::at(std::size_t number) const {
  const std::size_t begin = number > 0 ? ends_[number - 1] : 0;
  return string_view(pool_).substr(begin, ends_[number] - begin);
}

TextTable::Places TextTable::places_of(string_view text) {
  const std::uint64_t hash = hash_of(text);
  constexpr std::size_t mask = Slots().size() - 1;
  static_assert((Slots().size() & mask) == 0 && limits::journal_table_texts_max < UINT16_MAX);
  return {hash & mask, (hash >> 32U) & mask};
}

std::optional<std::size_t> TextTable::find(string_view text) const {
  if (!slots_) return std::nullopt;
  for (const std::size_t place : places_of(text))
    if (const std::uint16_t number = (*slots_)[place]; number > 0 && at(number - 1U) == text) return number - 1U;
  return std::nullopt;
}

bool TextTable::is_full() const {
  return ends_.size() == limits::journal_table_texts_max || pool_.size() >= limits::journal_table_bytes_max;
}

void TextTable::add(string_view text) {
  pool_ += text;
  ends_.push_back(static_cast<std::uint32_t>(pool_.size()));
  if (!slots_) slots_ = std::make_unique<Slots>();
  const Places places = places_of(text);
  const std::size_t place = (*slots_)[places[0]] == 0 ? places[0] : places[1];
  (*slots_)[place] = static_cast<std::uint16_t>(ends_.size());
}

// --- entries ---------------------------------------------------------------------------------------------------------

void encode(const EntryView& entry, TextTable& table, std::string& out) {
  const bool tells = entry.details && text_bytes_of(*entry.details) <= limits::journal_details_bytes_max;
  Writer writer(table, out);
  writer.number(static_cast<std::uint64_t>(entry.time.nanoseconds));
  writer.number(entry.microseconds);
  writer.number(static_cast<std::uint64_t>(entry.code));
  writer.number((entry.dry_run ? dry_run : 0U) | (entry.allowed ? 0U : forbidden) | (tells ? has_details : 0U));
  for (const TextRow& row : text_rows) writer.text(entry.*row.seen, row.repeats, row.bytes_max);
  const std::size_t groups = std::min(entry.groups.size(), limits::journal_groups_max);
  writer.number(groups);
  for (const std::string& group : entry.groups.first(groups)) writer.text(group, Repeats::often);
  if (tells) write_details(writer, entry);
}

std::optional<Entry> decode(string_view bytes, const TextTable& table) { return EntryReader(bytes, table).read(); }

std::uint32_t checksum(string_view bytes) { return static_cast<std::uint32_t>(hash_of(bytes)); }

EntryView view_of(const Entry& entry) {
  EntryView view;
  static_cast<EntryNumbers&>(view) = static_cast<const EntryNumbers&>(entry);
  for (const TextRow& row : text_rows) view.*row.seen = entry.*row.kept;
  view.groups = entry.groups;
  view.details = &entry;
  return view;
}

std::uint32_t object_hash(string_view resource, string_view ns, string_view name) {
  return add_to_hash(add_to_hash(add_to_hash(index_hash_begin, resource), ns), name);
}

std::uint32_t id_hash(string_view id) { return add_to_hash(index_hash_begin, id); }

}  // namespace vg::journal
