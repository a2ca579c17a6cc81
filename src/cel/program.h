// An expression that can be run: parsed, checked, and with everything looked up that does not depend on what it is run
// on. Any number of threads may run one at the same time.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/ast.h"
#include "cel/checker.h"
#include "cel/patterns.h"
#include "cel/value.h"

namespace vg::cel {

struct Program {
  std::string text;
  Tree tree;
  std::vector<Value> constants;
  std::vector<std::shared_ptr<const re2::RE2>> patterns;
};

struct Compiled {
  std::shared_ptr<const Program> program;
  const Type* type = nullptr;  // what it gives; belongs to `types`
};

// The dialect is one of policies. The error says what is wrong and where.
std::expected<Compiled, std::string> compile(std::string_view text, const Dialect& dialect, Types& types);

}  // namespace vg::cel
