// What the expressions of a policy are told about a write.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cel/evaluate.h"
#include "objects/policies/judge.h"

namespace vg::resources::policies {

// `request` as a policy sees it, for the form of the resource that its rule named.
json::Value request_document(const Subject& subject, const ResourceName& as, const User& user,
                             const json::StoragePtr& storage);

struct Inputs {
  const json::Value* object = nullptr;
  const json::Value* old_object = nullptr;
  const json::Value* params = nullptr;
  const json::Value* request = nullptr;
  const json::Value* ns = nullptr;
};

// Variables are evaluated when they are first named, from the budget of whoever names them.
class PolicyActivation final : public cel::Activation {
 public:
  PolicyActivation(const Policy& policy, const Inputs& inputs, const Subject& subject, const Asking& asking,
                   cel::Memory& memory, cel::Budget& budget);

  std::optional<cel::Value> find(std::string_view name) override;
  cel::AccessAnswer ask(const cel::AccessCheck& check, std::string_view verb) override;

 private:
  std::optional<cel::Value> variable(std::string_view name);
  cel::Value compute(const NamedExpression& variable);

  const Policy& policy_;
  const Inputs& inputs_;
  const Asking& asking_;
  cel::Memory& memory_;
  cel::Budget& budget_;
  cel::AccessCheck nobody_, request_resource_;
  std::map<std::string_view, cel::Value> computed_;
};

}  // namespace vg::resources::policies
