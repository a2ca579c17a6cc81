#include "cel/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "cel/parser.h"

namespace vg::cel {
namespace {

using std::string_view;

constexpr Variable domain_variables[] = {{"vmi", "v1.VirtualMachineInstance"}, {"domainSpec", "libvirtxml.Domain"}};
constexpr Variable node_variables[] = {{"vmi", "v1.VirtualMachineInstance"}};

std::string place_in(string_view text, std::size_t at) {
  const string_view before = text.substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return line == 1 ? fmt::format("column {}", column) : fmt::format("line {}, column {}", line, column);
}

bool fits(const Type& type, Purpose purpose) {
  if (purpose == Purpose::condition) return type.kind == Kind::boolean;
  return type.kind == Kind::object && type.structure->name == "libvirtxml.Domain";
}

}  // namespace

std::string describe(string_view text, const Problem& problem) {
  return fmt::format("the expression is not valid: at {}, {}", place_in(text, problem.at), problem.message);
}

const Dialect& domain_dialect() {
  static constexpr Dialect dialect{.container = "libvirtxml",
                                   .variables = domain_variables,
                                   .naming = Naming::go,
                                   .domains = true,
                                   .extensions = false};
  return dialect;
}

const Dialect& node_dialect() {
  static constexpr Dialect dialect{
      .container = {}, .variables = node_variables, .naming = Naming::json, .domains = false, .extensions = true};
  return dialect;
}

std::optional<std::string> Compiler::problem_with(string_view expression, const Dialect& dialect, Purpose purpose) {
  const auto tree = parse(expression, {.sort_by = dialect.extensions, .extremes = dialect.extensions});
  if (!tree) return describe(expression, tree.error());
  Types types(steps_left_);
  const auto type = check(*tree, dialect, types);
  steps_left_ = types.steps_left();
  if (!type) return describe(expression, type.error());
  if (fits(**type, purpose)) return std::nullopt;
  const string_view wanted =
      purpose == Purpose::condition ? "a condition must be a bool" : "a mutation must be a Domain";
  return fmt::format("{}, and this expression has type {}", wanted, print(*type));
}

}  // namespace vg::cel
