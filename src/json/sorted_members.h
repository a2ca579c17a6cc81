// The members of a large object in the byte order of their names. Names that differ early, as most do, are compared by
// eight bytes that lie beside one another instead of by their text, which lies anywhere in memory: what counts for a
// hundred thousand names is how often memory is waited for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace vg::json {

// The first eight bytes as a number that compares as they do. A shorter text is followed by zeros.
inline std::uint64_t leading_bytes(std::string_view text) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(number); ++i)
    number = number << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  return number;
}

inline std::size_t common_prefix_bytes(std::string_view one, std::string_view two) {
  const auto [end, other] = std::ranges::mismatch(one, two);
  return static_cast<std::size_t>(end - one.begin());
}

// Puts `items` in the order of their names. Which of two with the same name comes first is not said.
template <class Item, class NameOf>
void sort_by_name(std::span<Item> items, NameOf name_of) {
  constexpr std::size_t few = 32;  // for which nothing more is made
  const auto by_name = [&](const Item& item) -> std::string_view { return name_of(item); };
  if (std::ranges::is_sorted(items, {}, by_name)) return;
  if (items.size() <= few) {
    std::ranges::sort(items, {}, by_name);
    return;
  }
  // What all names begin with tells none of them apart.
  const std::string_view first = by_name(items.front());
  std::size_t common = first.size();
  for (const Item& item : items) common = common_prefix_bytes(first.substr(0, common), by_name(item));
  struct Entry {
    std::uint64_t leading;
    Item item;
  };
  std::vector<Entry> entries;
  entries.reserve(items.size());
  for (Item& item : items) {
    const std::uint64_t leading = leading_bytes(by_name(item).substr(common));
    entries.push_back({leading, std::move(item)});
  }
  std::ranges::sort(entries, [&](const Entry& one, const Entry& two) {
    return one.leading != two.leading ? one.leading < two.leading : by_name(one.item) < by_name(two.item);
  });
  std::ranges::transform(entries, items.begin(), [](Entry& entry) { return std::move(entry.item); });
}

// Of pointers to members.
template <class Member>
void sort_members(std::span<Member*> members) {
  sort_by_name(members, [](const Member* member) { return std::string_view(member->key()); });
}

}  // namespace vg::json
