// Whether a text is among others: words of an enumeration, names of a list.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <ranges>
#include <string_view>

namespace vg {

template <std::ranges::range Texts>
bool is_one_of(std::string_view text, const Texts& texts) {
  return std::ranges::find(texts, text) != std::ranges::end(texts);
}
inline bool is_one_of(std::string_view text, std::initializer_list<std::string_view> texts) {
  return std::ranges::find(texts, text) != texts.end();
}

}  // namespace vg
