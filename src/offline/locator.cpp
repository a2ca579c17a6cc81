#include "offline/locator.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/offline_limits.h"

namespace vg::offline {
namespace {

constexpr std::string_view comment_mark = "virtgate: skip";

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

bool is_comment(std::string_view line) { return trimmed(line).starts_with('#'); }

// Whether the comment at the end of a line names the id.
bool names(std::string_view line, std::string_view id) {
  const auto hash = line.rfind('#');
  if (hash == line.npos) return false;
  std::string_view comment = trimmed(line.substr(hash + 1));
  if (!comment.starts_with(comment_mark)) return false;
  comment.remove_prefix(comment_mark.size());
  while (!comment.empty()) {
    const auto begin = std::min(comment.find_first_not_of(" \t,"), comment.size());
    const auto end = std::min(comment.find_first_of(" \t,", begin), comment.size());
    if (begin < end && comment.substr(begin, end - begin) == id) return true;
    comment.remove_prefix(end);
  }
  return false;
}

std::size_t character_bytes(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  while (at < text.size() && characters > 0) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    --characters;
  }
  return at;
}

}  // namespace

const json::Places& Locator::places() {
  if (!places_) {
    auto found = json::places_of_yaml(piece_.text, options_);
    places_ = found ? std::move(*found) : json::Places();
  }
  return *places_;
}

const json::TextLines& Locator::lines() {
  if (!lines_) lines_.emplace(piece_.text);
  return *lines_;
}

void Locator::place_at(Finding& finding, std::size_t line, std::size_t column) {
  // What is found missing at the end is missing behind the last line that says something.
  while (line > 1 && trimmed(lines().text(line)).empty()) {
    --line;
    column = count_characters(lines().text(line)) + 1;
  }
  finding.line = piece_.line + line - 1;
  finding.column = column + (line == 1 ? piece_.column - 1 : 0);
  const std::string_view text = lines().text(line);
  // Of a long line, what stands around the place.
  const std::size_t skipped = column > limits::source_columns_max / 2 ? column - limits::source_columns_max / 2 : 0;
  const std::size_t from = skipped > 0 ? character_bytes(text, skipped) : 0;
  const std::string_view rest = text.substr(std::min(from, text.size()));
  finding.source = rest.substr(0, character_bytes(rest, limits::source_columns_max));
  finding.caret = column - skipped;
}

void Locator::place_at_character(Finding& finding, std::size_t at) {
  const auto position = lines().position(at);
  place_at(finding, position.line, position.column);
}

void Locator::place(Finding& finding, std::string_view field, std::optional<std::size_t> item) {
  if (places().root() == json::Places::none) return place_at(finding, 1, 1);
  if (item && piece_.item > 0)  // a list of one
    return place_at_character(finding, places().find(fmt::format("[0]{}{}", field.empty() ? "" : ".", field)).at);
  json::Places::Id root = places().root();
  if (item) {
    if (!items_) items_ = places().items("items");
    if (*item < items_->size()) root = (*items_)[*item];
  }
  place_at_character(finding, places().find(root, field).at);
}

bool Locator::is_silenced(const Finding& finding) {
  if (finding.line < piece_.line) return false;
  const std::size_t line = finding.line - piece_.line + 1;
  if (names(lines().text(line), finding.id)) return true;
  for (std::size_t above = line - 1; above >= 1 && is_comment(lines().text(above)); --above)
    if (names(lines().text(above), finding.id)) return true;
  const json::TextLines first_lines(piece_.comments ? std::string_view(*piece_.comments) : std::string_view());
  const json::TextLines& whole = piece_.comments ? first_lines : lines();
  for (std::size_t first = 1; first <= whole.count(); ++first) {
    const std::string_view text = trimmed(whole.text(first));
    if (!text.empty() && !text.starts_with('#') && !text.starts_with("---")) return false;
    if (names(text, finding.id)) return true;
  }
  return false;
}

}  // namespace vg::offline
