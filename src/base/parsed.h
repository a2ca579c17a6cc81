// The result of a parser for small texts: a value, or why there is none, in words that can follow "field: ". Callers
// decide which Status that becomes; below them there is no request to answer.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace vg {

template <class T>
using Parsed = std::expected<T, std::string>;

inline std::unexpected<std::string> not_parsed(std::string why) { return std::unexpected<std::string>(std::move(why)); }

}  // namespace vg
