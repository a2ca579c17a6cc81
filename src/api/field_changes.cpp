#include "api/field_changes.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "base/journal_limits.h"
#include "json/equal.h"

namespace vg::api {
namespace {

using json::Value;
using std::string_view;
using Member = json::Object::value_type;

// Kept by the server itself: that they change is nobody's doing.
constexpr std::array<string_view, 5> kept_fields = {"managedFields", "resourceVersion", "generation", "uid",
                                                    "creationTimestamp"};
// Words that rules have let through as one of a few, though the schema takes any text.
constexpr std::array<string_view, 2> told_words = {"runStrategy", "evictionStrategy"};

bool is_kept(const Type& type, string_view name) {
  return type.short_name() == "ObjectMeta" && std::ranges::find(kept_fields, name) != kept_fields.end();
}

bool has_enumeration(const Node& node) {
  return (node.crd && !node.crd->enumeration.empty()) || (node.openapi && !node.openapi->enumeration.empty());
}

// Whether the value of such a field says nothing that anybody would hide.
bool is_told(const Field* field, const Node& node) {
  switch (node.shape) {
    case Shape::boolean:
    case Shape::int_:
    case Shape::int32:
    case Shape::int64:
    case Shape::uint_:
    case Shape::uint8:
    case Shape::uint32:
    case Shape::uint64:
    case Shape::float32:
    case Shape::float64:
    case Shape::quantity:
    case Shape::duration:
      return true;
    case Shape::string:
      return has_enumeration(node) || (field && std::ranges::find(told_words, field->name) != told_words.end());
    default:
      return false;
  }
}

std::string value_text(const Value* value) {
  if (!value) return "removed";
  if (value->is_string())
    return std::string(string_view(value->get_string()).substr(0, limits::record_value_bytes_max));
  if (value->is_bool()) return value->get_bool() ? "true" : "false";
  if (value->is_int64()) return fmt::format("{}", value->get_int64());
  if (value->is_uint64()) return fmt::format("{}", value->get_uint64());
  if (value->is_double()) return fmt::format("{}", value->get_double());
  return {};
}

// Where a value stands. Most values are what they were: it becomes text when one is not.
struct ChangedPlace {
  const ChangedPlace* inside = nullptr;
  string_view name = {};  // empty: an element of a list
  std::size_t index = 0;

  std::string text() const {
    std::string path;
    path.reserve(64);
    add_to(path);
    return path;
  }
  void add_to(std::string& path) const {
    if (inside) inside->add_to(path);
    if (name.empty()) {
      fmt::format_to(std::back_inserter(path), FMT_COMPILE("[{}]"), index);
    } else {
      if (!path.empty()) path += '.';
      path += name;
    }
  }
};

// Goes through what the objects have, and not through what they could have: types of Kubernetes have hundreds of
// fields, and objects a dozen.
class Walk {
 public:
  explicit Walk(std::vector<record::Change>& changes) : changes_(changes) {}

  void structure(const Value* before, const Value* after, const Type& type, const ChangedPlace* place) {
    const json::Object* old_members = before ? before->if_object() : nullptr;
    const json::Object* new_members = after ? after->if_object() : nullptr;
    std::size_t met = 0;  // of the old members
    if (new_members) {
      const Member* guess = old_members ? old_members->begin() : nullptr;
      for (const Member& member : *new_members) {
        if (is_full()) return;
        const Value* old_value = take(old_members, guess, member.key());
        met += old_value ? 1 : 0;
        this->member(old_value, &member.value(), type, member.key(), place);
      }
    }
    if (!old_members || met == old_members->size()) return;
    for (const Member& member : *old_members)
      if (!new_members || !new_members->contains(member.key()))
        this->member(&member.value(), nullptr, type, member.key(), place);
  }

  // Names that the schema does not know are the user's.
  void member(const Value* before, const Value* after, const Type& type, string_view name, const ChangedPlace* inside) {
    if (before && after && !after->is_structured() && json::equal(*before, *after)) return;
    const Field* field = type.find(name);
    if (!field || is_kept(type, name)) return;
    const ChangedPlace place{.inside = inside, .name = field->name};
    node(before, after, *field, field, place);
  }

 private:
  bool is_full() const { return changes_.size() >= limits::record_changes_max; }

  // Both objects have their members in the same order, nearly always.
  static const Value* take(const json::Object* members, const Member*& guess, string_view name) {
    if (!members) return nullptr;
    if (guess != members->end() && guess->key() == name) return &(guess++)->value();
    const Value* found = members->if_contains(name);
    if (found) guess = members->find(name) + 1;
    return found;
  }

  void node(const Value* before, const Value* after, const Node& node, const Field* field, const ChangedPlace& place) {
    if (before && after) {
      if (node.shape == Shape::structure && node.type && before->is_object() && after->is_object())
        return structure(before, after, *node.type, &place);
      if (node.shape == Shape::list && node.element && before->is_array() && after->is_array())
        return list(before->get_array(), after->get_array(), *node.element, place);
      if (json::equal(*before, *after)) return;
    }
    if (is_full()) return;
    const bool told = is_told(field, node);
    if (changes_.empty()) changes_.reserve(limits::record_changes_max);
    changes_.push_back({place.text(), told || !after ? value_text(after) : std::string()});
  }

  void list(const json::Array& before, const json::Array& after, const Node& element, const ChangedPlace& place) {
    if (before.size() != after.size()) {
      if (!is_full())
        changes_.push_back({place.text(), fmt::format("{} entries, before {}", after.size(), before.size())});
      return;
    }
    for (std::size_t i = 0; i < before.size() && !is_full(); ++i)
      node(&before[i], &after[i], element, nullptr, {.inside = &place, .index = i});
  }

  std::vector<record::Change>& changes_;
};

}  // namespace

void add_field_changes(const Value* before, const Value* after, const Type& type, string_view path,
                       std::vector<record::Change>& changes) {
  const ChangedPlace place{.name = path};
  Walk(changes).structure(before, after, type, path.empty() ? nullptr : &place);
}

void add_member_changes(const Value* before, const Value* after, const Type& type, string_view member,
                        std::vector<record::Change>& changes) {
  if (before || after) Walk(changes).member(before, after, type, member, nullptr);
}

}  // namespace vg::api
