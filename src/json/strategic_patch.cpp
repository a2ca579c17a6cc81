#include "json/strategic_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/joined.h"
#include "base/limits.h"
#include "json/access.h"
#include "json/write.h"

namespace vg::json {
namespace {

constexpr std::string_view patch_marker = "$patch";
constexpr std::string_view retain_keys = "$retainKeys";
constexpr std::string_view delete_prefix = "$deleteFromPrimitiveList";
constexpr std::string_view order_prefix = "$setElementOrder";

bool is_directive(std::string_view key) {
  return key == patch_marker || key == retain_keys || key.starts_with(delete_prefix) || key.starts_with(order_prefix);
}

// The field that "$prefix/field" is about.
std::optional<std::string_view> field_of(std::string_view key, std::string_view prefix) {
  key.remove_prefix(prefix.size());
  if (key.size() < 2 || key.front() != '/') return std::nullopt;
  return key.substr(1);
}

// A copy without nulls and directives, or nothing when the value is itself a directive.
std::optional<Value> clean_copy(const Value& value, const StoragePtr& storage);

Value clean_members(const Object& object, const StoragePtr& storage) {
  Object out(storage);
  out.reserve(object.size());
  for (const auto& member : object) {
    if (member.value().is_null() || is_directive(member.key())) continue;
    if (auto inner = clean_copy(member.value(), storage)) out.emplace(member.key(), std::move(*inner));
  }
  return out;
}

std::optional<Value> clean_copy(const Value& value, const StoragePtr& storage) {
  if (const Object* object = value.if_object()) {
    if (object->contains(patch_marker)) return std::nullopt;
    return clean_members(*object, storage);
  }
  const Array* array = value.if_array();
  if (!array) return Value(value, storage);
  Array out(storage);
  out.reserve(array->size());
  for (const Value& element : *array) {
    if (auto inner = clean_copy(element, storage)) out.push_back(std::move(*inner));
  }
  return out;
}

// An element of a merging list, and what makes it the same as another one: the text of its merge key or of itself.
struct Element {
  std::string id;
  Value value;
};
using Elements = std::vector<Element>;
using Ranks = std::map<std::string, std::size_t, std::less<>>;  // id to its first place

Ranks ranks_of(const std::vector<std::string>& ids) {
  Ranks ranks;
  for (const std::string& id : ids) ranks.emplace(id, ranks.size());
  return ranks;
}

// Elements named in `wanted` in that order, the others in the order of `live`, and both woven together: one of the
// others goes first only when the live list had it before.
void order(Elements& elements, const Ranks& wanted, const Ranks& live) {
  using Ranked = std::pair<std::size_t, std::size_t>;  // rank, then place in `elements`
  std::vector<Ranked> named, others;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto in_wanted = wanted.find(elements[i].id);
    if (in_wanted != wanted.end()) {
      named.emplace_back(in_wanted->second, i);
    } else {
      const auto in_live = live.find(elements[i].id);
      others.emplace_back(in_live == live.end() ? live.size() : in_live->second, i);
    }
  }
  std::ranges::sort(named);
  std::ranges::sort(others);

  Elements ordered;
  ordered.reserve(elements.size());
  auto next_other = others.begin();
  const auto take = [&](const Ranked& ranked) { ordered.push_back(std::move(elements[ranked.second])); };
  for (const Ranked& next_named : named) {
    const auto in_live = live.find(elements[next_named.second].id);
    const std::size_t limit = in_live == live.end() ? 0 : in_live->second;
    while (next_other != others.end() && next_other->first < limit) take(*next_other++);
    take(next_named);
  }
  std::for_each(next_other, others.end(), take);
  elements = std::move(ordered);
}

class StrategicMerge {
 public:
  explicit StrategicMerge(StoragePtr storage) : storage_(std::move(storage)) {}

  Result<void> object(Object& live, const Object& patch, const MergeRules* rules);

 private:
  using Handled = std::set<std::string_view>;

  Result<void> patch_directive(Object& live, const Object& patch, const Value& directive, const MergeRules* rules);
  Result<void> members(Object& live, const Object& patch, const MergeRules* rules);
  Result<void> member(Object& live, std::string_view key, const Value& value, const MergeRule& rule);
  Result<void> retain(Object& live, const Object& patch);
  Result<void> delete_scalars(Object& live, std::string_view key, const Value& scalars);
  Result<void> set_order(Object& live, const Object& patch, std::string_view key, const Value& order_list,
                         const MergeRules* rules, Handled& handled);
  Result<void> check_order(const Array& patch, const std::vector<std::string>& wanted, std::string_view merge_key);
  Result<void> list(Array& live, const Array& patch, const MergeRule& rule);
  Result<void> merge_scalars(Elements& elements, const Array& patch);
  Result<void> merge_objects(Elements& elements, const Array& patch, const MergeRule& rule);

  Result<std::string> id_of(const Value& element, std::string_view merge_key);
  Result<std::vector<std::string>> ids_of(const Array& list, std::string_view merge_key);
  Result<Elements> take_elements(Array& list, std::string_view merge_key);
  void put_elements(Array& list, Elements elements);

  std::string place() const { return path_.empty() ? "the document" : joined(path_, "."); }
  Failed malformed(std::string_view why) const {
    return fail(Status::bad_request(fmt::format("strategic merge patch, in {}: {}", place(), why)));
  }
  Failed unmergeable(std::string_view why) const {
    Status status;
    status.code = 422;
    status.reason = "Invalid";
    status.message = fmt::format("strategic merge patch, in {}: {}", place(), why);
    return fail(std::move(status));
  }

  // Names the place that a message is about while this object lives.
  class Descent {
   public:
    Descent(StrategicMerge& merge, std::string_view name) : path_(merge.path_) { path_.push_back(name); }
    Descent(const Descent&) = delete;
    Descent& operator=(const Descent&) = delete;
    ~Descent() { path_.pop_back(); }

   private:
    std::vector<std::string_view>& path_;
  };

  // Counts what is about to be looked at.
  Result<void> spend(std::size_t steps) {
    steps_ += steps;
    if (steps_ <= limits::strategic_patch_steps_max) return {};
    return unmergeable("the patch covers too many list elements; send it in parts");
  }

  StoragePtr storage_;
  std::vector<std::string_view> path_;
  std::size_t steps_ = 0;
};

MergeRule rule_for(const MergeRules* rules, std::string_view key) { return rules ? rules->field(key) : MergeRule{}; }

Result<void> StrategicMerge::object(Object& live, const Object& patch, const MergeRules* rules) {
  if (const Value* directive = find(patch, patch_marker)) return patch_directive(live, patch, *directive, rules);
  return members(live, patch, rules);
}

Result<void> StrategicMerge::patch_directive(Object& live, const Object& patch, const Value& directive,
                                             const MergeRules* rules) {
  const std::string_view what = as_string(&directive).value_or("");
  if (what == "merge") return members(live, patch, rules);
  if (what == "delete") return live.clear(), Result<void>();
  if (what != "replace") return malformed("\"$patch\" must be replace, delete or merge");
  live = std::move(clean_members(patch, storage_).get_object());
  return {};
}

Result<void> StrategicMerge::members(Object& live, const Object& patch, const MergeRules* rules) {
  if (auto done = retain(live, patch); !done) return done;
  Handled handled;
  for (const auto& entry : patch) {
    if (!std::string_view(entry.key()).starts_with(order_prefix)) continue;
    if (auto done = set_order(live, patch, entry.key(), entry.value(), rules, handled); !done) return done;
  }
  for (const auto& entry : patch) {
    const std::string_view key = entry.key();
    if (key.starts_with(delete_prefix)) {
      if (auto done = delete_scalars(live, key, entry.value()); !done) return done;
    } else if (!is_directive(key) && !handled.contains(key)) {
      const Descent descent(*this, key);
      if (auto done = member(live, key, entry.value(), rule_for(rules, key)); !done) return done;
    }
  }
  return {};
}

Result<void> StrategicMerge::member(Object& live, std::string_view key, const Value& value, const MergeRule& rule) {
  if (value.is_null()) return erase(live, key), Result<void>();
  Object* live_object = get_object(live, key);
  Array* live_array = get_array(live, key);
  if (live_object && value.is_object() && rule.strategy != MergeRule::Strategy::replace) {
    return object(*live_object, value.get_object(), rule.inside);
  }
  if (live_array && value.is_array() && rule.strategy == MergeRule::Strategy::merge) {
    return list(*live_array, value.get_array(), rule);
  }
  if (auto copy = clean_copy(value, storage_)) {
    live.insert_or_assign(key, std::move(*copy));
  } else {
    erase(live, key);
  }
  return {};
}

Result<void> StrategicMerge::retain(Object& live, const Object& patch) {
  const Value* directive = find(patch, retain_keys);
  if (!directive) return {};
  const Array* names = directive->if_array();
  if (!names) return malformed("\"$retainKeys\" must be a list of member names");
  if (auto spent = spend(live.size()); !spent) return spent;
  std::set<std::string_view> kept;
  for (const Value& name : *names) kept.insert(as_string(&name).value_or(""));
  for (const auto& entry : patch) {
    if (entry.value().is_null() || is_directive(entry.key()) || kept.contains(entry.key())) continue;
    return malformed(
        fmt::format("\"$retainKeys\" does not name {}, which the patch sets", std::string_view(entry.key())));
  }
  Object rest(storage_);
  for (auto& entry : live) {
    if (kept.contains(entry.key())) rest.emplace(entry.key(), std::move(entry.value()));
  }
  live = std::move(rest);
  return {};
}

Result<void> StrategicMerge::delete_scalars(Object& live, std::string_view key, const Value& scalars) {
  const auto field = field_of(key, delete_prefix);
  const Array* unwanted = scalars.if_array();
  if (!field || !unwanted || std::ranges::any_of(*unwanted, &Value::is_structured)) {
    return malformed("\"$deleteFromPrimitiveList/<field>\" must name a field and list scalars");
  }
  Array* array = get_array(live, *field);
  if (!array) return {};
  if (auto spent = spend(array->size()); !spent) return spent;
  std::set<std::string> ids;
  for (const Value& scalar : *unwanted) ids.insert(to_text(scalar));
  Array rest(storage_);
  for (Value& element : *array) {
    if (element.is_structured() || !ids.contains(to_text(element))) rest.push_back(std::move(element));
  }
  *array = std::move(rest);
  return {};
}

// The list in the field `$setElementOrder` is about is merged here, before all others, and then put in order.
Result<void> StrategicMerge::set_order(Object& live, const Object& patch, std::string_view key, const Value& order_list,
                                       const MergeRules* rules, Handled& handled) {
  const auto field = field_of(key, order_prefix);
  if (!field || !order_list.is_array()) {
    return malformed("\"$setElementOrder/<field>\" must name a field and be a list");
  }
  const Value* change = find(patch, *field);
  if (change && !change->is_array()) return {};  // the field goes or becomes something else: nothing to order
  const Descent descent(*this, *field);
  const MergeRule rule = rule_for(rules, *field);
  auto wanted = ids_of(order_list.get_array(), rule.merge_key);
  if (!wanted) return fail(std::move(wanted.error()));
  Ranks live_ranks;
  if (const Array* before = get_array(live, *field)) {
    auto live_ids = ids_of(*before, rule.merge_key);
    if (!live_ids) return fail(std::move(live_ids.error()));
    live_ranks = ranks_of(*live_ids);
  }
  if (change) {
    if (auto done = check_order(change->get_array(), *wanted, rule.merge_key); !done) return done;
    if (auto done = member(live, *field, *change, rule); !done) return done;
    handled.insert(*field);
  }
  Array* merged = get_array(live, *field);
  if (!merged) return {};
  auto elements = take_elements(*merged, rule.merge_key);
  if (!elements) return fail(std::move(elements.error()));
  order(*elements, ranks_of(*wanted), live_ranks);
  put_elements(*merged, std::move(*elements));
  return {};
}

// What the patch lists must also stand in the wanted order, and in that order; elements with a directive do not count.
Result<void> StrategicMerge::check_order(const Array& patch, const std::vector<std::string>& wanted,
                                         std::string_view merge_key) {
  auto next = wanted.begin();
  for (const Value& element : patch) {
    if (wanted.empty() || find(element, patch_marker)) continue;
    auto id = id_of(element, merge_key);
    if (!id) return fail(std::move(id.error()));
    next = std::find(next, wanted.end(), *id);
    if (next == wanted.end())
      return malformed("the list and its \"$setElementOrder\" must have the same elements in the same order");
    ++next;
  }
  return {};
}

Result<void> StrategicMerge::list(Array& live, const Array& patch, const MergeRule& rule) {
  if (live.empty() && patch.empty()) return {};
  const Value& first = live.empty() ? patch.front() : live.front();
  if (first.is_array()) return unmergeable("lists of lists cannot be merged");
  const bool objects = first.is_object();
  const auto alike = [&](const Value& element) { return element.is_object() == objects && !element.is_array(); };
  if (!std::ranges::all_of(live, alike) || !std::ranges::all_of(patch, alike)) {
    return unmergeable("a merged list must have only objects or only scalars");
  }
  if (objects && rule.merge_key.empty()) return unmergeable("this list of objects has no merge key; replace the list");
  auto elements = take_elements(live, objects ? rule.merge_key : std::string_view());
  if (!elements) return fail(std::move(elements.error()));
  auto done = objects ? merge_objects(*elements, patch, rule) : merge_scalars(*elements, patch);
  if (!done) return done;
  put_elements(live, std::move(*elements));
  return {};
}

Result<void> StrategicMerge::merge_scalars(Elements& elements, const Array& patch) {
  Elements merged;
  Ranks live, wanted;
  for (Element& element : elements) {
    if (live.emplace(element.id, live.size()).second) merged.push_back(std::move(element));
  }
  for (const Value& scalar : patch) {
    std::string id = to_text(scalar);
    if (!wanted.emplace(id, wanted.size()).second || live.contains(id)) continue;
    merged.push_back({std::move(id), Value(scalar, storage_)});
  }
  order(merged, wanted, live);
  elements = std::move(merged);
  return {};
}

Result<void> StrategicMerge::merge_objects(Elements& elements, const Array& patch, const MergeRule& rule) {
  std::set<std::string> deleted;
  std::vector<std::pair<std::string, const Object*>> changes;
  bool replace = false;
  for (const Value& value : patch) {
    const Object& change = value.get_object();
    const Value* directive = find(change, patch_marker);
    const std::string_view what = as_string(directive).value_or("");
    if (what == "replace") {
      replace = true;
      continue;
    }
    if (directive && what != "delete") return malformed("\"$patch\" in a list element must be replace or delete");
    auto id = id_of(value, rule.merge_key);
    if (!id) return fail(std::move(id.error()));
    if (directive) {
      deleted.insert(std::move(*id));
    } else {
      changes.emplace_back(std::move(*id), &change);
    }
  }
  if (replace) elements.clear();
  std::erase_if(elements, [&](const Element& element) { return deleted.contains(element.id); });

  Ranks live, wanted, places;
  for (const Element& element : elements) live.emplace(element.id, live.size());
  for (std::size_t i = 0; i < elements.size(); ++i) places.emplace(elements[i].id, i);
  for (auto& [id, change] : changes) {
    const auto [found, is_new] = places.emplace(id, elements.size());
    wanted.emplace(id, wanted.size());
    if (is_new) {
      elements.push_back({std::move(id), clean_members(*change, storage_)});
    } else if (auto done = object(elements[found->second].value.get_object(), *change, rule.inside); !done) {
      return done;
    }
  }
  order(elements, wanted, live);
  return {};
}

Result<std::string> StrategicMerge::id_of(const Value& element, std::string_view merge_key) {
  if (merge_key.empty()) {
    if (element.is_structured()) return unmergeable("an element is not a scalar, and the list has no merge key");
    return to_text(element);
  }
  const Value* key = find(element, merge_key);
  if (!key) return unmergeable(fmt::format("an element has no \"{}\", the merge key of this list", merge_key));
  return to_text(*key);
}

Result<std::vector<std::string>> StrategicMerge::ids_of(const Array& list, std::string_view merge_key) {
  if (auto spent = spend(list.size()); !spent) return fail(std::move(spent.error()));
  std::vector<std::string> ids;
  ids.reserve(list.size());
  for (const Value& element : list) {
    auto id = id_of(element, merge_key);
    if (!id) return fail(std::move(id.error()));
    ids.push_back(std::move(*id));
  }
  return ids;
}

Result<Elements> StrategicMerge::take_elements(Array& list, std::string_view merge_key) {
  if (auto spent = spend(list.size()); !spent) return fail(std::move(spent.error()));
  Elements elements;
  elements.reserve(list.size());
  for (Value& element : list) {
    auto id = id_of(element, merge_key);
    if (!id) return fail(std::move(id.error()));
    elements.push_back({std::move(*id), std::move(element)});
  }
  return elements;
}

void StrategicMerge::put_elements(Array& list, Elements elements) {
  list.clear();
  list.reserve(elements.size());
  for (Element& element : elements) list.push_back(std::move(element.value));
}

}  // namespace

Result<void> apply_strategic_patch(Value& document, const Value& patch, const MergeRules& rules) {
  const Object* object = patch.if_object();
  if (!object) return fail(Status::bad_request("a strategic merge patch must be an object"));
  Value work(document, document.storage());
  if (!work.is_object()) work.emplace_object();
  if (auto done = StrategicMerge(document.storage()).object(work.get_object(), *object, &rules); !done) return done;
  document = std::move(work);
  return {};
}

}  // namespace vg::json
