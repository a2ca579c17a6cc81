#include "objects/policies/policy_compiler.h"

#include <fmt/format.h>

namespace vg::resources::policies {
namespace {

using cel::Kind;

bool fits(const cel::Type& type, Wanted wanted) {
  switch (wanted) {
    case Wanted::boolean:
      return type.kind == Kind::boolean;
    case Wanted::text:
      return type.kind == Kind::string;
    case Wanted::text_or_null:
      return type.kind == Kind::string || type.kind == Kind::null;
    default:
      return true;
  }
}

std::string_view name_of(Wanted wanted) {
  if (wanted == Wanted::boolean) return "bool";
  return wanted == Wanted::text ? "string" : "one of [string null_type]";
}

}  // namespace

std::expected<cel::Compiled, std::string> PolicyCompiler::checked(std::string_view expression,
                                                                  const ExpressionUse& use) {
  auto compiled =
      cel::compile(expression, scope_.dialect({.params = has_params_, .authorizer = use.authorizer}), types_);
  if (!compiled || fits(*compiled->type, use.wanted)) return compiled;
  return std::unexpected(
      fmt::format("must evaluate to {} but got {}", name_of(use.wanted), cel::print_reference(compiled->type)));
}

std::expected<ProgramPtr, std::string> PolicyCompiler::compile(std::string_view expression, const ExpressionUse& use) {
  auto compiled = checked(expression, use);
  if (!compiled) return std::unexpected(std::move(compiled.error()));
  return std::move(compiled->program);
}

std::expected<ProgramPtr, std::string> PolicyCompiler::define(std::string_view name, std::string_view expression) {
  auto compiled = checked(expression, {});
  scope_.define(name, compiled ? compiled->type : cel::Types::simple(Kind::dynamic));
  if (!compiled) return std::unexpected(std::move(compiled.error()));
  return std::move(compiled->program);
}

}  // namespace vg::resources::policies
