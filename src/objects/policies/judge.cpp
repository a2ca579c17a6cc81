#include "objects/policies/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json_text.h"
#include "base/phrases.h"
#include "base/policy_limits.h"
#include "base/trimmed.h"
#include "catalog/conversion.h"
#include "json/access.h"
#include "objects/core_kinds/values.h"
#include "objects/policies/activation.h"

namespace vg::resources::policies {
namespace {

using std::string_view;

struct Decision {
  std::string message;
  std::string reason = {};     // empty: Invalid
  std::size_t expression = 0;  // which validation
};

string_view code_reason(string_view reason) { return reason.empty() ? string_view("Invalid") : reason; }

int code_of(string_view reason) {
  if (reason == "Forbidden") return 403;
  if (reason == "Unauthorized") return 401;
  return reason == "RequestEntityTooLarge" ? 413 : 422;
}

// The labels of the namespace, read when they are first asked for.
class LabelsOf final : public NamespaceLabels {
 public:
  LabelsOf(World& world, const Subject& subject)
      : world_(world), name_(subject.of_namespace() ? subject.name : subject.ns) {}
  const json::Object* labels() override {
    const json::Value* ns = world_.namespace_object(name_);
    return ns ? &core_kinds::members(core_kinds::members(ns->get_object(), "metadata"), "labels") : nullptr;
  }

 private:
  World& world_;
  string_view name_;
};

// An object in the form that a rule named. All versions of a kind have one shape.
const json::Value* in_form(const json::Value* object, const Subject& subject, const ResourceName& as,
                           const json::StoragePtr& storage) {
  if (!object || !object->is_object() || !subject.body_kind.empty()) return object;
  const std::string version = api_version(as.group, as.version);
  if (!as.resource->conversion && json::get_string_or(*object, "apiVersion") == version) return object;
  auto* copy = new (storage->allocate(sizeof(json::Value), alignof(json::Value))) json::Value(*object, storage);
  if (as.resource->conversion) convert_from_stored(copy->get_object(), *as.resource);
  copy->get_object()["apiVersion"] = version;
  return copy;
}

class Judge {
 public:
  Judge(const Subject& subject, World& world, const Asking& asking, const json::StoragePtr& storage)
      : subject_(subject), world_(world), asking_(asking), storage_(storage), labels_(world, subject) {}

  Verdict run(const PolicySet& set) {
    for (const Hook& hook : set) {
      const Match matched = match(hook.policy->constraints, subject_, labels_);
      if (matched.problem)
        misconfigured(*hook.policy, nullptr, *matched.problem);
      else if (matched.matches)
        judge(hook, matched.as);
    }
    return std::move(verdict_);
  }

 private:
  void judge(const Hook& hook, const ResourceName& as) {
    for (const auto& binding : hook.bindings) {
      if (binding->resources) {
        const Match matched = match(*binding->resources, subject_, labels_);
        if (matched.problem) misconfigured(*hook.policy, binding.get(), *matched.problem);
        if (!matched.matches) continue;
      }
      const auto params = find_params(*hook.policy, *binding);
      if (!params) {
        misconfigured(*hook.policy, binding.get(), params.error());
        continue;
      }
      for (const json::Value* param : *params) evaluate(*hook.policy, *binding, as, param);
    }
  }

  // --- parameters ---

  using Params = std::expected<std::vector<const json::Value*>, std::string>;

  Params find_params(const Policy& policy, const Binding& binding) {
    if (!policy.param_kind || !binding.params) return std::vector<const json::Value*>{nullptr};
    const ParamKind& kind = *policy.param_kind;
    const ParamRef& wanted = *binding.params;
    const Resource* resource = find_resource_of_kind(kind.api_version, kind.kind);
    if (!resource || !resource->stored)
      return std::unexpected(fmt::format("paramKind kind `{}, Kind={}` not known", kind.api_version, kind.kind));
    const bool namespaced = resource->kind->namespaced;
    if (!namespaced && !wanted.ns.empty())
      return std::unexpected("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
    const string_view ns = !namespaced ? string_view() : wanted.ns.empty() ? subject_.ns : string_view(wanted.ns);
    if (namespaced && ns.empty())
      return std::unexpected("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
    return read_params(*resource, ns, wanted);
  }

  Params read_params(const Resource& resource, string_view ns, const ParamRef& wanted) {
    std::vector<const json::Value*> found;
    if (wanted.selector) {
      auto all = world_.list(resource, ns, *wanted.selector);
      if (!all) return std::unexpected(all.error().message);
      found = std::move(*all);
    } else {
      const auto one = world_.get(resource, ns, wanted.name);
      if (!one) return std::unexpected(one.error().message);
      if (*one) found.push_back(*one);
    }
    if (found.empty() && wanted.deny_when_none)
      return std::unexpected("no params found for policy binding with `Deny` parameterNotFoundAction");
    return found;
  }

  // --- one policy, binding and parameter ---

  void evaluate(const Policy& policy, const Binding& binding, const ResourceName& as, const json::Value* param) {
    const json::Value request = request_document(subject_, as, asking_.user, storage_);
    const bool in_namespace = !subject_.of_namespace() && !subject_.ns.empty();
    const Inputs inputs{.object = in_form(subject_.object, subject_, as, storage_),
                        .old_object = in_form(subject_.old_object, subject_, as, storage_),
                        .params = param,
                        .request = &request,
                        .ns = in_namespace ? world_.namespace_object(subject_.ns) : nullptr};
    if (!conditions_hold(policy, binding, inputs)) return;
    cel::Memory memory;
    cel::Budget budget = budget_of(limits::policy_cost_max);
    const std::uint64_t before = budget.cost_left;
    PolicyActivation activation(policy, inputs, subject_, asking_, memory, budget);
    std::vector<Decision> decisions;
    for (std::size_t i = 0; i < policy.validations.size(); ++i) {
      auto decision = validate(policy, policy.validations[i], activation, memory, budget);
      if (!decision) continue;
      decision->expression = i;
      decisions.push_back(std::move(*decision));
      if (out_of_budget_) break;
    }
    cost_left_ -= std::min(cost_left_, before - budget.cost_left);
    if (std::exchange(out_of_budget_, false) && policy.ignore_failures) decisions.clear();
    for (const Decision& decision : decisions) enforce(policy, binding, decision);
    annotate(policy, binding, inputs);
  }

  cel::Budget budget_of(std::uint64_t cost_max) const {
    return {.cost_left = std::min(cost_max, cost_left_), .tick = asking_.tick};
  }

  // One that is false ends it; errors count only when none is.
  bool conditions_hold(const Policy& policy, const Binding& binding, const Inputs& inputs) {
    if (policy.conditions.empty()) return true;
    cel::Memory memory;
    cel::Budget budget = budget_of(limits::match_conditions_cost_max);
    PolicyActivation activation(policy, inputs, subject_, asking_, memory, budget);
    std::string problems;
    for (const NamedExpression& condition : policy.conditions) {
      const cel::Outcome outcome = value_of(condition.expression, activation, memory, budget);
      if (outcome.value.is_false()) return false;
      if (outcome.value.is_error())
        problems += fmt::format("{}{}", problems.empty() ? "" : ", ", failed(condition.expression, outcome));
    }
    if (problems.empty()) return true;
    if (!policy.ignore_failures) enforce(policy, binding, {.message = std::move(problems)});
    return false;
  }

  static cel::Outcome value_of(const Expression& expression, PolicyActivation& activation, cel::Memory& memory,
                               cel::Budget& budget) {
    if (expression.program) return cel::run(*expression.program, activation, memory, budget);
    return {.value = memory.error(fmt::format("compilation error: {}", expression.problem))};
  }

  static std::string failed(const Expression& expression, const cel::Outcome& outcome) {
    if (outcome.out_of_budget)
      return fmt::format("{}, no further validation rules will be run", phrases::out_of_budget);
    return fmt::format("expression '{}' resulted in error: {}", expression.text, outcome.value.text);
  }

  // Nothing when the validation holds, or its failure is ignored.
  std::optional<Decision> validate(const Policy& policy, const Validation& validation, PolicyActivation& activation,
                                   cel::Memory& memory, cel::Budget& budget) {
    const cel::Outcome outcome = value_of(validation.condition, activation, memory, budget);
    out_of_budget_ = outcome.out_of_budget;
    if (outcome.value.is_error()) {
      if (policy.ignore_failures && !out_of_budget_) return std::nullopt;
      return Decision{.message = failed(validation.condition, outcome)};
    }
    if (outcome.value.is_true()) return std::nullopt;
    return Decision{.message = message_of(validation, activation, memory, budget), .reason = validation.reason};
  }

  static std::string message_of(const Validation& validation, PolicyActivation& activation, cel::Memory& memory,
                                cel::Budget& budget) {
    if (validation.message_expression) {
      const cel::Outcome outcome = value_of(*validation.message_expression, activation, memory, budget);
      const string_view told = outcome.value.is(cel::Tag::string) ? trimmed(outcome.value.text) : string_view();
      if (!told.empty() && told.size() <= limits::policy_message_bytes_max && !told.contains('\n'))
        return std::string(told);
    }
    if (!validation.message.empty()) return validation.message;
    return fmt::format("failed expression: {}", trimmed(validation.condition.text));
  }

  // --- what follows ---

  void misconfigured(const Policy& policy, const Binding* binding, string_view why) {
    if (policy.ignore_failures) return;
    refuse(policy, binding ? string_view(binding->name) : string_view(),
           {.message = fmt::format("failed to configure {}: {}", binding ? "binding" : "policy", why)});
  }

  void enforce(const Policy& policy, const Binding& binding, const Decision& decision) {
    for (const std::string& action : binding.actions) {
      if (action == "Deny") refuse(policy, binding.name, decision);
      if (action == "Warn")
        verdict_.warnings.push_back(phrases::policy_warning(policy.name, binding.name, decision.message));
      if (action == "Audit") record(policy, binding, decision);
    }
  }

  // The first refusal is the answer.
  void refuse(const Policy& policy, string_view binding, const Decision& decision) {
    if (verdict_.refusal) return;
    const std::string why = phrases::denied_by_policy(policy.name, binding, decision.message);
    Status status = Status::forbidden(std::string(subject_.resource.group()), std::string(subject_.requested.plural()),
                                      std::string(subject_.name), why);
    status.reason = code_reason(decision.reason);
    status.code = code_of(status.reason);
    status.details.causes.push_back({.reason = {}, .message = why, .field = {}});
    verdict_.refusal = std::move(status);
  }

  void record(const Policy& policy, const Binding& binding, const Decision& decision) {
    std::string text = "[{\"message\":";
    append_json_string(text, decision.message);
    text += ",\"policy\":";
    append_json_string(text, policy.name);
    text += ",\"binding\":";
    append_json_string(text, binding.name);
    text += fmt::format(",\"expressionIndex\":{},\"validationActions\":[", decision.expression);
    for (std::size_t i = 0; i < binding.actions.size(); ++i) {
      if (i > 0) text += ',';
      append_json_string(text, binding.actions[i]);
    }
    verdict_.annotations.emplace_back("validation.policy.admission.k8s.io/validation_failure", text + "]}]");
  }

  void annotate(const Policy& policy, const Binding& binding, const Inputs& inputs) {
    if (policy.annotations.empty()) return;
    cel::Memory memory;
    cel::Budget budget = budget_of(limits::policy_cost_max);
    PolicyActivation activation(policy, inputs, subject_, asking_, memory, budget);
    for (const NamedExpression& annotation : policy.annotations) {
      const cel::Outcome outcome = value_of(annotation.expression, activation, memory, budget);
      if (outcome.value.is_error() && !policy.ignore_failures)
        refuse(policy, binding.name, {.message = failed(annotation.expression, outcome)});
      const string_view value = outcome.value.is(cel::Tag::string) ? trimmed(outcome.value.text) : string_view();
      if (!value.empty())
        add_annotation(fmt::format("{}/{}", policy.name, annotation.name),
                       value.substr(0, limits::policy_annotation_bytes_max));
    }
  }

  // Several bindings may have different values for one key.
  void add_annotation(std::string key, string_view value) {
    const auto known = std::ranges::find(verdict_.annotations, key, &std::pair<std::string, std::string>::first);
    if (known == verdict_.annotations.end())
      verdict_.annotations.emplace_back(std::move(key), value);
    else if (known->second != value)
      known->second += fmt::format(", {}", value);
  }

  const Subject& subject_;
  World& world_;
  const Asking& asking_;
  const json::StoragePtr& storage_;
  LabelsOf labels_;
  Verdict verdict_;
  std::uint64_t cost_left_ = limits::policies_cost_max;
  bool out_of_budget_ = false;
};

}  // namespace

Verdict judge(const PolicySet& set, const Subject& subject, World& world, const Asking& asking,
              const json::StoragePtr& storage) {
  return Judge(subject, world, asking, storage).run(set);
}

}  // namespace vg::resources::policies
