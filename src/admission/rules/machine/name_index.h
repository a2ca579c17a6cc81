// Where the names of a list stand. Machines come from strangers: walking a list for every name of another one would
// cost the square of their length.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/view.h"

namespace vg::admission {

class NameIndex {
 public:
  template <class T>
  explicit NameIndex(const api::List<T>& list) : NameIndex(list, [](const T& item) { return item.name(); }) {}

  // `name_of` gives a name, or nullopt for what is to be left out.
  template <class T, class NameOf>
  NameIndex(const api::List<T>& list, NameOf name_of) {
    entries_.reserve(list.size());
    hashed_ = list.size() > searched_by_name_max;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (const std::optional<std::string_view> name = name_of(list[i]))
        entries_.push_back({.hash = hash_of(*name), .name = *name, .place = i});
    if (hashed_)
      sort_by_drawers();
    else
      std::ranges::sort(entries_);
  }

  bool contains(std::string_view name) const { return first(name).has_value(); }
  std::optional<std::size_t> first(std::string_view name) const {
    const auto at = from(name, 0);
    return at != entries_.end() && at->name == name ? std::optional(at->place) : std::nullopt;
  }
  // Where a name stands twice, Go's maps keep the last one.
  std::optional<std::size_t> last(std::string_view name) const {
    const auto after = from(name, std::numeric_limits<std::size_t>::max());
    if (after == entries_.begin() || std::prev(after)->name != name) return std::nullopt;
    return std::prev(after)->place;
  }
  // How many of that name stand before `index`.
  std::size_t count_before(std::string_view name, std::size_t index) const {
    return static_cast<std::size_t>(from(name, index) - from(name, 0));
  }
  // How many different names there are.
  std::size_t distinct() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (i == 0 || entries_[i].name != entries_[i - 1].name) ++count;
    return count;
  }

 private:
  // By hash first: names are compared only where hashes are equal. Who makes hashes collide gets a search by name.
  struct Entry {
    std::size_t hash;
    std::string_view name;
    std::size_t place;
    auto operator<=>(const Entry&) const = default;
  };
  // A short list is found through sooner than a name is hashed.
  static constexpr std::size_t searched_by_name_max = 16;
  std::size_t hash_of(std::string_view name) const { return hashed_ ? std::hash<std::string_view>()(name) : 0; }
  // The first of that name that stands at `place` or behind it, or what would follow it.
  std::vector<Entry>::const_iterator from(std::string_view name, std::size_t place) const {
    const Entry wanted{.hash = hash_of(name), .name = name, .place = place};
    if (!hashed_) return std::ranges::lower_bound(entries_, wanted);
    const auto begin = entries_.begin();
    const std::size_t drawer = drawer_of(wanted.hash);
    return std::lower_bound(begin + drawers_[drawer], begin + drawers_[drawer + 1], wanted);
  }

  // Entries of a long list lie in drawers by the first bits of their hash, about one in each, so that neither sorting
  // nor finding costs a logarithm. drawers_[i] is where drawer i begins, and the last one where all end.
  std::size_t drawer_of(std::size_t hash) const { return hash >> shift_; }
  void sort_by_drawers() {
    const auto bits = static_cast<int>(std::bit_width(entries_.size() | 1));
    shift_ = std::numeric_limits<std::size_t>::digits - bits;
    drawers_.assign((std::size_t{1} << bits) + 1, 0);
    for (const Entry& entry : entries_) ++drawers_[drawer_of(entry.hash) + 1];
    std::partial_sum(drawers_.begin(), drawers_.end(), drawers_.begin());
    std::vector<Entry> sorted(entries_.size());
    std::vector<std::uint32_t> next = drawers_;
    for (const Entry& entry : entries_) sorted[next[drawer_of(entry.hash)]++] = entry;
    for (std::size_t i = 0; i + 1 < drawers_.size(); ++i)
      std::sort(sorted.begin() + drawers_[i], sorted.begin() + drawers_[i + 1]);
    entries_ = std::move(sorted);
  }

  bool hashed_ = false;
  int shift_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> drawers_;
};

}  // namespace vg::admission
