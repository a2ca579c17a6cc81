#include "offline/list_items.h"

#include <algorithm>
#include <utility>

#include "json/access.h"
#include "json/document.h"
#include "json/yaml.h"
#include "offline/identity.h"

namespace vg::offline {
namespace {

constexpr std::string_view blanks = " \t\r\n";

// --- JSON ---------------------------------------------------------------------------------------------------------

// Goes through a text that should be JSON. Every function leaves it behind what it read, and says whether it could.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(blanks, at_), text_.size()); }
  bool take(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  // What stands between the quotes.
  std::optional<std::string_view> take_string() {
    if (!take('"')) return std::nullopt;
    const std::size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      at_ = std::min(text_.find_first_of("\"\\", at_), text_.size());
      if (at_ >= text_.size()) return std::nullopt;
      if (text_[at_] == '"') return text_.substr(begin, at_++ - begin);
      ++at_;
    }
    return std::nullopt;
  }
  // An object, a list, or anything up to the next comma or bracket.
  bool skip_value() {
    std::size_t depth = 0;
    skip_blanks();
    while ((at_ = text_.find_first_of("\"{}[],", at_)) < text_.size()) {
      const char c = text_[at_];
      const bool closes = c == '}' || c == ']';
      if (depth == 0 && (closes || c == ',')) return true;
      if (c == '"') {
        if (!take_string()) return false;
      } else {
        ++at_;
      }
      if (c == '{' || c == '[') ++depth;
      if (closes && --depth == 0) return true;
    }
    at_ = text_.size();
    return false;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// --- YAML ---------------------------------------------------------------------------------------------------------

struct Line {
  std::size_t begin, end;  // end: behind the line break
  std::size_t indent;
  std::string_view text;  // without indentation, and blanks at its end
  bool idle() const { return text.empty() || text.front() == '#'; }
  bool comment() const { return !text.empty() && text.front() == '#'; }
  bool begins_item() const { return text == "-" || text.starts_with("- "); }
};

Line line_at(std::string_view text, std::size_t begin) {
  const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
  std::string_view line = text.substr(begin, end - begin);
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(indent);
  return {.begin = begin, .end = end, .indent = indent, .text = line.substr(0, line.find_last_not_of(blanks) + 1)};
}

// The line behind which the items of a YAML list begin. Nothing when there is none.
std::optional<Line> items_line(std::string_view text) {
  static constexpr std::string_view key = "items:";
  const std::size_t at = text.starts_with(key) ? 0 : text.find("\nitems:") + 1;  // npos + 1 is 0
  const Line line = line_at(text, at);
  if (!line.text.starts_with(key)) return std::nullopt;
  const std::string_view behind = line.text.substr(key.size());
  const std::size_t comment = behind.find_first_not_of(' ');
  const bool nothing = behind.empty() || (comment != behind.npos && comment > 0 && behind[comment] == '#');
  return nothing ? std::optional(line) : std::nullopt;
}

bool is_list_text(const std::string& rest, bool as_json) {
  if (as_json && !json::Document::parse(rest)) return false;  // YAML in braces: quotes and comments are others
  json::Document document;
  std::vector<std::string> repeated;
  json::YamlOptions options;
  options.duplicate_fields = &repeated;
  const auto value = json::parse_yaml(rest, document.storage(), options);
  const json::Object* object = value ? value->if_object() : nullptr;
  return object && repeated.empty() && is_list(*object);
}

// Comments before the first field hold for the whole document.
std::string leading_comments(std::string_view text) {
  std::string comments;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (std::size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at);
    if (!line.idle() && !line.text.starts_with("---")) break;
    comments.append(line.text).push_back('\n');
    at = line.end;
  }
  return comments;
}

}  // namespace

ListItems::ListItems(const Piece& list, std::vector<Range> items)
    : list_(list),
      items_(std::move(items)),
      comments_(std::make_shared<const std::string>(leading_comments(list.text))),
      line_(list.line),
      column_(list.column) {}

std::optional<ListItems::Layout> ListItems::divide_json(std::string_view text) {
  Scanner scanner(text);
  if (!scanner.take('{')) return std::nullopt;
  while (true) {
    const auto key = scanner.take_string();
    if (!key || !scanner.take(':')) return std::nullopt;
    if (key == "items") break;
    if (!scanner.skip_value() || !scanner.take(',')) return std::nullopt;
  }
  if (!scanner.take('[')) return std::nullopt;
  Layout layout{.items = {}, .rest = std::string(text.substr(0, scanner.at()))};
  do {
    scanner.skip_blanks();
    const std::size_t begin = scanner.at();
    if (begin >= text.size() || text[begin] != '{' || !scanner.skip_value()) return std::nullopt;
    layout.items.push_back({.begin = begin, .end = scanner.at()});
  } while (scanner.take(','));
  if (!scanner.take(']')) return std::nullopt;
  layout.rest.append(text.substr(scanner.at() - 1));
  return layout;
}

std::optional<ListItems::Layout> ListItems::divide_yaml(std::string_view text) {
  const auto head = items_line(text);
  if (!head) return std::nullopt;
  Layout layout{.items = {}, .rest = std::string(text.substr(0, head->begin)) + "items: []\n"};
  std::optional<std::size_t> indent;
  std::optional<std::size_t> comments;  // where those begin that stand right above what comes
  std::size_t at = head->end;
  for (; at < text.size();) {
    const Line line = line_at(text, at);
    at = line.end;
    // A line that is indented further belongs to the item, whatever it looks like.
    if (line.idle() && (line.text.empty() || line.indent <= indent.value_or(SIZE_MAX))) {
      if (!line.comment())
        comments.reset();
      else if (!comments)
        comments = line.begin;
      continue;
    }
    const std::size_t begin = std::exchange(comments, std::nullopt).value_or(line.begin);
    if (indent && line.indent > *indent) continue;
    if (line.begins_item() && line.indent == indent.value_or(line.indent)) {
      indent = line.indent;
      if (!layout.items.empty()) layout.items.back().end = begin;
      layout.items.push_back({.begin = begin, .end = text.size()});
      continue;
    }
    if (!indent || line.indent != 0) return std::nullopt;
    layout.items.back().end = line.begin;
    layout.rest.append(text.substr(line.begin));
    break;
  }
  return layout;
}

std::optional<ListItems> ListItems::of(const Piece& list) {
  const std::string_view text = list.text;
  const std::size_t first = text.find_first_not_of(blanks);
  if (list.too_long || first == text.npos || !text.contains("items")) return std::nullopt;
  const bool as_json = text[first] == '{';
  auto layout = as_json ? divide_json(text) : divide_yaml(text);
  if (!layout || layout->items.empty() || !is_list_text(layout->rest, as_json)) return std::nullopt;
  return ListItems(list, std::move(layout->items));
}

// Counts lines and columns, as json::TextLines does: a line ends with "\n", "\r\n" or "\r".
void ListItems::pass(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n' || (c == '\r' && !text.substr(at + 1).starts_with('\n'))) {
      ++line_;
      column_ = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++column_;
    }
  }
}

std::optional<Piece> ListItems::next() {
  if (next_ >= items_.size()) return std::nullopt;
  const std::string_view text = list_.text;
  const Range range = items_[next_++];
  pass(text.substr(at_, range.begin - at_));
  Piece item{.offset = list_.offset + range.begin, .line = line_, .column = column_};
  item.text = text.substr(range.begin, range.end - range.begin);
  item.item = next_;
  item.comments = comments_;
  pass(item.text);
  at_ = range.end;
  return item;
}

}  // namespace vg::offline
