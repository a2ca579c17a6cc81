// The functions and operators that expressions may call.
#pragma once

#include <span>
#include <string_view>

namespace vg::cel {

// Overloads are separated by "; ": the types of the arguments, "=", the type of the result, in the notation of types.h.
// A leading dot marks one that is called on its first argument. Operators have the names that cel-spec gives them.
struct Function {
  std::string_view name;
  std::string_view overloads;
};

std::span<const Function> standard_functions();
// The strings, math and lists extensions, and comparisons of numbers of different types.
std::span<const Function> extension_functions();
// What kube-apiserver adds for admission policies.
std::span<const Function> policy_functions();

}  // namespace vg::cel
