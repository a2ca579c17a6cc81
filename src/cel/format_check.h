// What can be said of a call like "%s has %d".format([a, b]) before it runs: the text is known, and the types are.
#pragma once

#include <functional>
#include <optional>

#include "cel/ast.h"
#include "cel/token.h"
#include "cel/types.h"

namespace vg::cel {

// True when both the text and the list are written out.
bool is_literal_format(const Node& call);

// `type_of` gives the final type of each element of the list.
std::optional<Problem> check_format(const Node& call, const std::function<const Type*(const Node&)>& type_of);

}  // namespace vg::cel
