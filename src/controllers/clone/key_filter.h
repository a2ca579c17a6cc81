// Which labels and annotations a clone keeps (spec copies 5.2).
#pragma once

#include <memory>
#include <string_view>

#include "json/value.h"

namespace vg::controllers::clone {

// Filters are regular expressions as Go has them, found anywhere in a key. They come from users: all of a list are
// matched at once, in time that grows with the key alone. "*" takes all, "!" before an expression excludes, and wins.
// One that is no expression matches nothing; a list that takes too much memory keeps nothing.
class KeyFilter {
 public:
  explicit KeyFilter(const json::Array& filters);
  ~KeyFilter();
  KeyFilter(const KeyFilter&) = delete;
  KeyFilter& operator=(const KeyFilter&) = delete;

  bool includes(std::string_view key) const;

 private:
  struct Sets;
  std::unique_ptr<const Sets> sets_;  // null: keeps nothing
};

}  // namespace vg::controllers::clone
