// What expressions of admission policies may name.
#pragma once

#include <vector>

#include "cel/checker.h"
#include "cel/types.h"

namespace vg::cel {

struct PolicyNames {
  bool params = false;      // the policy has a kind of parameters
  bool authorizer = false;  // not in messages
};

// The variables of one policy, with those that it defines itself. They refer to `types`.
class PolicyScope {
 public:
  // Objects and parameters of a type that is described; null: of any.
  PolicyScope(Types& types, const api::Type* object = nullptr, const api::Type* params = nullptr);

  // A variable of the policy: expressions after it know it as variables.NAME.
  void define(std::string_view name, const Type* type);
  // Valid until the next define().
  Dialect dialect(const PolicyNames& names);

 private:
  std::vector<Binding> bindings_;
  const Type *params_, *authorizer_, *resource_check_;
  std::vector<Binding> visible_;
};

}  // namespace vg::cel
