// What people and programs leave around a value in a file or a variable.
#pragma once

#include <string_view>

namespace vg::kube {

constexpr std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto first = text.find_first_not_of(space);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(space) - first + 1);
}

}  // namespace vg::kube
