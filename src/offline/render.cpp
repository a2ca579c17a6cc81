#include "offline/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/access.h"
#include "json/write.h"
#include "objects/draft.h"

namespace vg::offline {
namespace {

class Comparison {
 public:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the documents, which the parser bounds
  void compare(const json::Value& before, const json::Value& after, const std::string& path) {
    const json::Object *a = before.if_object(), *b = after.if_object();
    const json::Array *c = before.if_array(), *d = after.if_array();
    if (a && b)
      members(*a, *b, path);
    else if (c && d)
      items(*c, *d, path);
    else if (before != after)
      changes.push_back({.path = path, .before = &before, .after = &after});
  }

  std::vector<FieldChange> changes;

 private:
  static std::string below(const std::string& path, std::string_view key) {
    if (key.contains('.')) return fmt::format("{}[{}]", path, key);
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  }
  // NOLINTNEXTLINE(misc-no-recursion)
  void members(const json::Object& before, const json::Object& after, const std::string& path) {
    for (const auto& member : before) {
      const json::Value* now = json::find(after, member.key());
      if (now)
        compare(member.value(), *now, below(path, member.key()));
      else
        leaves(member.value(), below(path, member.key()), false);
    }
    for (const auto& member : after)
      if (!before.contains(member.key())) leaves(member.value(), below(path, member.key()), true);
  }
  // NOLINTNEXTLINE(misc-no-recursion)
  void items(const json::Array& before, const json::Array& after, const std::string& path) {
    for (std::size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
      const std::string place = fmt::format("{}[{}]", path, i);
      if (i >= before.size())
        leaves(after[i], place, true);
      else if (i >= after.size())
        leaves(before[i], place, false);
      else
        compare(before[i], after[i], place);
    }
  }
  // What came or went as a whole, value by value.
  // NOLINTNEXTLINE(misc-no-recursion)
  void leaves(const json::Value& value, const std::string& path, bool added) {
    if (const json::Object* object = value.if_object(); object && !object->empty()) {
      for (const auto& member : *object) leaves(member.value(), below(path, member.key()), added);
    } else if (const json::Array* array = value.if_array(); array && !array->empty()) {
      for (std::size_t i = 0; i < array->size(); ++i) leaves((*array)[i], fmt::format("{}[{}]", path, i), added);
    } else {
      changes.push_back({.path = path, .before = added ? nullptr : &value, .after = added ? &value : nullptr});
    }
  }
};

}  // namespace

const admission::Randomness& no_randomness() {
  static const admission::Randomness fixed{.uuid = [] { return std::string(stand_in_uid); },
                                           .suffix = [](std::size_t length) { return std::string(length, '0'); }};
  return fixed;
}

json::Value rendered(const ObjectPtr& object, const resources::Resource& resource, std::string_view api_version,
                     const json::StoragePtr& storage) {
  std::string text;
  resources::append_shown(text, *object, resource, api_version, 0);
  auto value = json::parse(text, storage, {.bytes_max = SIZE_MAX});
  if (!value) return json::Value(storage);  // it was written here, so it can be read
  if (json::Object* metadata = json::get_object(*value, "metadata"))
    for (const std::string_view made : {"uid", "creationTimestamp", "managedFields", "generation", "resourceVersion"})
      json::erase(*metadata, made);
  return std::move(*value);
}

std::vector<FieldChange> find_changes(const json::Value& before, const json::Value& after) {
  Comparison comparison;
  comparison.compare(before, after, "");
  return std::move(comparison.changes);
}

std::string print_changes(const std::vector<FieldChange>& changes) {
  std::string out;
  for (const FieldChange& change : changes) {
    if (change.before) out += fmt::format("- {}: {}\n", change.path, json::to_text(*change.before));
    if (change.after) out += fmt::format("+ {}: {}\n", change.path, json::to_text(*change.after));
  }
  return out;
}

}  // namespace vg::offline
