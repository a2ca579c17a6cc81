#include "offline/field_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/suggest.h"

namespace vg::offline {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool alike(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

// Below lists and maps stands the type of what they hold.
const api::Type* structure_of(const api::Node& node) {
  const api::Node* at = &node;
  while (at->element) at = at->element;
  return at->type;
}

struct Split {
  std::string_view parent, name;
};
Split split(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == path.npos ? Split{{}, path} : Split{path.substr(0, dot), path.substr(dot + 1)};
}

// The type that a path leads to. Keys of maps can have any letters, so a path through one is not followed.
const api::Type* type_at(const api::Type& root, std::string_view path) {
  const api::Type* type = &root;
  while (type && !path.empty()) {
    const std::string_view name = path.substr(0, path.find_first_of(".["));
    path.remove_prefix(name.size());
    const api::Field* field = type->find(name);
    if (!field) return nullptr;
    while (path.starts_with('[') && path.contains(']')) path.remove_prefix(path.find(']') + 1);
    if (path.starts_with('.')) path.remove_prefix(1);
    type = structure_of(*field);
  }
  return type;
}

std::size_t shared_length(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// The nearest place at which there is a field of this name: each type is looked at once, from the root on.
std::optional<std::string> find_home(const api::Type& root, std::string_view name, std::string_view near) {
  std::deque<std::pair<const api::Type*, std::string>> waiting{{&root, ""}};
  std::set<const api::Type*> seen{&root};
  std::optional<std::string> best;
  while (!waiting.empty()) {
    auto [type, path] = std::move(waiting.front());
    waiting.pop_front();
    for (const api::Field& field : type->fields) {
      if (path.empty() && field.name == "status") continue;  // nobody writes it
      std::string place = path.empty() ? std::string(field.name) : fmt::format("{}.{}", path, field.name);
      if (field.name == name && (!best || shared_length(place, near) > shared_length(*best, near))) best = place;
      const api::Type* inner = structure_of(field);
      if (field.element && inner) place += "[]";
      if (inner && seen.insert(inner).second) waiting.emplace_back(inner, std::move(place));
    }
  }
  return best;
}

}  // namespace

std::string advise_field(const api::Type& type, std::string_view path) {
  const auto [parent, name] = split(path);
  const api::Type* around = type_at(type, parent);
  std::vector<std::string_view> siblings;
  if (around)
    for (const api::Field& field : around->fields) {
      if (alike(field.name, name)) return fmt::format("did you mean \"{}\"? Letter case counts.", field.name);
      siblings.push_back(field.name);
    }
  if (const auto near = nearest(name, siblings); !near.empty()) return fmt::format("did you mean \"{}\"?", near);
  if (const auto home = find_home(type, name, path))
    return fmt::format(
        "\"{}\" belongs to {}.", name,
        split(*home).parent.empty() ? std::string("the object itself") : std::string(split(*home).parent));
  return {};
}

}  // namespace vg::offline
