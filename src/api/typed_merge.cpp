#include "api/typed_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "json/access.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::Value;
using std::string_view;

// How a value merges.
enum class Way : std::uint8_t { leaf, members, elements };

// What is known about a place: its node, or nothing where the type leaves it open. Only a field says how its list
// merges.
struct Part {
  const Node* node = nullptr;
  const Field* field = nullptr;
  bool custom = false;        // in a custom kind: what CRDs leave open is open
  bool root_members = false;  // the object itself: its metadata is known even in a custom kind

  bool open() const {
    if (!node) return true;
    if (node->shape == Shape::raw || node->shape == Shape::fields) return true;
    return node->shape == Shape::structure && custom && !root_members && node->type->crd_opaque;
  }
  const Type* type() const { return !open() && node->shape == Shape::structure ? node->type : nullptr; }

  // The keys of a list whose elements merge; empty for a set.
  std::span<const string_view> keys() const {
    if (field->list_type == ListType::map) return field->map_keys;
    return field->merge_key.empty() ? std::span<const string_view>() : std::span(&field->merge_key, 1);
  }
  bool merges_elements() const {
    if (!field) return false;
    if (field->list_type != ListType::none)
      return field->list_type == ListType::set || field->list_type == ListType::map;
    return !custom && field->merge_patch;
  }

  Way way(const Value& value) const {
    if (open()) return value.is_object() ? Way::members : Way::leaf;
    switch (node->shape) {
      case Shape::structure:
        return node->map_atomic || node->type->map_atomic ? Way::leaf : Way::members;
      case Shape::map:
        return node->map_atomic ? Way::leaf : Way::members;
      case Shape::list:
        return merges_elements() ? Way::elements : Way::leaf;
      default:
        return Way::leaf;
    }
  }

  Part member(string_view name) const {
    if (open()) return {.custom = custom};
    if (node->shape == Shape::map) return {.node = node->element, .custom = custom};
    const Field* found = type() ? type()->find(name) : nullptr;
    return {.node = found, .field = found, .custom = custom, .root_members = root_members && name == "metadata"};
  }
  Part element() const { return {.node = node ? node->element : nullptr, .custom = custom}; }
  bool names(string_view name) const { return type() && type()->find(name); }
  bool knows(string_view name) const { return !type() || node->preserve_unknown || type()->find(name); }
};

// The whole object. A Node for it exists only as long as it is walked.
struct Root {
  Node node;
  Part part;
  explicit Root(const Kind& kind) {
    node.shape = Shape::structure;
    node.type = kind.type;
    part = {.node = &node, .custom = kind.custom, .root_members = true};
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
};

std::string member_element(string_view name) { return fmt::format("f:{}", name); }

// A key that an element leaves out may have a default.
string_view default_of(const Part& element, string_view key) {
  const Field* field = element.type() ? element.type()->find(key) : nullptr;
  if (!field) return {};
  if (field->crd && !field->crd->default_json.empty()) return field->crd->default_json;
  return field->openapi ? field->openapi->default_json : string_view();
}

// Empty for an element that cannot be told apart from others.
std::string list_element(const Part& list, const Value& item) {
  const auto keys = list.keys();
  if (keys.empty()) return "v:" + json::to_text(item);
  const Object* members = item.if_object();
  if (!members) return {};
  std::vector<string_view> sorted(keys.begin(), keys.end());
  std::ranges::sort(sorted);
  std::string text = "k:{";
  for (const string_view key : sorted) {
    const Value* value = json::find(*members, key);
    const std::string printed = value ? json::to_text(*value) : std::string(default_of(list.element(), key));
    if (printed.empty()) return {};
    if (text.size() > 3) text += ',';
    json::write_string(key, text);
    text += ':';
    text += printed;
  }
  return text + '}';
}

bool is_nothing(const Value* value) {
  if (!value || value->is_null()) return true;
  if (const Object* object = value->if_object()) return object->empty();
  const Array* array = value->if_array();
  return array && array->empty();
}

const Object* object_of(const Value* value) { return value ? value->if_object() : nullptr; }
const Array* array_of(const Value* value) { return value ? value->if_array() : nullptr; }

// NOLINTBEGIN(misc-no-recursion): as deep as the object, which the parser bounds

// --- what an object says ---------------------------------------------------------------------------------------------

class FieldFinder {
 public:
  void visit(const Part& part, const Value& value, FieldSet& here, const std::string& path) {
    switch (part.way(value)) {
      case Way::leaf:
        here.member = true;
        return;
      case Way::members:
        if (const Object* members = value.if_object()) visit_members(part, *members, here, path);
        return;
      case Way::elements:
        if (const Array* items = value.if_array()) visit_elements(part, *items, here, path);
        return;
    }
  }
  std::vector<std::string> problems;

 private:
  void visit_members(const Part& part, const Object& members, FieldSet& here, const std::string& path) {
    for (const auto& member : members) {
      const string_view name = member.key();
      const std::string where = fmt::format("{}.{}", path, name);
      if (!part.knows(name)) {
        problems.push_back(fmt::format("{}: the kind has no such field", where));
        continue;
      }
      FieldSet& below = here.at(member_element(name));
      visit(part.member(name), member.value(), below, where);
      const Object* inside = member.value().if_object();
      if (member.value().is_null() || (inside && inside->empty()) || !part.names(name)) below.member = true;
    }
  }

  void visit_elements(const Part& part, const Array& items, FieldSet& here, const std::string& path) {
    std::set<std::string> seen, repeated;
    std::vector<std::string> elements;
    for (std::size_t i = 0; i < items.size(); ++i) {
      std::string element = list_element(part, items[i]);
      if (element.empty())
        problems.push_back(fmt::format("{}[{}]: the element lacks {}, by which it is told from others", path, i,
                                       fmt::join(part.keys(), ", ")));
      else if (!seen.insert(element).second)
        repeated.insert(element);
      elements.push_back(std::move(element));
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (elements[i].empty()) continue;
      FieldSet& below = here.at(elements[i]);
      below.member = true;
      if (!repeated.contains(elements[i])) visit(part.element(), items[i], below, fmt::format("{}[{}]", path, i));
    }
  }
};

// --- what differs ----------------------------------------------------------------------------------------------------

class Comparer {
 public:
  explicit Comparer(Difference& difference) : difference_(difference) {}

  void compare(const Part& part, const Value* before, const Value* after) {
    const Value& either = after ? *after : *before;
    const bool same_way = !before || !after || part.way(*before) == part.way(*after);
    const Way way = same_way ? part.way(either) : Way::leaf;
    if (way == Way::leaf || (is_nothing(before) && is_nothing(after))) return leaf(before, after);
    if (way == Way::members)
      members(part, object_of(before), object_of(after));
    else
      elements(part, array_of(before), array_of(after));
    if (!before) insert(difference_.added);
    if (!after) insert(difference_.removed);
  }

 private:
  void leaf(const Value* before, const Value* after) {
    if (!before)
      insert(difference_.added);
    else if (!after)
      insert(difference_.removed);
    else if (*before != *after)
      insert(difference_.changed);
  }

  void below(std::string element, const Part& part, const Value* before, const Value* after) {
    path_.push_back(std::move(element));
    compare(part, before, after);
    path_.pop_back();
  }

  void members(const Part& part, const Object* before, const Object* after) {
    if (before)
      for (const auto& member : *before)
        below(member_element(member.key()), part.member(member.key()), &member.value(),
              after ? json::find(*after, member.key()) : nullptr);
    if (after)
      for (const auto& member : *after)
        if (!before || !json::find(*before, member.key()))
          below(member_element(member.key()), part.member(member.key()), nullptr, &member.value());
  }

  using Items = std::vector<std::pair<std::string, std::vector<const Value*>>>;  // by element, with repetitions

  static Items gather(const Part& part, const Array* array) {
    Items items;
    if (!array) return items;
    for (const Value& item : *array) {
      const std::string element = list_element(part, item);
      if (element.empty()) continue;
      auto found = std::ranges::find(items, element, &Items::value_type::first);
      if (found == items.end()) found = items.insert(items.end(), {element, {}});
      found->second.push_back(&item);
    }
    return items;
  }

  void elements(const Part& part, const Array* before, const Array* after) {
    const Items old_items = gather(part, before), new_items = gather(part, after);
    static const std::vector<const Value*> none;
    for (const auto& [element, old_values] : old_items) {
      const auto found = std::ranges::find(new_items, element, &Items::value_type::first);
      element_pair(part, element, old_values, found == new_items.end() ? none : found->second);
    }
    for (const auto& [element, new_values] : new_items)
      if (std::ranges::find(old_items, element, &Items::value_type::first) == old_items.end())
        element_pair(part, element, none, new_values);
  }

  // Elements that repeat cannot be told apart: they count as one leaf.
  void element_pair(const Part& part, const std::string& element, const std::vector<const Value*>& before,
                    const std::vector<const Value*>& after) {
    const auto first = [](const auto& values) { return values.empty() ? nullptr : values.front(); };
    const bool was_repeated = before.size() > 1, is_repeated = after.size() > 1;
    if (!was_repeated && !is_repeated) return below(element, part.element(), first(before), first(after));
    path_.push_back(element);
    if (was_repeated && is_repeated) {
      if (!std::ranges::equal(before, after, [](const Value* one, const Value* two) { return *one == *two; }))
        insert(difference_.changed);
    } else if (was_repeated) {
      if (!after.empty()) compare(part.element(), nullptr, after.front());
      insert(difference_.removed);
    } else {
      if (!before.empty()) compare(part.element(), before.front(), nullptr);
      insert(difference_.added);
    }
    path_.pop_back();
  }

  void insert(FieldSet& set) {
    if (path_.empty()) return;
    FieldSet* at = &set;
    for (const std::string& element : path_) at = &at->at(element);
    at->member = true;
  }

  Difference& difference_;
  std::vector<std::string> path_;
};

// --- merging ---------------------------------------------------------------------------------------------------------

class Merger {
 public:
  explicit Merger(const json::StoragePtr& storage) : storage_(storage) {}

  Value merge(const Part& part, const Value* live, const Value* wanted) {
    if (!live || !wanted) return Value(live ? *live : *wanted, storage_);
    const Way way = part.way(*wanted);
    if (way == Way::leaf || way != part.way(*live) || is_nothing(live)) return Value(*wanted, storage_);
    // An empty map or list says nothing about what others put there.
    if (is_nothing(wanted)) return Value(*live, storage_);
    return way == Way::members ? members(part, *live, *wanted) : elements(part, *live, *wanted);
  }

 private:
  Value members(const Part& part, const Value& live, const Value& wanted) {
    if (!live.is_object() || !wanted.is_object()) return Value(wanted, storage_);
    Object merged(storage_);
    for (const auto& member : live.get_object())
      merged.emplace(member.key(),
                     merge(part.member(member.key()), &member.value(), json::find(wanted.get_object(), member.key())));
    for (const auto& member : wanted.get_object())
      if (!json::find(live.get_object(), member.key())) merged.emplace(member.key(), Value(member.value(), storage_));
    return Value(std::move(merged));
  }

  struct Item {
    std::string element;
    const Value* value;
  };
  static std::vector<Item> gather(const Part& part, const Array& array) {
    std::vector<Item> items;
    for (const Value& item : array) items.push_back({list_element(part, item), &item});
    return items;
  }
  static const Item* find(const std::vector<Item>& items, const std::string& element) {
    const auto found = std::ranges::find(items, element, &Item::element);
    return found == items.end() ? nullptr : &*found;
  }

  // What both have stands in the order of `wanted`; what only `live` has stays where it was, as far as that is known.
  Value elements(const Part& part, const Value& live, const Value& wanted) {
    if (!live.is_array() || !wanted.is_array()) return Value(wanted, storage_);
    const auto old_items = gather(part, live.get_array()), new_items = gather(part, wanted.get_array());
    Array merged(storage_);
    std::size_t next = 0;  // of new_items
    const auto take_new = [&] {
      const Item& item = new_items[next++];
      const Item* old = find(old_items, item.element);
      merged.push_back(merge(part.element(), old ? old->value : nullptr, item.value));
    };
    for (const Item& item : old_items) {
      if (!find(new_items, item.element)) {
        merged.push_back(Value(*item.value, storage_));
        continue;
      }
      const auto place = std::ranges::find(new_items, item.element, &Item::element) - new_items.begin();
      while (next <= static_cast<std::size_t>(place)) take_new();
    }
    while (next < new_items.size()) take_new();
    return Value(std::move(merged));
  }

  json::StoragePtr storage_;
};

// --- taking parts away -----------------------------------------------------------------------------------------------

class Remover {
 public:
  explicit Remover(const json::StoragePtr& storage) : storage_(storage) {}

  // Nothing when nothing is left.
  std::optional<Value> remove(const Part& part, const Value& value, const FieldSet& fields) {
    switch (part.way(value)) {
      case Way::leaf:
        if (value.is_object() || value.is_array()) return std::nullopt;
        return Value(value, storage_);
      case Way::members:
        return value.is_object() ? members(part, value.get_object(), fields) : std::nullopt;
      case Way::elements:
        return value.is_array() ? elements(part, value.get_array(), fields) : std::nullopt;
    }
    return std::nullopt;
  }

 private:
  // What stays of a member or an element.
  std::optional<Value> rest(const Part& part, const Value& value, const FieldSet* fields) {
    if (!fields) return Value(value, storage_);
    if (fields->member) return std::nullopt;
    return remove(part, value, *fields);
  }

  std::optional<Value> members(const Part& part, const Object& object, const FieldSet& fields) {
    Object kept(storage_);
    for (const auto& member : object)
      if (auto value = rest(part.member(member.key()), member.value(), fields.find(member_element(member.key()))))
        kept.emplace(member.key(), std::move(*value));
    if (kept.empty()) return std::nullopt;
    return Value(std::move(kept));
  }

  std::optional<Value> elements(const Part& part, const Array& array, const FieldSet& fields) {
    Array kept(storage_);
    for (const Value& item : array)
      if (auto value = rest(part.element(), item, fields.find(list_element(part, item))))
        kept.push_back(std::move(*value));
    if (kept.empty()) return std::nullopt;
    return Value(std::move(kept));
  }

  json::StoragePtr storage_;
};

FieldSet name_fields(const FieldSet& fields, const Part& part) {
  FieldSet named;
  named.member = fields.member;
  for (const FieldSet::Child& child : fields.children) {
    const bool is_member = child.element.starts_with("f:");
    const string_view name = string_view(child.element).substr(2);
    FieldSet below = name_fields(child.below, is_member ? part.member(name) : part.element());
    if (is_member && part.names(name) && !below.children.empty()) below.member = true;
    named.children.push_back({child.element, std::move(below)});
  }
  return named;
}

// NOLINTEND(misc-no-recursion)

}  // namespace

Result<FieldSet> fields_of(const Value& object, const Kind& kind) {
  const Root root(kind);
  FieldFinder finder;
  FieldSet found;
  finder.visit(root.part, object, found, "");
  if (!finder.problems.empty()) return fail(Status::bad_request(fmt::format("{}", fmt::join(finder.problems, "; "))));
  found.trim();  // a list whose elements have keys, and that has none
  return found;
}

Difference compare_objects(const Value& before, const Value& after, const Kind& kind) {
  const Root root(kind);
  Difference difference;
  Comparer(difference).compare(root.part, &before, &after);
  return difference;
}

Value merge_objects(const Value& live, const Value& wanted, const Kind& kind, const json::StoragePtr& storage) {
  const Root root(kind);
  return Merger(storage).merge(root.part, &live, &wanted);
}

Value remove_fields(const Value& object, const FieldSet& fields, const Kind& kind, const json::StoragePtr& storage) {
  const Root root(kind);
  auto rest = Remover(storage).remove(root.part, object, fields);
  return rest ? std::move(*rest) : Value(Object(storage));
}

FieldSet with_named_fields(const FieldSet& fields, const Kind& kind) {
  const Root root(kind);
  return name_fields(fields, root.part);
}

}  // namespace vg::api
