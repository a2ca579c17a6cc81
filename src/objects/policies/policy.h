// ValidatingAdmissionPolicies and their bindings as they are enforced: read and compiled once, shared, never changed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/selector.h"
#include "json/value.h"
#include "objects/policies/policy_compiler.h"

namespace vg::resources::policies {

inline constexpr std::string_view group = "admissionregistration.k8s.io";
inline constexpr std::string_view policies_key = "admissionregistration.k8s.io/validatingadmissionpolicies";
inline constexpr std::string_view bindings_key = "admissionregistration.k8s.io/validatingadmissionpolicybindings";

// One of resourceRules or excludeResourceRules.
struct MatchRule {
  std::vector<std::string> operations, groups, versions, resources, names;
  std::string scope;
};

struct MatchResources {
  LabelSelector namespaces, objects;
  std::vector<MatchRule> rules, excluded;
  bool equivalent = true;  // also the other forms of a resource
};

// An expression that was stored; `program` is null where it could not be compiled, and `problem` says why.
struct Expression {
  std::string text;
  ProgramPtr program;
  std::string problem = {};
};

struct NamedExpression {
  std::string name;
  Expression expression;
};

struct Validation {
  Expression condition;
  std::optional<Expression> message_expression;
  std::string message, reason;
};

struct ParamKind {
  std::string api_version, kind;
};

struct Policy {
  std::string name;
  bool ignore_failures = false;
  std::optional<ParamKind> param_kind;
  MatchResources constraints;
  std::vector<NamedExpression> conditions, variables, annotations;
  std::vector<Validation> validations;
};

struct ParamRef {
  std::string name, ns;
  std::optional<LabelSelector> selector;
  bool deny_when_none = false;
};

struct Binding {
  std::string name, policy_name;
  std::optional<ParamRef> params;
  std::optional<MatchResources> resources;
  std::vector<std::string> actions;
};

Policy read_policy(const json::Object& object);
Binding read_binding(const json::Object& object);

}  // namespace vg::resources::policies
