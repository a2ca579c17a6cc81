#include "controllers/clone/key_filter.h"

#include <optional>
#include <string>
#include <vector>

#include "json/access.h"

namespace vg::controllers::clone {
namespace {

struct Item {
  std::string set = {};  // of characters; empty: any
  bool negated = false;
  bool repeats = false, optional = false;

  bool takes(char c) const { return set.empty() || (set.find(c) != std::string::npos) != negated; }
};

struct Expression {
  std::vector<Item> items = {};
  bool from_start = false, to_end = false;
};

// "[a-z]", with `rest` behind the bracket. False when it does not end.
bool read_set(std::string_view& rest, Item& item) {
  if (rest.starts_with('^')) {
    item.negated = true;
    rest.remove_prefix(1);
  }
  while (!rest.empty() && (rest.front() != ']' || item.set.empty())) {
    const char from = rest.front();
    const bool is_range = rest.size() > 2 && rest[1] == '-' && rest[2] != ']';
    const char to = is_range ? rest[2] : from;
    for (int c = static_cast<unsigned char>(from); c <= static_cast<unsigned char>(to); ++c)
      item.set += static_cast<char>(c);
    rest.remove_prefix(is_range ? 3 : 1);
  }
  if (rest.empty() || item.set.empty()) return false;
  rest.remove_prefix(1);
  return true;
}

void read_repetition(std::string_view& rest, Item& item) {
  if (rest.empty()) return;
  const char c = rest.front();
  if (c != '*' && c != '+' && c != '?') return;
  item.repeats = c != '?';
  item.optional = c != '+';
  rest.remove_prefix(1);
}

std::optional<Expression> read(std::string_view rest) {
  Expression made;
  made.from_start = rest.starts_with('^');
  if (made.from_start) rest.remove_prefix(1);
  made.to_end = rest.ends_with('$');
  if (made.to_end) rest.remove_suffix(1);
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    Item item;
    if (std::string_view("(){}|*+?^$").find(c) != std::string_view::npos) return std::nullopt;
    if (c == '[') {
      if (!read_set(rest, item)) return std::nullopt;
    } else if (c == '\\') {
      if (rest.empty()) return std::nullopt;
      item.set = rest.front();
      rest.remove_prefix(1);
    } else if (c != '.') {
      item.set = c;
    }
    read_repetition(rest, item);
    made.items.push_back(std::move(item));
  }
  return made;
}

using Places = std::vector<bool>;  // before which item it may stand

// What may be left out is.
void skip_optional(const Expression& expression, Places& places) {
  for (std::size_t i = 0; i < expression.items.size(); ++i)
    if (places[i] && expression.items[i].optional) places[i + 1] = true;
}

Places step(const Expression& expression, const Places& places, char c) {
  Places next(places.size(), false);
  for (std::size_t i = 0; i < expression.items.size(); ++i) {
    if (!places[i] || !expression.items[i].takes(c)) continue;
    next[i + 1] = true;
    if (expression.items[i].repeats) next[i] = true;
  }
  return next;
}

}  // namespace

bool filter_matches(std::string_view text, std::string_view key) {
  const auto expression = read(text);
  if (!expression) return false;
  Places places(expression->items.size() + 1, false);
  places[0] = true;
  skip_optional(*expression, places);
  for (const char c : key) {
    if (places.back() && !expression->to_end) return true;
    places = step(*expression, places, c);
    if (!expression->from_start) places[0] = true;
    skip_optional(*expression, places);
  }
  return places.back();
}

bool is_included(const json::Array& filters, std::string_view key) {
  bool included = false;
  for (const json::Value& filter : filters) {
    const std::string_view text = json::as_string(&filter).value_or("");
    if (text.starts_with('!')) {
      if (filter_matches(text.substr(1), key)) return false;
    } else if (text == "*" || filter_matches(text, key)) {
      included = true;
    }
  }
  return included;
}

}  // namespace vg::controllers::clone
