// From text to tree, macros expanded.
#pragma once

#include <expected>
#include <string_view>

#include "cel/ast.h"
#include "cel/token.h"

namespace vg::cel {

// `extensions`: also the macros sortBy, math.greatest and math.least. The tree refers to the text.
std::expected<Tree, Problem> parse(std::string_view text, bool extensions);

}  // namespace vg::cel
