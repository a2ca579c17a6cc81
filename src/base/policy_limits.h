// What admission policies may take. Costs are those of kube-apiserver: one is about a tenth of a microsecond.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::limits {

// Of one expression, and of all expressions of a policy under one binding and one parameter; of its match conditions.
inline constexpr std::uint64_t cel_cost_max = 1'000'000;
inline constexpr std::uint64_t policy_cost_max = 10'000'000;
inline constexpr std::uint64_t match_conditions_cost_max = 2'500'000;
// Values that expressions of one evaluation make: what kube-apiserver leaves to its garbage collector.
inline constexpr std::size_t cel_memory_bytes_max = 16 * 1024 * 1024;
// Levels of a value that are printed or flattened: a document is hardly deeper, and both recurse.
inline constexpr int cel_value_levels_max = 64;
// Digits behind the point that format() is asked for.
inline constexpr int cel_precision_max = 100;
// What a pattern may take when it is compiled; more is refused as an invalid pattern.
inline constexpr std::size_t cel_pattern_memory_bytes_max = 1024 * 1024;
// What all policies together may cost one request: each has its own budget, and there may be hundreds.
inline constexpr std::uint64_t policies_cost_max = 50'000'000;
// Questions to the authorizer that one request's policies may ask.
inline constexpr std::size_t policy_questions_max = 64;
// Parameters that a binding may select; each is evaluated on its own.
inline constexpr std::size_t policy_params_max = 256;
// The text that a messageExpression gives; what is longer is replaced by the policy's own message.
inline constexpr std::size_t policy_message_bytes_max = 5 * 1024;
// The value of an audit annotation; what is longer is cut.
inline constexpr std::size_t policy_annotation_bytes_max = 10 * 1024;
// All annotations of one request; what is beyond is left out.
inline constexpr std::size_t policy_annotations_bytes_max = 64 * 1024;

}  // namespace vg::limits
