#include "journal/entry.h"

#include <fmt/compile.h>
#include <fmt/format.h>

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
};

void add_text(std::string& out, string_view key, string_view text, std::size_t bytes_max) {
  if (text.empty()) return;
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"(,"{}":)"), key);
  append_json_string(out, text, bytes_max);
}

// Pairs of texts: [["MEM-01","spec.domain"],...].
template <class Pair>
void add_pairs(std::string& out, string_view key, const std::vector<Pair>& pairs, std::string Pair::* first,
               std::string Pair::* second, std::size_t max) {
  if (pairs.empty()) return;
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"(,"{}":[)"), key);
  for (std::size_t i = 0; i < std::min(pairs.size(), max); ++i) {
    out += i ? ",[" : "[";
    append_json_string(out, pairs[i].*first, limits::journal_text_bytes_max);
    out += ',';
    append_json_string(out, pairs[i].*second, limits::journal_text_bytes_max);
    out += ']';
  }
  out += ']';
}

template <class Pair>
void read_pairs(const json::Value& line, string_view key, std::vector<Pair>& pairs, std::size_t max) {
  const json::Array* found = json::get_array(line, key);
  if (!found) return;
  for (const json::Value& one : *found) {
    const json::Array* pair = one.if_array();
    if (!pair || pair->size() != 2 || pairs.size() == max) continue;
    pairs.push_back({std::string(json::as_string(&(*pair)[0]).value_or("")),
                     std::string(json::as_string(&(*pair)[1]).value_or(""))});
  }
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
  if (entry.dry_run) out += R"(,"d":true)";
  if (!entry.allowed) out += R"(,"f":true)";
  add_pairs(out, "ca", entry.causes, &Cause::rule, &Cause::field, limits::journal_causes_max);
  add_pairs(out, "o", entry.touched, &Touched::what, &Touched::object, limits::journal_touched_max);
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
  entry.dry_run = json::get_bool_or(line, "d", false);
  entry.allowed = !json::get_bool_or(line, "f", false);
  read_pairs(line, "ca", entry.causes, limits::journal_causes_max);
  read_pairs(line, "o", entry.touched, limits::journal_touched_max);
  if (entry.id.empty()) return std::nullopt;
  return entry;
}

std::uint32_t object_hash(string_view resource, string_view ns, string_view name) {
  return add_to_hash(add_to_hash(add_to_hash(hash_begin, resource), ns), name);
}

std::uint32_t id_hash(string_view id) { return add_to_hash(hash_begin, id); }

}  // namespace vg::journal
