// Expressions in plugins: may they be used where they stand? They are parsed and their types are checked, as upstream
// does when a plugin is written; nothing is evaluated (for that see program.h). What is known of the language and what
// is not stands in COMPATIBILITY.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "cel/checker.h"

namespace vg::cel {

// Of a plugin and of domain hooks: Go's names; variables vmi and domainSpec, structures of libvirtxml.
const Dialect& domain_dialect();
// Of node hooks: JSON's names, the variable vmi, and more functions.
const Dialect& node_dialect();

enum class Purpose { condition, mutation };

// `the expression is not valid: at column 3, WHY`.
std::string describe(std::string_view text, const Problem& problem);

// One for all expressions of an object: the work is bounded over all of them.
class Compiler {
 public:
  // Nothing when it may be used.
  std::optional<std::string> problem_with(std::string_view expression, const Dialect& dialect, Purpose purpose);

 private:
  std::size_t steps_left_ = limits::cel_steps_max;
};

}  // namespace vg::cel
