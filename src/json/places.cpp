#include "json/places.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "json/arena.h"
#include "json/parse.h"

namespace vg::json {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::optional<std::size_t> read_index(std::string_view text) {
  std::size_t index = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return index;
}

// Goes over a text that is known to be JSON, which makes it short: nothing has to be checked again.
class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : rest_(text) {}

  Places walk() {
    places_.set_root(value());
    return std::move(places_);
  }

 private:
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  void take(std::size_t bytes) {
    at_ += count_characters(rest_.substr(0, bytes));
    rest_.remove_prefix(std::min(bytes, rest_.size()));
  }
  void skip_space() { take(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  // The text of a string with its quotes.
  std::string_view string() {
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    const std::string_view text = rest_.substr(0, end + 1);
    take(text.size());
    return text;
  }

  static std::string unquoted(std::string_view text) {
    // Escapes, and bytes that are no Unicode, become what the reader makes of them.
    const bool plain = std::ranges::all_of(text, [](char c) { return c != '\\' && static_cast<signed char>(c) >= 0; });
    if (plain) return std::string(text.substr(1, text.size() < 2 ? 0 : text.size() - 2));
    Arena arena;
    const auto value = parse(text, arena.storage());
    return value && value->is_string() ? std::string(value->get_string()) : std::string(text);
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
  Places::Id value() {
    skip_space();
    const Places::Id node = places_.add_node(at_);
    const char first = peek();
    if (first == '"') {
      string();
    } else if (first == '{' || first == '[') {
      take(1);
      members(node, first == '{');
    } else {
      take(std::min(rest_.find_first_of(",]} \t\r\n"), rest_.size()));
    }
    return node;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void members(Places::Id node, bool object) {
    while (true) {
      skip_space();
      if (rest_.empty()) return;
      if (peek() == '}' || peek() == ']') return take(1);
      if (peek() == ',') {
        take(1);
        continue;
      }
      if (!object) {
        places_.add_item(node, value());
        continue;
      }
      const std::size_t key_at = at_;
      if (peek() != '"') return;
      const std::string key = unquoted(string());
      skip_space();
      take(1);  // the colon
      places_.add_member(node, key, key_at, value());
    }
  }

  std::string_view rest_;
  std::size_t at_ = 0;
  Places places_;
};

}  // namespace

Places::Id Places::add_node(std::size_t at) {
  nodes_.push_back({.at = static_cast<std::uint32_t>(at)});
  return static_cast<Id>(nodes_.size() - 1);
}

void Places::attach(Id parent, Link link) {
  const auto id = static_cast<Id>(links_.size());
  if (!link.item) members_.emplace(std::pair(parent, link.key), id);
  links_.push_back(std::move(link));
  Node& node = nodes_[parent];
  (node.first == none ? node.first : links_[node.last].next) = id;
  node.last = id;
}

Places::Id Places::find_link(Id object, std::string_view key) const {
  const auto found = members_.find(std::pair(object, std::string(key)));
  return found == members_.end() ? none : found->second;
}

void Places::add_item(Id list, Id item) {
  attach(list, {.key = {}, .at = nodes_[item].at, .node = item, .item = true});
}

void Places::add_member(Id object, std::string_view key, std::size_t key_at, Id value) {
  if (const Id before = find_link(object, key); before != none) {
    links_[before].node = value;
    links_[before].at = static_cast<std::uint32_t>(key_at);
    repeated_.push_back({.key = std::string(key), .at = key_at});
    return;
  }
  attach(object, {.key = std::string(key), .at = static_cast<std::uint32_t>(key_at), .node = value});
}

// NOLINTNEXTLINE(misc-no-recursion): a list of sources holds no lists
void Places::merge(Id object, Id other) {
  for (Id link = nodes_[other].first; link != none; link = links_[link].next) {
    if (links_[link].item) {
      merge(object, links_[link].node);
    } else if (find_link(object, links_[link].key) == none) {
      Link copy = links_[link];
      copy.next = none;
      attach(object, std::move(copy));
    }
  }
}

std::vector<Places::Id> Places::items(std::string_view member) const {
  std::vector<Id> found;
  const Id list = root_ == none ? none : find_link(root_, member);
  if (list == none) return found;
  for (Id link = nodes_[links_[list].node].first; link != none; link = links_[link].next)
    if (links_[link].item) found.push_back(links_[link].node);
  return found;
}

// A path is read with the document at hand, because names may hold dots and brackets themselves.
struct Places::Search {
  const Places& places;
  std::int64_t steps_left = 20'000;  // names that can be read in many ways must not take for ever
  std::size_t best_rest = SIZE_MAX, best_at = 0;
  std::vector<Id> above = {};  // nodes on the way to the best place, the deepest last
  std::vector<Id> way = {};

  void offer(std::size_t at, std::string_view rest) {
    if (rest.size() >= best_rest) return;
    best_rest = rest.size();
    best_at = at;
    above = way;
  }

  // What is left of `rest` behind this member; nothing when it is another one.
  static std::optional<std::string_view> behind(const Link& link, std::size_t index, std::string_view rest) {
    const std::size_t close = rest.starts_with('[') ? rest.find(']') : rest.npos;
    if (link.item) {
      if (close == rest.npos || read_index(rest.substr(1, close - 1)) != index) return std::nullopt;
      return rest.substr(close + 1);
    }
    if (close != rest.npos) {
      if (!rest.substr(1).starts_with(link.key) || !rest.substr(1 + link.key.size()).starts_with(']'))
        return std::nullopt;
      return rest.substr(link.key.size() + 2);
    }
    if (!rest.starts_with(link.key)) return std::nullopt;
    const std::string_view left = rest.substr(link.key.size());
    if (!left.empty() && left.front() != '.' && left.front() != '[') return std::nullopt;
    return left;
  }

  // The usual reading: a name ends with the next dot or bracket. Found at once, however many members there are.
  // NOLINTNEXTLINE(misc-no-recursion)
  void follow_name(Id node, std::string_view rest) {
    const std::string_view name = rest.substr(0, rest.find_first_of(".["));
    const Id link = name.empty() ? none : places.find_link(node, name);
    if (link != none) go(places.links_[link].node, places.links_[link].at, rest.substr(name.size()));
  }

  // NOLINTNEXTLINE(misc-no-recursion): every step takes something off the path
  void go(Id node, std::size_t at, std::string_view rest) {
    way.push_back(node);
    offer(at, rest);
    if (rest.starts_with('.')) rest.remove_prefix(1);
    follow_name(node, rest);
    std::size_t index = 0;
    for (Id id = places.nodes_[node].first; id != none && best_rest > 0; id = places.links_[id].next, ++index) {
      const Link& link = places.links_[id];
      if (!link.item && --steps_left < 0) break;
      const auto left = behind(link, index, rest);
      if (left && left->size() < rest.size()) go(link.node, link.at, *left);
    }
    way.pop_back();
  }
};

Places::Found Places::find(Id from, std::string_view path) const {
  if (from == none) return {};
  Search search{.places = *this};
  search.go(from, nodes_[from].at, path);
  if (search.best_rest == 0) return {.at = search.best_at, .exact = true};
  // Some rules name an item as if it stood one level deeper (`spec.domain.volumes[2]`). It is meant all the same.
  const std::string_view rest = path.substr(path.size() - search.best_rest);
  if (rest.contains('['))
    for (auto node = search.above.rbegin(); node != search.above.rend(); ++node) {
      Search higher{.places = *this};
      higher.go(*node, nodes_[*node].at, rest);
      if (higher.best_rest == 0) return {.at = higher.best_at, .exact = true};
    }
  return {.at = search.best_at, .exact = false};
}

Places places_of_json(std::string_view text) { return JsonWalk(text).walk(); }

TextLines::TextLines(std::string_view text) : text_(text) {
  std::size_t byte = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  std::size_t at = 0;
  while (true) {
    const std::size_t end = std::min(text.find_first_of("\r\n", byte), text.size());
    lines_.push_back({.at = at, .begin = byte, .end = end});
    if (end == text.size()) return;
    const std::size_t next = end + (text.substr(end).starts_with("\r\n") ? 2 : 1);
    at += count_characters(text.substr(byte, next - byte));
    byte = next;
  }
}

TextLines::Position TextLines::position(std::size_t at) const {
  const auto after = std::ranges::upper_bound(lines_, at, {}, &Line::at);
  const auto line = after == lines_.begin() ? after : std::prev(after);
  return {.line = static_cast<std::size_t>(line - lines_.begin()) + 1, .column = at - line->at + 1};
}

std::string_view TextLines::text(std::size_t line) const {
  if (line == 0 || line > lines_.size()) return {};
  return text_.substr(lines_[line - 1].begin, lines_[line - 1].end - lines_[line - 1].begin);
}

}  // namespace vg::json
