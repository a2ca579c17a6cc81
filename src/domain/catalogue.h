// The order of everything that is written (spec domain 2.2), and what is known to be written at all.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace vg::domain {

struct Shape {
  // The element, or "parent/element" where the same name means something else below another parent.
  std::string_view element;
  // Names with blanks between them, in the order in which they are written.
  std::string_view attributes;
  std::string_view children;
};

// Sorted by element.
std::span<const Shape> catalogue();
// Null for an element that the catalogue does not know.
const Shape* shape_of(std::string_view parent, std::string_view element);
// The place of a word in such a list; its end for a word that is not in it.
std::size_t rank_in(std::string_view names, std::string_view word);

}  // namespace vg::domain
