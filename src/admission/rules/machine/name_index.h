// Where the names of a list stand. Machines come from strangers: walking a list for every name of another one would
// cost the square of their length.
#pragma once

#include <algorithm>
#include <cstddef>
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
    for (std::size_t i = 0; i < list.size(); ++i)
      if (const std::optional<std::string_view> name = name_of(list[i])) entries_.emplace_back(*name, i);
    std::ranges::sort(entries_);
  }

  bool contains(std::string_view name) const { return first(name).has_value(); }
  std::optional<std::size_t> first(std::string_view name) const {
    const auto at = std::ranges::lower_bound(entries_, name, {}, &Entry::first);
    return at != entries_.end() && at->first == name ? std::optional(at->second) : std::nullopt;
  }
  // Where a name stands twice, Go's maps keep the last one.
  std::optional<std::size_t> last(std::string_view name) const {
    const auto after = std::ranges::upper_bound(entries_, name, {}, &Entry::first);
    if (after == entries_.begin() || std::prev(after)->first != name) return std::nullopt;
    return std::prev(after)->second;
  }
  // How many of that name stand before `index`.
  std::size_t count_before(std::string_view name, std::size_t index) const {
    const auto from = [&](std::size_t at) { return std::ranges::lower_bound(entries_, Entry(name, at)); };
    return static_cast<std::size_t>(from(index) - from(0));
  }
  // How many different names there are.
  std::size_t distinct() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (i == 0 || entries_[i].first != entries_[i - 1].first) ++count;
    return count;
  }

 private:
  using Entry = std::pair<std::string_view, std::size_t>;
  std::vector<Entry> entries_;  // by name, then by place
};

}  // namespace vg::admission
