#include "api/field_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/journal_limits.h"
#include "json/equal.h"

namespace vg::api {
namespace {

using json::Value;
using std::string_view;

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

class Walk {
 public:
  explicit Walk(std::vector<record::Change>& changes) : changes_(changes) {}

  void structure(const Value* before, const Value* after, const Type& type, const std::string& path) {
    const json::Object* old_members = before ? before->if_object() : nullptr;
    const json::Object* new_members = after ? after->if_object() : nullptr;
    for (const Field& field : type.fields) {
      if (is_full()) return;
      const Value* old_value = old_members ? old_members->if_contains(field.name) : nullptr;
      const Value* new_value = new_members ? new_members->if_contains(field.name) : nullptr;
      if ((!old_value && !new_value) || is_kept(type, field.name)) continue;
      member(old_value, new_value, field, path);
    }
  }

  void member(const Value* before, const Value* after, const Field& field, const std::string& path) {
    node(before, after, field, &field, path.empty() ? std::string(field.name) : fmt::format("{}.{}", path, field.name));
  }

 private:
  bool is_full() const { return changes_.size() >= limits::record_changes_max; }

  void node(const Value* before, const Value* after, const Node& node, const Field* field, const std::string& path) {
    if (before && after) {
      if (node.shape == Shape::structure && node.type && before->is_object() && after->is_object())
        return structure(before, after, *node.type, path);
      if (node.shape == Shape::list && node.element && before->is_array() && after->is_array())
        return list(before->get_array(), after->get_array(), *node.element, path);
      if (json::equal(*before, *after)) return;
    }
    if (is_full()) return;
    const bool told = is_told(field, node);
    changes_.push_back(
        {path.substr(0, limits::journal_text_bytes_max), told || !after ? value_text(after) : std::string()});
  }

  void list(const json::Array& before, const json::Array& after, const Node& element, const std::string& path) {
    if (before.size() != after.size()) {
      if (!is_full()) changes_.push_back({path, fmt::format("{} entries, before {}", after.size(), before.size())});
      return;
    }
    for (std::size_t i = 0; i < before.size() && !is_full(); ++i)
      node(&before[i], &after[i], element, nullptr, fmt::format("{}[{}]", path, i));
  }

  std::vector<record::Change>& changes_;
};

}  // namespace

void add_field_changes(const Value* before, const Value* after, const Type& type, string_view path,
                       std::vector<record::Change>& changes) {
  Walk(changes).structure(before, after, type, std::string(path));
}

void add_member_changes(const Value* before, const Value* after, const Type& type, string_view member,
                        std::vector<record::Change>& changes) {
  if (const Field* field = type.find(member)) Walk(changes).member(before, after, *field, {});
}

}  // namespace vg::api
