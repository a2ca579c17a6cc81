// ValidatingAdmissionPolicies and their bindings: defaults, checks of their expressions, and what the types of the
// objects they are about have to say to those.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/trimmed.h"
#include "catalog/catalog.h"
#include "objects/core_kinds/checks.h"
#include "objects/core_kinds/kinds.h"
#include "objects/core_kinds/values.h"
#include "objects/policies/policy_compiler.h"

namespace vg::resources::core_kinds {
namespace {

using policies::ExpressionUse;
using policies::PolicyCompiler;
using policies::Wanted;
using std::string_view;

constexpr string_view any = "*";
constexpr std::size_t match_conditions_max = 64;  // as kube-apiserver has it
constexpr std::size_t annotations_max = 20;
constexpr std::size_t annotation_expression_bytes_max = 5 * 1024;

// --- defaults --------------------------------------------------------------------------------------------------------

void default_match_resources(json::Object& spec, string_view key) {
  auto* resources = json::get_object(spec, key);
  if (!resources) return;
  default_text(*resources, "matchPolicy", "Equivalent");
  for (const string_view selector : {"namespaceSelector", "objectSelector"})
    default_pointer(*resources, selector, json::Object());
  for (const string_view list : {"resourceRules", "excludeResourceRules"})
    for_each_object(*resources, list, [](json::Object& rule) { default_text(rule, "scope", any); });
}

void default_policy(json::Object& object, const WriteContext& /*context*/) {
  json::Object& spec = json::ensure_object(object, "spec");
  default_text(spec, "failurePolicy", "Fail");
  default_match_resources(spec, "matchConstraints");
}

void default_binding(json::Object& object, const WriteContext& /*context*/) {
  default_match_resources(json::ensure_object(object, "spec"), "matchResources");
}

// --- what rules may name ---------------------------------------------------------------------------------------------

bool stands_alone(FieldCauses& causes, const Place& at, const json::Array& list) {
  if (list.size() <= 1 || !contains_text(list, any)) return true;
  causes.invalid(at, "must have nothing besides '*' when it has that");
  return false;
}

void check_texts(FieldCauses& causes, const Place& at, const json::Array& list, bool may_be_empty) {
  if (list.empty()) causes.required(at, "must have at least one value");
  stands_alone(causes, at, list);
  for (std::size_t i = 0; i < list.size() && !may_be_empty; ++i)
    if (as_text(list[i]).empty()) causes.required(at.item(i), "must not be empty");
}

void check_resources(FieldCauses& causes, const Place& at, const json::Array& list) {
  if (list.empty()) causes.required(at, "must have at least one resource");
  std::set<string_view> all_parts, of_all;  // x of "x/*", y of "*/y"
  bool plain = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const string_view name = as_text(list[i]);
    if (name.empty()) {
      causes.required(at.item(i), "must not be empty");
      continue;
    }
    const string_view main = name.substr(0, name.find('/'));
    if (main.size() == name.size()) {
      plain = name != any;
      continue;
    }
    const string_view part = name.substr(main.size() + 1);
    if (all_parts.contains(main)) causes.invalid(at.item(i), fmt::format("must not be given besides '{}/*'", main));
    if (of_all.contains(part)) causes.invalid(at.item(i), fmt::format("must not be given besides '*/{}'", part));
    if (part == any) all_parts.insert(main);
    if (main == any) of_all.insert(part);
  }
  if (list.size() > 1 && contains_text(list, "*/*")) causes.invalid(at, "must have nothing besides '*/*'");
  if (plain && contains_text(list, any))
    causes.invalid(at, "must have no other resources without subresources besides '*'");
}

void check_names(FieldCauses& causes, const Place& at, const json::Array& names) {
  std::set<string_view> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const string_view name = as_text(names[i]);
    causes.defects(at.item(i), name, path_segment_defects(name));
    if (!seen.insert(name).second) causes.duplicate(at.item(i), name);
  }
}

void check_rule(FieldCauses& causes, const Place& at, const json::Object& rule) {
  static constexpr std::array<string_view, 5> operations = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"};
  static constexpr std::array<string_view, 3> scopes = {"*", "Cluster", "Namespaced"};
  check_names(causes, at.field("resourceNames"), items(rule, "resourceNames"));
  const json::Array& wanted = items(rule, "operations");
  const Place place = at.field("operations");
  if (wanted.empty()) causes.required(place, "must have at least one operation");
  stands_alone(causes, place, wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    check_supported(causes, place.item(i), as_text(wanted[i]), operations);
  check_texts(causes, at.field("apiGroups"), items(rule, "apiGroups"), true);
  check_texts(causes, at.field("apiVersions"), items(rule, "apiVersions"), false);
  check_resources(causes, at.field("resources"), items(rule, "resources"));
  if (has(rule, "scope")) check_supported(causes, at.field("scope"), text(rule, "scope"), scopes);
}

void check_match_resources(FieldCauses& causes, const Place& at, const json::Object& resources) {
  static constexpr std::array<string_view, 2> policies = {"Equivalent", "Exact"};
  check_supported(causes, at.field("matchPolicy"), text(resources, "matchPolicy"), policies);
  for (const string_view selector : {"namespaceSelector", "objectSelector"})
    check_label_selector(causes, at.field(selector), members(resources, selector));
  for (const string_view list : {"resourceRules", "excludeResourceRules"}) {
    const Place place = at.field(list);
    const json::Array& rules = items(resources, list);
    for (std::size_t i = 0; i < rules.size(); ++i) check_rule(causes, place.item(i), members(rules[i]));
  }
}

void check_param_kind(FieldCauses& causes, const Place& at, const json::Object& kind) {
  const string_view written = text(kind, "apiVersion"), name = text(kind, "kind");
  const Place version_place = at.field("apiVersion");
  if (written.empty()) {
    causes.required(version_place, "the version of the parameters' kind");
  } else if (std::ranges::count(written, '/') > 1) {
    causes.invalid(version_place, fmt::format("\"{}\": must be GROUP/VERSION", written));
  } else {
    const GroupVersion parts = split_api_version(written);
    if (!parts.group.empty()) causes.joined_defects(version_place, parts.group, dns1123_subdomain_defects(parts.group));
    if (parts.version.empty())
      causes.invalid(version_place, fmt::format("\"{}\": must have a version", written));
    else
      causes.joined_defects(version_place, parts.version, dns1035_label_defects(parts.version));
  }
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (name.empty())
    causes.required(at.field("kind"), "the kind of the parameters");
  else
    causes.joined_defects(at.field("kind"), name, dns1035_label_defects(lower));
}

// --- expressions -----------------------------------------------------------------------------------------------------

void check_expression(FieldCauses& causes, const Place& at, string_view written, PolicyCompiler& compiler,
                      const ExpressionUse& use) {
  if (trimmed(written).empty()) return causes.required(at, "an expression");
  if (const auto compiled = compiler.compile(written, use); !compiled)
    causes.invalid(at, fmt::format("\"{}\": {}", written, compiled.error()));
}

void check_conditions(FieldCauses& causes, const Place& at, const json::Array& conditions, bool has_params) {
  if (conditions.size() > match_conditions_max)
    causes.too_many(at, fmt::format("{}: must have at most {} items", conditions.size(), match_conditions_max));
  PolicyCompiler compiler(has_params);  // without the policy's variables
  std::set<string_view> names;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Place place = at.item(i);
    const string_view name = text(conditions[i], "name");
    check_expression(causes, place.field("expression"), text(conditions[i], "expression"), compiler,
                     {.wanted = Wanted::boolean});
    if (name.empty())
      causes.required(place.field("name"), "the name of the condition");
    else
      causes.defects(place.field("name"), name, qualified_name_defects(name));
    if (!name.empty() && !names.insert(name).second) causes.duplicate(place.field("name"), name);
  }
}

bool is_identifier(string_view name) {
  static constexpr std::array<string_view, 21> reserved = {
      "true", "false",  "null", "in",   "as",      "break",     "const",  "continue", "else", "for",  "function",
      "if",   "import", "let",  "loop", "package", "namespace", "return", "var",      "void", "while"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); }) &&
         std::ranges::find(reserved, name) == reserved.end();
}

void check_variable(FieldCauses& causes, const Place& at, const json::Object& variable, PolicyCompiler& compiler) {
  const string_view name = text(variable, "name"), expression = text(variable, "expression");
  if (trimmed(name).empty())
    causes.required(at.field("name"), "the name of the variable");
  else if (!is_identifier(name))
    causes.invalid(at.field("name"), fmt::format("\"{}\": must be a CEL identifier", name));
  if (trimmed(expression).empty()) return causes.required(at.field("expression"), "an expression");
  if (const auto compiled = compiler.define(name, expression); !compiled)
    causes.invalid(at.field("expression"), fmt::format("\"{}\": {}", expression, compiled.error()));
}

void check_validation(FieldCauses& causes, const Place& at, const json::Object& validation, PolicyCompiler& compiler) {
  static constexpr std::array<string_view, 4> reasons = {"Forbidden", "Invalid", "RequestEntityTooLarge",
                                                         "Unauthorized"};
  check_expression(causes, at.field("expression"), text(validation, "expression"), compiler,
                   {.wanted = Wanted::boolean});
  const string_view told = text(validation, "messageExpression"), message = text(validation, "message");
  const Place told_place = at.field("messageExpression"), message_place = at.field("message");
  if (!told.empty() && trimmed(told).empty())
    causes.invalid(told_place, "must not be blank");
  else if (!told.empty())
    check_expression(causes, told_place, told, compiler, {.wanted = Wanted::text, .authorizer = false});
  if (!message.empty() && trimmed(message).empty())
    causes.invalid(message_place, "must not be blank");
  else if (trimmed(message).contains('\n'))
    causes.invalid(message_place, "must not contain line breaks");
  if (has(validation, "reason")) check_supported(causes, at.field("reason"), text(validation, "reason"), reasons);
}

void check_annotations(FieldCauses& causes, const Place& at, const json::Array& annotations, string_view policy,
                       PolicyCompiler& compiler) {
  if (annotations.size() > annotations_max)
    causes.invalid(at, fmt::format("must have at most {} items", annotations_max));
  std::set<string_view> keys;
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    const Place place = at.item(i), expression_place = place.field("valueExpression");
    const string_view key = text(annotations[i], "key"), expression = text(annotations[i], "valueExpression");
    const std::string whole = fmt::format("{}/{}", policy, key);
    causes.defects(place.field("key"), whole, qualified_name_defects(whole));
    if (trimmed(expression).size() > annotation_expression_bytes_max)
      causes.required(expression_place, fmt::format("must have at most {} bytes", annotation_expression_bytes_max));
    else
      check_expression(causes, expression_place, expression, compiler, {.wanted = Wanted::text_or_null});
    if (!keys.insert(key).second) causes.duplicate(place.field("key"), key);
  }
}

void check_expressions(FieldCauses& causes, const Place& at, const json::Object& spec, string_view name) {
  const bool has_params = has(spec, "paramKind");
  check_conditions(causes, at.field("matchConditions"), items(spec, "matchConditions"), has_params);
  PolicyCompiler compiler(has_params);
  const auto each = [&](string_view list, auto check) {
    const Place place = at.field(list);
    const json::Array& all = items(spec, list);
    for (std::size_t i = 0; i < all.size(); ++i) check(causes, place.item(i), members(all[i]), compiler);
  };
  each("variables", check_variable);
  if (items(spec, "validations").empty() && items(spec, "auditAnnotations").empty())
    for (const string_view list : {"validations", "auditAnnotations"})
      causes.required(at.field(list), "one of validations and auditAnnotations must have an item");
  each("validations", check_validation);
  check_annotations(causes, at.field("auditAnnotations"), items(spec, "auditAnnotations"), name, compiler);
}

// --- policies --------------------------------------------------------------------------------------------------------

void check_status(FieldCauses& causes, const json::Object& object) {
  const Place checking = top("status").field("typeChecking"), at = checking.field("expressionWarnings");
  const json::Array& warnings = items(members(members(object, "status"), "typeChecking"), "expressionWarnings");
  for (std::size_t i = 0; i < warnings.size(); ++i)
    for (const string_view member : {"warning", "fieldRef"})
      if (trimmed(text(warnings[i], member)).empty()) causes.required(at.item(i).field(member), "must not be blank");
}

void validate_policy(const json::Object& object, const json::Object* /*old*/, const WriteContext& context,
                     std::vector<StatusCause>& into) {
  static constexpr std::array<string_view, 2> failure_policies = {"Fail", "Ignore"};
  FieldCauses causes(into);
  if (context.subresource == "status") return check_status(causes, object);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  check_supported(causes, at.field("failurePolicy"), text(spec, "failurePolicy"), failure_policies);
  if (has(spec, "paramKind")) check_param_kind(causes, at.field("paramKind"), members(spec, "paramKind"));
  const Place constraints = at.field("matchConstraints");
  if (!has(spec, "matchConstraints")) {
    causes.required(constraints, "what the policy is about");
  } else {
    check_match_resources(causes, constraints, members(spec, "matchConstraints"));
    if (items(members(spec, "matchConstraints"), "resourceRules").empty())
      causes.required(constraints.field("resourceRules"), "must have at least one rule");
  }
  check_expressions(causes, at, spec, name_of(object));
}

// The kinds that rules name, without those that stand for many.
std::vector<const Resource*> kinds_of(const json::Object& spec) {
  constexpr std::size_t kinds_max = 10;  // as kube-controller-manager looks at
  std::vector<const Resource*> found;
  for (const json::Value& rule : items(members(spec, "matchConstraints"), "resourceRules"))
    for (const json::Value& group : items(members(rule), "apiGroups"))
      for (const json::Value& version : items(members(rule), "apiVersions"))
        for (const json::Value& plural : items(members(rule), "resources")) {
          const Resource* resource = find_resource(as_text(group), as_text(version), as_text(plural));
          if (!resource || std::ranges::find(found, resource) != found.end()) continue;
          found.push_back(resource);
          if (found.size() == kinds_max) return found;
        }
  return found;
}

// What the types of the objects say to one expression.
std::string type_warnings(const json::Object& spec, string_view expression, const std::vector<const Resource*>& kinds) {
  const json::Object& param_kind = members(spec, "paramKind");
  const Resource* params = find_resource_of_kind(text(param_kind, "apiVersion"), text(param_kind, "kind"));
  std::string warnings;
  for (const Resource* kind : kinds) {
    PolicyCompiler compiler(has(spec, "paramKind"), *kind->kind->type, params ? params->kind->type : nullptr);
    for (const json::Value& variable : items(spec, "variables"))
      (void)compiler.define(text(variable, "name"), text(variable, "expression"));
    if (const auto compiled = compiler.compile(expression, {}); !compiled)
      warnings += fmt::format("{}, Kind={}: {}\n", kind->storage_api_version, kind->kind->kind, compiled.error());
  }
  return warnings;
}

// kube-controller-manager writes this a moment later; here it is done with the write.
void tell_types(json::Object& object) {
  const json::Object& spec = members(object, "spec");
  const auto kinds = kinds_of(spec);
  json::Array warnings(object.storage());
  const json::Array& validations = items(spec, "validations");
  for (std::size_t i = 0; i < validations.size(); ++i)
    for (const string_view member : {"expression", "messageExpression"}) {
      const string_view expression = text(validations[i], member);
      std::string told = expression.empty() ? std::string() : type_warnings(spec, expression, kinds);
      if (told.empty()) continue;
      warnings.push_back(json::Object(
          {{"fieldRef", fmt::format("spec.validations[{}].{}", i, member)}, {"warning", told}}, object.storage()));
    }
  json::Object& status = json::ensure_object(object, "status");
  status["observedGeneration"] = json::get_int_or(members(object, "metadata"), "generation", 1);
  json::Object& checking = status["typeChecking"].emplace_object();
  if (!warnings.empty()) checking.emplace("expressionWarnings", std::move(warnings));
}

void prepare_new_policy(json::Object& object, const WriteContext& /*context*/) {
  json::erase(object, "status");
  begin_generation(object);
  tell_types(object);
}

void prepare_changed_policy(json::Object& object, const json::Object& old, const WriteContext& context) {
  if (context.subresource == "status") return;
  grow_generation(object, old);
  if (!same_member(object, old, "spec")) tell_types(object);
}

// --- bindings --------------------------------------------------------------------------------------------------------

void check_param_ref(FieldCauses& causes, const Place& at, const json::Object& wanted) {
  static constexpr std::array<string_view, 2> actions = {"Deny", "Allow"};
  const string_view name = text(wanted, "name");
  const bool selects = has(wanted, "selector");
  if (!name.empty()) {
    causes.defects(at.field("name"), name, path_segment_defects(name));
    if (selects) causes.forbidden(at.field("name"), "is mutually exclusive with selector");
  }
  if (selects) {
    check_label_selector(causes, at.field("selector"), members(wanted, "selector"));
    if (!name.empty()) causes.forbidden(at.field("selector"), "is mutually exclusive with name");
  }
  if (name.empty() && !selects) causes.required(at, "one of name and selector must be given");
  check_choice(causes, at.field("parameterNotFoundAction"), text(wanted, "parameterNotFoundAction"), actions);
}

void check_actions(FieldCauses& causes, const Place& at, const json::Array& actions) {
  static constexpr std::array<string_view, 3> supported = {"Audit", "Deny", "Warn"};
  std::set<string_view> seen;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const string_view action = as_text(actions[i]);
    check_supported(causes, at.item(i), action, supported);
    if (!seen.insert(action).second) causes.duplicate(at.item(i), action);
  }
  if (seen.contains("Deny") && seen.contains("Warn"))
    causes.invalid(at, "must not have both Deny and Warn: a refusal needs no warning");
  if (seen.empty()) causes.required(at, "must have at least one action");
}

void validate_binding(const json::Object& object, const json::Object* /*old*/, const WriteContext& /*context*/,
                      std::vector<StatusCause>& into) {
  FieldCauses causes(into);
  const json::Object& spec = members(object, "spec");
  const Place at = top("spec");
  const string_view policy = text(spec, "policyName");
  if (policy.empty())
    causes.required(at.field("policyName"), "the name of a policy");
  else
    causes.defects(at.field("policyName"), policy, dns1123_subdomain_defects(policy));
  if (has(spec, "paramRef")) check_param_ref(causes, at.field("paramRef"), members(spec, "paramRef"));
  if (has(spec, "matchResources"))
    check_match_resources(causes, at.field("matchResources"), members(spec, "matchResources"));
  check_actions(causes, at.field("validationActions"), items(spec, "validationActions"));
}

void prepare_new_binding(json::Object& object, const WriteContext& /*context*/) { begin_generation(object); }
void prepare_changed_binding(json::Object& object, const json::Object& old, const WriteContext& /*context*/) {
  grow_generation(object, old);
}

}  // namespace

constinit const Strategy admission_policy_strategy = {.group = "admissionregistration.k8s.io",
                                                      .kind = "ValidatingAdmissionPolicy",
                                                      .defaults = default_policy,
                                                      .prepare_create = prepare_new_policy,
                                                      .prepare_update = prepare_changed_policy,
                                                      .validate = validate_policy};
constinit const Strategy admission_policy_binding_strategy = {.group = "admissionregistration.k8s.io",
                                                              .kind = "ValidatingAdmissionPolicyBinding",
                                                              .defaults = default_binding,
                                                              .prepare_create = prepare_new_binding,
                                                              .prepare_update = prepare_changed_binding,
                                                              .validate = validate_binding};

}  // namespace vg::resources::core_kinds
