// The expressions of one admission policy: checked when it is written, compiled when it is enforced.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "api/schema.h"
#include "base/limits.h"
#include "cel/policy_dialect.h"
#include "cel/program.h"

namespace vg::resources::policies {

using ProgramPtr = std::shared_ptr<const cel::Program>;

// What an expression must come to.
enum class Wanted { boolean, text, text_or_null, anything };

struct ExpressionUse {
  Wanted wanted = Wanted::anything;
  bool authorizer = true;  // may it ask for permissions
};

// One for all expressions of a policy, in their order: the work is bounded over all of them.
class PolicyCompiler {
 public:
  explicit PolicyCompiler(bool has_params) : has_params_(has_params), scope_(types_) {}
  // For objects, and parameters unless null, of a known type.
  PolicyCompiler(bool has_params, const api::Type& object, const api::Type* params)
      : has_params_(has_params), scope_(types_, &object, params) {}

  std::expected<ProgramPtr, std::string> compile(std::string_view expression, const ExpressionUse& use);
  // The expressions after it know it as variables.NAME, whether it can be compiled or not.
  std::expected<ProgramPtr, std::string> define(std::string_view name, std::string_view expression);

 private:
  std::expected<cel::Compiled, std::string> checked(std::string_view expression, const ExpressionUse& use);

  bool has_params_;
  cel::Types types_{limits::cel_steps_max};
  cel::PolicyScope scope_;
};

}  // namespace vg::resources::policies
