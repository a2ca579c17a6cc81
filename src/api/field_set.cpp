#include "api/field_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/access.h"
#include "json/parse.h"
#include "json/write.h"

namespace vg::api {
namespace {

using std::string_view;

constexpr string_view itself = ".";

bool is_element(string_view text) {
  return text.size() >= 2 && text[1] == ':' && string_view("fkvi").contains(text[0]);
}

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

// NOLINTNEXTLINE(misc-no-recursion): as deep as the document, which the parser bounds
void collect(const FieldSet& set, const std::string& path, std::vector<std::string>& out) {
  for (const FieldSet::Child& child : set.children) {
    const std::string here = path + print_element(child.element);
    if (child.below.member) out.push_back(here);
    collect(child.below, here, out);
  }
}

// Two trees side by side: `both` combines what stands at the same place, null for what only one of them has.
template <class Combine>
FieldSet zip(const FieldSet& one, const FieldSet& other, const Combine& combine) {
  FieldSet result;
  auto left = one.children.begin();
  auto right = other.children.begin();
  while (left != one.children.end() || right != other.children.end()) {
    const bool take_left =
        right == other.children.end() || (left != one.children.end() && left->element <= right->element);
    const bool take_right =
        left == one.children.end() || (right != other.children.end() && right->element <= left->element);
    const std::string& element = take_left ? left->element : right->element;
    FieldSet below = combine(take_left ? &left->below : nullptr, take_right ? &right->below : nullptr);
    if (below.member || !below.children.empty()) result.children.push_back({element, std::move(below)});
    if (take_left) ++left;
    if (take_right) ++right;
  }
  return result;
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

void FieldSet::trim() {
  for (Child& child : children) child.below.trim();
  std::erase_if(children, [](const Child& child) { return !child.below.member && child.below.children.empty(); });
}

FieldSet FieldSet::united_with(const FieldSet& other) const {
  FieldSet result = zip(*this, other, [](const FieldSet* one, const FieldSet* two) {
    return one && two ? one->united_with(*two) : one ? *one : *two;
  });
  result.member = member || other.member;
  return result;
}

FieldSet FieldSet::without(const FieldSet& other) const {
  FieldSet result = zip(*this, other, [](const FieldSet* one, const FieldSet* two) {
    return one && two ? one->without(*two) : one ? *one : FieldSet();
  });
  result.member = member && !other.member;
  return result;
}

FieldSet FieldSet::common_with(const FieldSet& other) const {
  FieldSet result = zip(*this, other, [](const FieldSet* one, const FieldSet* two) {
    return one && two ? one->common_with(*two) : FieldSet();
  });
  result.member = member && other.member;
  return result;
}

std::vector<std::string> FieldSet::paths() const {
  std::vector<std::string> all;
  collect(*this, "", all);
  return all;
}

json::Value FieldSet::to_fields_v1(const json::StoragePtr& storage) const {
  json::Object fields(storage);
  if (member && !children.empty()) fields.emplace(itself, json::Object(storage));
  for (const Child& child : children) fields.emplace(child.element, child.below.to_fields_v1(storage));
  return json::Value(std::move(fields));
}

Result<FieldSet> FieldSet::from_fields_v1(const json::Value& fields) {
  const json::Object* members = fields.if_object();
  if (!members) return fail(Status::bad_request("fieldsV1 is an object of objects"));
  FieldSet set;
  for (const auto& entry : *members) {
    const string_view element = entry.key();
    if (element == itself) {
      set.member = true;
      continue;
    }
    if (!is_element(element))
      return fail(Status::bad_request(
          fmt::format("\"{}\" in fieldsV1 is no element of a path; they begin with f:, k:, v: or i:", element)));
    auto below = from_fields_v1(entry.value());
    if (!below) return below;
    // What has nothing below it is itself in the set.
    if (below->children.empty()) below->member = true;
    set.at(element) = std::move(*below);
  }
  return set;
}

// NOLINTEND(misc-no-recursion)

}  // namespace vg::api
