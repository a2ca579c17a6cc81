#include "api/field_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "json/access.h"
#include "json/parse.h"
#include "json/sorted_members.h"
#include "json/write.h"

namespace vg::api {
namespace {

using std::string_view;

constexpr string_view itself = ".";

string_view utf8_prefix(string_view text, std::size_t bytes) {
  while (bytes > 0 && bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

bool is_element(string_view text) { return text.size() >= 2 && text[1] == ':'; }
bool is_known_element(string_view text) { return string_view("fkvi").contains(text[0]); }

// {"name":"root","port":80} as name="root",port=80
std::string print_keys(string_view keys) {
  const auto read = json::parse(keys, {});
  if (!read || !read->is_object()) return std::string(keys);
  std::string text;
  for (const auto& member : read->get_object())
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", string_view(member.key()), json::to_text(member.value()));
  return text;
}

std::string print_element(string_view element) {
  if (element.size() > limits::shown_name_bytes_max)
    return fmt::format("[{}...]", utf8_prefix(element.substr(2), limits::shown_name_bytes_max));
  const string_view rest = element.substr(2);
  switch (element.front()) {
    case 'f':
      return fmt::format(".{}", rest);
    case 'k':
      return fmt::format("[{}]", print_keys(rest));
    case 'v':
      return fmt::format("[={}]", rest);
    default:
      return fmt::format("[{}]", rest);
  }
}

// Looks up ascending elements in a set, each from where the last one was found: as quick for a few elements of a large
// set as for two sets of the same size.
class Cursor {
 public:
  explicit Cursor(const FieldSet& set) : children_(set.children) {}

  // Null when the set has nothing that starts with `element`.
  const FieldSet* find(string_view element) {
    const auto before = [&](std::size_t i) { return string_view(children_[i].element) < element; };
    std::size_t step = 1;
    std::size_t end = at_;
    while (end < children_.size() && before(end)) {
      at_ = end + 1;
      end += step;
      step *= 2;
    }
    end = std::min(end, children_.size());
    const auto rest = children_.subspan(at_, end - at_);
    at_ +=
        static_cast<std::size_t>(std::ranges::lower_bound(rest, element, {}, &FieldSet::Child::element) - rest.begin());
    return at_ < children_.size() && children_[at_].element == element ? &children_[at_].below : nullptr;
  }

 private:
  std::span<const FieldSet::Child> children_;
  std::size_t at_ = 0;
};

// NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
void collect(const FieldSet& set, const std::string& path, std::size_t most, std::vector<std::string>& out) {
  for (const FieldSet::Child& child : set.children) {
    if (out.size() >= most) return;
    const std::string here = path + print_element(child.element);
    if (child.below.member) out.push_back(here);
    collect(child.below, here, most, out);
  }
}

}  // namespace

FieldSet::FieldSet() = default;
FieldSet::FieldSet(const FieldSet&) = default;
FieldSet::FieldSet(FieldSet&&) noexcept = default;
FieldSet& FieldSet::operator=(const FieldSet&) = default;
FieldSet& FieldSet::operator=(FieldSet&&) noexcept = default;
FieldSet::~FieldSet() = default;

// NOLINTBEGIN(misc-no-recursion): as deep as the object, which the parser bounds

bool FieldSet::empty() const {
  return std::ranges::all_of(children, [](const Child& child) { return !child.below.member && child.below.empty(); });
}

bool FieldSet::operator==(const FieldSet& other) const {
  return member == other.member && std::ranges::equal(children, other.children, [](const Child& one, const Child& two) {
           return one.element == two.element && one.below == two.below;
         });
}

const FieldSet* FieldSet::find(string_view element) const {
  const auto found = std::ranges::lower_bound(children, element, {}, &Child::element);
  return found != children.end() && found->element == element ? &found->below : nullptr;
}

FieldSet& FieldSet::at(string_view element) {
  const auto found = std::ranges::lower_bound(children, element, {}, &Child::element);
  if (found != children.end() && found->element == element) return found->below;
  return children.insert(found, {std::string(element), {}})->below;
}

void FieldSet::sort_children() {
  json::sort_by_name(std::span(children), [](const Child& child) { return string_view(child.element); });
}

std::size_t FieldSet::written_bytes_min() const {
  static constexpr std::size_t around = std::string_view(R"("":{},)").size();
  std::size_t bytes = 0;
  for (const Child& child : children) bytes += child.element.size() + around + child.below.written_bytes_min();
  return bytes;
}

void FieldSet::trim() {
  for (Child& child : children) child.below.trim();
  std::erase_if(children, [](const Child& child) { return !child.below.member && child.below.children.empty(); });
}

FieldSet FieldSet::united_with(const FieldSet& other) const {
  FieldSet result;
  result.member = member || other.member;
  result.children.reserve(std::max(children.size(), other.children.size()));
  auto left = children.begin();
  auto right = other.children.begin();
  while (left != children.end() && right != other.children.end()) {
    const int order = left->element.compare(right->element);
    if (order < 0) {
      result.children.push_back(*left++);
    } else if (order > 0) {
      result.children.push_back(*right++);
    } else {
      result.children.push_back({left->element, left->below.united_with(right->below)});
      ++left, ++right;
    }
  }
  result.children.insert(result.children.end(), left, children.end());
  result.children.insert(result.children.end(), right, other.children.end());
  return result;
}

// Both look for what this set has in the other one: there may be many owners of a few fields each, and one large
// change that is taken from all of them.

FieldSet FieldSet::without(const FieldSet& other) const {
  FieldSet result;
  result.member = member && !other.member;
  Cursor others(other);
  for (const Child& child : children) {
    const FieldSet* found = others.find(child.element);
    FieldSet below = found ? child.below.without(*found) : child.below;
    if (below.member || !below.children.empty()) result.children.push_back({child.element, std::move(below)});
  }
  return result;
}

void FieldSet::subtract(const FieldSet& other) {
  member = member && !other.member;
  if (other.children.empty()) return;
  Cursor others(other);
  std::erase_if(children, [&](Child& child) {
    if (const FieldSet* found = others.find(child.element)) child.below.subtract(*found);
    return !child.below.member && child.below.children.empty();
  });
}

FieldSet FieldSet::common_with(const FieldSet& other) const {
  FieldSet result;
  result.member = member && other.member;
  Cursor others(other);
  for (const Child& child : children) {
    const FieldSet* found = others.find(child.element);
    if (!found) continue;
    FieldSet below = child.below.common_with(*found);
    if (below.member || !below.children.empty()) result.children.push_back({child.element, std::move(below)});
  }
  return result;
}

bool FieldSet::intersects(const FieldSet& other) const {
  if (member && other.member) return true;
  return std::ranges::any_of(children, [&](const Child& child) {
    const FieldSet* found = other.find(child.element);
    return found && child.below.intersects(*found);
  });
}

void FieldSet::unite(FieldSet other) {
  member = member || other.member;
  if (other.children.empty()) return;
  if (children.empty()) {
    children = std::move(other.children);
    return;
  }
  std::vector<Child> merged;
  merged.reserve(children.size() + other.children.size());
  auto left = children.begin(), right = other.children.begin();
  while (left != children.end() && right != other.children.end()) {
    const int order = left->element.compare(right->element);
    if (order == 0) left->below.unite(std::move((right++)->below));
    merged.push_back(std::move(order > 0 ? *right++ : *left++));
  }
  std::move(left, children.end(), std::back_inserter(merged));
  std::move(right, other.children.end(), std::back_inserter(merged));
  children = std::move(merged);
}

FieldSet FieldSet::union_of(std::span<const FieldSet* const> sets) {
  if (sets.empty()) return {};
  if (sets.size() == 1) return *sets.front();
  const std::size_t half = sets.size() / 2;
  return union_of(sets.first(half)).united_with(union_of(sets.subspan(half)));
}

std::vector<std::string> FieldSet::paths(std::size_t most) const {
  std::vector<std::string> all;
  collect(*this, "", most, all);
  return all;
}

json::Value FieldSet::to_fields_v1(const json::StoragePtr& storage) const {
  json::Object fields(storage);
  if (!children.empty()) fields.reserve(children.size() + 1);
  if (member && !children.empty()) fields.emplace(itself, json::Object(storage));
  for (const Child& child : children) fields.emplace(child.element, child.below.to_fields_v1(storage));
  return json::Value(std::move(fields));
}

Result<FieldSet> FieldSet::from_fields_v1(const json::Value& fields) {
  const json::Object* members = fields.if_object();
  if (!members) return fail(Status::bad_request("fieldsV1 must be an object of objects"));
  FieldSet set;
  set.children.reserve(members->size());
  for (const auto& entry : *members) {
    const string_view element = entry.key();
    if (element == itself) {
      set.member = true;
      continue;
    }
    if (!is_element(element))
      return fail(Status::bad_request(
          fmt::format("\"{}\" in fieldsV1 is not a path element; path elements begin with f:, k:, v: or i:", element)));
    if (!is_known_element(element)) continue;
    auto below = from_fields_v1(entry.value());
    if (!below) return below;
    // What has nothing below it is itself in the set.
    if (below->children.empty()) below->member = true;
    set.children.push_back({std::string(element), std::move(*below)});
  }
  set.sort_children();
  return set;
}

bool FieldSet::intersects_fields_v1(const json::Value& fields) const {
  const json::Object* members = fields.if_object();
  if (!members) return false;
  // As in from_fields_v1: what has nothing below it is itself in the set.
  if (member && (members->empty() || json::find(*members, itself))) return true;
  // There may be many small sets beside a large one, and the other way round.
  if (members->size() < children.size())
    return std::ranges::any_of(*members, [&](const auto& entry) {
      const FieldSet* found = find(entry.key());
      return found && found->intersects_fields_v1(entry.value());
    });
  return std::ranges::any_of(children, [&](const Child& child) {
    const json::Value* found = json::find(*members, child.element);
    return found && child.below.intersects_fields_v1(*found);
  });
}

// NOLINTEND(misc-no-recursion)

}  // namespace vg::api
