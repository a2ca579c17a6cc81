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

// --- the audit log
// Changes of one user in the log that all users share: 2 KB/s, so that nobody rolls it over within days. What is more
// is recorded beside it.
inline constexpr double audit_changes_burst = 5000;
inline constexpr double audit_changes_per_second = 5;
// Lines about what changed nothing, of one user or one source address.
// A person who tries things out stays below it; whoever goes on has a line every five seconds and a sum every ten.
inline constexpr double audit_attempts_burst = 100;
inline constexpr double audit_attempts_per_second = 0.2;
// The same Secret read by the same user: a controller that polls is told once in a while.
inline constexpr double audit_same_read_burst = 10;
inline constexpr double audit_same_read_per_second = 0.1;
inline constexpr std::chrono::seconds audit_summary_interval{10};
// Users, addresses and reads that are told apart; a few hundred bytes each.
inline constexpr std::size_t audit_subjects_max = 2048;

}  // namespace vg::budgets
