#include "api/structural.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "api/canonical_place.h"
#include "api/canonical_words.h"
#include "api/structural_formats.h"
#include "api/structural_reach.h"
#include "api/structural_rules.h"
#include "base/joined.h"
#include "base/limits.h"
#include "base/phrases.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::api {
namespace {

using json::Array;
using json::Object;
using json::String;
using json::Value;

namespace reason {
constexpr std::string_view invalid = "FieldValueInvalid";
constexpr std::string_view required = "FieldValueRequired";
constexpr std::string_view type_invalid = "FieldValueTypeInvalid";
constexpr std::string_view not_supported = "FieldValueNotSupported";
constexpr std::string_view duplicate = "FieldValueDuplicate";
constexpr std::string_view too_long = "FieldValueTooLong";
constexpr std::string_view too_many = "FieldValueTooMany";
}  // namespace reason

// What kube-apiserver prints for a failure that it cannot place.
constexpr std::string_view no_field = "<nil>";

class ShapeCauses {
 public:
  void add(std::string_view reason, std::string field, std::string message) {
    if (list_.size() < limits::causes_max) {
      list_.push_back({.reason = std::string(reason), .message = std::move(message), .field = std::move(field)});
    }
  }
  std::size_t size() const { return list_.size(); }
  void cut_back_to(std::size_t size) { list_.resize(size); }
  std::vector<StatusCause> take() { return std::move(list_); }

  // These leave the object in a state in which the rules could not be evaluated safely.
  bool block_rules() const {
    return std::ranges::any_of(list_, [](const StatusCause& cause) {
      return cause.reason == reason::not_supported || cause.reason == reason::required ||
             cause.reason == reason::too_long || cause.reason == reason::too_many ||
             cause.reason == reason::type_invalid;
    });
  }

 private:
  std::vector<StatusCause> list_;
};

// --- what an update may be compared with -----------------------------------------------------------------------------

const Value* find_old(const Value* old_value, std::string_view key) {
  return old_value ? json::find(*old_value, key) : nullptr;
}

const Value* old_member(const Value* old_value, const Node& node, std::string_view key) {
  if (node.map_atomic || (node.shape == Shape::structure && node.type->map_atomic)) return nullptr;
  return find_old(old_value, key);
}

bool same_keys(const Value& a, const Value& b, std::span<const std::string_view> keys) {
  return std::ranges::all_of(keys, [&](std::string_view key) {
    const Value* left = json::find(a, key);
    const Value* right = json::find(b, key);
    return left && right ? *left == *right : left == right;
  });
}

// What makes an element of a list with keys the same as another one. A missing key differs from every value, and so
// must its text from every JSON text.
std::string identity_of(const Value& item, std::span<const std::string_view> keys) {
  static constexpr json::WriteOptions in_order{.sort_keys = true};
  std::string text;
  for (const std::string_view key : keys) {
    if (const Value* value = json::find(item, key)) json::write(*value, text, in_order);
    text += ',';
  }
  return text;
}

// The list that elements of a new one are looked up in. They can be told apart only in lists with keys. Short lists are
// gone through; long ones get an index, or looking would cost the square of their length.
class OldItems {
 public:
  OldItems(const Value* old_value, const Array& array, const Node& node, std::span<const std::string_view> keys)
      : old_(node.list_type == ListType::map ? json::as_array(old_value) : nullptr), keys_(keys) {
    static constexpr std::size_t comparisons_max = 1024;
    indexed_ = old_ && old_->size() * array.size() > comparisons_max;
    if (!indexed_) return;
    for (const Value& old : *old_) by_identity_.try_emplace(identity_of(old, keys_), &old);
  }

  const Value* find(const Value& item) const {
    if (!old_ || !item.is_object()) return nullptr;
    if (indexed_) {
      const auto found = by_identity_.find(identity_of(item, keys_));
      return found == by_identity_.end() ? nullptr : found->second;
    }
    const auto found = std::ranges::find_if(*old_, [&](const Value& old) { return same_keys(old, item, keys_); });
    return found == old_->end() ? nullptr : &*found;
  }

 private:
  const Array* old_;
  std::span<const std::string_view> keys_;
  bool indexed_ = false;
  std::map<std::string, const Value*> by_identity_;  // ordered: no choice of names makes it slow
};

// --- types and values
// -------------------------------------------------------------------------------------------------

enum class Wanted : std::uint8_t { string, boolean, integer, number, int_or_string, object, list, date_time };

Wanted wanted_of(const Node& node) {
  switch (node.shape) {
    case Shape::boolean:
      return Wanted::boolean;
    case Shape::int_:
    case Shape::int32:
    case Shape::int64:
    case Shape::uint_:
    case Shape::uint8:
    case Shape::uint32:
    case Shape::uint64:
      return Wanted::integer;
    case Shape::float32:
    case Shape::float64:
      return Wanted::number;
    case Shape::quantity:
    case Shape::int_or_string:
      return Wanted::int_or_string;
    case Shape::time:
    case Shape::micro_time:
      return Wanted::date_time;
    case Shape::raw:
    case Shape::fields:
    case Shape::structure:
    case Shape::map:
      return Wanted::object;
    case Shape::list:
      return Wanted::list;
    case Shape::string:
    case Shape::bytes:
    case Shape::duration:
      return Wanted::string;
  }
  return Wanted::string;
}

std::string_view words_for(Wanted wanted) {
  switch (wanted) {
    case Wanted::string:
      return "a string";
    case Wanted::boolean:
      return "true or false";
    case Wanted::integer:
      return "a whole number";
    case Wanted::number:
      return "a number";
    case Wanted::int_or_string:
      return "a whole number or a string";
    case Wanted::object:
      return "an object";
    case Wanted::list:
      return "a list";
    case Wanted::date_time:
      return "a time such as 2026-01-02T03:04:05Z";
  }
  return {};
}

bool is_integer(const Value& value) {
  if (value.is_int64()) return true;
  const double* number = value.if_double();
  return number && is_json_integer(*number);
}

bool has_type(const Value& value, Wanted wanted) {
  switch (wanted) {
    case Wanted::string:
      return value.is_string();
    case Wanted::boolean:
      return value.is_bool();
    case Wanted::integer:
      return is_integer(value);
    case Wanted::number:
      return value.is_number();
    case Wanted::int_or_string:
      return value.is_string() || is_integer(value);
    case Wanted::object:
      return value.is_object();
    case Wanted::list:
      return value.is_array();
    case Wanted::date_time:
      // kube-apiserver lets a list pass where a format is set. Whoever decodes it into its type will not.
      return value.is_string() || value.is_array();
  }
  return false;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool is_below(const Value& value, std::int64_t bound) {
  if (const std::int64_t* whole = value.if_int64()) return *whole < bound;
  return value.to_number<double>() < static_cast<double>(bound);
}
bool is_above(const Value& value, std::int64_t bound) {
  if (const std::int64_t* whole = value.if_int64()) return *whole > bound;
  return value.to_number<double>() > static_cast<double>(bound);
}

// The checks that need nothing but one value and its schema, and go down from there.
class SchemaCheck {
 public:
  explicit SchemaCheck(ShapeCauses& causes) : causes_(causes) {}

  // `keys` are those of a list with keys; `old` is what the value replaces, if that can be told.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
  void node(const Value& value, const Node& node, std::span<const std::string_view> keys, const Place& place,
            const Value* old) {
    const std::size_t before = causes_.size();
    type(value, node, place);
    if (!value.is_null()) {
      if (const String* string = value.if_string()) text(*string, node, place);
      if (value.is_number()) range(value, node, place);
      if (const Array* array = value.if_array()) list(*array, node, keys, place, old);
    }
    enumeration(value, node, place);
    if (const Object* object = value.if_object()) members(*object, node, place, old);
    // An update may keep what was wrong before.
    if (old && causes_.size() > before && value == *old) causes_.cut_back_to(before);
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void structure(const Object& object, const Type& type, const Node* node, const Place& place, const Value* old) {
    for (const auto& member : object) {
      const Field* field = type.find(member.key());
      if (!field) continue;
      const Value* old_value = node ? old_member(old, *node, field->name) : find_old(old, field->name);
      this->node(member.value(), *field, field->map_keys, place.field(field->name), old_value);
    }
    for (const Field& field : type.fields) {
      if (field.required && !object.if_contains(field.name)) {
        causes_.add(reason::required, print(place.field(field.name)), "");
      }
    }
  }

 private:
  static std::string print(const Place& place) { return print_place(place, PlaceStyle::dotted_keys); }

  void type(const Value& value, const Node& node, const Place& place) {
    const Wanted wanted = wanted_of(node);
    if (value.is_null() ? node.nullable : has_type(value, wanted)) return;
    causes_.add(reason::type_invalid, print(place),
                fmt::format("must be {}, not {}", words_for(wanted), in_words(value)));
    if (wanted == Wanted::int_or_string && !value.is_null()) {
      // Its schema lists the two types once more as alternatives, and that second failure comes without a place.
      causes_.add(reason::invalid, std::string(no_field),
                  fmt::format("{}: must be a whole number or a string", print(place)));
    }
  }

  void text(std::string_view text, const Node& node, const Place& place) {
    const CrdFacts* facts = node.crd;
    if (facts && (facts->length.has_max() || facts->length.has_min())) {
      const auto length = static_cast<std::int64_t>(characters(text));
      if (length > facts->length.max) {
        return causes_.add(reason::too_long, print(place),
                           fmt::format("must have at most {} characters, has {}", facts->length.max, length));
      }
      if (length < facts->length.min) {
        return causes_.add(reason::invalid, print(place),
                           fmt::format("must have at least {} characters, has {}", facts->length.min, length));
      }
    }
    if (node.shape == Shape::quantity && !looks_like_quantity(text)) {
      causes_.add(reason::invalid, print(place),
                  fmt::format("{}: must be a quantity, for example 500m, 2 or 4Gi", in_words(text)));
    } else if (facts && !facts->pattern.empty()) {
      const TextCheck fits = find_pattern(facts->pattern);
      if (!fits || !fits(text)) {
        causes_.add(reason::invalid, print(place), fmt::format("{}: must match {}", in_words(text), facts->pattern));
      }
    }
    if (wanted_of(node) == Wanted::date_time && !is_date_time(text)) {
      causes_.add(reason::type_invalid, print(place),
                  fmt::format("{1}: must be {0}", words_for(Wanted::date_time), in_words(text)));
    }
  }

  void range(const Value& value, const Node& node, const Place& place) {
    if (!node.crd) return;
    const Range& range = node.crd->range;
    if (range.has_min() && is_below(value, range.min)) {
      causes_.add(reason::invalid, print(place), fmt::format("{1}: must be {0} or more", range.min, in_words(value)));
    }
    if (range.has_max() && is_above(value, range.max)) {
      causes_.add(reason::invalid, print(place), fmt::format("{1}: must be {0} or less", range.max, in_words(value)));
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void list(const Array& array, const Node& node, std::span<const std::string_view> keys, const Place& place,
            const Value* old) {
    if (node.shape == Shape::list) {
      const OldItems old_items(old, array, node, keys);
      Place at = place.item(0);
      for (const Value& item : array) {
        this->node(item, *node.element, {}, at, old_items.find(item));
        ++at.index;
      }
    }
    if (!node.crd) return;
    const auto count = static_cast<std::int64_t>(array.size());
    if (count < node.crd->items.min && node.crd->items.has_min()) {
      causes_.add(reason::invalid, print(place),
                  fmt::format("{1}: must have at least {0} elements", node.crd->items.min, count));
    }
    if (count > node.crd->items.max) {
      causes_.add(reason::too_many, print(place),
                  fmt::format("{1}: must have at most {0} elements", node.crd->items.max, count));
    }
  }

  void enumeration(const Value& value, const Node& node, const Place& place) {
    if (!node.crd || node.crd->enumeration.empty()) return;
    const auto text = json::as_string(&value);
    if (text && std::ranges::find(node.crd->enumeration, *text) != node.crd->enumeration.end()) return;
    causes_.add(reason::not_supported, print(place),
                phrases::unsupported(in_words(value), joined(node.crd->enumeration, ", ")));
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void members(const Object& object, const Node& node, const Place& place, const Value* old) {
    if (node.shape == Shape::structure && !node.type->crd_opaque) {
      structure(object, *node.type, &node, place, old);
    } else if (node.shape == Shape::map) {
      for (const auto& member : object) {
        const std::string_view key = member.key();
        this->node(member.value(), *node.element, {}, place.key(key), old_member(old, node, key));
      }
    }
  }

  ShapeCauses& causes_;
};

// --- lists whose elements must differ -----------------------------------------------------------------------------

class UniqueListCheck {
 public:
  explicit UniqueListCheck(ShapeCauses& causes) : causes_(causes) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
  void structure(const Object& object, const Type& type, const Place& place) {
    for (const auto& member : object) {
      const Field* field = type.find(member.key());
      if (field) node(member.value(), *field, field->map_keys, place.field(field->name));
    }
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion)
  void node(const Value& value, const Node& node, std::span<const std::string_view> keys, const Place& place) {
    if (!(reach_of(node) & reaches_unique_list)) return;
    if (const Array* array = value.if_array()) {
      if (node.list_type == ListType::set) report(find_repeated(*array, {}), place);
      if (node.list_type == ListType::map) map_list(*array, keys, place);
      if (node.shape != Shape::list) return;
      Place at = place.item(0);
      for (const Value& item : *array) {
        this->node(item, *node.element, {}, at);
        ++at.index;
      }
    } else if (const Object* object = value.if_object()) {
      if (node.shape == Shape::structure && !node.type->crd_opaque) structure(*object, *node.type, place);
      if (node.shape != Shape::map) return;
      for (const auto& member : *object) this->node(member.value(), *node.element, {}, place.key(member.key()));
    }
  }

  void map_list(const Array& array, std::span<const std::string_view> keys, const Place& place) {
    for (std::size_t at = 0; at < array.size(); ++at) {
      if (array[at].is_object() || array[at].is_null()) continue;
      return causes_.add(
          reason::invalid, print_place(place.item(at), PlaceStyle::brackets),
          fmt::format("must be an object with the keys {}, not {}", joined(keys, ", "), in_words(array[at])));
    }
    report(find_repeated(array, keys), place);
  }

  // Positions of the elements that occur for the second time; a third occurrence is not worth another cause. With
  // `keys` only these members count.
  static std::vector<std::size_t> find_repeated(const Array& array, std::span<const std::string_view> keys) {
    std::vector<std::size_t> repeated;
    if (array.size() < 2) return repeated;
    std::vector<std::pair<std::string, std::size_t>> texts;
    texts.reserve(array.size());
    for (const Value& item : array) texts.emplace_back(identity(item, keys), texts.size());
    std::ranges::sort(texts);
    for (std::size_t at = 1; at < texts.size(); ++at) {
      const bool is_second =
          texts[at].first == texts[at - 1].first && (at < 2 || texts[at].first != texts[at - 2].first);
      if (is_second) repeated.push_back(texts[at].second);
    }
    std::ranges::sort(repeated);
    return repeated;
  }

  static std::string identity(const Value& item, std::span<const std::string_view> keys) {
    if (!keys.empty()) return identity_of(item, keys);
    std::string text;
    json::write(item, text, {.sort_keys = true});
    return text;
  }

  void report(const std::vector<std::size_t>& repeated, const Place& place) {
    for (const std::size_t at : repeated) {
      causes_.add(reason::duplicate, print_place(place.item(at), PlaceStyle::brackets),
                  "an earlier element of this list is the same");
    }
  }

  ShapeCauses& causes_;
};

// --- rules -----------------------------------------------------------------------------------------------------------

class RuleWalk {
 public:
  explicit RuleWalk(ShapeCauses& causes) : causes_(causes) {}

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
  void structure(const Object& object, const Type& type, const Node* node, const Place& place, const Value* old) {
    for (const auto& member : object) {
      const Field* field = type.find(member.key());
      if (!field || !(reach_of(*field) & reaches_rule)) continue;
      const Value* old_value = node ? old_member(old, *node, field->name) : find_old(old, field->name);
      this->node(member.value(), *field, field->map_keys, place.field(field->name), old_value);
    }
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion)
  void node(const Value& value, const Node& node, std::span<const std::string_view> keys, const Place& place,
            const Value* old) {
    if (value.is_null() || !(reach_of(node) & reaches_rule)) return;
    const std::size_t before = causes_.size();
    if (node.crd) rules(value, *node.crd, place, old);
    below(value, node, keys, place, old);
    // What did not change is not complained of, also where its parts cannot be told apart, as in a list without keys.
    if (old && causes_.size() > before && value == *old) causes_.cut_back_to(before);
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void below(const Value& value, const Node& node, std::span<const std::string_view> keys, const Place& place,
             const Value* old) {
    if (const Object* object = value.if_object()) {
      if (node.shape == Shape::structure && !node.type->crd_opaque) structure(*object, *node.type, &node, place, old);
      if (node.shape != Shape::map) return;
      for (const auto& member : *object) {
        const std::string_view key = member.key();
        this->node(member.value(), *node.element, {}, place.key(key), old_member(old, node, key));
      }
    } else if (const Array* array = value.if_array(); array && node.shape == Shape::list) {
      const OldItems old_items(old, *array, node, keys);
      Place at = place.item(0);
      for (const Value& item : *array) {
        this->node(item, *node.element, {}, at, old_items.find(item));
        ++at.index;
      }
    }
  }

  void rules(const Value& value, const CrdFacts& facts, const Place& place, const Value* old) {
    for (const Rule* rule : facts.rules) {
      const RuleCheck* check = find_rule(rule->name);
      if (!check || (check->transition && !old)) continue;
      if (check->holds(value, old)) continue;
      causes_.add(reason::invalid, print_place(place, PlaceStyle::brackets), std::string(rule->message));
    }
  }

  ShapeCauses& causes_;
};

// --- the fields behind kubectl scale ---------------------------------------------------------------------------------

// Follows a path such as ".spec.replicas". Null when something on the way is missing; `broken` when it is no object.
const Value* follow(const Value& object, std::string_view path, bool& broken) {
  const Value* at = &object;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('.'), path.size());
    if (!at->is_object()) {
      broken = true;
      return nullptr;
    }
    at = json::find(*at, path.substr(0, end));
    if (!at) return nullptr;
    path.remove_prefix(end);
  }
  return at;
}

void check_replicas(const Value& object, std::string_view path, ShapeCauses& causes) {
  bool broken = false;
  const Value* replicas = follow(object, path, broken);
  if (!replicas && !broken) return;
  const std::int64_t* count = replicas ? replicas->if_int64() : nullptr;
  if (count && *count >= 0 && *count <= std::numeric_limits<std::int32_t>::max()) return;
  causes.add(reason::invalid, std::string(path),
             fmt::format("must be a whole number from 0 to {}, not {}", std::numeric_limits<std::int32_t>::max(),
                         replicas ? in_words(*replicas) : "absent, as its parent is"));
}

void check_label_selector(const Value& object, std::string_view path, ShapeCauses& causes) {
  if (path.empty()) return;
  bool broken = false;
  const Value* selector = follow(object, path, broken);
  if (broken || (selector && !selector->is_string())) {
    causes.add(reason::invalid, std::string(path),
               fmt::format("must be a string, not {}", selector ? in_words(*selector) : "absent, as its parent is"));
  }
}

std::vector<StatusCause> unique_list_causes(const Value& object, const Type& type) {
  ShapeCauses causes;
  if (const Object* members = object.if_object()) UniqueListCheck(causes).structure(*members, type, Place{});
  return causes.take();
}

// Everything after the schema's own checks, which is the same for an object and for its status.
void finish(const Value& object, const Kind& kind, const Value* old_object, Rules rules, ShapeCauses& causes) {
  const Type& type = *kind.type;
  // Lists that were ambiguous before may stay so.
  if (!old_object || unique_list_causes(*old_object, type).empty()) {
    for (StatusCause& cause : unique_list_causes(object, type)) {
      causes.add(cause.reason, std::move(cause.field), std::move(cause.message));
    }
  }
  const Node root{.shape = Shape::structure, .type = kind.type};
  if (!(reach_of(root) & reaches_rule)) return;
  if (rules == Rules::skipped || causes.block_rules()) {
    causes.add(reason::invalid, std::string(no_field), "more validation rules apply; fix the other errors first");
    return;
  }
  RuleWalk(causes).structure(object.get_object(), *kind.type, nullptr, Place{}, old_object);
}

}  // namespace

std::vector<StatusCause> validate_structure(const json::Value& object, const Kind& kind, const json::Value* old_object,
                                            Rules rules) {
  ShapeCauses causes;
  if (!object.is_object()) {
    causes.add(reason::type_invalid, std::string(no_field), fmt::format("must be an object, not {}", in_words(object)));
    return causes.take();
  }
  SchemaCheck(causes).structure(object.get_object(), *kind.type, nullptr, Place{}, old_object);
  // An update that changes nothing may keep whatever is wrong, also what is missing at the top.
  if (old_object && causes.size() > 0 && object == *old_object) causes.cut_back_to(0);
  if (kind.scale) {
    check_replicas(object, kind.scale->spec_replicas, causes);
    check_replicas(object, kind.scale->status_replicas, causes);
    check_label_selector(object, kind.scale->label_selector, causes);
  }
  finish(object, kind, old_object, rules, causes);
  return causes.take();
}

std::vector<StatusCause> validate_status_structure(const json::Value& object, const Kind& kind,
                                                   const json::Value* old_object, Rules rules) {
  ShapeCauses causes;
  const Value* status = json::find(object, "status");
  const Field* field = kind.type->find("status");
  const Place root;
  if (status && field) {
    const Value* old_status = old_object ? json::find(*old_object, "status") : nullptr;
    SchemaCheck(causes).node(*status, *field, field->map_keys, root.field("status"), old_status);
  }
  if (!object.is_object()) return causes.take();
  if (kind.scale) {
    check_replicas(object, kind.scale->status_replicas, causes);
    check_label_selector(object, kind.scale->label_selector, causes);
  }
  finish(object, kind, old_object, rules, causes);
  return causes.take();
}

}  // namespace vg::api
