// From text to tree, macros expanded.
#pragma once

#include <expected>
#include <string_view>

#include "cel/ast.h"
#include "cel/token.h"

namespace vg::cel {

// Beyond the language's core.
struct Syntax {
  bool sort_by = false;    // the macro sortBy
  bool extremes = false;   // the macros math.greatest and math.least
  bool optionals = false;  // a.?b, a[?b], [?a], {?a: b}, the macros optMap and optFlatMap
  bool pairs = false;      // macros with two variables, and transformList, transformMap, transformMapEntry
};

// The tree refers to the text.
std::expected<Tree, Problem> parse(std::string_view text, const Syntax& syntax);

}  // namespace vg::cel
