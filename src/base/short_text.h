// Whether two short texts are equal. Names of members are short, and a rule looks up dozens of them: there a call of
// memcmp costs more than the comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace vg {

namespace detail {
template <class Word>
bool words_differ(const char* one, const char* other) noexcept {
  Word left, right;
  std::memcpy(&left, one, sizeof(Word));
  std::memcpy(&right, other, sizeof(Word));
  return left != right;
}
}  // namespace detail

inline bool same_short_text(std::string_view one, std::string_view other) noexcept {
  const std::size_t size = one.size();
  if (size != other.size()) return false;
  const char *left = one.data(), *right = other.data();
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 < size; at += 8)
      if (detail::words_differ<std::uint64_t>(left + at, right + at)) return false;
    return !detail::words_differ<std::uint64_t>(left + size - 8, right + size - 8);  // may overlap what was seen
  }
  if (size >= 4)
    return !detail::words_differ<std::uint32_t>(left, right) &&
           !detail::words_differ<std::uint32_t>(left + size - 4, right + size - 4);
  for (std::size_t at = 0; at < size; ++at)
    if (left[at] != right[at]) return false;
  return true;
}

}  // namespace vg
