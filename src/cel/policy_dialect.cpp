#include "cel/policy_dialect.h"

#include <fmt/format.h>

namespace vg::cel {

PolicyScope::PolicyScope(Types& types, const api::Type* object, const api::Type* params) {
  const Type* any = Types::simple(Kind::dynamic);
  const auto named = [&types](std::string_view structure) { return types.object(*find_policy_structure(structure)); };
  const Type* what = object ? types.object(*object) : any;
  params_ = params ? types.object(*params) : any;
  authorizer_ = named("kubernetes.authorization.Authorizer");
  resource_check_ = named("kubernetes.authorization.ResourceCheck");
  bindings_ = {{"object", what},
               {"oldObject", what},
               {"namespaceObject", named("kubernetes.Namespace")},
               {"request", named("kubernetes.AdmissionRequest")},
               {"variables", named("kubernetes.variables")}};
}

void PolicyScope::define(std::string_view name, const Type* type) {
  bindings_.push_back({fmt::format("variables.{}", name), type});
}

Dialect PolicyScope::dialect(const PolicyNames& names) {
  visible_ = bindings_;
  if (names.params) visible_.push_back({"params", params_});
  if (names.authorizer) {
    visible_.push_back({"authorizer", authorizer_});
    visible_.push_back({"authorizer.requestResource", resource_check_});
  }
  return {.container = {},
          .variables = {},
          .naming = Naming::json,
          .domains = false,
          .extensions = false,
          .policies = true,
          .bindings = visible_};
}

}  // namespace vg::cel
