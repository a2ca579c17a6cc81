#include "api/typed_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/canonical_place.h"
#include "base/joined.h"
#include "base/limits.h"
#include "json/access.h"
#include "json/equal.h"
#include "json/near.h"
#include "json/parse.h"
#include "json/sorted_members.h"
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

std::string member_element(string_view name) {
  std::string element;
  element.reserve(name.size() + 2);
  return element.append("f:").append(name);
}

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

// Elements of a list that cannot be told apart, with their places in it. Those with no text of their own are one group,
// the first.
struct ElementGroup {
  std::string element;
  std::span<const std::size_t> places;  // in their order
};

// In the order of their texts. Sorted rather than hashed: no choice of elements makes it slow.
struct ElementGroups {
  std::vector<std::size_t> places;  // of all groups, one behind the other
  std::vector<ElementGroup> groups;
};

ElementGroups group_elements(const Part& part, const Array& items) {
  std::vector<std::string> elements;
  elements.reserve(items.size());
  for (const Value& item : items) elements.push_back(list_element(part, item));
  ElementGroups made;
  made.places.resize(items.size());
  std::iota(made.places.begin(), made.places.end(), std::size_t{0});
  json::sort_by_name(std::span(made.places), [&](std::size_t place) { return string_view(elements[place]); });
  made.groups.reserve(items.size());
  for (std::size_t begin = 0, end = 0; begin < made.places.size(); begin = end) {
    std::string& element = elements[made.places[begin]];
    while (end < made.places.size() && elements[made.places[end]] == element) ++end;
    const std::span group(made.places.begin() + static_cast<std::ptrdiff_t>(begin), end - begin);
    std::string text = std::move(element);
    std::ranges::sort(group);
    made.groups.push_back({std::move(text), group});
  }
  return made;
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
  void visit(const Part& part, const Value& value, FieldSet& here, const Place& path) {
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
  void visit_members(const Part& part, const Object& members, FieldSet& here, const Place& path) {
    here.children.reserve(members.size());
    for (const auto& member : members) {
      const string_view name = member.key();
      const Place where = path.field(name);
      if (!part.knows(name)) {
        problem(where, "the kind has no such field");
        continue;
      }
      FieldSet& below = here.children.emplace_back(member_element(name)).below;
      visit(part.member(name), member.value(), below, where);
      const Object* inside = member.value().if_object();
      if (member.value().is_null() || (inside && inside->empty()) || !part.names(name)) below.member = true;
    }
    here.sort_children();
  }

  void visit_elements(const Part& part, const Array& items, FieldSet& here, const Place& path) {
    auto found = group_elements(part, items);
    here.children.reserve(found.groups.size());
    for (ElementGroup& group : found.groups) {
      if (group.element.empty()) {
        for (const std::size_t index : group.places)
          problem(path.item(index), fmt::format("the element has no {}, its merge key", joined(part.keys(), ", ")));
        continue;
      }
      FieldSet& below = here.children.emplace_back(std::move(group.element)).below;
      below.member = true;
      const std::size_t index = group.places.front();
      if (group.places.size() == 1) visit(part.element(), items[index], below, path.item(index));
    }
  }

  void problem(const Place& place, string_view what) {
    if (problems.size() < limits::causes_max)
      problems.push_back(fmt::format(".{}: {}", print_place(place, PlaceStyle::dotted_keys), what));
  }
};

// --- what differs ----------------------------------------------------------------------------------------------------

// Builds the three sets from below: what is found out about a member or an element becomes a child of what is found out
// about the whole. Children come in the order of the objects and are sorted once.
class Comparer {
 public:
  // `here` is about the place itself and everything below it.
  // Of `only`, if it is not empty, and no other member.
  static void compare(const Part& part, const Value* before, const Value* after, Difference& here,
                      string_view only = {}) {
    const Value& either = after ? *after : *before;
    const bool same_way = !before || !after || part.way(*before) == part.way(*after);
    const Way way = same_way ? part.way(either) : Way::leaf;
    if (way == Way::leaf || (is_nothing(before) && is_nothing(after))) return leaf(before, after, here);
    if (way == Way::members)
      members(part, object_of(before), object_of(after), here, only);
    else
      elements(part, array_of(before), array_of(after), here);
    sort(here);
    if (!before) here.added.member = true;
    if (!after) here.removed.member = true;
  }

 private:
  static void leaf(const Value* before, const Value* after, Difference& here) {
    if (!before)
      here.added.member = true;
    else if (!after)
      here.removed.member = true;
    else if (!json::equal(*before, *after))
      here.changed.member = true;
  }

  static void sort(Difference& here) {
    here.added.sort_children();
    here.changed.sort_children();
    here.removed.sort_children();
  }

  // Most places are the same in both objects, and then their elements are never put into words.
  template <class Element>
  static void attach(FieldSet& to, const Element& element, FieldSet& below) {
    if (below.member || !below.children.empty()) to.children.push_back({element(), std::move(below)});
  }
  template <class Element>
  static void attach(Difference& to, const Element& element, Difference& below) {
    attach(to.added, element, below.added);
    attach(to.changed, element, below.changed);
    attach(to.removed, element, below.removed);
  }

  static void members(const Part& part, const Object* before, const Object* after, Difference& here,
                      string_view only = {}) {
    const auto member = [&](string_view name, const Value* old_value, const Value* new_value) {
      if (!only.empty() && name != only) return;
      // Large parts that stay as they are: the spec, when a status is written.
      if (part.root_members && old_value && new_value && json::equal(*old_value, *new_value)) return;
      Difference below;
      compare(part.member(name), old_value, new_value, below);
      attach(here, [&] { return member_element(name); }, below);
    };
    if (!before && after) here.added.children.reserve(after->size());
    std::size_t place = 0, in_both = 0;
    if (before)
      for (const auto& each : *before) {
        const Value* now = after ? json::find_near(*after, each.key(), place++) : nullptr;
        in_both += now ? 1 : 0;
        member(each.key(), &each.value(), now);
      }
    if (!after || in_both == after->size()) return;
    place = 0;
    for (const auto& each : *after)
      if (!before || !json::find_near(*before, each.key(), place++)) member(each.key(), nullptr, &each.value());
  }

  // The elements of both lists side by side; both are in the order of their texts.
  static void elements(const Part& part, const Array* before, const Array* after, Difference& here) {
    if (before && after && json::equal(*before, *after)) return;
    const auto old_found = groups_of(part, before), new_found = groups_of(part, after);
    auto old_group = old_found.groups.begin();
    auto new_group = new_found.groups.begin();
    const auto old_end = old_found.groups.end(), new_end = new_found.groups.end();
    while (old_group != old_end || new_group != new_end) {
      const int order = old_group == old_end   ? 1
                        : new_group == new_end ? -1
                                               : old_group->element.compare(new_group->element);
      const bool take_old = order <= 0, take_new = order >= 0;
      Difference below;
      pair(part.element(), take_old ? Repeated{before, old_group->places} : Repeated{},
           take_new ? Repeated{after, new_group->places} : Repeated{}, below);
      attach(here, [&] { return take_old ? old_group->element : new_group->element; }, below);
      if (take_old) ++old_group;
      if (take_new) ++new_group;
    }
  }

  static ElementGroups groups_of(const Part& part, const Array* array) {
    if (!array) return {};
    auto found = group_elements(part, *array);
    // What cannot be told apart comes first, and is not compared.
    if (!found.groups.empty() && found.groups.front().element.empty()) found.groups.erase(found.groups.begin());
    return found;
  }

  // The elements of a list that have the same text.
  struct Repeated {
    const Array* array = nullptr;
    std::span<const std::size_t> places = {};

    std::size_t size() const { return places.size(); }
    const Value& at(std::size_t i) const { return (*array)[places[i]]; }
    const Value* first() const { return places.empty() ? nullptr : &at(0); }
    bool operator==(const Repeated& other) const {
      if (size() != other.size()) return false;
      for (std::size_t i = 0; i < size(); ++i)
        if (!json::equal(at(i), other.at(i))) return false;
      return true;
    }
  };

  // Elements that repeat cannot be told apart: they count as one leaf.
  static void pair(const Part& part, const Repeated& before, const Repeated& after, Difference& here) {
    const bool was_repeated = before.size() > 1, is_repeated = after.size() > 1;
    if (!was_repeated && !is_repeated) return compare(part, before.first(), after.first(), here);
    if (was_repeated && is_repeated) {
      if (!(before == after)) here.changed.member = true;
    } else if (was_repeated) {
      if (after.size() > 0) compare(part, nullptr, after.first(), here);
      here.removed.member = true;
    } else {
      if (before.size() > 0) compare(part, before.first(), nullptr, here);
      here.added.member = true;
    }
  }
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

  // Where in the other list each element stands first.
  static constexpr std::size_t nowhere = SIZE_MAX;
  struct Places {
    std::vector<std::size_t> in_new;  // of each old element
    std::vector<std::size_t> in_old;  // of each new one
  };
  static Places find_places(const Part& part, const Array& old_array, const Array& new_array) {
    Places places{.in_new = std::vector<std::size_t>(old_array.size(), nowhere),
                  .in_old = std::vector<std::size_t>(new_array.size(), nowhere)};
    const auto old_found = group_elements(part, old_array), new_found = group_elements(part, new_array);
    auto old_group = old_found.groups.begin();
    auto new_group = new_found.groups.begin();
    while (old_group != old_found.groups.end() && new_group != new_found.groups.end()) {
      const int order = old_group->element.compare(new_group->element);
      if (order == 0) {
        for (const std::size_t place : old_group->places) places.in_new[place] = new_group->places.front();
        for (const std::size_t place : new_group->places) places.in_old[place] = old_group->places.front();
      }
      if (order <= 0) ++old_group;
      if (order >= 0) ++new_group;
    }
    return places;
  }

  // What both have stands in the order of `wanted`; what only `live` has stays where it was, as far as that is known.
  Value elements(const Part& part, const Value& live, const Value& wanted) {
    if (!live.is_array() || !wanted.is_array()) return Value(wanted, storage_);
    const Array& old_array = live.get_array();
    const Array& new_array = wanted.get_array();
    const Places places = find_places(part, old_array, new_array);
    Array merged(storage_);
    merged.reserve(std::max(old_array.size(), new_array.size()));
    std::size_t next = 0;  // of new_array
    const auto take_new = [&] {
      const std::size_t old = places.in_old[next];
      merged.push_back(merge(part.element(), old != nowhere ? &old_array[old] : nullptr, &new_array[next]));
      ++next;
    };
    for (std::size_t i = 0; i < old_array.size(); ++i) {
      const std::size_t place = places.in_new[i];
      if (place == nowhere)
        merged.push_back(Value(old_array[i], storage_));
      else
        while (next <= place) take_new();
    }
    while (next < new_array.size()) take_new();
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
  named.children.reserve(fields.children.size());
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
  finder.visit(root.part, object, found, Place{});
  if (!finder.problems.empty()) return fail(Status::bad_request(joined(finder.problems, "; ")));
  found.trim();  // a list whose elements have keys, and that has none
  return found;
}

Difference compare_objects(const Value& before, const Value& after, const Kind& kind, string_view only) {
  const Root root(kind);
  Difference difference;
  Comparer::compare(root.part, &before, &after, difference, only);
  // The object as a whole is no field of it.
  difference.added.member = difference.changed.member = difference.removed.member = false;
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
