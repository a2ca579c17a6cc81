#include "cel/format_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace vg::cel {
namespace {

using std::string_view;
using TypeOf = std::function<const Type*(const Node&)>;

// Which types a verb takes; `s` is apart, it takes whatever can be printed.
struct Verb {
  char letter;
  std::initializer_list<Kind> kinds;
};
const Verb verbs[] = {
    {'b', {Kind::boolean, Kind::integer, Kind::unsigned_integer}},
    {'d', {Kind::integer, Kind::unsigned_integer, Kind::real}},
    {'e', {Kind::integer, Kind::unsigned_integer, Kind::real}},
    {'f', {Kind::integer, Kind::unsigned_integer, Kind::real}},
    {'o', {Kind::integer, Kind::unsigned_integer}},
    {'x', {Kind::integer, Kind::unsigned_integer, Kind::string, Kind::bytes}},
    {'X', {Kind::integer, Kind::unsigned_integer, Kind::string, Kind::bytes}},
};

// Objects cannot be printed, nor can lists and maps that are written out with one inside.
bool prints(const Node& node, const TypeOf& type_of) {
  if (type_of(node)->kind == Kind::object) return false;
  if (node.kind != NodeKind::list && node.kind != NodeKind::map) return true;
  return std::ranges::all_of(node.parts, [&](const Node* part) { return prints(*part, type_of); });
}

bool takes(char letter, const Node& node, const TypeOf& type_of) {
  const Kind kind = type_of(node)->kind;
  if (kind == Kind::dynamic) return true;
  if (letter == 's') return prints(node, type_of);
  const auto verb = std::ranges::find(verbs, letter, &Verb::letter);
  return verb != std::end(verbs) && std::ranges::find(verb->kinds, kind) != verb->kinds.end();
}

bool is_verb(char letter) {
  return letter == 's' || std::ranges::find(verbs, letter, &Verb::letter) != std::end(verbs);
}

// The letters of the verbs in their order; none where the text is not a format.
std::optional<std::vector<char>> read_verbs(string_view text) {
  std::vector<char> letters;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    if (++i < text.size() && text[i] == '%') continue;
    if (i < text.size() && text[i] == '.') {
      const auto end = std::min(text.find_first_not_of("0123456789", i + 1), text.size());
      if (end == i + 1 || end - i > 9) return std::nullopt;
      i = end;
    }
    if (i >= text.size() || !is_verb(text[i])) return std::nullopt;
    letters.push_back(text[i]);
  }
  return letters;
}

}  // namespace

bool is_literal_format(const Node& call) {
  return call.kind == NodeKind::call && call.text == "format" && call.target && call.target->kind == NodeKind::string &&
         call.parts.size() == 1 && call.parts[0]->kind == NodeKind::list;
}

std::optional<Problem> check_format(const Node& call, const TypeOf& type_of) {
  const auto letters = read_verbs(call.target->text);
  if (!letters) return Problem{call.at, "the text has a % without a verb; write %% for %"};
  const auto& values = call.parts[0]->parts;
  if (letters->size() != values.size())
    return Problem{call.at,
                   fmt::format("the text requires {} values, the list has {}", letters->size(), values.size())};
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!takes((*letters)[i], *values[i], type_of))
      return Problem{values[i]->at,
                     fmt::format("%{} cannot print a value of type {}", (*letters)[i], print(type_of(*values[i])))};
  return std::nullopt;
}

}  // namespace vg::cel
