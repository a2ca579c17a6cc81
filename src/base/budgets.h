// What all requests together, and any one user or source among them, may take of the server. limits.h bounds what one
// input may be; what is here bounds how many of them there may be at once, so that one user cannot stop the others.
// Names end with their unit; times carry theirs in their type.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vg::budgets {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

}  // namespace vg::budgets
