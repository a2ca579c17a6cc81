#include "objects/policies/policy.h"

#include <utility>

#include "base/trimmed.h"
#include "json/access.h"
#include "objects/core_kinds/values.h"

namespace vg::resources::policies {
namespace {

using core_kinds::as_text;
using core_kinds::has;
using core_kinds::items;
using core_kinds::members;
using core_kinds::text;

std::vector<std::string> texts(const json::Object& in, std::string_view key) {
  std::vector<std::string> all;
  for (const json::Value& value : items(in, key)) all.emplace_back(as_text(value));
  return all;
}

// A selector that cannot be read was never stored; if it was, it selects everything: nothing escapes a policy by it.
LabelSelector selector(const json::Object& written) {
  std::vector<std::pair<std::string, std::string>> labels;
  for (const auto& label : members(written, "matchLabels")) labels.emplace_back(label.key(), as_text(label.value()));
  std::vector<MatchExpression> expressions;
  for (const json::Value& expression : items(written, "matchExpressions"))
    expressions.push_back({.key = std::string(text(expression, "key")),
                           .op = std::string(text(expression, "operator")),
                           .values = texts(members(expression), "values")});
  auto made = LabelSelector::from(labels, expressions);
  return made ? std::move(*made) : LabelSelector();
}

std::vector<MatchRule> rules(const json::Object& in, std::string_view key) {
  std::vector<MatchRule> all;
  for (const json::Value& value : items(in, key)) {
    const json::Object& rule = members(value);
    all.push_back({.operations = texts(rule, "operations"),
                   .groups = texts(rule, "apiGroups"),
                   .versions = texts(rule, "apiVersions"),
                   .resources = texts(rule, "resources"),
                   .names = texts(rule, "resourceNames"),
                   .scope = std::string(text(rule, "scope"))});
  }
  return all;
}

MatchResources match_resources(const json::Object& in) {
  return {.namespaces = selector(members(in, "namespaceSelector")),
          .objects = selector(members(in, "objectSelector")),
          .rules = rules(in, "resourceRules"),
          .excluded = rules(in, "excludeResourceRules"),
          .equivalent = text(in, "matchPolicy") != "Exact"};
}

Expression stored(std::string_view written, std::expected<ProgramPtr, std::string> compiled) {
  if (compiled) return {.text = std::string(written), .program = std::move(*compiled)};
  return {.text = std::string(written), .program = nullptr, .problem = std::move(compiled.error())};
}

constexpr ExpressionUse condition_use{.wanted = Wanted::boolean, .authorizer = true};
constexpr ExpressionUse message_use{.wanted = Wanted::text, .authorizer = false};
constexpr ExpressionUse annotation_use{.wanted = Wanted::text_or_null, .authorizer = true};

Validation validation(const json::Object& written, PolicyCompiler& compiler) {
  const std::string_view condition = text(written, "expression"), message = text(written, "messageExpression");
  Validation made{.condition = stored(condition, compiler.compile(condition, condition_use)),
                  .message_expression = std::nullopt,
                  .message = std::string(trimmed(text(written, "message"), " \t\r\n")),
                  .reason = std::string(text(written, "reason"))};
  if (!message.empty()) made.message_expression = stored(message, compiler.compile(message, message_use));
  return made;
}

std::vector<NamedExpression> named(const json::Object& spec, std::string_view list, std::string_view name_key,
                                   std::string_view expression_key, auto compile) {
  std::vector<NamedExpression> all;
  for (const json::Value& entry : items(spec, list)) {
    const std::string_view expression = text(entry, expression_key);
    all.push_back({.name = std::string(text(entry, name_key)),
                   .expression = stored(expression, compile(text(entry, name_key), expression))});
  }
  return all;
}

}  // namespace

Policy read_policy(const json::Object& object) {
  const json::Object& spec = members(object, "spec");
  Policy policy;
  policy.name = core_kinds::name_of(object);
  policy.ignore_failures = text(spec, "failurePolicy") == "Ignore";
  if (has(spec, "paramKind")) {
    const json::Object& kind = members(spec, "paramKind");
    policy.param_kind = ParamKind{std::string(text(kind, "apiVersion")), std::string(text(kind, "kind"))};
  }
  policy.constraints = match_resources(members(spec, "matchConstraints"));
  PolicyCompiler compiler(policy.param_kind.has_value());
  policy.variables = named(spec, "variables", "name", "expression",
                           [&](std::string_view name, std::string_view text) { return compiler.define(name, text); });
  policy.conditions =
      named(spec, "matchConditions", "name", "expression",
            [&](std::string_view, std::string_view text) { return compiler.compile(text, condition_use); });
  for (const json::Value& entry : items(spec, "validations"))
    policy.validations.push_back(validation(members(entry), compiler));
  policy.annotations =
      named(spec, "auditAnnotations", "key", "valueExpression",
            [&](std::string_view, std::string_view text) { return compiler.compile(text, annotation_use); });
  return policy;
}

Binding read_binding(const json::Object& object) {
  const json::Object& spec = members(object, "spec");
  Binding binding;
  binding.name = core_kinds::name_of(object);
  binding.policy_name = text(spec, "policyName");
  binding.actions = texts(spec, "validationActions");
  if (has(spec, "matchResources")) binding.resources = match_resources(members(spec, "matchResources"));
  if (!has(spec, "paramRef")) return binding;
  const json::Object& written = members(spec, "paramRef");
  binding.params = ParamRef{.name = std::string(text(written, "name")),
                            .ns = std::string(text(written, "namespace")),
                            .selector = std::nullopt,
                            .deny_when_none = text(written, "parameterNotFoundAction") == "Deny"};
  if (has(written, "selector")) binding.params->selector = selector(members(written, "selector"));
  return binding;
}

}  // namespace vg::resources::policies
