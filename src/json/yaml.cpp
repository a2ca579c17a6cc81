#include "json/yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/budgets.h"
#include "base/limits.h"
#include "base/one_of.h"
#include "json/access.h"
#include "json/arena.h"
#include "json/parse.h"

namespace vg::json {
namespace {

// libyaml looks at every open bracket for each token, so values below many of them count for more than one.
constexpr std::size_t levels_of_one_value = 32;

std::optional<json::Value> read_integer(std::string_view text, const json::StoragePtr& storage) {
  std::string digits;
  digits.reserve(text.size());
  for (const char c : text)
    if (c != '_') digits.push_back(c);
  std::string_view rest = digits;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  int base = 10;
  if (rest.starts_with("0x") || rest.starts_with("0b") || rest.starts_with("0o")) {
    base = rest[1] == 'x' ? 16 : rest[1] == 'b' ? 2 : 8;
    rest.remove_prefix(2);
  } else if (rest.size() > 1 && rest.front() == '0') {
    base = 8;
    rest.remove_prefix(1);
  }
  std::uint64_t value = 0;
  const char* end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(rest.data(), end, value, base);
  if (rest.empty() || error != std::errc() || stop != end) return std::nullopt;
  if (negative) {
    if (value > std::uint64_t{INT64_MAX} + 1) return std::nullopt;
    return json::Value(static_cast<std::int64_t>(~value + 1), storage);
  }
  if (value <= INT64_MAX) return json::Value(static_cast<std::int64_t>(value), storage);
  return json::Value(value, storage);
}

std::optional<double> read_float(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(
                          text, [](char c) { return (c >= '0' && c <= '9') || std::string_view("+-.eE").contains(c); }))
    return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

json::Value resolve_plain(std::string_view text, const json::StoragePtr& storage) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return json::Value(nullptr, storage);
  if (is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "y", "Y", "on", "On", "ON"}))
    return json::Value(true, storage);
  if (is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "n", "N", "off", "Off", "OFF"}))
    return json::Value(false, storage);
  const char first = text.front();
  if ((first >= '0' && first <= '9') || first == '-' || first == '+' || first == '.') {
    if (auto number = read_integer(text, storage)) return std::move(*number);
    if (const auto number = read_float(text)) return json::Value(*number, storage);
  }
  return json::Value(text, storage);
}

// What a reader notes beside the values: nothing, or where they stand. Each call is about the value that was read last;
// an Id stands for one that was read before.
struct NoNotes {
  struct Id {};
  static Id begin(const yaml_mark_t&) { return {}; }
  static void end(Id) {}
  static void item(Id) {}
  static void member(Id, std::string_view, const yaml_mark_t&) {}
  static void merge(Id, Id) {}
  static void use(Id) {}
  static Id last() { return {}; }
};

class PlaceNotes {
 public:
  using Id = Places::Id;
  Id begin(const yaml_mark_t& mark) { return last_ = places_.add_node(mark.index); }
  void end(Id node) { last_ = node; }
  void item(Id list) { places_.add_item(list, last_); }
  void member(Id object, std::string_view key, const yaml_mark_t& mark) {
    places_.add_member(object, key, mark.index, last_);
  }
  void merge(Id object, Id other) { places_.merge(object, other); }
  void use(Id anchored) { last_ = anchored; }
  Id last() const { return last_; }

  Places take() {
    places_.set_root(last_);
    return std::move(places_);
  }

 private:
  Places places_;
  Id last_ = Places::none;
};

template <class Notes>
class Reader {
 public:
  Reader(std::string_view text, json::StoragePtr storage, const YamlOptions& options)
      : text_(text), storage_(std::move(storage)), options_(options) {
    good_ = yaml_parser_initialize(&parser_) != 0;
    if (good_) yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Reader() {
    if (good_) yaml_parser_delete(&parser_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Result<json::Value> document() {
    if (!good_) return fail(Status::internal_error("out of memory while reading YAML"));
    if (auto begun = expect(YAML_STREAM_START_EVENT); !begun) return fail(std::move(begun.error()));
    auto event = next();
    if (!event) return fail(std::move(event.error()));
    if ((*event)->type == YAML_STREAM_END_EVENT) return fail(Status::bad_request("the body is empty; send the object"));
    event = next();
    if (!event) return fail(std::move(event.error()));
    auto value = read(**event, 0);
    if (!value) return value;
    if (auto ended = expect(YAML_DOCUMENT_END_EVENT); !ended) return fail(std::move(ended.error()));
    auto last = next();
    if (!last) return fail(std::move(last.error()));
    if ((*last)->type != YAML_STREAM_END_EVENT)
      return fail(Status::bad_request("the body has several YAML documents; send one object at a time"));
    return value;
  }

  Notes& notes() { return notes_; }

 private:
  // What libyaml found, with its texts. Lives on the stack: there is one for each value and more.
  class Event {
   public:
    Event() = default;
    Event(Event&& other) noexcept : event_(std::exchange(other.event_, {})) {}
    Event& operator=(Event&& other) noexcept {
      std::swap(event_, other.event_);
      return *this;
    }
    ~Event() { yaml_event_delete(&event_); }

    yaml_event_t* get() { return &event_; }
    const yaml_event_t* operator->() const { return &event_; }
    const yaml_event_t& operator*() const { return event_; }

   private:
    yaml_event_t event_{};
  };

  Status refuse(std::string_view what, std::size_t line, std::size_t column) const {
    if (options_.problem) *options_.problem = {.line = line, .column = column, .what = std::string(what)};
    return Status::bad_request(fmt::format("the body is not valid YAML: {} at line {} column {}", what, line, column));
  }
  Status refuse(std::string_view what, const yaml_mark_t& mark) const {
    return refuse(what, mark.line + 1, mark.column + 1);
  }

  // Bytes that are no characters have an offset in place of a mark.
  Status refuse_bytes() const {
    const auto before = text_.substr(0, parser_.problem_offset);
    const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
    return refuse(parser_.problem ? parser_.problem : "malformed text", line,
                  before.size() - (before.rfind('\n') + 1) + 1);
  }

  Status too_many_values(const yaml_mark_t& mark) const {
    return refuse(fmt::format("too many values (at most {}; JSON may have more)", options_.values_max), mark);
  }

  Result<Event> next() {
    Event event;
    if (yaml_parser_parse(&parser_, event.get()) == 0)
      return fail(parser_.error == YAML_READER_ERROR
                      ? refuse_bytes()
                      : refuse(parser_.problem ? parser_.problem : "malformed text", parser_.problem_mark));
    return event;
  }

  Result<void> expect(yaml_event_type_t type) {
    auto event = next();
    if (!event) return fail(std::move(event.error()));
    if ((*event)->type != type) return fail(refuse("unexpected token", (*event)->start_mark));
    return {};
  }

  static std::string_view view(const yaml_char_t* text) {
    return text ? std::string_view(reinterpret_cast<const char*>(text)) : std::string_view();
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as json_depth_max
  Result<json::Value> read(const yaml_event_t& event, std::size_t depth) {
    if (depth > limits::json_depth_max) return fail(refuse("too many levels", event.start_mark));
    values_ += 1 + depth / levels_of_one_value;
    if (values_ > options_.values_max) return fail(too_many_values(event.start_mark));
    switch (event.type) {
      case YAML_SCALAR_EVENT:
        notes_.begin(event.start_mark);
        return keep(view(event.data.scalar.anchor), scalar(event));
      case YAML_SEQUENCE_START_EVENT: {
        const std::string anchor(view(event.data.sequence_start.anchor));
        return keep(anchor, sequence(notes_.begin(event.start_mark), depth));
      }
      case YAML_MAPPING_START_EVENT: {
        const std::string anchor(view(event.data.mapping_start.anchor));
        return keep(anchor, mapping(notes_.begin(event.start_mark), depth));
      }
      case YAML_ALIAS_EVENT: {
        const auto found = anchors_.find(std::string(view(event.data.alias.anchor)));
        if (found == anchors_.end()) return fail(refuse("an alias without an anchor", event.start_mark));
        values_ += found->second.size;
        if (values_ > options_.values_max) return fail(too_many_values(event.start_mark));
        notes_.use(found->second.noted);
        return json::Value(found->second.value, storage_);
      }
      default:
        return fail(refuse("unexpected token", event.start_mark));
    }
  }

  json::Value scalar(const yaml_event_t& event) const {
    const std::string_view text(reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length);
    const std::string_view tag = view(event.data.scalar.tag);
    const bool plain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && tag.empty();
    return plain ? resolve_plain(text, storage_) : json::Value(text, storage_);
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Result<json::Value> sequence(typename Notes::Id noted, std::size_t depth) {
    json::Array items(storage_);
    while (true) {
      auto event = next();
      if (!event) return fail(std::move(event.error()));
      if ((*event)->type == YAML_SEQUENCE_END_EVENT) break;
      auto item = read(**event, depth + 1);
      if (!item) return item;
      notes_.item(noted);
      items.push_back(std::move(*item));
    }
    notes_.end(noted);
    return json::Value(std::move(items));
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Result<json::Value> mapping(typename Notes::Id noted, std::size_t depth) {
    json::Object members(storage_);
    std::vector<Merged> merged;
    while (true) {
      auto event = next();
      if (!event) return fail(std::move(event.error()));
      if ((*event)->type == YAML_MAPPING_END_EVENT) break;
      if ((*event)->type != YAML_SCALAR_EVENT) return fail(refuse("a key that is not a string", (*event)->start_mark));
      const auto& key_scalar = (*event)->data.scalar;
      const std::string_view key(reinterpret_cast<const char*>(key_scalar.value), key_scalar.length);
      const bool merges = key == "<<" && key_scalar.style == YAML_PLAIN_SCALAR_STYLE;
      auto value_event = next();
      if (!value_event) return fail(std::move(value_event.error()));
      auto value = read(**value_event, depth + 1);
      if (!value) return value;
      if (merges) {
        merged.push_back({std::move(*value), notes_.last()});
      } else {
        notes_.member(noted, key, (*event)->start_mark);
        const auto [member, fresh] = members.emplace(key, std::move(*value));
        if (fresh) continue;
        if (auto* names = options_.duplicate_fields; names && names->size() < limits::causes_max)
          names->emplace_back(key);
        member->value() = std::move(*value);
      }
    }
    for (const Merged& source : merged) {
      merge(members, source.value);
      notes_.merge(noted, source.noted);
    }
    notes_.end(noted);
    return json::Value(std::move(members));
  }

  // What stands in the mapping itself wins; of several sources the first.
  static void merge(json::Object& members, const json::Value& source) {
    if (const auto* object = source.if_object()) {
      for (const auto& member : *object)
        if (!members.contains(member.key())) members.emplace(member.key(), member.value());
    } else if (const auto* list = source.if_array()) {
      for (const auto& one : *list)
        if (one.is_object()) merge(members, one);
    }
  }

  Result<json::Value> keep(std::string_view anchor, Result<json::Value> value) {
    if (anchor.empty() || !value) return value;
    // What an anchor keeps is a copy, and anchors may stand inside one another.
    const std::size_t size = count(*value);
    values_ += size;
    if (values_ > options_.values_max)
      return fail(Status::bad_request("the body is not valid YAML: too many values below anchors; write them out"));
    anchors_.insert_or_assign(std::string(anchor), Anchor{json::Value(*value, storage_), size, notes_.last()});
    return value;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  static std::size_t count(const json::Value& value) {
    std::size_t total = 1;
    if (const auto* object = value.if_object())
      for (const auto& member : *object) total += count(member.value());
    if (const auto* array = value.if_array())
      for (const auto& item : *array) total += count(item);
    return total;
  }

  struct Merged {
    json::Value value;
    [[no_unique_address]] typename Notes::Id noted;
  };
  struct Anchor {
    json::Value value;
    std::size_t size;
    [[no_unique_address]] typename Notes::Id noted;
  };
  yaml_parser_t parser_{};
  bool good_ = false;
  std::string_view text_;
  json::StoragePtr storage_;
  const YamlOptions& options_;
  [[no_unique_address]] Notes notes_;
  std::map<std::string, Anchor> anchors_;
  std::size_t values_ = 0;
};

}  // namespace

Result<json::Value> parse_yaml(std::string_view text, const json::StoragePtr& storage,
                               std::vector<std::string>* duplicate_fields) {
  return parse_yaml(text, storage, YamlOptions{.duplicate_fields = duplicate_fields});
}

Result<json::Value> parse_yaml(std::string_view text, const json::StoragePtr& storage, const YamlOptions& options) {
  if (text.size() > options.bytes_max)
    return fail(Status::too_large(
        fmt::format("the body has {} bytes, at most {} are supported", text.size(), options.bytes_max)));
  // Most of what is sent as YAML is JSON, which is read ten times as fast. What differs between the two is left to
  // YAML: how duplicates are named, and everything that is no JSON.
  if (text.starts_with('{')) {
    std::vector<std::string> duplicates;
    auto value = json::parse(
        text, storage,
        {.bytes_max = options.bytes_max, .values_max = 2 * options.values_max, .duplicate_fields = &duplicates});
    if (value ? duplicates.empty() : value.error().code == 413) return value;
  }
  return Reader<NoNotes>(text, storage, options).document();
}

Result<Places> places_of_yaml(std::string_view text, const YamlOptions& options) {
  json::Arena arena;
  // As parse_yaml chooses: what is read as YAML there may be refused.
  std::vector<std::string> duplicates;
  if (text.starts_with('{') &&
      json::parse(text, arena.storage(), {.bytes_max = options.bytes_max, .duplicate_fields = &duplicates}) &&
      duplicates.empty())
    return places_of_json(text);
  Reader<PlaceNotes> reader(text, arena.storage(), options);
  if (auto read = reader.document(); !read) return fail(std::move(read.error()));
  return reader.notes().take();
}

}  // namespace vg::json
