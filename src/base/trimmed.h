// What people and programs leave around a value in a file, a variable or a header.
#pragma once

#include <string_view>

namespace vg {

// White space as HTTP has it around the values of headers.
inline constexpr std::string_view header_blanks = " \t";
// White space as programming languages have it.
inline constexpr std::string_view all_blanks = " \t\n\v\f\r";

constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  while (!text.empty() && blanks.contains(text.front())) text.remove_prefix(1);
  while (!text.empty() && blanks.contains(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace vg
