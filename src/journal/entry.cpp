#include "journal/entry.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "base/journal_limits.h"
#include "base/json_text.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::journal {
namespace {

using std::string_view;

// The members of a line: short, because there are many of them.
struct TextMember {
  string_view key;
  std::string Entry::* text;
  std::size_t bytes_max = limits::journal_text_bytes_max;
};
constexpr TextMember texts[] = {
    {"id", &Entry::id},
    {"u", &Entry::user},
    {"by", &Entry::impersonated_by},
    {"a", &Entry::agent, limits::journal_agent_bytes_max},
    {"v", &Entry::verb},
    {"g", &Entry::group},
    {"gv", &Entry::version},
    {"r", &Entry::resource},
    {"s", &Entry::subresource},
    {"ns", &Entry::ns},
    {"n", &Entry::name},
    {"uid", &Entry::uid},
    {"rv", &Entry::resource_version},
    {"w", &Entry::allowed_by},
    {"re", &Entry::reason},
    {"m", &Entry::message},
    {"cr", &Entry::credential},
};

void add_text(std::string& out, string_view key, string_view text, std::size_t bytes_max) {
  if (text.empty()) return;
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"(,"{}":)"), key);
  append_json_string(out, text, bytes_max);
}

// Rows of texts: [["MEM-01","spec.domain"],...]. Empty ones at the end of a row are left out.
using Cells = std::array<string_view, 4>;

template <class Row, class ToCells>
void add_rows(std::string& out, string_view key, const std::vector<Row>& rows, std::size_t max, ToCells to_cells) {
  if (rows.empty()) return;
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"(,"{}":[)"), key);
  for (std::size_t i = 0; i < std::min(rows.size(), max); ++i) {
    const Cells cells = to_cells(rows[i]);
    std::size_t count = cells.size();
    while (count > 1 && cells[count - 1].empty()) --count;
    out += i ? ",[" : "[";
    for (std::size_t cell = 0; cell < count; ++cell) {
      if (cell) out += ',';
      append_json_string(out, cells[cell], limits::journal_text_bytes_max);
    }
    out += ']';
  }
  out += ']';
}

template <class Row, class FromCells>
void read_rows(const json::Value& line, string_view key, std::vector<Row>& rows, std::size_t max,
               FromCells from_cells) {
  const json::Array* found = json::get_array(line, key);
  if (!found) return;
  for (const json::Value& one : *found) {
    const json::Array* row = one.if_array();
    if (!row || row->size() > Cells().size() || rows.size() == max) continue;
    Cells cells;
    for (std::size_t i = 0; i < row->size(); ++i) cells[i] = json::as_string(&(*row)[i]).value_or("");
    rows.push_back(from_cells(cells));
  }
}

std::uint32_t number_of(string_view text) {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void add_details(std::string& out, const Entry& entry) {
  add_rows(out, "ca", entry.causes, limits::journal_causes_max,
           [](const Cause& one) { return Cells{one.rule, one.field}; });
  add_rows(out, "o", entry.touched, limits::journal_touched_max,
           [](const Touched& one) { return Cells{one.what, one.object, one.uid, one.version}; });
  add_rows(out, "ch", entry.changes, limits::record_changes_max,
           [](const Change& one) { return Cells{one.field, one.value}; });
  std::string age;
  add_rows(out, "se", entry.seen, limits::record_seen_max, [&](const Seen& one) {
    age = one.age_ms ? fmt::format("{}", one.age_ms) : std::string();
    return Cells{one.object, one.state, age};
  });
  add_rows(out, "gr", entry.groups, limits::journal_groups_max, [](const std::string& one) { return Cells{one}; });
  if (entry.times != record::Times())
    fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"(,"ts":[{}])"), fmt::join(entry.times, ","));
}

void read_details(const json::Value& line, Entry& entry) {
  const auto text = [](string_view cell) { return std::string(cell); };
  read_rows(line, "ca", entry.causes, limits::journal_causes_max,
            [&](const Cells& row) { return Cause{text(row[0]), text(row[1])}; });
  read_rows(line, "o", entry.touched, limits::journal_touched_max,
            [&](const Cells& row) { return Touched{text(row[0]), text(row[1]), text(row[2]), text(row[3])}; });
  read_rows(line, "ch", entry.changes, limits::record_changes_max,
            [&](const Cells& row) { return Change{text(row[0]), text(row[1])}; });
  read_rows(line, "se", entry.seen, limits::record_seen_max,
            [&](const Cells& row) { return Seen{text(row[0]), text(row[1]), number_of(row[2])}; });
  read_rows(line, "gr", entry.groups, limits::journal_groups_max, [&](const Cells& row) { return text(row[0]); });
  if (const json::Array* times = json::get_array(line, "ts"))
    for (std::size_t i = 0; i < std::min(times->size(), entry.times.size()); ++i)
      entry.times[i] = static_cast<std::uint32_t>(json::as_int(&(*times)[i]).value_or(0));
}

// FNV-1a: the index needs no defence, because a match is compared with the entry itself.
constexpr std::uint32_t hash_begin = 2166136261U, hash_prime = 16777619U;
std::uint32_t add_to_hash(std::uint32_t hash, string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * hash_prime;
  return (hash ^ 0xffU) * hash_prime;  // no byte of UTF-8: "a" "b" is not "ab" ""
}

}  // namespace

std::string to_text(const Entry& entry) {
  std::string out = fmt::format(FMT_COMPILE(R"({{"t":{},"tn":{},"us":{},"c":{})"), entry.time.seconds,
                                entry.time.nanoseconds, entry.microseconds, entry.code);
  for (const TextMember& member : texts) add_text(out, member.key, entry.*member.text, member.bytes_max);
  add_text(out, "de", entry.decided_by, limits::journal_text_bytes_max);
  if (entry.dry_run) out += R"(,"d":true)";
  if (!entry.allowed) out += R"(,"f":true)";
  add_details(out, entry);
  out += '}';
  return out;
}

std::optional<Entry> from_text(string_view text) {
  const auto document = json::Document::parse(text);
  if (!document || !document->root().is_object()) return std::nullopt;
  const json::Value& line = document->root();
  Entry entry;
  entry.time = {.seconds = json::get_int_or(line, "t", 0),
                .nanoseconds = static_cast<std::int32_t>(json::get_int_or(line, "tn", 0))};
  entry.microseconds = static_cast<std::uint64_t>(json::get_int_or(line, "us", 0));
  entry.code = static_cast<int>(json::get_int_or(line, "c", 0));
  for (const TextMember& member : texts) entry.*member.text = json::get_string_or(line, member.key);
  entry.decided_by = json::get_string_or(line, "de");
  entry.dry_run = json::get_bool_or(line, "d", false);
  entry.allowed = !json::get_bool_or(line, "f", false);
  read_details(line, entry);
  if (entry.id.empty()) return std::nullopt;
  return entry;
}

std::uint32_t object_hash(string_view resource, string_view ns, string_view name) {
  return add_to_hash(add_to_hash(add_to_hash(hash_begin, resource), ns), name);
}

std::uint32_t id_hash(string_view id) { return add_to_hash(hash_begin, id); }

}  // namespace vg::journal
