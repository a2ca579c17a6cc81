// What type an expression has, or why it has none (cel-spec, "Gradual Type Checking").
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "cel/ast.h"
#include "cel/structures.h"
#include "cel/token.h"
#include "cel/types.h"

namespace vg::cel {

struct Variable {
  std::string_view name;
  std::string_view structure;
};

// A variable whose type is known only once others were checked. The name may have dots.
struct Binding {
  std::string name;
  const Type* type;
};

// What an expression may name.
struct Dialect {
  std::string_view container;  // names are first looked for in here
  std::span<const Variable> variables;
  Naming naming;
  bool domains;     // libvirt's structures
  bool extensions;  // the strings, math and lists libraries; numbers of different types are compared
  // As kube-apiserver has it for admission policies: its libraries, the values of a list or map of one type, no
  // structures made by expressions, and problems in the phrases that programs look for.
  bool policies = false;
  std::span<const Binding> bindings = {};
};

// The type belongs to `types`.
std::expected<const Type*, Problem> check(const Tree& tree, const Dialect& dialect, Types& types);

}  // namespace vg::cel
